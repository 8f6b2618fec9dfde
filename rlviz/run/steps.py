"""Train steps: which training ranges of all ranks belong together, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.events import lookup
from rlviz.run.rules import TRAINING_ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.iteration import Refit, Span
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["Step", "find_steps", "number_steps"]


@dataclass(frozen=True)
class Step:
    """A train step: its training ranges over all ranks, however many there are of them.

    Parameters
    ----------
    train : Span
        First start to last end.
    """

    train: Span


def find_steps(
    rows: pl.DataFrame, phases: pl.DataFrame, refits: Sequence[Refit], captured: Spans
) -> list[Step]:
    """Find the train steps of a run.

    Ranges of one step may be many (microbatches, epochs, a streaming step's parts) and ranks
    disagree by a little: what parts two steps is a refit between them, a pause of the capture, or,
    where no refit is seen, that logprobs or generation begin anew.

    Parameters
    ----------
    rows, phases : polars.DataFrame
        Lanes, and the ranges that mark phases.
    refits : sequence of Refit
        Refits, by start.
    captured : (ndarray, ndarray)
        Spans that are captured on any training lane.
    """
    role = lookup(rows["role"], phases["lane"])
    of_training = role.is_in(TRAINING_ROLES)
    trains = phases.filter(of_training & (phases["phase"] == "training")).sort("start_ns")
    start, end = trains["start_ns"].to_numpy(), trains["end_ns"].to_numpy()
    if len(start) == 0:
        return []
    if refits:
        marks = np.array([refit.span[0] for refit in refits])
    else:
        begins_anew = phases["phase"].is_in(["logprobs", "generation"])
        marks = np.sort(phases.filter(begins_anew)["start_ns"].to_numpy())
    reach = np.maximum.accumulate(end)
    parted = start[1:] > reach[:-1]
    if len(marks):
        parted &= _any_between(marks, reach[:-1], start[1:]) | _any_between(
            captured[1], reach[:-1], start[1:]
        )
    first = np.flatnonzero(np.concatenate(([True], parted)))
    last = np.append(first[1:], len(start)) - 1
    return [Step((int(s), int(e))) for s, e in zip(start[first], reach[last], strict=True)]


def number_steps(
    steps: Sequence[Step], events: Events, rows: pl.DataFrame, rules: Rules
) -> list[int]:
    """Give train steps the numbers that the framework counts them by.

    By a controller that marks every step from the first on, else from the first step that the
    reports' names tell, else from 1.
    """
    if not steps:
        return []
    at = np.array([step.train[0] for step in steps])
    is_step = lookup(rules.steps.matches(events.names), events.ranges["name"])
    is_controller = lookup(rows["role"], events.ranges["lane"]) == "controller"
    marks = events.ranges.filter(is_step & is_controller)["start_ns"].sort().to_numpy()
    if len(marks):
        numbers = np.searchsorted(marks, at, side="right")
        if (np.diff(numbers) > 0).all() and numbers[0] > 0:
            return [int(number) for number in numbers]
    return list(range(_first_number(rows, rules), _first_number(rows, rules) + len(steps)))


def _first_number(rows: pl.DataFrame, rules: Rules) -> int:
    told = [
        rules.first_step_of(report.rpartition("/")[2].removesuffix(".sqlite"))
        for reports in rows.filter(pl.col("role").is_in(TRAINING_ROLES))["report"]
        for report in reports
    ]
    return min((number for number in told if number is not None), default=1)


def _any_between(marks: Int64, first: Int64, last: Int64) -> NDArray[np.bool_]:
    """Tell whether any of the sorted `marks` lies in ``[first, last)``."""
    return np.searchsorted(marks, last) > np.searchsorted(marks, first)

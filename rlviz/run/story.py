"""The story of a run: its iterations, refits and segments, and what could not be recognised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from rlviz.reports.report import Diagnostic
from rlviz.run.events import lookup
from rlviz.run.intervals import intersection, total, union
from rlviz.run.iterations import between_refits, by_phase, by_refit, marked_by
from rlviz.run.refits import find_refits
from rlviz.run.rules import TRAINING_ROLES
from rlviz.run.segments import find_segments
from rlviz.run.steps import find_steps, number_steps
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.iteration import Iteration, Refit, Span
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["Story", "tell_story"]

# Generation that runs beside this much of the training is asynchronous.
_ASYNC_SHARE = 0.01


@dataclass(frozen=True)
class Story:
    """What happened in a run, as far as its reports tell.

    Parameters
    ----------
    iterations : tuple of Iteration
        In their order.
    refits : tuple of Refit
        All of them, also those that end no iteration.
    segments : tuple of (int or None, dict of int to Span)
        Per segment the step whose weights it used, and by generation lane the hull of its work.
    diagnostics : tuple of Diagnostic
        Why there are no iterations, or not the usual ones.
    """

    iterations: tuple[Iteration, ...] = ()
    refits: tuple[Refit, ...] = ()
    segments: tuple[tuple[int | None, dict[int, Span]], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def tell_story(
    events: Events,
    rows: pl.DataFrame,
    phases: pl.DataFrame,
    captured: dict[int, Spans],
    rules: Rules,
    marker: str | None = None,
) -> Story:
    """Find the iterations of a run.

    Parameters
    ----------
    events, rows : Events, polars.DataFrame
        Events and lanes of the run.
    phases : polars.DataFrame
        Ranges that mark phases, as of `rlviz.run.phases.marked_ranges`.
    captured : dict of int to (ndarray, ndarray)
        Captured spans by lane.
    rules : Rules
        What names mean.
    marker : str, optional
        Shell pattern of ranges that each mark one iteration; it goes before all else.
    """
    if marker is not None:
        marked = tuple(marked_by(events, marker))
        return Story(marked, diagnostics=() if marked else (_none_marked(marker),))
    refits = find_refits(events, rows, phases, rules)
    training = _captured_by(TRAINING_ROLES, rows, captured)
    steps = find_steps(rows, phases, refits, training)
    numbers = number_steps(steps, events, rows, rules)
    if not steps:
        iterations = between_refits(refits, captured)
    elif _is_synchronous(rows, phases, refits):
        iterations = by_phase(steps, numbers, refits, phases, training)
    else:
        role = lookup(rows["role"], phases["lane"])
        own = phases.filter(role.is_in(TRAINING_ROLES))
        iterations = by_refit(steps, numbers, refits, own, training)
    found = tuple(iterations)
    segments = find_segments(events, rows, refits, captured)
    return Story(
        _with_segments(found, refits, segments),
        tuple(refits),
        tuple((_weights(i, refits, found), segment) for i, segment in enumerate(segments)),
        () if found else (_none_found(),),
    )


def _is_synchronous(rows: pl.DataFrame, phases: pl.DataFrame, refits: Sequence[Refit]) -> bool:
    """Tell whether generation and training take turns: nothing of one runs beside the other."""
    if not refits or (rows["pool"] == "colocated").any():
        return True
    generates, trains = (
        union(part["start_ns"].to_numpy(), part["end_ns"].to_numpy())
        for part in (phases.filter(pl.col("phase") == p) for p in ("generation", "training"))
    )
    if not len(generates[0]):
        return False
    return total(*intersection(*generates, *trains)) < _ASYNC_SHARE * total(*trains)


def _captured_by(roles: Sequence[str], rows: pl.DataFrame, captured: dict[int, Spans]) -> Spans:
    lanes = rows.filter(pl.col("role").is_in(roles))["lane"].to_list()
    return union(*joined([captured[lane] for lane in lanes]))


def _with_segments(
    iterations: tuple[Iteration, ...],
    refits: Sequence[Refit],
    segments: Sequence[dict[int, Span]],
) -> tuple[Iteration, ...]:
    """Give each iteration the segment that its refit ends: it used the weights before it."""
    told = []
    for iteration in iterations:
        if iteration.refit is None or iteration.refit.generation is None:
            told.append(iteration)
            continue
        segment = segments[list(refits).index(iteration.refit)]
        told.append(replace(iteration, segment=segment, weights=iteration.number - 1))
    return tuple(told)


def _weights(index: int, refits: Sequence[Refit], iterations: Sequence[Iteration]) -> int | None:
    """Tell the step whose weights segment `index` used: that of the refit before it."""
    for iteration in iterations:
        if iteration.refit is None:
            continue
        if index < len(refits) and iteration.refit is refits[index]:
            return iteration.number - 1
        if index > 0 and iteration.refit is refits[index - 1]:
            return iteration.number
    return None


def _none_marked(marker: str) -> Diagnostic:
    message = f"No range matches iteration_marker={marker!r}: the whole run is one iteration."
    return Diagnostic("warning", "no-iterations", message)


def _none_found() -> Diagnostic:
    message = (
        "No iterations found: no refit and no training range is known by name. Name the ranges "
        "that mark one with iteration_marker=, or their names with rules=."
    )
    return Diagnostic("warning", "no-iterations", message)

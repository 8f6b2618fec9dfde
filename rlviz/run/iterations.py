"""Iterations: the turns of the loop, from refit to refit, from phase to phase, or as marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.events import lookup
from rlviz.run.intervals import spans_of
from rlviz.run.iteration import Iteration
from rlviz.run.rules import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.iteration import Boundary, Refit
    from rlviz.run.steps import Step

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["between_refits", "by_phase", "by_refit", "iteration_at", "marked_by"]


def marked_by(events: Events, marker: str) -> list[Iteration]:
    """Give an iteration for each range that a shell pattern matches; of all lanes together."""
    matches = lookup(Pattern((marker,)).matches(events.names), events.ranges["name"])
    ranges = events.ranges.filter(matches)
    if ranges.is_empty():
        return []
    texts = events.texts(ranges["name"])
    number = texts.str.extract(r"(\d+)\D*$").cast(pl.Int64, strict=False)
    if number.null_count():
        # Without numbers of their own, the k-th range of every lane marks the k-th iteration.
        number = ranges.select(pl.int_range(1, pl.len() + 1).over("lane")).to_series()
    spans = (
        ranges.with_columns(number.alias("number"))
        .group_by("number")
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("truncated").any())
        .sort("start_ns")
    )
    starts, ends = spans["start_ns"].to_list(), spans["end_ns"].to_list()
    stops = [*starts[1:], ends[-1]]
    return [
        Iteration(n, start, max(stop, start), ("marker", "marker"), complete=not cut)
        for n, start, stop, cut in zip(
            spans["number"], starts, stops, spans["truncated"], strict=True
        )
    ]


def by_refit(
    steps: Sequence[Step],
    numbers: Sequence[int],
    refits: Sequence[Refit],
    phases: pl.DataFrame,
    captured: Spans,
) -> list[Iteration]:
    """From the end of the refit before a step to the end of the refit after it."""
    found = []
    for index, (step, number) in enumerate(zip(steps, numbers, strict=True)):
        earliest = steps[index - 1].train[1] if index else None
        latest = steps[index + 1].train[0] if index + 1 < len(steps) else None
        before = _last_refit(refits, earliest, step.train[0])
        if before is not None and _pauses(captured, _end(before), step.train[0]):
            before = None
        after = _first_refit(refits, step.train[0], latest)
        if after is not None and _pauses(captured, step.train[1], _end(after)):
            after = None
        own = _own_phases(phases, before, earliest, captured, step)
        start = _end(before) if before is not None else _first_start(own, step)
        end = _end(after) if after is not None else _last_end(phases, step, latest)
        boundary: tuple[Boundary, Boundary] = (
            "refit" if before is not None else "first_phase",
            "refit" if after is not None else "last_phase_end",
        )
        complete = before is not None and after is not None and not after.unended
        found.append(Iteration(number, start, end, boundary, complete, step.train, refit=after))
    return found


def by_phase(
    steps: Sequence[Step],
    numbers: Sequence[int],
    refits: Sequence[Refit],
    phases: pl.DataFrame,
    captured: Spans,
) -> list[Iteration]:
    """From the first phase of a step to the first phase of the next one."""
    firsts = []
    for index, step in enumerate(steps):
        earliest = steps[index - 1].train[1] if index else None
        before = _last_refit(refits, earliest, step.train[0])
        own = _own_phases(phases, before, earliest, captured, step)
        generates = own.filter(pl.col("phase") == "generation")
        firsts.append(_first_start(generates if len(generates) else own, step))
    found = []
    for index, (step, number) in enumerate(zip(steps, numbers, strict=True)):
        last = index + 1 == len(steps)
        next_first = None if last else firsts[index + 1]
        cut = next_first is None or _pauses(captured, step.train[1], next_first)
        end = _last_end(phases, step, next_first) if cut or next_first is None else next_first
        boundary: tuple[Boundary, Boundary] = (
            "first_phase",
            "last_phase_end" if cut else "first_phase",
        )
        after = _first_refit(refits, step.train[0], None if last else steps[index + 1].train[0])
        found.append(
            Iteration(number, firsts[index], end, boundary, not cut, step.train, refit=after)
        )
    return found


def between_refits(refits: Sequence[Refit], captured: Mapping[int, Spans]) -> list[Iteration]:
    """Without training to see, from refit to refit, counted from 1."""
    if not refits:
        return []
    spans = [s for s in captured.values() if len(s[0])]
    first = min(int(start[0]) for start, _ in spans)
    ends = [_end(refit) for refit in refits]
    return [
        Iteration(
            index + 1,
            ends[index - 1] if index else first,
            end,
            ("refit" if index else "none", "refit"),
            complete=index > 0 and not refits[index].unended,
            refit=refits[index],
        )
        for index, end in enumerate(ends)
    ]


def iteration_at(at: Int64, iterations: Iterable[Iteration]) -> pl.Series:
    """Give the number of the iteration that each moment lies in; null outside of all.

    Parameters
    ----------
    at : ndarray of int64, shape (n,)
        Moments on the run's clock.
    iterations : iterable of Iteration
        In their order; windows do not overlap.
    """
    known = list(iterations)
    if not known:
        return pl.repeat(None, len(at), dtype=pl.Int64, eager=True).alias("iteration")
    starts, ends = spans_of((one.start_ns, one.end_ns) for one in known)
    numbers = np.array([one.number for one in known])
    place = np.searchsorted(starts, at, side="right") - 1
    inside = (place >= 0) & (at < ends[place])
    found = pl.select(pl.when(pl.Series(inside)).then(pl.Series(numbers[place])))
    return found.to_series().alias("iteration")


def _end(refit: Refit) -> int:
    # A refit ends when the last generation worker has its weights.
    return refit.generation[1] if refit.generation is not None else refit.span[1]


def _last_refit(refits: Sequence[Refit], after: int | None, before: int) -> Refit | None:
    fits = [r for r in refits if r.span[0] < before and (after is None or r.span[0] >= after)]
    return fits[-1] if fits else None


def _first_refit(refits: Sequence[Refit], after: int, before: int | None) -> Refit | None:
    fits = [r for r in refits if r.span[0] > after and (before is None or r.span[0] < before)]
    return fits[0] if fits else None


def _pauses(captured: Spans, first: int, last: int) -> bool:
    """Tell whether the capture pauses between two moments."""
    start, end = captured
    place = int(np.searchsorted(start, first, side="right")) - 1
    return place < 0 or int(end[place]) < min(last, int(end[-1]))


def _own_phases(
    phases: pl.DataFrame, before: Refit | None, earliest: int | None, captured: Spans, step: Step
) -> pl.DataFrame:
    """Find the ranges that begin in a step, up to the end of its training."""
    place = max(int(np.searchsorted(captured[0], step.train[0], side="right")) - 1, 0)
    begins = [int(captured[0][place])] if len(captured[0]) else []
    begins += [earliest] if earliest is not None else []
    # What a refit of the step before opens late, such as offloading, is no part of this one.
    begins += [before.span[1]] if before is not None else []
    start = pl.col("start_ns")
    return phases.filter(start.is_between(max(begins, default=step.train[0]), step.train[1]))


def _first_start(own: pl.DataFrame, step: Step) -> int:
    starts: list[int] = own["start_ns"].to_list()
    return min([*starts, step.train[0]])


def _last_end(phases: pl.DataFrame, step: Step, before: int | None) -> int:
    """Give the last end of any range of a step."""
    start = pl.col("start_ns")
    own = phases.filter((start >= step.train[0]) & ~pl.col("truncated"))
    if before is not None:
        own = own.filter(start < before)
    ends: list[int] = own["end_ns"].to_list()
    return max([*ends, step.train[1]])

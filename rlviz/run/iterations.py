"""Iterations: the turns of the loop, from refit to refit or from phase to phase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.report import Diagnostic
from rlviz.run.events import lookup
from rlviz.run.intervals import intersection, total, union
from rlviz.run.iteration import Iteration
from rlviz.run.refits import find_refits
from rlviz.run.rules import TRAINING_ROLES, Pattern
from rlviz.run.segments import find_segments
from rlviz.run.steps import find_steps, number_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.iteration import Boundary, Refit, Span
    from rlviz.run.rules import Rules
    from rlviz.run.steps import Step

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
        return _marked(events, marker)
    refits = find_refits(events, rows, phases, rules)
    training = _captured_by(TRAINING_ROLES, rows, captured)
    steps = find_steps(rows, phases, refits, training)
    numbers = number_steps(steps, events, rows, rules)
    role = lookup(rows["role"], phases["lane"])
    if not steps:
        iterations = _between_refits(refits, captured)
    elif _is_synchronous(rows, phases, refits):
        iterations = _by_phase(steps, numbers, refits, phases, training)
    else:
        own = phases.filter(role.is_in(TRAINING_ROLES))
        iterations = _by_refit(steps, numbers, refits, own, training)
    found = tuple(iterations)
    segments = find_segments(events, rows, refits, captured)
    return Story(
        _with_segments(found, refits, segments),
        tuple(refits),
        tuple((_weights(i, refits, found), segment) for i, segment in enumerate(segments)),
        () if found else (_none_found(),),
    )


def _marked(events: Events, marker: str) -> Story:
    matches = lookup(Pattern((marker,)).matches(events.names), events.ranges["name"])
    ranges = events.ranges.filter(matches)
    if ranges.is_empty():
        message = f"No range matches iteration_marker={marker!r}: the whole run is one iteration."
        return Story(diagnostics=(Diagnostic("warning", "no-iterations", message),))
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
    iterations = tuple(
        Iteration(n, start, max(stop, start), ("marker", "marker"), complete=not cut)
        for n, start, stop, cut in zip(
            spans["number"], starts, stops, spans["truncated"], strict=True
        )
    )
    return Story(iterations)


def _by_refit(
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


def _by_phase(
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


def _between_refits(refits: Sequence[Refit], captured: dict[int, Spans]) -> list[Iteration]:
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
    spans = [captured[lane] for lane in lanes]
    if not spans:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return union(*(np.concatenate([span[i] for span in spans]) for i in (0, 1)))


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


def _none_found() -> Diagnostic:
    message = (
        "No iterations found: no refit and no training range is known by name. Name the ranges "
        "that mark one with iteration_marker=, or their names with rules=."
    )
    return Diagnostic("warning", "no-iterations", message)

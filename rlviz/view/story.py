"""What is written over the rows: brackets of iterations, boundary lines, refits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rlviz.run.events import lookup
from rlviz.run.rules import TRAINING_ROLES
from rlviz.view.scene import Bracket, Line, Remark
from rlviz.view.sizes import bracket_y
from rlviz.view.units import seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlviz.run.iteration import Iteration, Span
    from rlviz.run.run import Run
    from rlviz.view.scene import PoolBand

__all__ = ["draw_brackets", "draw_lines", "iteration_windows", "remarks_of"]


def draw_brackets(run: Run, pools: Sequence[PoolBand]) -> tuple[Bracket, ...]:
    """Draw "Train 4" over the training pool and "Gen 3" over generation, as far as they are known.

    Parameters
    ----------
    run : Run
        The run.
    pools : sequence of PoolBand
        Pools in their places; a colocated one takes both.
    """
    rows = run.rows["row"].n_unique()
    found: list[Bracket] = []
    for pool in pools:
        y = bracket_y(pool.top, rows)
        if pool.name in ("training", "colocated"):
            found += _train(run, pool, y)
        if pool.name in ("generation", "colocated"):
            found += _generation(run, pool, y)
    if found:
        return tuple(found)
    return tuple(
        _bracket(pool, bracket_y(pool.top, rows), (i.start_ns, i.end_ns), f"{i.number}", i)
        for pool in pools
        for i in run.story.iterations
    )


def draw_lines(run: Run) -> tuple[Line, ...]:
    """Draw the boundaries of iterations; where they are refits, with how long each took."""
    lines = []
    for refit in run.story.refits:
        start, end = refit.generation if refit.generation is not None else refit.span
        lines.append(Line(end / 1e9, "refit", f"refit {seconds_text(end - start)}"))
    at_refits = {line.at for line in lines}
    for iteration in run.story.iterations:
        at = iteration.start_ns / 1e9
        if at not in at_refits:
            lines.append(Line(at, "boundary", ""))
    return tuple(lines)


def iteration_windows(run: Run) -> tuple[tuple[int, float, float, bool], ...]:
    """Give what to show of each iteration: number, start and end in seconds, partial.

    A worker goes on generating as soon as it has its own weights, some milliseconds before the
    iteration begins: the window to show holds the whole segment and the whole training.
    """
    windows = []
    for i in run.story.iterations:
        spans = [s for s in (i.train, i.segment_span) if s is not None]
        start = min([i.start_ns, *(s for s, _ in spans)])
        end = max([i.end_ns, *(e for _, e in spans)])
        windows.append((i.number, start / 1e9, end / 1e9, not i.complete))
    return tuple(windows)


def remarks_of(run: Run) -> tuple[Remark, ...]:
    """Give the findings of the run with their places in seconds."""
    times = ["lost_ns", "start_ns", "end_ns"]
    found = run.findings.select("text", *(pl.col(c) / 1e9 for c in times), "row")
    return tuple(Remark(*one) for one in found.iter_rows())


def _train(run: Run, pool: PoolBand, y: float) -> Iterator[Bracket]:
    phases = run.phases()
    role = lookup(run.rows["role"], phases["lane"])
    own = phases.filter(role.is_in(TRAINING_ROLES) & (phases["phase"] != "refit"))
    first = own.drop_nulls("iteration").group_by("iteration").agg(pl.col("start_ns").min())
    starts: dict[int, int] = dict(first.iter_rows())
    for iteration in run.story.iterations:
        if iteration.train is not None:
            start = min(starts.get(iteration.number, iteration.train[0]), iteration.train[0])
            span = start, iteration.train[1]
            yield _bracket(pool, y, span, f"Train {iteration.number}", iteration)


def _generation(run: Run, pool: PoolBand, y: float) -> Iterator[Bracket]:
    by_weights = {i.weights: i for i in run.story.iterations if i.weights is not None}
    for weights, lanes in run.story.segments:
        if not lanes:
            continue
        left, right = min(s for s, _ in lanes.values()), max(e for _, e in lanes.values())
        text = "Gen" if weights is None else f"Gen {weights}"
        iteration = by_weights.get(weights) if weights is not None else None
        partial = iteration is None or not iteration.complete
        number = None if iteration is None else iteration.number
        yield Bracket(pool.name, left / 1e9, right / 1e9, y, text, partial, number)


def _bracket(pool: PoolBand, y: float, span: Span, text: str, iteration: Iteration) -> Bracket:
    left, right = span[0] / 1e9, span[1] / 1e9
    return Bracket(pool.name, left, right, y, text, not iteration.complete, iteration.number)

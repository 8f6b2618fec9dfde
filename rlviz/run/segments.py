"""Segments: what generation did between two refits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.gpu_part import GpuPart
    from rlviz.run.iteration import Refit, Span

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["find_segments"]


def find_segments(
    events: Events,
    rows: pl.DataFrame,
    refits: Sequence[Refit],
    captured: Mapping[int, Spans],
) -> list[dict[int, Span]]:
    """Find the work of each generation lane between its own update ranges.

    Parameters
    ----------
    events, rows : Events, polars.DataFrame
        Events and lanes of the run.
    refits : sequence of Refit
        Refits, by start.
    captured : mapping of int to (ndarray, ndarray)
        Captured spans by lane: a segment does not reach over a pause of the capture.

    Returns
    -------
    list of dict of int to Span
        One more than refits: before each, and after the last. By lane, first start to last end of
        its kernels, copies, sets and graph launches there; lanes without any are absent.
    """
    lanes = rows.filter((pl.col("role") == "generation") & pl.col("gpu_data"))["lane"].to_list()
    segments: list[dict[int, Span]] = [{} for _ in range(len(refits) + 1)]
    if not any(refit.updates for refit in refits):
        return segments
    for lane in lanes:
        own = [part for part in events.parts if part.lane == lane]
        for index, window in enumerate(_between(refits, lane, captured[lane])):
            spans = [span for part in own if (span := _hull_inside(part, *window)) is not None]
            if spans:
                segments[index][lane] = min(s for s, _ in spans), max(e for _, e in spans)
    return segments


def _hull_inside(part: GpuPart, first_ns: int, last_ns: int) -> Span | None:
    """Give first start and last end of what begins in the window."""
    inside = slice(part.begun_before(first_ns), part.begun_before(last_ns))
    if inside.stop <= inside.start:
        return None
    return int(part.starts(inside)[0]), int(part.ends(inside).max())


def _between(refits: Sequence[Refit], lane: int, captured: Spans) -> list[Span]:
    """Give the windows between a lane's update ranges, cut at pauses of the capture."""
    updates = [refit.updates.get(lane) for refit in refits]
    first, last = int(captured[0][0]), int(captured[1][-1])
    windows = []
    for index in range(len(updates) + 1):
        before = updates[index - 1] if index else None
        after = updates[index] if index < len(updates) else None
        opens = before[1] if before is not None else first
        closes = after[0] if after is not None else last
        windows.append(_unbroken(opens, closes, captured, from_end=after is not None))
    return windows


def _unbroken(opens: int, closes: int, captured: Spans, *, from_end: bool) -> Span:
    """Keep the side of a pause that has the update range: the other one's weights are unknown."""
    start, end = captured
    if from_end:
        place = max(int(np.searchsorted(start, closes, side="right")) - 1, 0)
        return max(opens, int(start[place])), closes
    place = min(int(np.searchsorted(end, opens, side="left")), len(end) - 1)
    return opens, min(closes, int(end[place]))

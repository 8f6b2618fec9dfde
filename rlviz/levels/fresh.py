"""Strips of a window, made of its events: below the finest level, where these are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.coverage import Coverage
from rlviz.levels.strip import Strip
from rlviz.levels.tally import NOTHING, cut_at_edges
from rlviz.run.intervals import reaching_into

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.levels.strip import Facet
    from rlviz.levels.tally import Pieces
    from rlviz.levels.track import Track

    Int64 = NDArray[np.int64]
    UInt8 = NDArray[np.uint8]

__all__ = ["fresh_strips"]


def fresh_strips(
    tracks: Sequence[Track], start_ns: int, end_ns: int, width_ns: int, facet: Facet
) -> list[Strip]:
    """Aggregate the events of several rows.

    Parameters
    ----------
    tracks : sequence of Track
        The rows, one at least.
    start_ns, end_ns : int
        The window; buckets stand on edges of their own and reach over its ends.
    width_ns : int
        Width of a bucket.
    facet : {"code", "kind", "group"}
        What the buckets tell of what dominates them.
    """
    first = start_ns // width_ns
    count = -(-end_ns // width_ns) - first
    zero, span, rows = first * width_ns, count * width_ns, len(tracks)
    # All rows at once: each has a stretch of buckets of its own, behind that of the row before.
    inside = [track.chosen(zero, zero + span) for track in tracks]
    events = [
        (t.events.start_ns(own), t.events.end_ns(own))
        for t, own in zip(tracks, inside, strict=True)
    ]
    code = np.concatenate([t.facet(facet, own) for t, own in zip(tracks, inside, strict=True)])
    pieces = cut_at_edges(*_side_by_side(events, zero, span), 0, width_ns)
    edges = np.arange(rows * count + 1) * width_ns
    busy = Coverage.of(*_side_by_side(_busy(tracks, zero, span), zero, span)).between(edges)
    counted = np.bincount(pieces.bucket, minlength=rows * count).astype(np.int32)
    code = _dominant(np.concatenate((code, code[pieces.owner])), pieces, rows * count)
    return [
        Strip(track.row, zero, width_ns, busy[own], counted[own], code[own])
        for track, own in (
            (track, slice(place * count, (place + 1) * count)) for place, track in enumerate(tracks)
        )
    ]


def _side_by_side(
    spans: Sequence[tuple[Int64, Int64]], zero: int, span: int
) -> tuple[Int64, Int64]:
    """Cut spans to a window, and put those of each row behind those of the row before."""
    starts, ends = [], []
    for place, (start, end) in enumerate(spans):
        # What reaches into a window starts before its end, and ends behind its start.
        first = place * span
        moved = start + (first - zero)
        starts.append(np.maximum(moved, first, out=moved))
        moved = end + (first - zero)
        ends.append(np.minimum(moved, first + span, out=moved))
    return np.concatenate(starts), np.concatenate(ends)


def _busy(tracks: Sequence[Track], zero: int, span: int) -> list[tuple[Int64, Int64]]:
    found = []
    for start, end in (track.busy for track in tracks):
        own = reaching_into((start, end), zero, zero + span)
        found.append((start[own], end[own]))
    return found


def _dominant(code: UInt8, pieces: Pieces, count: int) -> UInt8:
    """Find the code with the most time in each bucket, of equals the smallest."""
    most = int(code.max(initial=0))
    place = code.astype(np.int64) * count + pieces.bucket
    times = np.bincount(place, weights=pieces.time_ns, minlength=(most + 1) * count)
    found, best = np.full(count, NOTHING, np.uint8), np.zeros(count)
    for own, time in enumerate(times.reshape(most + 1, count)):
        more = time > best
        found[more] = own
        np.maximum(best, time, out=best)
    return found

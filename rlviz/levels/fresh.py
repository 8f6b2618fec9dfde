"""Strips of a window, made of its events: below the finest level, where these are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.strip import Strip
from rlviz.levels.tally import NOTHING, cut_at_edges

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
    zero, span, all_buckets = first * width_ns, count * width_ns, len(tracks) * count
    inside = [track.chosen(zero, zero + span) for track in tracks]
    start, end = _side_by_side(tracks, inside, zero, span)
    code = np.concatenate([t.facet(facet, own) for t, own in zip(tracks, inside, strict=True)])
    pieces = cut_at_edges(start, end, 0, width_ns)
    busy = _busy(start, end, pieces, width_ns, all_buckets)
    counted = np.bincount(pieces.bucket, minlength=all_buckets).astype(np.int32)
    code = _dominant(np.concatenate((code, code[pieces.owner])), pieces, all_buckets)
    return [
        Strip(track.row, zero, width_ns, busy[own], counted[own], code[own])
        for track, own in (
            (track, slice(place * count, (place + 1) * count)) for place, track in enumerate(tracks)
        )
    ]


def _side_by_side(
    tracks: Sequence[Track], inside: Sequence[slice | Int64], zero: int, span: int
) -> tuple[Int64, Int64]:
    """Cut the events of each row to a window, and put them behind those of the row before.

    So all rows can be summed up at once: each has a stretch of buckets of its own.
    """
    starts, ends = [], []
    for place, (track, own) in enumerate(zip(tracks, inside, strict=True)):
        # What reaches into a window starts before its end, and ends behind its start.
        first = place * span
        start, end = track.events.moved(own, first - zero)
        starts.append(np.maximum(start, first, out=start))
        ends.append(np.minimum(end, first + span, out=end))
    return np.concatenate(starts), np.concatenate(ends)


def _busy(start: Int64, end: Int64, pieces: Pieces, width_ns: int, count: int) -> Int64:
    """Sum up the union of events by bucket: their time without what an earlier one covers."""
    # Sums stay far below 2^53, so float64 counts them exactly.
    busy = np.bincount(pieces.bucket, weights=pieces.time_ns, minlength=count)
    reach = np.maximum.accumulate(end)
    again = np.flatnonzero(start[1:] < reach[:-1])
    if len(again):
        covered = np.minimum(end[again + 1], reach[again])
        twice = cut_at_edges(start[again + 1], covered, 0, width_ns)
        busy -= np.bincount(twice.bucket, weights=twice.time_ns, minlength=count)
    return busy.astype(np.int64)


def _dominant(code: UInt8, pieces: Pieces, count: int) -> UInt8:
    """Find the code with the most time in each bucket, of equals the smallest."""
    # Of a large set, most codes are in no window.
    present = np.bincount(code) > 0
    own = np.flatnonzero(present)
    place = (np.cumsum(present) - 1)[code] * count
    place += pieces.bucket
    times = np.bincount(place, weights=pieces.time_ns, minlength=len(own) * count)
    found, best = np.full(count, NOTHING, np.uint8), np.zeros(count)
    for number, time in zip(own.tolist(), times.reshape(len(own), count), strict=True):
        found[time > best] = number
        np.maximum(best, time, out=best)
    return found

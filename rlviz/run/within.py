"""How much of something lies in windows of time: exact, by binary search in sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["closed", "how_many", "joined", "within"]

_NONE = np.empty(0, np.int64)

# Up to so many windows are measured one by one: their sums cost less than those of everything.
_FEW = 64


def within(spans: Spans, start: Int64, end: Int64) -> Int64:
    """Measure how much of a union lies in each window.

    Parameters
    ----------
    spans : (ndarray, ndarray)
        Disjoint ascending intervals, as `rlviz.run.intervals.union` gives them.
    start, end : ndarray of int64, shape (n,)
        The windows, ``start <= end``, in any order.

    Returns
    -------
    ndarray of int64, shape (n,)
        Nanoseconds.

    Examples
    --------
    >>> busy = np.array([0, 20]), np.array([10, 30])
    >>> within(busy, np.array([5, 0]), np.array([25, 40]))
    array([10, 20])
    """
    first, last = spans
    if len(first) == 0 or len(start) == 0:
        return np.zeros(len(start), np.int64)
    if len(start) <= _FEW:
        pairs = zip(start.tolist(), end.tolist(), strict=True)
        return np.array([_within_one(spans, *pair) for pair in pairs], np.int64)
    sums = np.concatenate(([0], np.cumsum(last - first)))

    def until(at: Int64) -> Int64:
        place = np.searchsorted(first, at, side="right")
        # The last interval that began may go on past the moment.
        over = np.maximum(last[place - 1] - at, 0)
        return sums[place] - np.where(place > 0, over, 0)

    return until(end) - until(start)


def _within_one(spans: Spans, start: int, end: int) -> int:
    first = int(np.searchsorted(spans[1], start, side="right"))
    last = int(np.searchsorted(spans[0], end, side="left"))
    if last <= first:
        return 0
    whole = int(spans[1][first:last].sum() - spans[0][first:last].sum())
    return whole - max(start - int(spans[0][first]), 0) - max(int(spans[1][last - 1]) - end, 0)


def how_many(sets: Sequence[Spans]) -> tuple[Int64, Int64]:
    """Count how many of several unions hold at each moment.

    Returns
    -------
    time, level : ndarray of int64, shape (n,)
        A step function: ``level[i]`` of them from ``time[i]`` on. `time` ascends, the last level
        is 0.

    Examples
    --------
    >>> one, other = (np.array([0]), np.array([10])), (np.array([5]), np.array([20]))
    >>> how_many([one, other])
    (array([ 0,  5, 10, 20]), array([1, 2, 1, 0]))
    """
    start, end = joined(sets)
    # Moment and whether it is an end in one number each: faster than sorting indices.
    moment = np.sort(np.concatenate((start << 1, end << 1 | 1)))
    time, level = moment >> 1, np.cumsum(1 - 2 * (moment & 1))
    last = np.concatenate((time[1:] > time[:-1], [True])) if len(time) else np.empty(0, bool)
    return time[last], level[last]


def joined(sets: Sequence[Spans]) -> Spans:
    """Put the intervals of several sets into one pair of columns, in no order."""
    sets = [spans for spans in sets if len(spans[0])]
    if len(sets) == 1:
        return sets[0]
    return (
        np.concatenate([_NONE, *(start for start, _ in sets)]),
        np.concatenate([_NONE, *(end for _, end in sets)]),
    )


def closed(spans: Spans, under_ns: int) -> Spans:
    """Close the gaps of a union that are shorter than `under_ns`.

    Examples
    --------
    >>> closed((np.array([0, 12, 30]), np.array([10, 20, 40])), 10)
    (array([ 0, 30]), array([20, 40]))
    """
    start, end = spans
    if len(start) == 0:
        return spans
    stays = start[1:] - end[:-1] >= under_ns
    return start[np.concatenate(([True], stays))], end[np.concatenate((stays, [True]))]

"""Interval arithmetic on sorted columns of int64 nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["clip", "intersection", "reaching_into", "spans_of", "subtraction", "total", "union"]


# Up to so many intervals are cut one by one.
_FEW = 64


def spans_of(pairs: Iterable[Sequence[int]]) -> Spans:
    """Turn pairs of start and end into two columns.

    Examples
    --------
    >>> spans_of([(0, 10), (20, 25)])
    (array([ 0, 20]), array([10, 25]))
    """
    table = np.array(list(pairs), np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def union(start: Int64, end: Int64) -> Spans:
    """Merge intervals that overlap or touch.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        Nanoseconds, in any order; ``start <= end`` elementwise.

    Returns
    -------
    start, end : ndarray of int64, shape (m,), m <= n
        Disjoint, ascending, none of length 0; their total length is the busy time.

    Examples
    --------
    >>> union(np.array([20, 0, 5]), np.array([25, 10, 8]))
    (array([ 0, 20]), array([10, 25]))
    """
    solid = end > start
    if not solid.all():
        start, end = start[solid], end[solid]
    if len(start) == 0 or (start[1:] > end[:-1]).all():
        return start, end
    if (start[1:] < start[:-1]).any():
        # Where the i-th start lies behind the i-th end, all that began before it has ended: starts
        # and ends can be sorted by themselves.
        start, reach = np.sort(start), np.sort(end)
    else:
        reach = np.maximum.accumulate(end)
    parts = np.flatnonzero(start[1:] > reach[:-1])
    return start[np.append(0, parts + 1)], reach[np.append(parts, len(reach) - 1)]


def clip(start: Int64, end: Int64, first: int | None, last: int | None) -> Spans:
    """Cut intervals to ``[first, last]``; what lies outside goes. None sets no limit.

    Examples
    --------
    >>> clip(np.array([0, 20]), np.array([10, 25]), 5, 22)
    (array([ 5, 20]), array([10, 22]))
    """
    if first is not None:
        start = np.maximum(start, first)
    if last is not None:
        end = np.minimum(end, last)
    inside = end > start
    return start[inside], end[inside]


def total(start: Int64, end: Int64) -> int:
    """Sum of the lengths, in nanoseconds; of a union it is the busy time.

    Examples
    --------
    >>> total(np.array([0, 20]), np.array([10, 25]))
    15
    """
    return int((end - start).sum())


def intersection(start: Int64, end: Int64, other_start: Int64, other_end: Int64) -> Spans:
    """Keep what lies in both of two unions.

    Parameters
    ----------
    start, end, other_start, other_end : ndarray of int64
        Disjoint ascending intervals, as `union` gives them.

    Examples
    --------
    >>> intersection(np.array([0, 20]), np.array([10, 30]), np.array([5]), np.array([25]))
    (array([ 5, 20]), array([10, 25]))
    """
    if len(start) == 0 or len(other_start) == 0:
        return start[:0], end[:0]
    few, many = sorted([(start, end), (other_start, other_end)], key=lambda spans: len(spans[0]))
    if len(few[0]) <= _FEW:
        return _slices(many, few)
    # Each piece of the result begins at a start and ends at an end: two binary searches give the
    # intervals of the one union that reach into each interval of the other.
    first = np.searchsorted(many[1], few[0], side="right")
    last = np.searchsorted(many[0], few[1], side="left")
    pieces = np.maximum(last - first, 0)
    own = np.repeat(np.arange(len(few[0])), pieces)
    other = first[own] + np.arange(len(own)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.maximum(few[0][own], many[0][other]), np.minimum(few[1][own], many[1][other])


def reaching_into(spans: Spans, first: int, last: int) -> slice:
    """Tell which intervals of a union reach into a window."""
    return slice(
        int(np.searchsorted(spans[1], first, side="right")),
        int(np.searchsorted(spans[0], last, side="left")),
    )


def _slices(spans: Spans, windows: Spans) -> Spans:
    """Cut a union to a few windows, whose limits are the only ones that change."""
    parts = []
    for first, last in zip(*(limits.tolist() for limits in windows), strict=True):
        inside = reaching_into(spans, first, last)
        start, end = spans[0][inside], spans[1][inside]
        if len(start) and start[0] < first:
            start = np.concatenate(([first], start[1:]))
        if len(end) and end[-1] > last:
            end = np.concatenate((end[:-1], [last]))
        parts.append((start, end))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([start for start, _ in parts]), np.concatenate([e for _, e in parts])


def subtraction(start: Int64, end: Int64, other_start: Int64, other_end: Int64) -> Spans:
    """Take one union out of another.

    Parameters
    ----------
    start, end, other_start, other_end : ndarray of int64
        Disjoint ascending intervals, as `union` gives them; the second goes.

    Examples
    --------
    >>> subtraction(np.array([0]), np.array([10]), np.array([2, 6]), np.array([4, 7]))
    (array([0, 4, 7]), array([ 2,  6, 10]))
    """
    if len(start) == 0 or len(other_start) == 0:
        return start, end
    first, last = start[0], end[-1]
    # Most often one is cut out of a union that begins before it and goes on behind it.
    before, behind = int(first >= other_start[0]), int(last <= other_end[-1])
    gap_start = other_end if before else np.concatenate(([first], other_end))
    gap_end = other_start if behind else np.concatenate((other_start, [last]))
    gaps = gap_start[: len(gap_start) - behind], gap_end[before:]
    return intersection(start, end, *gaps)

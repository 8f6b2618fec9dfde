"""Interval arithmetic on sorted columns of int64 nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["clip", "intersection", "subtraction", "total", "union"]


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
    if len(start) == 0:
        return start, end
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    opens = np.concatenate(([True], start[1:] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return start[opens], reach[closes]


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
    # Each piece of the result begins at a start and ends at an end: two binary searches give the
    # intervals of the other union that reach into each interval.
    first = np.searchsorted(other_end, start, side="right")
    last = np.searchsorted(other_start, end, side="left")
    pieces = np.maximum(last - first, 0)
    own = np.repeat(np.arange(len(start)), pieces)
    within = np.arange(len(own)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    other = first[own] + within
    return np.maximum(start[own], other_start[other]), np.minimum(end[own], other_end[other])


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
    first, last = min(start[0], other_start[0]), max(end[-1], other_end[-1])
    gap_start = np.concatenate(([first], other_end))
    gap_end = np.concatenate((other_start, [last]))
    solid = gap_end > gap_start
    return intersection(start, end, gap_start[solid], gap_end[solid])

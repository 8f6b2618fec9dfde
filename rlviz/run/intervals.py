"""Interval arithmetic on sorted columns of int64 nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["clip", "total", "union"]


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

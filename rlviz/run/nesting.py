"""How ranges stand to each other: depth of nested ones, clear levels for overlapping ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

__all__ = ["clear_levels", "depth", "parents"]


def depth(thread: Int64, start: Int64, end: Int64) -> Int64:
    """Count, for each push/pop range, the ranges of its thread that are open when it starts.

    Parameters
    ----------
    thread : ndarray of int64, shape (n,)
        Thread of each range.
    start, end : ndarray of int64, shape (n,)
        Nanoseconds. A range that ends at t is closed before one that starts at t opens.

    Returns
    -------
    ndarray of int64, shape (n,)
        0 for the outermost ranges.

    Examples
    --------
    >>> depth(np.zeros(3, int), np.array([0, 2, 4]), np.array([9, 4, 8]))
    array([0, 1, 1])
    """
    count, empty = len(start), end == start
    if count == 0:
        return np.empty(0, np.int64)
    # Few threads among many ranges: faster than to sort all.
    of_thread = np.searchsorted(pl.Series(thread).unique().sort().to_numpy(), thread)
    solid = np.flatnonzero(~empty)
    # Ends come before starts at the same time, and what has no length behind what opens there: it
    # is inside of it and closes at once.
    what = np.concatenate((np.where(empty, _PASSES, _OPENS), np.full(len(solid), _CLOSES)))
    time = np.concatenate((start, end[solid])) - min(int(start.min()), int(end.min()))
    thread_of = np.concatenate((of_thread, of_thread[solid]))
    # Of two that start together the longer one was pushed first.
    order = _sorted(_in_one(thread_of, time, what), np.concatenate((-end, end[solid])))
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(_STEP[what[order]])
    found = found[:count]
    found[~empty] -= 1
    return found


_CLOSES, _OPENS, _PASSES = range(3)
_STEP = np.array([-1, 1, 0])


def _sorted(first: Int64, second: Int64) -> Int64:
    """Tell how to sort by two keys, of which the second is most often in order already."""
    order = np.argsort(first, kind="stable")
    one, other = first[order], second[order]
    if ((one[1:] == one[:-1]) & (other[1:] < other[:-1])).any():
        return np.lexsort((second, first))
    return order


def _in_one(thread: Int64, time: Int64, what: Int64) -> Int64:
    """Give thread, time and what happens as one number that sorts as they do."""
    time_bits = int(time.max()).bit_length()
    if int(thread.max()).bit_length() + time_bits + 2 > 63:
        _, time = np.unique(time, return_inverse=True)
        time_bits = len(time).bit_length()
    return (((thread << time_bits) | time) << 2) | what


def parents(depth: Int64) -> Int64:
    """Find the range around each push/pop range.

    Parameters
    ----------
    depth : ndarray of int64, shape (n,)
        Depth of each range, sorted by thread, start, and longest first.

    Returns
    -------
    ndarray of int64, shape (n,)
        Index of the range around it, -1 for the outermost.

    Examples
    --------
    >>> parents(np.array([0, 1, 2, 1, 0]))
    array([-1,  0,  1,  0, -1])
    """
    count = len(depth)
    # Each range offers itself to its own level and looks for the last one of the level above.
    level = np.column_stack((depth, depth - 1)).reshape(-1)
    # Numbers of up to two bytes are sorted without comparing them.
    narrow = np.int16 if depth.max(initial=0) < 1 << 15 else np.int64
    order = np.argsort(level.astype(narrow), kind="stable")
    offers = order & 1 == 0
    last_offer = np.maximum.accumulate(np.where(offers, np.arange(2 * count), 0))
    found = np.empty(2 * count, np.int64)
    found[order] = order[last_offer] >> 1
    return np.where(depth > 0, found[1::2], -1)


def clear_levels(group: Int64, start: Int64, end: Int64) -> Int64:
    """Give overlapping ranges levels such that those on one level never overlap.

    Start/end ranges do not nest, so depth says nothing of them. A range takes the level that was
    freed last, or a new one where none is free: as many levels as ranges overlap at most.

    Parameters
    ----------
    group : ndarray of int64, shape (n,)
        Ranges of different groups may share a level.
    start, end : ndarray of int64, shape (n,)
        Nanoseconds. A range that ends at t frees its level before one that starts at t takes one.

    Returns
    -------
    ndarray of int64, shape (n,)
        Level from 0.

    Examples
    --------
    >>> clear_levels(np.zeros(3, int), np.array([0, 5, 12]), np.array([10, 15, 20]))
    array([0, 1, 0])
    """
    count = len(start)
    if count == 0:
        return np.empty(0, np.int64)
    # One sequence of ends and starts. Ends come first at the same time, but not an empty range's
    # own end, so an empty range is taken to last a moment (half a unit of the doubled clock).
    index = np.arange(count)
    time = np.concatenate((2 * start, np.where(end == start, 2 * end + 1, 2 * end)))
    is_start = np.concatenate((np.ones(count, np.bool_), np.zeros(count, np.bool_)))
    longest_first = np.concatenate((-end, start))
    owner = np.concatenate((index, index))
    order = np.lexsort((longest_first, is_start, time, group[owner]))
    is_start, owner = is_start[order], owner[order]
    freed_by = _matching_end(group[owner], is_start, owner)
    return _resolve(freed_by, group, np.lexsort((-end, start, group)))


def _matching_end(group: Int64, is_start: NDArray[np.bool_], owner: Int64) -> Int64:
    """For each range, the one whose level it takes over; -1 where it needs a new level.

    Ends put a level on a stack of free ones and starts take the top: matching brackets.
    """
    begins = np.concatenate(([True], group[1:] != group[:-1]))
    height, floor = _stack(np.where(is_start, -1, 1), begins)
    # A start on an empty stack takes nothing; after it the stack is as empty as before.
    previous_floor = np.where(begins, 0, np.concatenate(([0], floor[:-1])))
    takes_new = is_start & (floor < previous_floor)
    place = height - floor + is_start  # of the level in the stack, before a start takes it
    by_place = np.lexsort((np.arange(len(group)), place, group))
    kept = by_place[~takes_new[by_place]]
    previous = np.full(len(group), -1)
    previous[kept[1:]] = kept[:-1]
    freed_by = np.full(int(owner.max()) + 1, -1)
    taking = np.flatnonzero(is_start & ~takes_new)
    freed_by[owner[taking]] = owner[previous[taking]]
    return freed_by


def _stack(step: Int64, begins: NDArray[np.bool_]) -> tuple[Int64, Int64]:
    """Give the running sum of the steps and its running minimum (0 at most), group by group."""
    first = np.flatnonzero(begins)
    lengths = np.diff(np.append(first, len(step)))
    height = np.cumsum(step)
    height -= np.repeat(height[first] - step[first], lengths)
    # Groups are set so far apart that a running minimum never reaches into the next one.
    apart = np.repeat(np.arange(len(first)) * (2 * len(step) + 2), lengths)
    floor = np.minimum.accumulate(np.minimum(height, 0) - apart) + apart
    return height, floor


def _resolve(freed_by: Int64, group: Int64, order: Int64) -> Int64:
    """Levels: new ones are counted in each group, the others are inherited."""
    fresh = freed_by < 0
    counted = np.cumsum(fresh[order])
    in_order = group[order]
    begins = np.searchsorted(in_order, in_order)
    level = np.empty(len(group), np.int64)
    # The first of a group always needs a new level, so its count is the group's level 0.
    level[order] = counted - counted[begins]
    root = np.where(fresh, np.arange(len(group)), freed_by)
    # Pointer doubling: chains of any length in a few steps, without walking them.
    while not np.array_equal(root, root[root]):
        root = root[root]
    return level[root]

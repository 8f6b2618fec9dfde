"""The ranges of a run at any zoom: long ones exactly, neighbouring slivers of one level as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["Merged", "RangeLevels"]

_FINEST_NS = 1 << 10
_COARSEST_NS = 1 << 42
_NEVER_NS = 1 << 62
# A coarser scale is kept where it has so much less to look at.
_FEWER = 0.7


@dataclass(frozen=True)
class Merged:
    """Ranges, some of them merged; arrays have shape (n,), by level and start.

    Parameters
    ----------
    level : ndarray of int64
        What may be merged: ranges of one level that follow each other.
    start_ns, end_ns : ndarray of int64
        On the run's clock.
    longest : ndarray of int64
        Number of the range, or of the longest of those that were merged.
    longest_ns : ndarray of int64
        Its length.
    count : ndarray of int64
        For how many ranges it stands.
    truncated : ndarray of bool
        Whether the capture ended before one of them did.
    """

    level: Int64
    start_ns: Int64
    end_ns: Int64
    longest: Int64
    longest_ns: Int64
    count: Int64
    truncated: Flags

    def __len__(self) -> int:
        return len(self.level)

    def __getitem__(self, own: Int64) -> Merged:
        return Merged(
            self.level[own],
            self.start_ns[own],
            self.end_ns[own],
            self.longest[own],
            self.longest_ns[own],
            self.count[own],
            self.truncated[own],
        )

    def thinning_ns(self, share: float) -> int:
        """Tell from which width on no more than this share of the ranges is left."""
        length = np.where(self.count > 1, 0, self.end_ns - self.start_ns)
        # As of `to`: both are shorter, and no further apart.
        width = np.maximum(length[1:], length[:-1]) + 1
        np.maximum(width, self.start_ns[1:] - self.end_ns[:-1], out=width)
        width[self.level[1:] != self.level[:-1]] = _NEVER_NS
        joins = len(self) - int(share * len(self))
        return int(np.partition(width, joins - 1)[joins - 1]) if joins <= len(width) else _NEVER_NS

    def to(self, width_ns: int) -> Merged:
        """Merge neighbours of one level that are shorter than `width_ns` and no further apart."""
        if len(self) == 0:
            return self
        sliver = (self.count > 1) | (self.end_ns - self.start_ns < width_ns)
        joins = sliver[1:] & sliver[:-1] & (self.level[1:] == self.level[:-1])
        joins &= self.start_ns[1:] - self.end_ns[:-1] <= width_ns
        if not joins.any():
            return self
        begins = np.flatnonzero(np.concatenate(([True], ~joins)))
        longest_ns = np.maximum.reduceat(self.longest_ns, begins)
        size = np.diff(np.append(begins, len(self)))
        # Of equals the first.
        place = np.flatnonzero(self.longest_ns == np.repeat(longest_ns, size))
        owner = np.repeat(np.arange(len(begins)), size)[place]
        place = place[np.concatenate(([True], owner[1:] != owner[:-1]))]
        return Merged(
            self.level[begins],
            self.start_ns[begins],
            np.maximum.reduceat(self.end_ns, begins),
            self.longest[place],
            longest_ns,
            np.add.reduceat(self.count, begins),
            np.logical_or.reduceat(self.truncated, begins),
        )


class _Scale:
    """Ranges merged to one width, ready to be cut to a window."""

    def __init__(self, width_ns: int, ranges: Merged, zero_ns: int, span_ns: int) -> None:
        self.width_ns = width_ns
        self.ranges = ranges
        self._zero_ns = zero_ns
        # Levels stand one behind the other on one axis, so that all are searched at once.
        self._span_ns = span_ns
        offset = ranges.level * span_ns - zero_ns
        self._start = ranges.start_ns + offset
        self._reach = np.maximum.accumulate(ranges.end_ns + offset)

    def inside(self, start_ns: int, end_ns: int, levels: int) -> Merged:
        """Give what reaches into a window; what has no length is in that which it starts in."""
        offset = np.arange(levels) * self._span_ns
        low, high = (
            offset + min(max(at - self._zero_ns, 0), self._span_ns - 1) for at in (start_ns, end_ns)
        )
        first = np.searchsorted(self._reach, low, side="right")
        first = np.minimum(first, np.searchsorted(self._start, low, side="left"))
        last = np.maximum(np.searchsorted(self._start, high, side="left"), first)
        size = last - first
        own = np.repeat(first - np.cumsum(size) + size, size) + np.arange(int(size.sum()))
        own_start, own_end = self.ranges.start_ns[own], self.ranges.end_ns[own]
        keep = (own_end > start_ns) | (own_start == start_ns)
        keep &= own_start < end_ns
        return self.ranges[own[keep]]


class RangeLevels:
    """Ranges merged to several widths, each made of the one below.

    Parameters
    ----------
    level : ndarray of int64, shape (n,)
        Numbers from 0: ranges of one level do not overlap.
    start_ns, end_ns : ndarray of int64, shape (n,)
        On the run's clock.
    truncated : ndarray of bool, shape (n,)
        Whether the capture ended first.
    """

    def __init__(self, level: Int64, start_ns: Int64, end_ns: Int64, truncated: Flags) -> None:
        self._levels = int(level.max(initial=-1)) + 1
        zero = int(start_ns.min(initial=0))
        span = int(end_ns.max(initial=0)) - zero + 2
        order = _order(level * span + (start_ns - zero), end_ns)
        length = end_ns - start_ns
        count = np.ones(len(level), np.int64)
        ranges = Merged(level, start_ns, end_ns, order, length, count, truncated)[order]
        ranges.longest[:] = order
        self._scales = [_Scale(0, ranges, zero, span)]
        while len(ranges) > self._levels:
            thinner_ns = max(ranges.thinning_ns(_FEWER), _FINEST_NS)
            if thinner_ns > _COARSEST_NS:
                break
            # Widths are powers of two.
            width = 1 << (thinner_ns - 1).bit_length()
            ranges = ranges.to(width)
            self._scales.append(_Scale(width, ranges, zero, span))

    @property
    def alone(self) -> Merged:
        """All ranges, none merged."""
        return self._scales[0].ranges

    def within(self, start_ns: int, end_ns: int, width_ns: int, at_most: int) -> tuple[Merged, int]:
        """Give the ranges that reach into a window.

        Parameters
        ----------
        start_ns, end_ns : int
            The window.
        width_ns : int
            Below this, ranges may be merged.
        at_most : int
            So many are wanted at most: `width_ns` is doubled until there are no more.

        Returns
        -------
        ranges : Merged
            In the order of level and start.
        width_ns : int
            Below which they were merged.
        """
        while True:
            scale = [one for one in self._scales if one.width_ns <= width_ns][-1]
            found = scale.inside(start_ns, end_ns, self._levels).to(width_ns)
            # Some have no neighbour of their level, and no width merges them.
            if len(found) <= at_most or width_ns > 1 << 62:
                return found, width_ns
            width_ns = max(2 * width_ns, 1)


def _order(start: Int64, end: Int64) -> Int64:
    """Sort by start, and equals by end: they are few, so that one pass tells most of it."""
    order = np.argsort(start, kind="stable")
    sorted_start = start[order]
    return np.lexsort((end, start)) if (sorted_start[1:] == sorted_start[:-1]).any() else order

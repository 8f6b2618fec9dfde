"""The ranges of a run at any zoom: long ones exactly, neighbouring slivers of one level as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    Flags = NDArray[np.bool_]

__all__ = ["Merged", "MergedRanges", "Scale"]

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
    level : ndarray of int32
        What may be merged: ranges of one level that follow each other.
    start_ns, end_ns : ndarray of int64
        On the run's clock.
    longest : ndarray of int32
        Number of the range, or of the longest of those that were merged.
    longest_ns : ndarray of int64
        Its length.
    count : ndarray of int32
        For how many ranges it stands.
    truncated : ndarray of bool
        Whether the capture ended before one of them did.
    """

    level: Int32
    start_ns: Int64
    end_ns: Int64
    longest: Int32
    longest_ns: Int64
    count: Int32
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


@dataclass(frozen=True)
class Scale:
    """Ranges merged to one width, ready to be cut to a window.

    Parameters
    ----------
    width_ns : int
        The width.
    ranges : Merged
        The ranges.
    start, reach : ndarray of int64
        Starts, and latest end up to each, on one axis on which levels stand one behind the other,
        so that all are searched at once.
    """

    width_ns: int
    ranges: Merged
    start: Int64
    reach: Int64

    @classmethod
    def of(cls, width_ns: int, ranges: Merged, hull: tuple[int, int]) -> Scale:
        """Prepare ranges, which lie in a hull."""
        offset = ranges.level.astype(np.int64) * _span(hull) - hull[0]
        reach = np.maximum.accumulate(ranges.end_ns + offset)
        return cls(width_ns, ranges, ranges.start_ns + offset, reach)

    def inside(self, start_ns: int, end_ns: int, levels: int, hull: tuple[int, int]) -> Merged:
        """Give what reaches into a window; what has no length is in that which it starts in."""
        span = _span(hull)
        offset = np.arange(levels) * span
        low, high = (offset + min(max(at - hull[0], 0), span - 1) for at in (start_ns, end_ns))
        first = np.searchsorted(self.reach, low, side="right")
        first = np.minimum(first, np.searchsorted(self.start, low, side="left"))
        last = np.maximum(np.searchsorted(self.start, high, side="left"), first)
        size = last - first
        own = np.repeat(first - np.cumsum(size) + size, size) + np.arange(int(size.sum()))
        own_start, own_end = self.ranges.start_ns[own], self.ranges.end_ns[own]
        keep = (own_end > start_ns) | (own_start == start_ns)
        keep &= own_start < end_ns
        return self.ranges[own[keep]]


@dataclass(frozen=True)
class MergedRanges:
    """Ranges merged to several widths, each made of the one below.

    Parameters
    ----------
    count : int
        How many levels there are.
    hull : (int, int)
        From the first start to a moment behind all.
    scales : tuple of Scale
        By width, the first without any merged.
    """

    count: int
    hull: tuple[int, int]
    scales: tuple[Scale, ...]

    @classmethod
    def of(cls, level: Int32, start_ns: Int64, end_ns: Int64, truncated: Flags) -> MergedRanges:
        """Merge ranges.

        Parameters
        ----------
        level : ndarray of int32, shape (n,)
            Numbers from 0: ranges of one level do not overlap.
        start_ns, end_ns : ndarray of int64, shape (n,)
            On the run's clock.
        truncated : ndarray of bool, shape (n,)
            Whether the capture ended first.
        """
        levels = int(level.max(initial=-1)) + 1
        hull = int(start_ns.min(initial=0)), int(end_ns.max(initial=0)) + 1
        order = _order(level.astype(np.int64) * _span(hull) + (start_ns - hull[0]), end_ns)
        ranges = Merged(
            level[order],
            start_ns[order],
            end_ns[order],
            order.astype(np.int32),
            (end_ns - start_ns)[order],
            np.ones(len(level), np.int32),
            truncated[order],
        )
        scales = [Scale.of(0, ranges, hull)]
        while len(ranges) > levels:
            thinner_ns = max(ranges.thinning_ns(_FEWER), _FINEST_NS)
            if thinner_ns > _COARSEST_NS:
                break
            # Widths are powers of two.
            width = 1 << (thinner_ns - 1).bit_length()
            ranges = ranges.to(width)
            scales.append(Scale.of(width, ranges, hull))
        return cls(levels, hull, tuple(scales))

    @property
    def alone(self) -> Merged:
        """All ranges, none merged."""
        return self.scales[0].ranges

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
            scale = [one for one in self.scales if one.width_ns <= width_ns][-1]
            found = scale.inside(start_ns, end_ns, self.count, self.hull).to(width_ns)
            # Some have no neighbour of their level, and no width merges them.
            if len(found) <= at_most or width_ns > _NEVER_NS:
                return found, width_ns
            width_ns = max(2 * width_ns, 1)


def _span(hull: tuple[int, int]) -> int:
    return hull[1] - hull[0] + 1


def _order(start: Int64, end: Int64) -> Int64:
    """Sort by start, and equals by end: they are few, so that one pass tells most of it."""
    order = np.argsort(start, kind="stable")
    sorted_start = start[order]
    return np.lexsort((end, start)) if (sorted_start[1:] == sorted_start[:-1]).any() else order

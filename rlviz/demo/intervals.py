"""Arithmetic on sets of intervals, for the truth of a simulated run.

Written apart from the arithmetic that reads reports, so that one can be held against the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Int64", "Intervals"]

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Disjoint, ascending intervals that do not touch; nanoseconds.

    Examples
    --------
    >>> busy = Intervals.of([(0, 10), (5, 20), (30, 40)])
    >>> busy.pairs(), busy.ns
    ([(0, 20), (30, 40)], 30)
    >>> (Intervals.of([(0, 50)]) - busy).pairs()
    [(20, 30), (40, 50)]
    """

    start: Int64
    end: Int64

    @classmethod
    def of(cls, pairs: Iterable[Sequence[int]]) -> Intervals:
        """Make a set from (start, end) pairs in any order."""
        table = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        return cls.union(table[:, 0], table[:, 1])

    @classmethod
    def union(cls, start: Int64, end: Int64) -> Intervals:
        """Merge intervals that overlap or touch; empty ones vanish."""
        kept = end > start
        order = np.argsort(start[kept], kind="stable")
        start, end = start[kept][order], end[kept][order]
        if not len(start):
            return cls(start, end)
        reach = np.maximum.accumulate(end)
        opens = np.concatenate(([True], start[1:] > reach[:-1]))
        closes = np.concatenate((opens[1:], [True]))
        return cls(start[opens], reach[closes])

    @classmethod
    def union_of(cls, sets: Iterable[Intervals]) -> Intervals:
        """Merge several sets."""
        listed = [one for one in sets if len(one)]
        if not listed:
            return EMPTY
        return cls.union(
            np.concatenate([one.start for one in listed]),
            np.concatenate([one.end for one in listed]),
        )

    def __len__(self) -> int:
        return len(self.start)

    @property
    def ns(self) -> int:
        """Total length."""
        return int((self.end - self.start).sum())

    @property
    def lengths(self) -> Int64:
        """Length of each interval."""
        return self.end - self.start

    def pairs(self) -> list[tuple[int, int]]:
        """Give the intervals as (start, end) pairs."""
        return list(zip(self.start.tolist(), self.end.tolist(), strict=True))

    def span(self) -> list[int] | None:
        """First start and last end, None when there is nothing."""
        return [int(self.start[0]), int(self.end[-1])] if len(self) else None

    def where(self, kept: npt.NDArray[np.bool_]) -> Intervals:
        """Keep some of the intervals."""
        return Intervals(self.start[kept], self.end[kept])

    def __and__(self, other: Intervals) -> Intervals:
        return at_least(2, [self, other])

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals.union_of([self, other])

    def __sub__(self, other: Intervals) -> Intervals:
        if not len(self) or not len(other):
            return self
        low = min(int(self.start[0]), int(other.start[0])) - 1
        high = max(int(self.end[-1]), int(other.end[-1])) + 1
        return self & other.gaps_within(low, high)

    def gaps_within(self, start: int, end: int) -> Intervals:
        """Everything between `start` and `end` that is not in the set, which lies inside."""
        return Intervals.union(
            np.concatenate(([start], self.end)).astype(np.int64),
            np.concatenate((self.start, [end])).astype(np.int64),
        )

    def closed(self, under_ns: int) -> Intervals:
        """Close gaps that are shorter than `under_ns`."""
        if len(self) < 2:
            return self
        stays = self.start[1:] - self.end[:-1] >= under_ns
        return Intervals(
            self.start[np.concatenate(([True], stays))],
            self.end[np.concatenate((stays, [True]))],
        )


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def depth(sets: Sequence[Intervals]) -> tuple[Int64, Int64]:
    """How many of the sets hold at each moment.

    Returns
    -------
    time, count : ndarray of int64
        From ``time[i]`` to ``time[i + 1]`` it is ``count[i]``; the last one is 0.
    """
    start = np.concatenate([one.start for one in sets] or [EMPTY.start])
    end = np.concatenate([one.end for one in sets] or [EMPTY.end])
    moment, where = np.unique(np.concatenate((start, end)), return_inverse=True)
    change = np.zeros(len(moment), np.int64)
    np.add.at(change, where, np.concatenate((np.ones_like(start), -np.ones_like(end))))
    return moment, np.cumsum(change)


def at_least(count: int, sets: Sequence[Intervals]) -> Intervals:
    """When `count` or more of the sets hold."""
    moment, level = depth(sets)
    if not len(moment):
        return EMPTY
    holds = level[:-1] >= count
    return Intervals.union(moment[:-1][holds], moment[1:][holds])


def product_ns(first: Sequence[Intervals], second: Sequence[Intervals], within: Intervals) -> int:
    """Integral over `within` of (how many of `first` hold) times (how many of `second` hold)."""
    moments, levels = zip(depth([one & within for one in first]), depth(second), strict=True)
    moment = np.unique(np.concatenate(moments))
    if len(moment) < 2:
        return 0
    height = np.ones(len(moment) - 1, np.int64)
    for its_moment, its_level in zip(moments, levels, strict=True):
        at = np.searchsorted(its_moment, moment[:-1], side="right") - 1
        height *= np.where(at >= 0, its_level[at], 0) if len(its_level) else 0
    return int((np.diff(moment) * height).sum())

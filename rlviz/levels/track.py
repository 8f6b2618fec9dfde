"""The GPU activity of a row, ready for any zoom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.coverage import Coverage
from rlviz.levels.pyramid import Pyramid, level_of
from rlviz.levels.tally import Columns, tally
from rlviz.processors import processors
from rlviz.run.phases import ACTIVITY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.levels.groups import Groups
    from rlviz.levels.pyramid import Level
    from rlviz.levels.strip import Facet

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]

__all__ = ["Track"]

# With fewer events, threads cost more than they give.
_MANY = 500_000


@dataclass(frozen=True)
class Track:
    """GPU events of one row, over all its lanes and reports.

    Parameters
    ----------
    row : int
        Row of the chart.
    start_ns, end_ns : ndarray of int64, shape (n,)
        On the run's clock, by start.
    name : ndarray of int32, shape (n,)
        Codes of short names, as of ``run.events.names``.
    code : ndarray of uint8, shape (n,)
        Index into ``rlviz.run.phases.ACTIVITY``.
    groups : Groups
        What the names stand for.
    busy : (ndarray, ndarray)
        Union of the events.
    kept : Pyramid, optional
        Its levels, where they are kept.
    """

    row: int
    start_ns: Int64
    end_ns: Int64
    name: Int32
    code: UInt8
    groups: Groups
    busy: tuple[Int64, Int64]
    kept: Pyramid | None = None

    @cached_property
    def coverage(self) -> Coverage:
        """Busy time of any window."""
        return Coverage.of(*self.busy)

    @cached_property
    def pyramid(self) -> Pyramid:
        """All levels."""
        if self.kept is not None:
            return self.kept
        threads = processors() if len(self.start_ns) >= _MANY else 1
        return Pyramid.of(self._columns(slice(None)), self.coverage, threads)

    @cached_property
    def reach_ns(self) -> Int64:
        """Latest end of each event and all before it; ascending."""
        ascends = bool((self.end_ns[1:] >= self.end_ns[:-1]).all())
        return self.end_ns if ascends else np.maximum.accumulate(self.end_ns)

    def count(self, start_ns: int, end_ns: int) -> int:
        """Count the events that may reach into a window: no fewer than do."""
        first, last = self._between(start_ns, end_ns)
        return last - first

    def inside(self, start_ns: int, end_ns: int) -> Int64:
        """Give the numbers of the events that reach into a window, by start.

        An event without length reaches into the window that it starts in.
        """
        own = self.chosen(start_ns, end_ns)
        return np.arange(own.start, own.stop) if isinstance(own, slice) else own

    def chosen(self, start_ns: int, end_ns: int) -> slice | Int64:
        """Give the same as `inside`, as a slice where they stand together."""
        first, last = self._between(start_ns, end_ns)
        reaches = self.end_ns[first:last] > start_ns
        reaches |= self.start_ns[first:last] >= start_ns
        return slice(first, last) if reaches.all() else first + np.flatnonzero(reaches)

    def buckets(self, start_ns: int, end_ns: int, width_ns: int) -> Level:
        """Aggregate a window: buckets of a level, or of the events where none is fine enough.

        Parameters
        ----------
        start_ns, end_ns : int
            The window; buckets stand on edges of their own and reach over its ends.
        width_ns : int
            Buckets have the greatest power of two that is not above.
        """
        held = self.held_buckets(start_ns, end_ns, width_ns)
        if held is not None:
            return held
        width = 1 << (width_ns.bit_length() - 1)
        first = start_ns // width
        count = -(-end_ns // width) - first
        own = self.inside(first * width, (first + count) * width)
        return level_of(tally(self._columns(own), self.coverage, width, first, count))

    def held_buckets(self, start_ns: int, end_ns: int, width_ns: int) -> Level | None:
        """Give the buckets of a window from the coarsest level that is fine enough, if one is."""
        level = self.pyramid.at(width_ns)
        if level is None:
            return None
        first = min(max(start_ns // level.width_ns - level.first, 0), len(level))
        last = min(max(-(-end_ns // level.width_ns) - level.first, first), len(level))
        return level[first:last]

    def facet(self, facet: Facet, own: slice | Int64) -> UInt8:
        """Tell of some events what they were for, what they are, or the group of their names."""
        if facet == "code":
            return self.code[own]
        table = self.groups.kind_of_name if facet == "kind" else self.groups.of_name
        return table[self.name[own]]

    def _columns(self, own: slice | Int64) -> Columns:
        name, groups = self.name[own], self.groups
        return Columns(
            self.start_ns[own],
            self.end_ns[own],
            name,
            self.code[own],
            groups.of_name[name],
            len(ACTIVITY),
            len(groups.of_name),
            groups.kinds,
        )

    def _between(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        starts = int(np.searchsorted(self.start_ns, start_ns, side="left"))
        reaches = int(np.searchsorted(self.reach_ns, start_ns, side="right"))
        first = min(starts, reaches)
        return first, max(first, int(np.searchsorted(self.start_ns, end_ns, side="left")))

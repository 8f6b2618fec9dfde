"""The GPU activity of a row, ready for any zoom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.coverage import Coverage
from rlviz.levels.events import RowEvents
from rlviz.levels.made import STRIDE, columns_of, made_of
from rlviz.levels.pyramid import level_of
from rlviz.levels.tally import tally
from rlviz.run.activity import Activity
from rlviz.run.intervals import union
from rlviz.run.phases import ACTIVITY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.levels.groups import Groups
    from rlviz.levels.made import MadeRow
    from rlviz.levels.pyramid import Level, Pyramid
    from rlviz.levels.strip import Facet
    from rlviz.levels.tally import Columns

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Spans = tuple[Int64, Int64]

__all__ = ["Track"]


@dataclass(frozen=True)
class Track:
    """GPU events of one row, over all its lanes and reports.

    Parameters
    ----------
    row : int
        Row of the chart.
    events : RowEvents
        When they were, and what they are called.
    made : MadeRow
        What was worked out of them.
    groups : Groups
        What the names stand for.
    codes : int
        How many codes there are.
    """

    row: int
    events: RowEvents
    made: MadeRow
    groups: Groups
    codes: int = len(ACTIVITY)

    @classmethod
    def of(
        cls,
        row: int,
        start_ns: Int64,
        end_ns: Int64,
        name: Int32,
        code: UInt8,
        groups: Groups,
        codes: int = len(ACTIVITY),
    ) -> Track:
        """Prepare any events, by start: of GPUs or not.

        Parameters
        ----------
        row : int
            A number of theirs.
        start_ns, end_ns, name, code, groups, codes
            As of `rlviz.levels.made.columns_of`.
        """
        busy = union(start_ns, end_ns)
        none = busy[0][:0], busy[0][:0]
        columns = columns_of(start_ns, end_ns, name, code, groups, codes)
        made = made_of(columns, {0: Activity(busy, none, none, none)}, None)
        return cls(row, RowEvents.as_they_are(start_ns, end_ns, name), made, groups, codes)

    def __len__(self) -> int:
        return len(self.events)

    @property
    def start_ns(self) -> Int64:
        """Starts on the run's clock, ascending."""
        return self.events.start_ns()

    @property
    def end_ns(self) -> Int64:
        """Ends on the run's clock."""
        return self.events.end_ns()

    @property
    def name(self) -> Int32:
        """Codes of short names, as of ``run.events.names``."""
        return self.events.name()

    @property
    def code(self) -> UInt8:
        """What each was for: of GPU events, index into ``rlviz.run.phases.ACTIVITY``."""
        return self.made.code

    @property
    def busy(self) -> Spans:
        """Union of the events."""
        return self.made.busy

    @property
    def pyramid(self) -> Pyramid:
        """All levels."""
        return self.made.pyramid

    @cached_property
    def coverage(self) -> Coverage:
        """Busy time of any window."""
        return Coverage.of(*self.busy)

    @property
    def finest_ns(self) -> int:
        """Width of the buckets of the finest level; without any, no window is wide enough."""
        levels = self.pyramid.levels
        return levels[0].width_ns if levels else 1 << 62

    def count(self, start_ns: int, end_ns: int) -> int:
        """Count the events that may reach into a window: no fewer than do."""
        first, _, last = self._between(start_ns, end_ns)
        return last - first

    def inside(self, start_ns: int, end_ns: int) -> Int64:
        """Give the numbers of the events that reach into a window, by start.

        An event without length reaches into the window that it starts in.
        """
        own = self.chosen(start_ns, end_ns)
        return np.arange(own.start, own.stop) if isinstance(own, slice) else own

    def chosen(self, start_ns: int, end_ns: int) -> slice | Int64:
        """Give the same as `inside`, as a slice where they stand together."""
        first, begun, last = self._between(start_ns, end_ns)
        # What begins in it reaches into it; others may be among those that began before.
        reaches = self.events.end_behind(slice(first, begun), start_ns)
        if reaches.all():
            return slice(first, last)
        return np.concatenate((first + np.flatnonzero(reaches), np.arange(begun, last)))

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
        return table[self.events.name(own)]

    def _columns(self, own: slice | Int64) -> Columns:
        events = self.events
        start, end, name = events.start_ns(own), events.end_ns(own), events.name(own)
        return columns_of(start, end, name, self.code[own], self.groups, self.codes)

    def _between(self, start_ns: int, end_ns: int) -> tuple[int, int, int]:
        """Give numbers: of the first event that may reach into a window, and begin in it; the end.

        Parameters
        ----------
        start_ns, end_ns : int
            The window; `start_ns <= end_ns`.
        """
        begun, last = (self.events.begun_before(at) for at in (start_ns, end_ns))
        return min(begun, self._reaching(start_ns)), begun, last

    def _reaching(self, at_ns: int) -> int:
        """Give the number of the first event that ends behind a moment."""
        block = int(np.searchsorted(self.made.reach_ns, at_ns, side="right"))
        own = slice(block * STRIDE, (block + 1) * STRIDE)
        behind = np.flatnonzero(self.events.end_behind(own, at_ns))
        return own.start + int(behind[0]) if len(behind) else len(self)

"""What one thread did on one level, ready for any zoom, as the GPU activity of a row is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.coverage import Coverage
from rlviz.levels.strip import Strip
from rlviz.levels.tally import Columns, dominant, tally
from rlviz.run.intervals import union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.levels.tally import Tally

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]

__all__ = ["MARKS_A_LANE", "LaneTrack", "lanes_within"]

MARKS_A_LANE = 600
"""A lane with more events in a window is drawn as buckets."""

# So few events hide nothing; more may take twice the time that they take, and no more.
_FEW = 60
_MOST_WIDENED = 2

# With fewer events, and in a window that has fewer, buckets are made of these when they are wanted.
_MANY = 50_000
# Calls are short and far apart: buckets as narrow as they are would be more than there are calls.
_BUCKETS = 1 << 16


@dataclass(frozen=True, eq=False)
class LaneTrack:
    """Events of a lane, by start; arrays have shape (n,).

    Parameters
    ----------
    lane : int
        Its number.
    start_ns, end_ns : ndarray of int64
        On the run's clock.
    name : ndarray of int32
        Codes of names.
    code : ndarray of uint8
        What buckets tell of what dominates them.
    codes : int
        How many of these there are.
    """

    lane: int
    start_ns: Int64
    end_ns: Int64
    name: Int32
    code: UInt8
    codes: int

    def __len__(self) -> int:
        return len(self.start_ns)

    def between(self, start_ns: int, end_ns: int) -> slice:
        """Give where the events stand that may reach into a window, and others among them."""
        starts = int(np.searchsorted(self.start_ns, start_ns, side="left"))
        first = min(starts, int(np.searchsorted(self._reach_ns, start_ns, side="right")))
        return slice(first, max(first, int(np.searchsorted(self.start_ns, end_ns, side="left"))))

    def inside(self, start_ns: int, end_ns: int) -> Int64:
        """Give the numbers of the events that reach into a window, by start."""
        own = self.between(start_ns, end_ns)
        reaches = (self.end_ns[own] > start_ns) | (self.start_ns[own] >= start_ns)
        found: Int64 = own.start + np.flatnonzero(reaches)
        return found

    def drawn_apart(self, own: Int64, pixel_ns: int) -> bool:
        """Tell whether some events are few enough to be drawn, and wide enough.

        Each takes a pixel at least: of many that are narrower, a lane would look busier than it is.
        """
        if len(own) <= _FEW:
            return True
        length = self.end_ns[own] - self.start_ns[own]
        widened = int(np.maximum(length, pixel_ns).sum())
        return len(own) <= MARKS_A_LANE and widened <= _MOST_WIDENED * int(length.sum())

    def strip(self, start_ns: int, end_ns: int, pixel_ns: int) -> Strip:
        """Aggregate a window in buckets whose width is the greatest power of two up to a pixel.

        Buckets stand on edges of their own and reach over the window's ends.
        """
        width = 1 << (max(pixel_ns, 1).bit_length() - 1)
        level = self._levels.get(width)
        first, last = start_ns // width, -(-end_ns // width)
        if level is None:
            own = self.inside(first * width, last * width)
            level = self._tally(own, width, first, last - first)
        skip = min(max(first - level.first, 0), len(level))
        kept = slice(skip, min(max(last - level.first, skip), len(level)))
        left = (level.first + skip) * width
        code = dominant(level.by_code[:, kept])
        count = (level.begun + level.carried)[kept].astype(np.int32)
        return Strip(self.lane, left, width, level.busy_ns[kept], count, code)

    @cached_property
    def _reach_ns(self) -> Int64:
        """Latest end of each event and all before it."""
        return np.maximum.accumulate(self.end_ns)

    @cached_property
    def _coverage(self) -> Coverage:
        return Coverage.of(*union(self.start_ns, self.end_ns))

    @cached_property
    def _levels(self) -> dict[int, Tally]:
        """Buckets of the whole lane by their width, from the finest that are kept on."""
        if len(self) < _MANY:
            return {}
        span = int(self._reach_ns[-1] - self.start_ns[0])
        width = 1 << (span // _BUCKETS).bit_length()
        first = int(self.start_ns[0]) // width
        level = self._tally(
            np.arange(len(self)), width, first, int(self._reach_ns[-1]) // width - first + 1
        )
        found = {width: level}
        while len(level) > 2:
            level = level.coarser()
            found[level.width_ns] = level
        return found

    def _tally(self, own: Int64, width_ns: int, first: int, count: int) -> Tally:
        alike = np.zeros(len(own), np.uint8)
        columns = Columns(
            self.start_ns[own],
            self.end_ns[own],
            alike.astype(np.int32),
            self.code[own],
            alike,
            self.codes,
            1,
            (0,),
        )
        return tally(columns, self._coverage, width_ns, first, count)


_NONE = np.empty(0, np.int64)


def lanes_within(
    lanes: Sequence[LaneTrack], start_ns: int, end_ns: int, width_px: int
) -> tuple[list[Strip], list[tuple[LaneTrack, Int64]]]:
    """Give what to draw of lanes in a window.

    Returns
    -------
    strips : list of Strip
        Buckets of about a pixel, of the lanes that have many events there; `row` is the lane.
    events : list of (LaneTrack, ndarray of int64)
        Numbers of the events there, of the others.
    """
    strips, events = [], []
    for lane in lanes:
        pixel_ns = (end_ns - start_ns) // width_px
        about = lane.between(start_ns, end_ns)
        # Of so many there is no need to look at each.
        many = about.stop - about.start > 2 * MARKS_A_LANE
        own = _NONE if many else lane.inside(start_ns, end_ns)
        if many or not lane.drawn_apart(own, pixel_ns):
            strips.append(lane.strip(start_ns, end_ns, pixel_ns))
        else:
            events.append((lane, own))
    return strips, events

"""The GPU activity of a row, ready for any zoom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.coverage import Coverage
from rlviz.levels.pyramid import Pyramid
from rlviz.run.intervals import union
from rlviz.run.phases import ACTIVITY, activity_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.run import Run

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]

__all__ = ["Track", "tracks_of"]


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
    """

    row: int
    start_ns: Int64
    end_ns: Int64
    name: Int32
    code: UInt8

    @cached_property
    def coverage(self) -> Coverage:
        """Union of the events."""
        return Coverage.of(*union(self.start_ns, self.end_ns))

    @cached_property
    def pyramid(self) -> Pyramid:
        """All levels."""
        return Pyramid.of(self.start_ns, self.end_ns, self.code, len(ACTIVITY), self.coverage)

    @cached_property
    def reach_ns(self) -> Int64:
        """Latest end of each event and all before it; ascending."""
        return np.maximum.accumulate(self.end_ns)

    def count(self, start_ns: int, end_ns: int) -> int:
        """Count the events that may reach into a window: no fewer than do."""
        first, last = self._between(start_ns, end_ns)
        return last - first

    def inside(self, start_ns: int, end_ns: int) -> Int64:
        """Give the numbers of the events that reach into a window, by start.

        An event without length reaches into the window that it starts in.
        """
        first, last = self._between(start_ns, end_ns)
        reaches = self.end_ns[first:last] > start_ns
        reaches |= self.start_ns[first:last] >= start_ns
        return first + np.flatnonzero(reaches)

    def _between(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        starts = int(np.searchsorted(self.start_ns, start_ns, side="left"))
        reaches = int(np.searchsorted(self.reach_ns, start_ns, side="right"))
        first = min(starts, reaches)
        return first, max(first, int(np.searchsorted(self.start_ns, end_ns, side="left")))


def tracks_of(run: Run) -> dict[int, Track]:
    """Make the track of every row that has GPU data."""
    communicates = run.rules.communication.matches(run.events.names).to_numpy()
    found: dict[int, list[Track]] = {}
    for part in run.events.parts:
        code = activity_codes(part, run.lane_phases[part.lane], communicates)
        track = Track(part.row, part.start_ns, part.end_ns, part.name, code)
        found.setdefault(part.row, []).append(track)
    return {row: _joined(parts) for row, parts in sorted(found.items())}


def _joined(parts: Sequence[Track]) -> Track:
    if len(parts) == 1:
        return parts[0]
    start, end, name, code = (
        np.concatenate([getattr(part, column) for part in parts])
        for column in ("start_ns", "end_ns", "name", "code")
    )
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end, name, code = start[order], end[order], name[order], code[order]
    return Track(parts[0].row, start, end, name, code)

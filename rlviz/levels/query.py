"""What to draw of any window: buckets while events are many, the events themselves below that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.pyramid import dominant, tally
from rlviz.levels.track import Track, tracks_of
from rlviz.run.phases import ACTIVITY
from rlviz.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]

__all__ = ["MARKS", "Strip", "View", "ZoomableRun"]

MARKS = 10_000
"""A view has so many events at most, or else buckets."""


@dataclass(frozen=True)
class Strip:
    """Buckets of a row in a view; arrays have shape (n,).

    Parameters
    ----------
    row : int
        Row of the chart.
    start_ns, width_ns : int
        Left edge of the first bucket on the run's clock, and width of all.
    coverage : ndarray of uint8
        Busy share of 255, rounded up: what is there at all is never 0.
    code : ndarray of uint8
        Index into ``rlviz.run.phases.ACTIVITY``, or `NOTHING`.
    count : ndarray of int32
        Events that a bucket stands for.
    """

    row: int
    start_ns: int
    width_ns: int
    coverage: UInt8
    code: UInt8
    count: Int32


@dataclass(frozen=True)
class View:
    """What to draw of a window.

    Parameters
    ----------
    start_ns, end_ns : int
        The window on the run's clock.
    strips : tuple of Strip
        An aggregate a row; empty where the events themselves are drawn.
    row, name : ndarray of int32, shape (n,)
    event_start_ns, event_end_ns : ndarray of int64, shape (n,)
    code : ndarray of uint8, shape (n,)
        The events, `MARKS` at most; empty where buckets are drawn.
    """

    start_ns: int
    end_ns: int
    strips: tuple[Strip, ...]
    row: Int32
    event_start_ns: Int64
    event_end_ns: Int64
    name: Int32
    code: UInt8


class ZoomableRun(Run):
    """A run that can be looked at in any window; what `rlviz.load` gives."""

    @cached_property
    def tracks(self) -> dict[int, Track]:
        """GPU activity by row."""
        return tracks_of(self)

    def view(
        self, start_ns: int, end_ns: int, width_px: int, rows: Collection[int] | None = None
    ) -> View:
        """Give what to draw of a window.

        Parameters
        ----------
        start_ns, end_ns : int
            The window on the run's clock.
        width_px : int
            Pixels that it takes: buckets are as wide as one, or half of one.
        rows : collection of int, optional
            Rows of the chart; default all.

        Returns
        -------
        View
            Events, if there are `MARKS` of them at most, else a strip of buckets a row.

        Raises
        ------
        ValueError
            The window has no width.
        """
        if end_ns <= start_ns or width_px < 1:
            message = f"the window from {start_ns} to {end_ns} ns at {width_px} px has no width"
            raise ValueError(message)
        tracks = [t for r, t in self.tracks.items() if rows is None or r in rows]
        if sum(track.count(start_ns, end_ns) for track in tracks) <= MARKS:
            return _events(start_ns, end_ns, tracks)
        pixel_ns = max((end_ns - start_ns) // width_px, 1)
        strips = [_strip(track, start_ns, end_ns, pixel_ns) for track in tracks]
        return View(start_ns, end_ns, tuple(strips), *_no_events())


def _events(start_ns: int, end_ns: int, tracks: list[Track]) -> View:
    if not tracks:
        return View(start_ns, end_ns, (), *_no_events())
    inside = [track.inside(start_ns, end_ns) for track in tracks]
    columns = [
        np.concatenate([getattr(t, c)[own] for t, own in zip(tracks, inside, strict=True)])
        for c in ("start_ns", "end_ns", "name", "code")
    ]
    row = np.repeat([track.row for track in tracks], [len(own) for own in inside])
    return View(start_ns, end_ns, (), row.astype(np.int32), *columns)


def _no_events() -> tuple[Int32, Int64, Int64, Int32, UInt8]:
    none = np.empty(0, np.int64)
    return none.astype(np.int32), none, none, none.astype(np.int32), none.astype(np.uint8)


def _strip(track: Track, start_ns: int, end_ns: int, pixel_ns: int) -> Strip:
    level = track.pyramid.at(pixel_ns)
    if level is None:
        return _fresh_strip(track, start_ns, end_ns, 1 << (pixel_ns.bit_length() - 1))
    width = level.width_ns
    size = len(level.busy_ns)
    first = min(max(start_ns // width - level.first, 0), size)
    last = min(max(-(-end_ns // width) - level.first, first), size)
    own = slice(first, last)
    count = level.count[own]
    return Strip(
        track.row,
        (level.first + first) * width,
        width,
        _bytes(level.busy_ns[own], width, count),
        level.code[own],
        count,
    )


def _fresh_strip(track: Track, start_ns: int, end_ns: int, width: int) -> Strip:
    """Make buckets of the events in a window, where no level is fine enough."""
    first = start_ns // width
    buckets = -(-end_ns // width) - first
    edges = (np.arange(buckets + 1) + first) * width
    own = track.inside(int(edges[0]), int(edges[-1]))
    start = np.clip(track.start_ns[own], edges[0], edges[-1] - 1)
    end = np.clip(track.end_ns[own], start, edges[-1])
    times = tally(start, end, track.code[own], len(ACTIVITY), width, int(first), int(buckets))
    left = start // width - first
    right = np.maximum((end - 1) // width - first, left)
    steps = np.bincount(left, minlength=buckets + 1) - np.bincount(right + 1, minlength=buckets + 1)
    count = np.cumsum(steps)[:buckets].astype(np.int32)
    busy = track.coverage.between(edges)
    return Strip(
        track.row, int(edges[0]), width, _bytes(busy, width, count), dominant(times), count
    )


def _bytes(busy_ns: Int64, width_ns: int, count: Int32) -> UInt8:
    share = -(-busy_ns * 255 // width_ns)
    return np.where(count > 0, np.maximum(share, 1), 0).astype(np.uint8)

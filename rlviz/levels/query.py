"""What to draw of any window: buckets while events are many, the events themselves below that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.fresh import fresh_strips
from rlviz.levels.strip import Strip
from rlviz.levels.tracks import remembered_groups, tracks_of
from rlviz.run.frames import write_frames
from rlviz.run.run import Run

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.groups import Groups
    from rlviz.levels.strip import Facet
    from rlviz.levels.track import Track
    from rlviz.run.activity import Activity

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]

__all__ = ["MARKS", "Strip", "View", "ZoomableRun", "strips_of"]

MARKS = 10_000
"""A view has so many events at most, or else buckets."""

# So many are summed up anew for a view within some milliseconds.
_MOST_FRESH = 60_000
# Events and buckets that are summed up together: more take more memory, which the system has to
# hand out first, and less of it fits into the processor's.
_BATCH = 60_000


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

    def to_parquet(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the frames of the run to a folder, a Parquet file each: all of them or none.

        Parameters
        ----------
        folder : str or Path
            Where to: a new or an empty folder, or one with an earlier export, which is replaced.

        Returns
        -------
        list of Path
            The files: reports, rows, kernels, copies, graphs, ranges, marks, phases, iterations,
            summary, summary_by_gpu, gaps, findings and diagnostics.

        Raises
        ------
        RlvizError
            The folder cannot be written, it holds something else, or a report is not there any
            more; a folder that was there is then as it was.

        Examples
        --------
        >>> [path.name for path in rlviz.load("demo-reports").to_parquet("frames")][:2]
        ['reports.parquet', 'rows.parquet']
        """
        return write_frames(self, Path(folder).expanduser())

    @cached_property
    def tracks(self) -> dict[int, Track]:
        """GPU activity by row."""
        return tracks_of(self)

    @property
    def lane_activity(self) -> dict[int, Activity]:
        """What each lane did; one without GPU data is absent."""
        return {
            lane: own for track in self.tracks.values() for lane, own in track.made.lanes.items()
        }

    @cached_property
    def groups(self) -> Groups:
        """What the names of GPU events stand for."""
        return remembered_groups(self)

    def view(
        self,
        start_ns: int,
        end_ns: int,
        width_px: int,
        rows: Collection[int] | None = None,
        *,
        facet: Facet = "code",
    ) -> View:
        """Give what to draw of a window.

        Parameters
        ----------
        start_ns, end_ns : int
            The window on the run's clock.
        width_px : int
            Pixels that it takes: buckets are as wide as one, or half of one; just below the finest
            level, where events are many, up to two.
        rows : collection of int, optional
            Rows of the chart; default all.
        facet : {"code", "kind", "group"}
            What buckets tell of what dominates them: what it was for (an index into
            ``rlviz.run.phases.ACTIVITY``), what it is (``rlviz.levels.groups.KINDS``), or the
            group of its name (`groups`).

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
        counts = _counts(tracks, start_ns, end_ns)
        if sum(counts.values()) <= MARKS:
            return _events(start_ns, end_ns, tracks)
        pixel_ns = max((end_ns - start_ns) // width_px, 1)
        strips = _strips_of(tracks, counts, start_ns, end_ns, pixel_ns, facet)
        return View(start_ns, end_ns, strips, *_no_events())


def strips_of(
    tracks: Sequence[Track], start_ns: int, end_ns: int, pixel_ns: int, facet: Facet = "code"
) -> tuple[Strip, ...]:
    """Aggregate a window of each row: in buckets of a level, or of the events below all levels.

    Parameters
    ----------
    tracks : sequence of Track
        The rows.
    start_ns, end_ns : int
        The window.
    pixel_ns : int
        Buckets have the greatest power of two that is not above; where too many events would have
        to be summed up for it, that which is not above twice as much.
    facet : {"code", "kind", "group"}
        What they tell of what dominates them.
    """
    counts = _counts(_below(tracks, pixel_ns), start_ns, end_ns)
    return _strips_of(tracks, counts, start_ns, end_ns, pixel_ns, facet)


def _counts(tracks: Sequence[Track], start_ns: int, end_ns: int) -> dict[int, int]:
    """Count the events of a window by row."""
    return {track.row: track.count(start_ns, end_ns) for track in tracks}


def _below(tracks: Sequence[Track], pixel_ns: int) -> list[Track]:
    """Give the tracks none of whose levels is fine enough."""
    return [track for track in tracks if track.finest_ns > pixel_ns]


def _strips_of(
    tracks: Sequence[Track],
    counts: Mapping[int, int],
    start_ns: int,
    end_ns: int,
    pixel_ns: int,
    facet: Facet,
) -> tuple[Strip, ...]:
    below = _below(tracks, pixel_ns)
    found = {
        track.row: _held(track, start_ns, end_ns, pixel_ns, facet)
        for track in tracks
        if track.finest_ns <= pixel_ns
    }
    if sum(counts[track.row] for track in below) > _MOST_FRESH:
        # Buckets of two pixels, where those of one would take too long.
        pixel_ns *= 2
        near = [track for track in below if track.finest_ns <= pixel_ns]
        found |= {track.row: _held(track, start_ns, end_ns, pixel_ns, facet) for track in near}
        below = [track for track in below if track.row not in found]
    width_ns = 1 << (pixel_ns.bit_length() - 1)
    for some in _batches(below, counts, (end_ns - start_ns) // width_ns):
        fresh = fresh_strips(some, start_ns, end_ns, width_ns, facet)
        found |= {strip.row: strip for strip in fresh}
    return tuple(found[track.row] for track in tracks)


def _held(track: Track, start_ns: int, end_ns: int, width_ns: int, facet: Facet) -> Strip:
    """Give the buckets of a level."""
    held = track.held_buckets(start_ns, end_ns, width_ns)
    assert held is not None
    columns = held.busy_ns, held.count, getattr(held, facet)
    return Strip(track.row, held.first * held.width_ns, held.width_ns, *columns)


def _batches(
    tracks: Sequence[Track], counts: Mapping[int, int], buckets: int
) -> Iterator[list[Track]]:
    """Part tracks so that the events and buckets of each part are few, or it is a single one."""
    some: list[Track] = []
    size = 0
    for track in tracks:
        own = counts[track.row] + buckets
        if some and size + own > _BATCH:
            yield some
            some, size = [], 0
        some.append(track)
        size += own
    if some:
        yield some


def _events(start_ns: int, end_ns: int, tracks: list[Track]) -> View:
    if not tracks:
        return View(start_ns, end_ns, (), *_no_events())
    inside = [track.inside(start_ns, end_ns) for track in tracks]
    start, end, name = (
        np.concatenate([column(own) for column, own in zip(columns, inside, strict=True)])
        for columns in (
            [track.events.start_ns for track in tracks],
            [track.events.end_ns for track in tracks],
            [track.events.name for track in tracks],
        )
    )
    code = np.concatenate([track.code[own] for track, own in zip(tracks, inside, strict=True)])
    row = np.repeat([track.row for track in tracks], [len(own) for own in inside])
    return View(start_ns, end_ns, (), row.astype(np.int32), start, end, name, code)


def _no_events() -> tuple[Int32, Int64, Int64, Int32, UInt8]:
    none = np.empty(0, np.int64)
    return none.astype(np.int32), none, none, none.astype(np.int32), none.astype(np.uint8)

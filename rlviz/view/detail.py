"""What a zoomed chart asks for: the activity and the ranges of a window, as binary columns."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.levels.query import MARKS, strips_of
from rlviz.view.choices import COLOR_BY, facet_of
from rlviz.view.coded import coded
from rlviz.view.legible import legible
from rlviz.view.overlays import PlacedRanges
from rlviz.view.scene import Overlays
from rlviz.view.search import Matches, hits, places_of
from rlviz.view.span_sums import busy_in, kernels_in
from rlviz.view.strips import counts_told, strip_facts
from rlviz.view.threads import Threads
from rlviz.view.windows import inside_of, limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.levels.query import View, ZoomableRun
    from rlviz.levels.strip import Strip
    from rlviz.view.asked import Bucket, Span, Window
    from rlviz.view.scene import Scene

    UInt8 = NDArray[np.uint8]

__all__ = ["LEVELS_BYTES", "Detail"]

LEVELS_BYTES = 300_000
"""What comes with a chart, so that it zooms a little before the kernel is asked."""

_BYTES_A_BUCKET = 2


class Detail:
    """The detail of a run, a window at a time.

    Parameters
    ----------
    run : ZoomableRun
        The run.
    scene : Scene
        Its chart: rows, names and the limits of what can be asked.
    """

    def __init__(self, run: ZoomableRun, scene: Scene) -> None:
        self._run = run
        self._scene = scene
        self._colors = {by: facet_of(scene, by) for by in COLOR_BY}
        self._found: tuple[str, Matches] | None = None

    def answer(self, asked: Window) -> tuple[dict[str, Any], list[bytes]]:
        """Give what to draw of a window.

        Parameters
        ----------
        asked : Window
            The window; it is cut to what the run holds.

        Returns
        -------
        facts : dict
            ``start``, ``end`` in seconds; ``color_by``, ``search``, ``rows`` as asked; ``strips``,
            a list of row, left edge, bucket width (both in seconds) and number of buckets each;
            ``names``, texts by code; ``ranges``, their number and the values of each column as of
            `rlviz.view.coded`; ``merged``, seconds below which ranges were merged, 0 where none
            was.
        columns : list of bytes
            Coverage, colour by the mode that was asked for, matches of the search (255 or more as
            255, none without a search) of all strips, one behind the other (uint8); start, end
            (float64 seconds), row, name (int32), colour by phase, kind (uint8) of events; and the
            columns of `Overlays` in their order, coded.

        Raises
        ------
        ValueError
            The window lies outside of the run.
        """
        start_s, end_s, start_ns, end_ns = inside_of(self._scene, asked.start_s, asked.end_s)
        facet, colors = self._colors[asked.color_by]
        view = self._run.view(start_ns, end_ns, asked.width_px, rows=asked.rows, facet=facet)
        ranges, merged_ns = self._ranges.within(start_ns, end_ns, asked.width_px)
        values, packed = coded([getattr(ranges, column.name) for column in fields(Overlays)])
        facts = {
            "start": start_s,
            "end": end_s,
            "color_by": asked.color_by,
            "search": asked.search,
            "rows": None if asked.rows is None else sorted(asked.rows),
            "strips": strip_facts(view.strips),
            "names": self._names(view, ranges),
            "ranges": [len(ranges.left), values],
            "merged": merged_ns / 1e9,
        }
        strips = [*_strip_columns(view.strips, colors), self._matches(view.strips, asked.search)]
        return facts, [*strips, *self._events(view), packed]

    def prepare(self) -> None:
        """Make what all answers share: it takes longer than an answer."""
        _ = self._ranges

    def levels(self) -> tuple[dict[str, Any] | None, bytes]:
        """Give buckets of the whole run by phase, in `LEVELS_BYTES` at most.

        They come with the chart: while the kernel is busy, a view zooms into them.

        Returns
        -------
        facts : dict or None
            As of `answer`, without names and ranges; None where all events are on the chart.
        columns : bytes
            Coverage of all strips, then colour (uint8).
        """
        tracks = list(self._run.tracks.values())
        if sum(map(len, tracks)) <= MARKS:
            return None, b""
        first, last = limits(self._scene)
        start_ns, end_ns = math.floor(first * 1e9), math.ceil(last * 1e9)
        room = LEVELS_BYTES // _BYTES_A_BUCKET // len(tracks) - 2
        width_ns = 1 << ((end_ns - start_ns) // max(room, 1)).bit_length()
        facet, colors = self._colors["phase"]
        strips = strips_of(tracks, start_ns, end_ns, width_ns, facet)
        facts = {
            "start": first,
            "end": last,
            "color_by": "phase",
            "search": "",
            "rows": None,
            "strips": strip_facts(strips),
        }
        return facts, b"".join(_strip_columns(strips, colors))

    def bucket(self, asked: Bucket) -> dict[str, Any]:
        """Tell what one bucket of a strip stands for.

        Parameters
        ----------
        asked : Bucket
            The bucket, as `answer` gave it.

        Returns
        -------
        dict
            ``count``; ``busy``, ``longest`` in seconds; ``name``, the code of the name with the
            most time, its ``text`` and its ``share`` of the time of all, 0 to 1.

        Raises
        ------
        ValueError
            There is no such row, or nothing in it there.
        """
        track = self._run.tracks.get(asked.row)
        width_ns = round(asked.width_s * 1e9)
        if track is None or width_ns < 1:
            msg = "there is no such bucket"
            raise ValueError(msg)
        first = round(asked.start_s * 1e9 / width_ns)
        found = track.buckets(first * width_ns, (first + 1) * width_ns, width_ns)
        if found.width_ns != width_ns or len(found) != 1 or found.count[0] == 0:
            msg = "there is nothing in this bucket"
            raise ValueError(msg)
        name = int(found.name[0])
        return {
            "count": int(found.count[0]),
            "busy": int(found.busy_ns[0]) / 1e9,
            "longest": int(found.longest_ns[0]) / 1e9,
            "name": name,
            "text": legible(self._scene.names[name]),
            "share": int(found.share[0]) / 255,
        }

    def places(self, search: str) -> tuple[dict[str, Any], list[bytes]]:
        """Find a text in all names of the run.

        Parameters
        ----------
        search : str
            What to look for.

        Returns
        -------
        facts : dict
            ``search`` as asked; ``places``, their number and the values of each column as of
            `rlviz.view.coded`.
        columns : list of bytes
            The columns of `rlviz.view.search.PLACES`, coded, in one.
        """
        first, last = limits(self._scene)
        hit = hits([self._ranges.ranges.name], self._scene.names, search)
        found = places_of(
            self._matching(search), self._ranges, hit, self._scene.rows, int((last - first) * 1e9)
        )
        values, packed = coded(found)
        return {"search": search, "places": [len(found[0]), values]}, [packed]

    def kernels(self, asked: Span) -> dict[str, Any]:
        """Sum up the kernels of a span, as `rlviz.view.span_sums.kernels_in`."""
        return kernels_in(self._run, asked)

    def busy(self, asked: Span) -> dict[str, Any]:
        """Measure the busy time of rows in a span, as `rlviz.view.span_sums.busy_in`."""
        return busy_in(self._run, asked)

    @cached_property
    def threads(self) -> Threads:
        """What rows expand into."""
        return Threads(self._run, self._scene)

    @cached_property
    def _ranges(self) -> PlacedRanges:
        return PlacedRanges.of(self._run, self._scene)

    def _names(self, view: View, ranges: Overlays) -> dict[str, str]:
        used = np.concatenate((view.name, ranges.name, ranges.domain, ranges.thread))
        return {str(code): legible(self._scene.names[code]) for code in np.unique(used)}

    def _matches(self, strips: Sequence[Strip], search: str) -> bytes:
        if not search or not strips:
            return b""
        matching = self._matching(search)
        return b"".join(counts_told(matching.counts(strip)).tobytes() for strip in strips)

    def _matching(self, search: str) -> Matches:
        if self._found is None or self._found[0] != search:
            self._found = search, Matches(self._run.tracks, self._scene.names, search)
        return self._found[1]

    def _events(self, view: View) -> list[bytes]:
        _, colors = self._colors["phase"]
        return [
            (view.event_start_ns / 1e9).tobytes(),
            (view.event_end_ns / 1e9).tobytes(),
            view.row.astype(np.int32).tobytes(),
            view.name.astype(np.int32).tobytes(),
            colors[view.code].tobytes(),
            self._run.groups.kind_of_name[view.name].tobytes(),
        ]


def _strip_columns(strips: Sequence[Strip], colors: UInt8) -> list[bytes]:
    coverage = b"".join(strip.coverage.tobytes() for strip in strips)
    return [coverage, b"".join(colors[strip.code].tobytes() for strip in strips)]

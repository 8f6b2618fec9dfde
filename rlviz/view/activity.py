"""The bands of the chart: GPU activity as bars, merged where it is narrower than a pixel."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.tally import NOTHING
from rlviz.run.within import within
from rlviz.view.palette import COLOR_OF_ACTIVITY
from rlviz.view.scene import Bars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.query import View, ZoomableRun
    from rlviz.levels.track import Track
    from rlviz.view.scene import Row

    UInt8 = NDArray[np.uint8]

__all__ = ["colors_at_any_zoom", "draw_activity"]


# What Bokeh's canvas redraws within a tenth of a second, over all rows.
_BARS = 20_000
_BARS_OF_ROW = 1_500
_LEAST_HEIGHT = 0.04


def colors_at_any_zoom(run: ZoomableRun) -> tuple[int, ...]:
    """Give the colours that GPU activity has at any zoom: what no bar shows now, a window may."""
    codes = {code for track in run.tracks.values() for code in track.made.codes}
    return tuple(np.unique(COLOR_OF_ACTIVITY[sorted(codes)]).tolist())


def draw_activity(run: ZoomableRun, rows: Sequence[Row], view_ns: tuple[int, int]) -> Bars:
    """Draw the GPU activity of all rows.

    Parameters
    ----------
    run : ZoomableRun
        The run.
    rows : sequence of Row
        Rows with their place on the chart.
    view_ns : (int, int)
        What is to be seen, on the run's clock: the activity in it is drawn, and what a pixel is
        follows from it.

    Returns
    -------
    Bars
        The events themselves where they are few, else buckets of about a pixel on edges of their
        own: over the whole run their busy times add up to the row's busy time.
    """
    shown = {row.row: row for row in rows if row.row in run.tracks}
    at_most = max(min(_BARS_OF_ROW, _BARS // max(len(shown), 1)) // 2, 1)
    view = run.view(*view_ns, at_most, rows=shown)
    pixel_ns = max((view_ns[1] - view_ns[0]) // at_most, 1)
    drawn = [
        _buckets(shown[strip.row], run.tracks[strip.row], view_ns, pixel_ns)
        for strip in view.strips
    ]
    drawn += [_events(shown, view, run.groups.kind_of_name)]
    return Bars(
        **{f.name: np.concatenate([getattr(p, f.name) for p in drawn]) for f in fields(Bars)}
    )


def _events(rows: Mapping[int, Row], view: View, kind_of_name: UInt8) -> Bars:
    start = np.maximum(view.event_start_ns, view.start_ns)
    end = np.minimum(view.event_end_ns, view.end_ns)
    bottom, top = (
        np.array([getattr(rows[row], side) for row in view.row.tolist()], np.float64)
        for side in ("bottom", "top")
    )
    return Bars(
        left=start / 1e9,
        right=end / 1e9,
        top=top,
        bottom=bottom,
        row=view.row,
        name=view.name,
        color=COLOR_OF_ACTIVITY[view.code].astype(np.int32),
        kind=kind_of_name[view.name].astype(np.int32),
        count=np.ones(len(start), np.int32),
        busy_s=(end - start) / 1e9,
        name_share=np.ones(len(start)),
    )


def _buckets(row: Row, track: Track, view_ns: tuple[int, int], pixel_ns: int) -> Bars:
    buckets = track.buckets(*view_ns, pixel_ns)
    held = np.flatnonzero(buckets.count)
    left = (buckets.first + held) * buckets.width_ns
    right = left + buckets.width_ns
    busy_ns = buckets.busy_ns[held].astype(np.int64)
    # Only buckets at the ends of the view are cut by them.
    cut = np.flatnonzero((left < view_ns[0]) | (right > view_ns[1]))
    left, right = np.maximum(left, view_ns[0]), np.minimum(right, view_ns[1])
    busy_ns[cut] = within(track.busy, left[cut], right[cut])
    # What is there at all stays visible, be it a hundredth of its bucket.
    height = np.maximum(busy_ns / (right - left), _LEAST_HEIGHT)
    return Bars(
        left=left / 1e9,
        right=right / 1e9,
        top=row.bottom - (row.bottom - row.top) * height,
        bottom=np.full(len(held), row.bottom),
        row=np.full(len(held), row.row, np.int32),
        name=buckets.name[held],
        color=COLOR_OF_ACTIVITY[buckets.code[held]].astype(np.int32),
        kind=np.where(buckets.kind == NOTHING, 0, buckets.kind)[held].astype(np.int32),
        count=buckets.count[held],
        busy_s=busy_ns / 1e9,
        name_share=buckets.share[held] / 255,
    )

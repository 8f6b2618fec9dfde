"""The bands of the chart: GPU activity as bars, merged where it is narrower than a pixel."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.buckets import Buckets, bucket_width_ns, in_buckets
from rlviz.reports.gpu_rows import GRAPH, KERNEL
from rlviz.run.phases import ACTIVITY
from rlviz.view.palette import KINDS, color_code
from rlviz.view.scene import Bars, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun

    Int64 = NDArray[np.int64]

__all__ = ["draw_activity", "kernels_to_colour"]

_COLOR_OF_ACTIVITY = np.array([color_code(key) for key in ACTIVITY])

# What Bokeh's canvas redraws within a tenth of a second, over all rows.
_BARS = 20_000
_BARS_OF_ROW = 1_500
_LEAST_HEIGHT = 0.04
# As many as `palette.KERNELS` has colours.
_KERNELS = 10


@dataclass(frozen=True)
class _Activity:
    """GPU rows of a row of the chart."""

    start: Int64
    end: Int64
    name: Int64
    color: Int64
    kind: Int64


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
        The events themselves where they are few, else buckets of about a pixel, whose busy times
        add up to the row's busy time.
    """
    activity = _by_row(run, view_ns)
    events = sum(len(a.start) for a in activity.values())
    shown = [row for row in rows if row.row in activity]
    at_most = min(_BARS_OF_ROW, _BARS // max(len(shown), 1))
    width_ns = 1 if events <= _BARS // 2 else bucket_width_ns(view_ns[1] - view_ns[0], at_most)
    draw = _events if width_ns == 1 else _merged
    parts = [draw(row, activity[row.row], width_ns) for row in shown] or [_no_bars()]
    return Bars(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Bars)}
    )


def kernels_to_colour(run: ZoomableRun) -> tuple[int, ...]:
    """Give the name codes of the kernels that take most of the run's time, the first first."""
    most = run.top_kernels()["short_name"].head(_KERNELS)
    codes = {name: code for code, name in enumerate(run.events.names)} if len(most) else {}
    return tuple(codes[name] for name in most)


def _kinds(run: ZoomableRun) -> Int64:
    """Give the kind of GPU work that each name stands for, as an index into `KINDS`."""
    communicates = run.rules.communication.matches(run.events.names).to_numpy()
    kinds = np.where(communicates, KINDS.index("communication"), KINDS.index("compute"))
    for part in run.events.parts:
        other = part.kind != KERNEL
        is_graph = part.kind[other] == GRAPH
        code = np.where(is_graph, KINDS.index("graph"), KINDS.index("copy"))
        kinds[part.name[other]] = code
    return kinds


def _by_row(run: ZoomableRun, view_ns: tuple[int, int]) -> dict[int, _Activity]:
    """Give the activity of each row, cut to the view."""
    kinds = _kinds(run)
    found = {}
    for row, track in run.tracks.items():
        own = track.inside(*view_ns)
        name = track.name[own].astype(np.int64)
        found[row] = _Activity(
            np.maximum(track.start_ns[own], view_ns[0]),
            np.minimum(track.end_ns[own], view_ns[1]),
            name,
            _COLOR_OF_ACTIVITY[track.code[own]],
            kinds[name],
        )
    return found


def _events(row: Row, activity: _Activity, _width_ns: int) -> Bars:
    length = activity.end - activity.start
    full = np.ones(len(length))
    events = Buckets(
        activity.start,
        activity.end,
        length,
        full.astype(np.int64),
        activity.name,
        activity.color,
        activity.kind,
        full,
    )
    return _bars(row, events, full)


def _merged(row: Row, activity: _Activity, width_ns: int) -> Bars:
    b = in_buckets(
        activity.start, activity.end, activity.name, activity.color, activity.kind, width_ns
    )
    share = b.busy_ns / np.maximum(b.end_ns - b.start_ns, 1)
    # What is there at all stays visible, be it a hundredth of its bucket.
    return _bars(row, b, np.maximum(share, _LEAST_HEIGHT))


def _no_bars() -> Bars:
    none = np.empty(0, np.int64)
    nowhere = Row(0, 0.0, 0.0, "", "", "other", gpu_data=True, busy_share=None)
    nothing = Buckets(none, none, none, none, none, none, none, np.empty(0))
    return _bars(nowhere, nothing, np.empty(0))


def _bars(row: Row, b: Buckets, height: NDArray[np.float64]) -> Bars:
    return Bars(
        left=b.start_ns / 1e9,
        right=b.end_ns / 1e9,
        top=row.bottom - (row.bottom - row.top) * height,
        bottom=np.full(len(height), row.bottom),
        row=np.full(len(height), row.row, np.int32),
        name=b.name.astype(np.int32),
        color=b.color.astype(np.int32),
        kind=b.kind.astype(np.int32),
        count=b.count.astype(np.int32),
        busy_s=b.busy_ns / 1e9,
        name_share=b.name_share,
    )

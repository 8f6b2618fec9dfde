"""The bands of the chart: GPU activity as bars, merged where it is narrower than a pixel."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.buckets import bucket_width_ns, in_buckets
from rlviz.reports.gpu_rows import MEMCPY, MEMSET
from rlviz.run.phases import NO_PHASE, phase_at
from rlviz.run.rules import PHASES
from rlviz.view.palette import color_code
from rlviz.view.scene import Bars, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.run import Run

    Int64 = NDArray[np.int64]

__all__ = ["draw_activity"]

_COLOR_OF_PHASE = np.array([color_code(phase) for phase in PHASES])
_COMPUTE = color_code("compute")

# What Bokeh's canvas redraws within a tenth of a second, over all rows.
_BARS = 20_000
_BARS_OF_ROW = 1_500
_LEAST_HEIGHT = 0.04


@dataclass(frozen=True)
class _Activity:
    """GPU rows of a row of the chart."""

    start: Int64
    end: Int64
    name: Int64
    color: Int64


def draw_activity(run: Run, rows: Sequence[Row], view_ns: tuple[int, int]) -> Bars:
    """Draw the GPU activity of all rows.

    Parameters
    ----------
    run : Run
        The run.
    rows : sequence of Row
        Rows with their place on the chart.
    view_ns : (int, int)
        First view on the run's clock: what a pixel is follows from it.

    Returns
    -------
    Bars
        The events themselves where they are few, else buckets of about a pixel, whose busy times
        add up to the row's busy time.
    """
    activity = _by_row(run)
    events = sum(len(a.start) for a in activity.values())
    shown = [row for row in rows if row.row in activity]
    at_most = min(_BARS_OF_ROW, _BARS // max(len(shown), 1))
    width_ns = 1 if events <= _BARS // 2 else bucket_width_ns(view_ns[1] - view_ns[0], at_most)
    draw = _events if width_ns == 1 else _merged
    parts = [draw(row, activity[row.row], width_ns) for row in shown] or [_no_bars()]
    return Bars(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Bars)}
    )


def _by_row(run: Run) -> dict[int, _Activity]:
    communicates = run.rules.communication.matches(run.events.names).to_numpy()
    kind_of_name = np.where(communicates, color_code("communication"), _COMPUTE)
    found: dict[int, list[_Activity]] = {}
    for part in run.events.parts:
        is_copy = (part.kind == MEMCPY) | (part.kind == MEMSET)
        kind = np.where(is_copy, color_code("copy"), kind_of_name[part.name])
        color = _color(phase_at(run.lane_phases[part.lane], part.start_ns), kind)
        activity = _Activity(part.start_ns, part.end_ns, part.name.astype(np.int64), color)
        found.setdefault(part.row, []).append(activity)
    return {row: _joined(parts) for row, parts in found.items()}


def _color(phase: Int64, kind: Int64) -> Int64:
    """Colour by phase; by kind what only moves data, and what is in no phase."""
    # A refit is communication as such: its kernels say nothing that the phase does not.
    moves_data = (kind != _COMPUTE) & (phase != PHASES.index("refit"))
    return np.where((phase == NO_PHASE) | moves_data, kind, _COLOR_OF_PHASE[phase])


def _joined(parts: Sequence[_Activity]) -> _Activity:
    columns = [np.concatenate([getattr(p, c) for p in parts]) for c in _Activity.__annotations__]
    order = np.lexsort((columns[1], columns[0]))
    return _Activity(*(column[order] for column in columns))


def _events(row: Row, activity: _Activity, _width_ns: int) -> Bars:
    length = activity.end - activity.start
    full = np.ones(len(length))
    return _bars(
        row, activity.start, activity.end, full, activity.name, activity.color, full, length, full
    )


def _merged(row: Row, activity: _Activity, width_ns: int) -> Bars:
    b = in_buckets(activity.start, activity.end, activity.name, activity.color, width_ns)
    share = b.busy_ns / np.maximum(b.end_ns - b.start_ns, 1)
    # What is there at all stays visible, be it a hundredth of its bucket.
    height = np.maximum(share, _LEAST_HEIGHT)
    return _bars(
        row, b.start_ns, b.end_ns, height, b.name, b.color, b.count, b.busy_ns, b.name_share
    )


def _no_bars() -> Bars:
    none = np.empty(0, np.int64)
    nowhere = Row(0, 0.0, 0.0, "", "", "other", gpu_data=True, busy_share=None)
    return _bars(nowhere, none, none, none, none, none, none, none, none)


def _bars(
    row: Row,
    start_ns: Int64,
    end_ns: Int64,
    height: NDArray[np.generic],
    name: Int64,
    color: Int64,
    count: NDArray[np.generic],
    busy_ns: Int64,
    name_share: NDArray[np.generic],
) -> Bars:
    return Bars(
        left=start_ns / 1e9,
        right=end_ns / 1e9,
        top=row.bottom - (row.bottom - row.top) * height.astype(np.float64),
        bottom=np.full(len(start_ns), row.bottom),
        row=np.full(len(start_ns), row.row, np.int32),
        name=name.astype(np.int32),
        color=color.astype(np.int32),
        count=count.astype(np.int32),
        busy_s=busy_ns / 1e9,
        name_share=name_share.astype(np.float64),
    )

"""When what was captured: idle is idle only where somebody looked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlviz.run.intervals import intersection, spans_of, union

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["captured_by_lane", "captured_by_row", "windows_of"]


def windows_of(rows: pl.DataFrame, reports: pl.DataFrame) -> list[Spans]:
    """Give the capture windows of each lane's reports, in the order of the lanes.

    Parameters
    ----------
    rows, reports : polars.DataFrame
        As ``run.rows`` and ``run.reports``.

    Returns
    -------
    list of (ndarray, ndarray)
        Starts and ends in nanoseconds on the run's clock, one a report; they may overlap.
    """
    columns = ["report", "window_start_ns", "window_end_ns"]
    windows = {report: window for report, *window in reports.select(columns).iter_rows()}
    return [spans_of(windows[report] for report in own) for own in rows["report"]]


def captured_by_lane(rows: pl.DataFrame, reports: pl.DataFrame) -> dict[int, Spans]:
    """Give each lane the capture windows of its worker's reports.

    Parameters
    ----------
    rows, reports : polars.DataFrame
        As ``run.rows`` and ``run.reports``.

    Returns
    -------
    dict of int to (ndarray, ndarray)
        Disjoint ascending spans in nanoseconds on the run's clock.
    """
    windows = windows_of(rows, reports)
    return {lane: union(*own) for lane, own in zip(rows["lane"], windows, strict=True)}


def captured_by_row(rows: pl.DataFrame, reports: pl.DataFrame) -> dict[int, Spans]:
    """Give each row the spans in which all its workers were captured.

    A GPU that two workers share is not known to be idle while one of them is not looked at.
    """
    lanes = captured_by_lane(rows, reports)
    captured: dict[int, Spans] = {}
    for row, lane in rows.select("row", "lane").iter_rows():
        own = lanes[lane]
        captured[row] = intersection(*captured[row], *own) if row in captured else own
    return captured

"""When each row was captured, and the edges of its captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.intervals import intersection, union
from rlviz.run.thresholds import EDGE_START_NS, EDGE_STOP_NS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["captured_spans", "edge_spans"]


def captured_spans(rows: pl.DataFrame, reports: pl.DataFrame) -> dict[int, Spans]:
    """Find when each row was captured: a lane in its reports' windows, a row where all lanes are.

    Parameters
    ----------
    rows, reports : polars.DataFrame
        As ``run.rows`` and ``run.reports``. Reports that are not among `reports` count as absent.

    Returns
    -------
    dict of int to (ndarray, ndarray)
        By row: disjoint ascending spans on the run's clock.
    """
    captured: dict[int, Spans] = {}
    for row, windows in _windows(rows, reports):
        own = union(windows[:, 0], windows[:, 1])
        captured[row] = intersection(*captured[row], *own) if row in captured else own
    return captured


def edge_spans(rows: pl.DataFrame, reports: pl.DataFrame) -> dict[int, Spans]:
    """Find the edges of each row: the first and last part of every window of any of its lanes.

    Parameters
    ----------
    rows, reports : polars.DataFrame
        As for `captured_spans`.

    Returns
    -------
    dict of int to (ndarray, ndarray)
        By row: disjoint ascending spans inside the captured ones. What is idle in them is `edge`;
        what is busy in them is busy.
    """
    edges: dict[int, list[Int64]] = {}
    for row, windows in _windows(rows, reports):
        start, end = windows[:, 0], windows[:, 1]
        opening = np.stack((start, start + EDGE_START_NS), axis=1)
        closing = np.stack((end - EDGE_STOP_NS, end), axis=1)
        edges.setdefault(row, []).extend((opening, closing))
    captured = captured_spans(rows, reports)
    merged = {row: np.concatenate(parts) for row, parts in edges.items()}
    return {
        row: intersection(*union(parts[:, 0], parts[:, 1]), *captured[row])
        for row, parts in merged.items()
    }


def _windows(rows: pl.DataFrame, reports: pl.DataFrame) -> Iterator[tuple[int, Int64]]:
    """Windows of each lane, shape (n, 2), with its row."""
    columns = ["report", "window_start_ns", "window_end_ns"]
    known: dict[str, Sequence[int]] = {
        report: window for report, *window in reports.select(columns).iter_rows()
    }
    for row, names in rows.select("row", "report").iter_rows():
        windows = [known[name] for name in names if name in known]
        yield row, np.array(windows, np.int64).reshape(-1, 2)

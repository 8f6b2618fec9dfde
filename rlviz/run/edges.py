"""Edges of captures: what is idle there, the profiler made idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlviz.run.capture import captured_by_row, windows_of
from rlviz.run.intervals import intersection, union
from rlviz.run.thresholds import EDGE_START_NS, EDGE_STOP_NS
from rlviz.run.within import joined

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["edges_by_row"]


def edges_by_row(rows: pl.DataFrame, reports: pl.DataFrame) -> dict[int, Spans]:
    """Find the edges of each row: the first and last part of every window of any of its lanes.

    Parameters
    ----------
    rows, reports : polars.DataFrame
        As ``run.rows`` and ``run.reports``.

    Returns
    -------
    dict of int to (ndarray, ndarray)
        By row: disjoint ascending spans inside the captured ones. What is idle in them counts as
        edge; what is busy in them is busy.
    """
    parts: dict[int, list[Spans]] = {}
    for row, (start, end) in zip(rows["row"], windows_of(rows, reports), strict=True):
        both = [(start, start + EDGE_START_NS), (end - EDGE_STOP_NS, end)]
        parts.setdefault(row, []).extend(both)
    captured = captured_by_row(rows, reports)
    return {
        row: intersection(*union(*joined(spans)), *captured[row]) for row, spans in parts.items()
    }

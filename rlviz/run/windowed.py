"""Rows and windows that the frames of a run are cut to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import polars as pl

__all__ = ["Rows", "overlapping", "wanted_rows"]

Rows: TypeAlias = int | Sequence[int] | None
"""A row of the chart, several, or all."""


def wanted_rows(row: Rows) -> set[int] | None:
    """Give the numbers of the rows that were asked for; None: all."""
    return None if row is None else {row} if isinstance(row, int) else set(row)


def overlapping(
    events: pl.DataFrame, row: Rows, start_ns: int | None, end_ns: int | None
) -> pl.DataFrame:
    """Keep the events of some rows that reach into a window."""
    conditions = []
    if (wanted := wanted_rows(row)) is not None:
        conditions.append(pl.col("row").is_in(list(wanted)))
    if start_ns is not None:
        # An event without length is in the window that it starts in.
        ends_after = pl.col("end_ns") > start_ns
        conditions.append(ends_after | (pl.col("start_ns") == start_ns))
    if end_ns is not None:
        conditions.append(pl.col("start_ns") < end_ns)
    return events.filter(conditions) if conditions else events

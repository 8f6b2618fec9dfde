"""Which kernels take the time of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rlviz.run.columns import schema

if TYPE_CHECKING:
    from collections.abc import Collection

    from rlviz.run.events import Events

__all__ = ["top_kernels"]


def top_kernels(
    events: Events,
    *,
    rows: Collection[int] | None = None,
    start_ns: int | None = None,
    end_ns: int | None = None,
) -> pl.DataFrame:
    """Sum up kernels by their short name, those that take most first.

    Parameters
    ----------
    events : Events
        Events of the run.
    rows : collection of int, optional
        Rows of the chart; default all.
    start_ns, end_ns : int, optional
        A window on the run's clock; of a kernel that reaches over a limit the part inside counts.

    Returns
    -------
    polars.DataFrame
        Columns as ``COLUMNS["top_kernels"]``. Durations are summed, as nsys's own
        ``cuda_gpu_kern_sum`` does: kernels of several streams count side by side, so the sum can
        be more than the busy time.
    """
    kernels = events.kernels
    if rows is not None:
        kernels = kernels.filter(pl.col("row").is_in(list(rows)))
    start, end = pl.col("start_ns"), pl.col("end_ns")
    if start_ns is not None:
        kernels = kernels.filter(end > start_ns)
        start = pl.max_horizontal(start, pl.lit(start_ns))
    if end_ns is not None:
        kernels = kernels.filter(pl.col("start_ns") < end_ns)
        end = pl.min_horizontal(end, pl.lit(end_ns))
    length = end - start
    summed = kernels.group_by("short").agg(
        pl.len().alias("count"), length.sum().alias("total_ns"), length.max().alias("longest_ns")
    )
    named = summed.with_columns(events.texts(summed["short"]).alias("short_name"))
    total = named["total_ns"].sum()
    share = pl.col("total_ns") / total if total else pl.lit(None)
    return (
        named.with_columns(share.alias("share"))
        .select(pl.col(name).cast(dtype) for name, dtype in schema("top_kernels").items())
        .sort(["total_ns", "short_name"], descending=[True, False])
    )

"""Which kernels take the time of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rlviz.reports.gpu_rows import KERNEL
from rlviz.run.columns import schema

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.gpu_part import GpuPart

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
    names = events.names
    count, total, longest = (np.zeros(len(names), np.int64) for _ in range(3))
    for part in events.parts:
        if rows is not None and part.row not in rows:
            continue
        found = part.sums if start_ns is None and end_ns is None else _sums(part, start_ns, end_ns)
        found = found.filter(pl.col("kind") == KERNEL)
        name = found["name"].to_numpy()
        np.add.at(count, name, found["count"].to_numpy())
        np.add.at(total, name, found["total_ns"].to_numpy())
        np.maximum.at(longest, name, found["longest_ns"].to_numpy())
    everything = max(int(total.sum()), 1)
    columns = {
        "short_name": names,
        "count": count,
        "total_ns": total,
        "share": total / everything,
        "longest_ns": longest,
    }
    return (
        pl.DataFrame(columns, schema=schema("top_kernels"))
        .filter(pl.col("count") > 0)
        .sort(["total_ns", "short_name"], descending=[True, False])
    )


def _sums(part: GpuPart, start_ns: int | None, end_ns: int | None) -> pl.DataFrame:
    """Sum up as ``part.sums`` does, in a window."""
    start, end = part.start_ns, part.end_ns
    inside = np.ones(len(start), np.bool_)
    if start_ns is not None:
        inside &= (end > start_ns) | (start == start_ns)
        start = np.maximum(start, start_ns)
    if end_ns is not None:
        inside &= part.start_ns < end_ns
        end = np.minimum(end, end_ns)
    columns: dict[str, NDArray[Any]] = {"kind": part.kind, "name": part.name, "length": end - start}
    return (
        pl.DataFrame({name: values[inside] for name, values in columns.items()})
        .group_by("kind", "name")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("length").sum().alias("total_ns"),
            pl.col("length").max().alias("longest_ns"),
        )
    )

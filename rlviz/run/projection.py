"""Ranges projected onto the GPU: when the work that was launched in them ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.nesting import clear_levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

__all__ = ["project"]

# Behind every launch, and far enough from the limit of int64 to be doubled.
_NEVER_ENDS = 1 << 61


def project(ranges: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Find the GPU work of each push/pop range.

    A GPU row belongs to a range when its launch lies wholly inside the range, on the thread that
    opened it; to each range around it, and once to each however often its launch was recorded.
    Backward kernels are launched by autograd's own thread, so they are in no range of the main
    thread: for the GPU time of a phase take time in the process, as ``run.summary`` does.

    Parameters
    ----------
    ranges : polars.DataFrame
        start, end, thread, push_pop; ends that are null lie behind every launch.
    launches : polars.DataFrame
        As of `rlviz.reports.launches.read_launches`, on the same clock.

    Returns
    -------
    polars.DataFrame
        gpu_start, gpu_end (ns), gpu_busy_ns (union), gpu_events; a row a range, in the same order.
        All null where no GPU work was launched, or where the range is no push/pop range.
    """
    start = ranges["start"].to_numpy()
    end = ranges["end"].fill_null(_NEVER_ENDS).to_numpy()
    nested = np.flatnonzero(ranges["push_pop"].to_numpy())
    pairs = _pairs(ranges["thread"].to_numpy()[nested], start[nested], end[nested], launches)
    found = _measured(pairs.with_columns(pl.Series("range", nested[pairs["range"].to_numpy()])))
    return (
        pl.DataFrame({"range": np.arange(len(ranges))})
        .join(found, on="range", how="left", maintain_order="left")
        .drop("range")
    )


def _pairs(thread: Int64, start: Int64, end: Int64, launches: pl.DataFrame) -> pl.DataFrame:
    """Pair launches with the ranges around them: columns range, event, start, end."""
    # Ranges of one level never share a moment, not even their ends: in each level at most one can
    # be around a launch.
    level = clear_levels(thread, start, end + 1) if len(start) else start
    calls = launches.with_row_index("launch")
    of_thread = calls["thread"].to_numpy()
    at, until = calls["call_start"].to_numpy(), calls["call_end"].to_numpy()
    parts = [pl.DataFrame(schema={"range": pl.Int64, "launch": pl.UInt32})]
    for number in np.unique(level):
        own = np.flatnonzero(level == number)
        own = own[np.lexsort((start[own], thread[own]))]
        place = _last_before(thread[own], start[own], of_thread, at)
        around = own[np.maximum(place, 0)]
        inside = (place >= 0) & (thread[around] == of_thread) & (until <= end[around])
        parts.append(
            pl.DataFrame(
                {
                    "range": around[inside],
                    "launch": np.flatnonzero(inside).astype(np.uint32),
                }
            )
        )
    joined = pl.concat(parts).join(calls, on="launch")
    return joined.select("range", "event", "start", "end").unique(["range", "event"])


def _last_before(thread: Int64, start: Int64, of_thread: Int64, at: Int64) -> Int64:
    """Give the last entry with (thread, start) <= (of_thread, at); -1 where there is none."""
    _, code = np.unique(np.concatenate((thread, of_thread)), return_inverse=True)
    times, rank = np.unique(np.concatenate((start, at)), return_inverse=True)
    key = code.astype(np.int64) * len(times) + rank
    return np.searchsorted(key[: len(thread)], key[len(thread) :], side="right") - 1


def _measured(pairs: pl.DataFrame) -> pl.DataFrame:
    ordered = pairs.sort("range", "start")
    reach = pl.col("end").cum_max().shift(1).over("range")
    fresh = pl.col("end") - pl.max_horizontal("start", reach)
    return (
        ordered.with_columns(fresh.clip(lower_bound=0).alias("fresh"))
        .group_by("range")
        .agg(
            pl.col("start").min().alias("gpu_start"),
            pl.col("end").max().alias("gpu_end"),
            pl.col("fresh").sum().alias("gpu_busy_ns"),
            pl.len().cast(pl.Int64).alias("gpu_events"),
        )
    )

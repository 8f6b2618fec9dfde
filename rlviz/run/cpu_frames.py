"""CUDA calls and launch-bound stretches as the frames that a run gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.calls import CALL_KINDS, Calls
from rlviz.run.columns import schema

if TYPE_CHECKING:
    from rlviz.run.launch import Stretches
    from rlviz.run.sources import Source

__all__ = ["calls_frame", "inside_of", "stretches_frame"]


def calls_frame(row: int, lane: int, source: Source, calls: Calls) -> pl.DataFrame:
    """Give the calls of a process, columns as ``COLUMNS["calls"]``."""
    known = source.report.identity.threads
    names = {
        t: source.report.spell(known[t]) for t in np.unique(calls.thread).tolist() if t in known
    }
    texts = pl.Series(calls.names, dtype=pl.String)
    frame = pl.DataFrame(
        {
            "start_ns": calls.start + source.offset_ns,
            "end_ns": calls.end + source.offset_ns,
            "name": texts.gather(calls.name) if len(texts) else pl.Series([], dtype=pl.String),
            "kind": pl.Series(CALL_KINDS).gather(calls.kind),
            "of": calls.thread,
            "tid": calls.thread & 0xFFFFFF,
            "pid": calls.thread >> 24,
            "correlation_id": calls.correlation,
        }
    ).with_columns(
        pl.lit(row).alias("row"),
        pl.lit(lane).alias("lane"),
        pl.col("of").replace_strict(names, default=None, return_dtype=pl.String).alias("thread"),
    )
    return frame.select(pl.col(n).cast(dtype) for n, dtype in schema("calls").items())


def stretches_frame(row: int, found: Stretches, names: dict[int, str | None]) -> pl.DataFrame:
    """Give the stretches of a row, columns as ``COLUMNS["launch_bound"]``; `names` of threads."""
    frame = pl.DataFrame(
        {
            "start_ns": found.start,
            "end_ns": found.end,
            "waits": found.waits,
            "wait_ns": found.wait_ns,
            "thread": pl.Series([names.get(t) for t in found.thread.tolist()], dtype=pl.String),
            "tid": found.thread & 0xFFFFFF,
            "pid": found.thread >> 24,
        }
    ).with_columns(pl.lit(row).alias("row"))
    return frame.select(pl.col(n).cast(dtype) for n, dtype in schema("launch_bound").items())


def inside_of(frame: pl.DataFrame, start_ns: int | None, end_ns: int | None) -> pl.DataFrame:
    """Keep what overlaps a window; what has no length is in the window that it starts in."""
    if start_ns is not None:
        frame = frame.filter((pl.col("end_ns") > start_ns) | (pl.col("start_ns") == start_ns))
    return frame if end_ns is None else frame.filter(pl.col("start_ns") < end_ns)

"""Which GPU work was launched inside which range: by the CUDA calls of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER
from rlviz.reports.read import read_details, reopened

if TYPE_CHECKING:
    from rlviz.reports.report import Report

__all__ = ["read_launches"]

_RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
_COLUMNS = ("start", "end", "globalTid", "correlationId")


def read_launches(report: Report) -> pl.DataFrame:
    """Read the GPU rows of a report with the calls that launched them.

    Parameters
    ----------
    report : Report
        A report that was read; its file is opened again.

    Returns
    -------
    polars.DataFrame
        event (number of the GPU row), start, end (of the GPU row, ns on the report's clock),
        thread (pid << 24 | tid), call_start, call_end (ns). A row whose launch was recorded twice
        stands twice, one without a call is absent.
    """
    rows = [read_details(report, kind)[0] for kind in ("kernels", "copies", "graphs")]
    columns = ["pid", "correlation_id", "start", "end"]
    events = pl.concat([frame.select(columns) for frame in rows if frame is not None] or [_NONE])
    events = events.with_row_index("event").drop_nulls(["pid", "correlation_id"])
    with reopened(report) as database:
        if not database.has(_RUNTIME, *_COLUMNS):
            calls = _CALLS
        else:
            read, _ = database.integers(_RUNTIME, _COLUMNS)
            good = np.all([values > NOT_INTEGER for values in read.values()], axis=0)
            calls = pl.DataFrame(
                {
                    "pid": (read["globalTid"][good] >> 24) & 0xFFFFFF,
                    "correlation_id": read["correlationId"][good],
                    "thread": read["globalTid"][good] & 0xFFFF_FFFF_FFFF,
                    "call_start": read["start"][good],
                    "call_end": read["end"][good],
                }
            )
    return events.join(calls, on=["pid", "correlation_id"]).drop("pid", "correlation_id")


_NONE = pl.DataFrame(
    schema=dict.fromkeys(("pid", "correlation_id", "start", "end"), pl.Int64),
)
_CALLS = pl.DataFrame(
    schema=dict.fromkeys(("pid", "correlation_id", "thread", "call_start", "call_end"), pl.Int64),
)

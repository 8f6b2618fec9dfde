"""Collective kernels of a report: few rows, with all that tells one communicator from another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER, open_database
from rlviz.reports.table import Window, nullable

if TYPE_CHECKING:
    from rlviz.reports.report import Report

__all__ = ["read_collectives"]

_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRID = ("gridX", "gridY", "gridZ")
_COLUMNS = ("start", "end", "globalPid", "deviceId", "streamId", "shortName", *_GRID)

# Only these libraries reach other hosts. SQL compares the names, so that no other text of the
# string table, which holds the environment, enters Python.
_FROM_LIBRARIES = (
    "shortName IN (SELECT id FROM StringIds WHERE value GLOB 'nccl*' OR value GLOB 'rccl*')"
)


def read_collectives(report: Report) -> pl.DataFrame:
    """Read the NCCL and RCCL kernels of a report; its file is opened again, unless they were read.

    Returns
    -------
    polars.DataFrame
        start, end (ns on the report's clock), pid, device, stream, name (text), grid_x, grid_y,
        grid_z (null when not recorded); by start, rows that cannot be true left out. Without
        kernels or names it is empty.
    """
    if report.collectives is not None:
        return report.collectives
    with open_database(report.path) as database:
        if not database.has(_TABLE, "start", "end", "shortName") or not database.has(
            "StringIds", "id", "value"
        ):
            return _EMPTY
        columns, _ = database.integers(_TABLE, _COLUMNS, _FROM_LIBRARIES)
        start, end = columns["start"], columns["end"]
        window = Window(report.start.duration_ns)
        timed = (start > NOT_INTEGER) & (end > NOT_INTEGER) & (end >= start) & (end != 0)
        good = timed & ~window.far_outside(start, end)
        columns = {name: values[good] for name, values in columns.items()}
        names = database.strings({int(key) for key in np.unique(columns["shortName"])})
    pid = columns["globalPid"]
    pid = np.where(pid <= NOT_INTEGER, pid, (pid >> 24) & 0xFFFFFF)
    return pl.DataFrame(
        {
            "start": columns["start"],
            "end": columns["end"],
            "pid": nullable("pid", pid),
            "device": nullable("device", columns["deviceId"]),
            "stream": nullable("stream", columns["streamId"]),
            "name": pl.Series(columns["shortName"]).replace_strict(names, return_dtype=pl.String),
            "grid_x": nullable("grid_x", columns["gridX"]),
            "grid_y": nullable("grid_y", columns["gridY"]),
            "grid_z": nullable("grid_z", columns["gridZ"]),
        },
        schema=_EMPTY.schema,
    ).sort("start")


_EMPTY = pl.DataFrame(
    schema={
        "start": pl.Int64,
        "end": pl.Int64,
        "pid": pl.Int64,
        "device": pl.Int64,
        "stream": pl.Int64,
        "name": pl.String,
        "grid_x": pl.Int64,
        "grid_y": pl.Int64,
        "grid_z": pl.Int64,
    }
)

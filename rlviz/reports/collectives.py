"""Collective kernels of a report: few rows, with all that tells one communicator from another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER, open_database
from rlviz.reports.table import Window, nullable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.reports.report import Report

    Int64 = NDArray[np.int64]

__all__ = ["read_collectives"]

_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRID = ("gridX", "gridY", "gridZ")
_COLUMNS = ("start", "end", "globalPid", "deviceId", "streamId", "shortName", *_GRID)

# Only these libraries reach other hosts. SQL compares the names, so that no other text of the
# string table, which holds the environment, enters Python.
_OF_LIBRARIES = (
    "SELECT id, CAST(value AS TEXT) FROM StringIds WHERE value GLOB 'nccl*' OR value GLOB 'rccl*'"
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
        names = {int(str(key)): str(name) for key, name in database.rows(_OF_LIBRARIES)}
        if not names:
            return _EMPTY
        ids = ", ".join(map(str, names))
        window = Window(report.start.duration_ns)
        blocks = [
            _good(block, window)
            for block in database.blocks(_TABLE, _COLUMNS, f"shortName IN ({ids})")
        ]
    if not blocks:
        return _EMPTY
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in _COLUMNS}
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


def _good(columns: dict[str, Int64], window: Window) -> dict[str, Int64]:
    start, end = columns["start"], columns["end"]
    timed = (start > NOT_INTEGER) & (end > NOT_INTEGER) & (end >= start) & (end != 0)
    good = timed & ~window.far_outside(start, end)
    return {name: values[good] for name, values in columns.items()}


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

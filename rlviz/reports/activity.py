"""Kernels, copies, sets and CUDA graph launches of a report, with all that is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER, NULL
from rlviz.reports.lean import process_ids
from rlviz.reports.table import UNNAMED, Faults, missing_columns, nullable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.reports.database import Database
    from rlviz.reports.report import Diagnostic
    from rlviz.reports.table import Names, Window

    Int64 = NDArray[np.int64]
    Columns = dict[str, Int64]

__all__ = [
    "DIRECTIONS",
    "REQUIRED",
    "faults_of",
    "read_copies",
    "read_graphs",
    "read_kernels",
]

_KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
_MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
_MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
_GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
REQUIRED = ("start", "end", "deviceId", "streamId")
_COMMON = ("start", "end", "globalPid", "deviceId", "streamId", "correlationId")

# CUpti_ActivityMemcpyKind, as ENUM_CUDA_MEMCPY_OPER has it where an export carries that table.
DIRECTIONS = {
    0: "unknown",
    1: "H2D",
    2: "D2H",
    3: "H2A",
    4: "A2H",
    5: "A2A",
    6: "A2D",
    7: "D2A",
    8: "D2D",
    9: "H2H",
    10: "P2P",
}


def read_kernels(
    database: Database, names: Names, window: Window, found: list[Diagnostic]
) -> pl.DataFrame | None:
    """Read kernels; None when the table is absent.

    Returns
    -------
    polars.DataFrame or None
        start, end (ns), pid, device, stream, correlation_id, name, short (codes), graph_node_id.
    """
    if missing_columns(database, _KERNEL, REQUIRED, found):
        return None
    columns = _read(database, _KERNEL, ("demangledName", "shortName", "graphNodeId"), window, found)
    short = names.of_string_ids(columns["shortName"])
    full = names.of_string_ids(columns["demangledName"])
    full = np.where(full < 0, short, full)
    full = np.where(full < 0, names.code(UNNAMED), full) if len(full) else full
    return _common(columns).with_columns(
        pl.Series("name", full, pl.Int32),
        pl.Series("short", np.where(short < 0, full, short), pl.Int32),
        nullable("graph_node_id", columns["graphNodeId"]),
    )


def read_copies(
    database: Database, names: Names, window: Window, found: list[Diagnostic]
) -> pl.DataFrame | None:
    """Read memcpys and memsets; None when both tables are absent.

    Returns
    -------
    polars.DataFrame or None
        start, end (ns), pid, device, stream, correlation_id, name (code), kind, bytes, direction.
    """
    read = [
        _copies_of(database, names, window, found, table)
        for table in (_MEMCPY, _MEMSET)
        if not missing_columns(database, table, REQUIRED, found)
    ]
    return pl.concat(read) if read else None


def read_graphs(
    database: Database, names: Names, window: Window, found: list[Diagnostic]
) -> pl.DataFrame | None:
    """Read graph launches that were traced as a whole; None when the table is absent.

    Returns
    -------
    polars.DataFrame or None
        start, end (ns), pid, device, stream, correlation_id, name (code), graph_id.
    """
    if missing_columns(database, _GRAPH, REQUIRED, found):
        return None
    columns = _read(database, _GRAPH, ("graphId",), window, found)
    distinct, where = np.unique(columns["graphId"], return_inverse=True)
    codes = [names.code(f"CUDA graph {k}" if k > NOT_INTEGER else "CUDA graph") for k in distinct]
    return _common(columns).with_columns(
        pl.Series("name", np.array(codes, np.int64)[where], pl.Int32),
        nullable("graph_id", columns["graphId"]),
    )


def _copies_of(
    database: Database, names: Names, window: Window, found: list[Diagnostic], table: str
) -> pl.DataFrame:
    columns = _read(database, table, ("bytes", "copyKind"), window, found)
    frame = _common(columns)
    if table == _MEMSET:
        return frame.with_columns(
            pl.lit(names.code("memset")).cast(pl.Int32).alias("name"),
            pl.lit("memset").alias("kind"),
            nullable("bytes", columns["bytes"]),
            pl.lit(None).cast(pl.String).alias("direction"),
        )
    distinct, where = np.unique(columns["copyKind"], return_inverse=True)
    directions = [DIRECTIONS.get(int(k), "unknown") for k in distinct]
    codes = [names.code(f"memcpy {direction}") for direction in directions]
    return frame.with_columns(
        pl.Series("name", np.array(codes, np.int64)[where], pl.Int32),
        pl.lit("memcpy").alias("kind"),
        nullable("bytes", columns["bytes"]),
        pl.Series("direction", directions, pl.String).gather(where),
    )


def _read(
    database: Database,
    table: str,
    extra: tuple[str, ...],
    window: Window,
    found: list[Diagnostic],
) -> Columns:
    """Read the common and the `extra` columns, bad rows left out and told."""
    columns, rows = database.integers(table, (*_COMMON, *extra))
    faults = faults_of(table, columns, rows, window)
    found += faults.diagnostics()
    return columns if faults.good.all() else {c: v[faults.good] for c, v in columns.items()}


def faults_of(table: str, columns: Columns, rows: int, window: Window) -> Faults:
    """Find the rows that cannot be true, by their start, end and deviceId."""
    start, end = columns["start"], columns["end"]
    faults = Faults(table, rows)
    if rows and _all_well(start, end, columns["deviceId"], window):
        return faults
    faults.leave_out((start <= NOT_INTEGER) | (end <= NOT_INTEGER), "without a time")
    # CUPTI writes 0 where the time of a graph launch or kernel was not collected.
    faults.leave_out((start == 0) & (end == 0), "with start and end 0")
    faults.leave_out(end < start, "ending before they start")
    faults.leave_out(window.far_outside(start, end), "far outside the capture window")
    faults.leave_out(columns["deviceId"] <= NOT_INTEGER, "without a deviceId")
    return faults


def _all_well(start: Int64, end: Int64, device: Int64, window: Window) -> bool:
    """Tell by a few looks that no row is bad, as most often none is."""
    if start.min() <= 0 or device.min() <= NOT_INTEGER or (end < start).any():
        return False
    return not window.far_outside(start.min(keepdims=True), end.max(keepdims=True)).any()


def _common(columns: Columns) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "start": columns["start"],
            "end": columns["end"],
            "pid": nullable("pid", process_ids(columns["globalPid"], NULL)),
            "device": pl.Series(columns["deviceId"], dtype=pl.Int64),
            "stream": nullable("stream", columns["streamId"]),
            "correlation_id": nullable("correlation_id", columns["correlationId"]),
        }
    )

"""GPU rows as a timeline needs them: when, on which device, which name. Lean, since they are many.

What else a kernel or copy has (stream, bytes, launch) is read when somebody asks for it:
`rlviz.reports.activity`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.activity import DIRECTIONS, REQUIRED, faults_of, process_ids
from rlviz.reports.database import NOT_INTEGER, NULL
from rlviz.reports.table import UNNAMED, missing_columns, nullable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rlviz.reports.database import Database
    from rlviz.reports.report import Diagnostic
    from rlviz.reports.table import Names, Window

    Int64 = NDArray[np.int64]
    Columns = dict[str, Int64]

__all__ = ["GRAPH", "KERNEL", "MEMCPY", "MEMSET", "read_gpu_rows"]

KERNEL, MEMCPY, MEMSET, GRAPH = range(4)
"""Values of the column `kind`."""

_PREFIX = "CUPTI_ACTIVITY_KIND_"
_COMMON = ("start", "end", "globalPid", "deviceId")


def read_gpu_rows(
    database: Database, names: Names, window: Window, found: list[Diagnostic]
) -> pl.DataFrame | None:
    """Read kernels, copies, sets and graph launches; None when no table of them is there.

    Returns
    -------
    polars.DataFrame or None
        pid (null when not recorded), device, start, end (ns on the report's clock), name (code of
        the short name), kind; sorted by pid, device, start.
    """
    tables: tuple[tuple[int, str, tuple[str, ...], Callable[[Names, Columns], Int64]], ...] = (
        (KERNEL, "KERNEL", ("shortName", "demangledName"), _kernel_names),
        (MEMCPY, "MEMCPY", ("copyKind",), _copy_names),
        (MEMSET, "MEMSET", (), _set_names),
        (GRAPH, "GRAPH_TRACE", ("graphId",), _graph_names),
    )
    parts = []
    for kind, suffix, extra, name in tables:
        table = _PREFIX + suffix
        if missing_columns(database, table, REQUIRED, found):
            continue
        columns, rows = database.integers(table, (*_COMMON, *extra))
        faults = faults_of(table, columns, rows, window)
        found += faults.diagnostics()
        if not faults.good.all():
            columns = {c: v[faults.good] for c, v in columns.items()}
        parts.append(_lean(kind, columns, name(names, columns)))
    return _sorted(pl.concat(parts)) if parts else None


def _lean(kind: int, columns: Columns, name: Int64) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "pid": nullable("pid", process_ids(columns["globalPid"])),
            "device": pl.Series(columns["deviceId"], dtype=pl.Int64),
            "start": columns["start"],
            "end": columns["end"],
            "name": pl.Series(name, dtype=pl.Int32),
        }
    ).with_columns(pl.lit(kind, pl.UInt8).alias("kind"))


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    start = rows["start"].to_numpy()
    one_device = rows["device"].n_unique() <= 1 and rows["pid"].n_unique() <= 1
    # nsys writes kernels by start; where nothing else is there, sorting would be for nothing.
    if one_device and (start[1:] >= start[:-1]).all():
        return rows.rechunk()
    return rows.sort("pid", "device", "start", maintain_order=True)


def _kernel_names(names: Names, columns: Columns) -> Int64:
    short = names.of_string_ids(columns["shortName"])
    if not (short < 0).any():
        return short
    full = names.of_string_ids(np.where(short < 0, columns["demangledName"], NULL))
    return np.where(short >= 0, short, np.where(full >= 0, full, names.code(UNNAMED)))


def _copy_names(names: Names, columns: Columns) -> Int64:
    distinct, where = np.unique(columns["copyKind"], return_inverse=True)
    codes = [names.code(f"memcpy {DIRECTIONS.get(int(kind), 'unknown')}") for kind in distinct]
    return np.array(codes, np.int64)[where]


def _set_names(names: Names, columns: Columns) -> Int64:
    return np.full(len(columns["start"]), names.code("memset"), np.int64)


def _graph_names(names: Names, columns: Columns) -> Int64:
    distinct, where = np.unique(columns["graphId"], return_inverse=True)
    codes = [names.code(f"CUDA graph {k}" if k > NOT_INTEGER else "CUDA graph") for k in distinct]
    return np.array(codes, np.int64)[where]

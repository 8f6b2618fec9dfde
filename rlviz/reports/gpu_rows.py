"""GPU rows as a timeline needs them: when, on which device, which name. Lean, since they are many.

What else a kernel or copy has (stream, bytes, launch) is read when somebody asks for it:
`rlviz.reports.activity`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from rlviz.reports.activity import DIRECTIONS, REQUIRED, faults_of
from rlviz.reports.btree import NOTHING_MORE
from rlviz.reports.collectives import Collectives
from rlviz.reports.database import NOT_INTEGER, NULL
from rlviz.reports.lean import LeanRows
from rlviz.reports.sums import name_sums
from rlviz.reports.table import UNNAMED, Faults, missing_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rlviz.reports.database import Database
    from rlviz.reports.report import Diagnostic
    from rlviz.reports.table import Names, Window

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    Columns = dict[str, Int64]

__all__ = ["GRAPH", "KERNEL", "MEMCPY", "MEMSET", "GpuRows", "first_device", "read_gpu_rows"]

KERNEL, MEMCPY, MEMSET, GRAPH = range(4)
"""Values of the column `kind`."""

_PREFIX = "CUPTI_ACTIVITY_KIND_"
_COMMON = ("start", "end", "globalPid", "deviceId")


class GpuRows(NamedTuple):
    """What a report tells of its GPUs.

    Parameters
    ----------
    activity : polars.DataFrame or None
        start, end (ns on the report's clock), name (code of the short name), kind; sorted by
        process, device, start.
    devices : polars.DataFrame or None
        pid (null when not recorded), device, rows: so many rows of `activity` belong to it, in
        this order.
    sums : polars.DataFrame or None
        What the names of `activity` add up to, as of `rlviz.reports.sums`.
    collectives : polars.DataFrame or None
        Kernels that communicate, as of `rlviz.reports.collectives`; None: not read.
    """

    activity: pl.DataFrame | None
    devices: pl.DataFrame | None
    sums: pl.DataFrame | None = None
    collectives: pl.DataFrame | None = None


def read_gpu_rows(
    database: Database, names: Names, window: Window, found: list[Diagnostic]
) -> GpuRows:
    """Read kernels, copies, sets and graph launches; without frames where no table is there."""
    try:
        return _gathered(database, names, window, found, _SHORT_NAMES)
    except _NoShortNameError:  # before anything was found: kernels come first
        return _gathered(database, names, window, found, _ANY_NAMES)


def _gathered(
    database: Database, names: Names, window: Window, found: list[Diagnostic], kernels: _NamedBy
) -> GpuRows:
    tables: tuple[tuple[int, str, _NamedBy], ...] = (
        (KERNEL, "KERNEL", kernels),
        (MEMCPY, "MEMCPY", _NamedBy(("copyKind",), _copy_names)),
        (MEMSET, "MEMSET", _NamedBy((), _set_names)),
        (GRAPH, "GRAPH_TRACE", _NamedBy(("graphId",), _graph_names)),
    )
    lean, there, collectives = LeanRows(), False, Collectives(database)
    for kind, suffix, (extra, name) in tables:
        table = _PREFIX + suffix
        if missing_columns(database, table, REQUIRED, found):
            continue
        there, faults = True, Faults(table, 0)
        more = collectives.more if kind == KERNEL else NOTHING_MORE
        for columns, communicating in database.blocks_and(table, (*_COMMON, *extra), more):
            own = faults_of(table, columns, len(columns["start"]), window)
            faults.include(own)
            good = columns if own.good.all() else {c: v[own.good] for c, v in columns.items()}
            lean.add(kind, good, name(names, good))
            if communicating:
                collectives.add(communicating, window)
        found += faults.diagnostics()
    if not there:
        return GpuRows(None, None, None, collectives.frame())
    activity, devices = lean.finish()
    return GpuRows(activity, devices, name_sums(activity, devices), collectives.frame())


def first_device(database: Database) -> pl.DataFrame | None:
    """Tell whose the first GPU row is, and read no other; None when there is none.

    Returns
    -------
    polars.DataFrame or None
        `devices` as of `read_gpu_rows`, of no rows yet. Most reports are of one device.
    """
    for table in (_PREFIX + suffix for suffix in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")):
        if database.has(table, *REQUIRED):
            process = "globalPid" if database.has(table, "globalPid") else "NULL"
            for pid, device in database.rows(f"SELECT {process}, deviceId FROM {table} LIMIT 1"):
                pids = [pid >> 24 & 0xFFFFFF if isinstance(pid, int) else None]
                held = {"pid": pids, "device": [device], "rows": [0]}
                frame = pl.DataFrame(held, schema=dict.fromkeys(held, pl.Int64), strict=False)
                return frame.drop_nulls("device")
    return None


class _NoShortNameError(Exception):
    pass


def _short_names(names: Names, columns: Columns) -> Int32:
    short = names.of_string_ids(columns["shortName"])
    if (short < 0).any():
        raise _NoShortNameError
    return short


def _any_names(names: Names, columns: Columns) -> Int32:
    short = names.of_string_ids(columns["shortName"])
    full = names.of_string_ids(np.where(short < 0, columns["demangledName"], NULL))
    return np.where(short >= 0, short, np.where(full >= 0, full, names.code(UNNAMED)))


def _copy_names(names: Names, columns: Columns) -> Int32:
    distinct, where = np.unique(columns["copyKind"], return_inverse=True)
    codes = [names.code(f"memcpy {DIRECTIONS.get(int(kind), 'unknown')}") for kind in distinct]
    return np.array(codes, np.int32)[where]


def _set_names(names: Names, columns: Columns) -> Int32:
    return np.full(len(columns["start"]), names.code("memset"), np.int32)


def _graph_names(names: Names, columns: Columns) -> Int32:
    distinct, where = np.unique(columns["graphId"], return_inverse=True)
    codes = [names.code(f"CUDA graph {k}" if k > NOT_INTEGER else "CUDA graph") for k in distinct]
    return np.array(codes, np.int32)[where]


class _NamedBy(NamedTuple):
    columns: tuple[str, ...]
    name: Callable[[Names, Columns], Int32]


# All kernels have a short name but in odd reports, and a column more is a tenth of the time.
_SHORT_NAMES = _NamedBy(("shortName",), _short_names)
_ANY_NAMES = _NamedBy(("shortName", "demangledName"), _any_names)

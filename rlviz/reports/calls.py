"""Calls of the CUDA API: which thread called what, when, and what it launched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.reports.activity import REQUIRED, faults_of
from rlviz.reports.database import NOT_INTEGER, NULL
from rlviz.reports.lean import process_ids
from rlviz.reports.read import reopened
from rlviz.reports.table import UNNAMED, Names, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from rlviz.reports.report import Report

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Flags = NDArray[np.bool_]

__all__ = [
    "CALL_KINDS",
    "SYNC",
    "Calls",
    "Work",
    "kind_of_call",
    "read_calls",
    "read_work",
]

CALL_KINDS = ("launch", "sync", "copy", "memory", "other")
"""What a call does; values of the column `kind` are places in here."""

SYNC = CALL_KINDS.index("sync")

_TABLE = "CUPTI_ACTIVITY_KIND_RUNTIME"
_NEEDED = ("start", "end", "globalTid", "correlationId")
_GPU = tuple(
    f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
)

_NO_TABLE = "no CUDA calls in its report: it was captured without -t cuda, or its process made none"
_NO_COLUMNS = "its report names no thread or no launch for its CUDA calls"
_NONE = "its process made no CUDA calls in the capture window"

# The runtime's names and the driver's, as nsys writes them: cudaLaunchKernel_v7000, cuLaunchKernel.
# Waiting for an event on a stream blocks no thread, so it is no sync.
_KINDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"cu(da)?(Launch|GraphLaunch)",
        r"cu(da)?\w*Synchronize",
        r"cu(da)?(Graph)?(Memcpy|Memset|MemPrefetch)",
        r"cu(da)?(Malloc|Free|Mem(Alloc|Free|Create|Release|Map|Unmap|Pool|HostAlloc|Address|SetAccess)|Host(Alloc|Reg"
        r"|Unreg))",
    )
)


def _quiet(_rows: int) -> None:
    pass


@dataclass(frozen=True)
class Calls:
    """CUDA calls of some processes of a report, by start; arrays have shape (n,).

    Parameters
    ----------
    start, end : ndarray of int64
        On the report's clock, in ns.
    thread : ndarray of int64
        pid << 24 | tid.
    correlation : ndarray of int64
        What connects a call with the GPU work that it launched.
    name : ndarray of int32
        Places in `names`.
    kind : ndarray of uint8
        Places in `CALL_KINDS`.
    names : tuple of str
        Names of calls as nsys wrote them.
    absent : str
        Why there are none; "" where there are some.
    """

    start: Int64
    end: Int64
    thread: Int64
    correlation: Int64
    name: Int32
    kind: UInt8
    names: tuple[str, ...]
    absent: str = ""


@dataclass(frozen=True)
class Work:
    """GPU work of one process on one device, in any order: ns on the report's clock.

    `correlation` is `NULL` where the export does not say which call launched it.
    """

    start: Int64
    end: Int64
    correlation: Int64


def kind_of_call(name: str) -> int:
    """Tell what a call does, as a place in `CALL_KINDS`.

    Examples
    --------
    >>> [CALL_KINDS[kind_of_call(n)] for n in ("cudaLaunchKernel_v7000", "cuStreamSynchronize")]
    ['launch', 'sync']
    """
    return next((k for k, known in enumerate(_KINDS) if known.match(name)), len(_KINDS))


def read_calls(
    report: Report, pids: Collection[int | None], tell: Callable[[int], None] = _quiet
) -> Calls:
    """Read the CUDA calls of some processes.

    nsys keeps calls of the runtime and of the driver in one table.

    Parameters
    ----------
    report : Report
        A report that was read; its file is opened again.
    pids : collection of int or None
        The processes; None among them: all.
    tell : callable
        Called with the number of rows that were read since it was called last.
    """
    with reopened(report) as database:
        if _TABLE not in database.tables:
            return _no_calls(_NO_TABLE)
        if not database.has(_TABLE, *_NEEDED):
            return _no_calls(_NO_COLUMNS)
        names = Names(database)
        window = Window(report.start.duration_ns)
        parts: list[tuple[Int64, ...]] = []
        for block in database.blocks(_TABLE, (*_NEEDED, "nameId")):
            tell(len(block["start"]))
            good = _credible(block, window)
            if None not in pids:
                own = [pid for pid in pids if pid is not None]
                good &= np.isin((block["globalTid"] >> 24) & 0xFFFFFF, own)
            code = names.of_string_ids(block["nameId"][good]).astype(np.int64)
            if (code < 0).any():
                code[code < 0] = names.code(UNNAMED)
            parts.append((*(block[column][good] for column in _NEEDED), code))
        if not sum(len(part[0]) for part in parts):
            return _no_calls(_NONE)
        columns = [np.concatenate(own) for own in zip(*parts, strict=True)]
        texts = names.texts
    start, end, thread, correlation, name = columns
    kinds = np.array([kind_of_call(text) for text in texts], np.uint8)
    order = slice(None) if (start[1:] >= start[:-1]).all() else np.argsort(start, kind="stable")
    return Calls(
        start[order],
        end[order],
        thread[order] & 0xFFFF_FFFF_FFFF,
        correlation[order],
        name[order].astype(np.int32),
        kinds[name][order],
        tuple(map(report.spell, texts)),
    )


def read_work(report: Report, pid: int | None, device: int) -> Work:
    """Read when a process worked on a device, and what connects that with its calls.

    Rows that name no process count when `pid` is None or the report's only process.
    """
    known = set(report.identity.processes) | {pid}
    nameless = pid is None or len(known) == 1
    parts: list[tuple[Int64, Int64, Int64]] = []
    with reopened(report) as database:
        window = Window(report.start.duration_ns)
        for table in (one for one in _GPU if database.has(one, *REQUIRED)):
            columns = ("start", "end", "globalPid", "deviceId", "correlationId")
            for block in database.blocks(table, columns):
                own = faults_of(table, block, len(block["start"]), window).good
                own &= block["deviceId"] == device
                pids = process_ids(block["globalPid"], NULL)
                own &= (pids == (NULL if pid is None else pid)) | (nameless & (pids == NULL))
                parts.append((block["start"][own], block["end"][own], block["correlationId"][own]))
    start, end, correlation = (
        np.concatenate([np.empty(0, np.int64), *(part[place] for part in parts)])
        for place in range(3)
    )
    return Work(start, end, np.where(correlation <= NOT_INTEGER, NULL, correlation))


def _credible(block: dict[str, Int64], window: Window) -> Flags:
    start, end = block["start"], block["end"]
    good = (start > NOT_INTEGER) & (end >= start) & (block["globalTid"] > NOT_INTEGER)
    return good & ~window.far_outside(start, end)


def _no_calls(why: str) -> Calls:
    none = np.empty(0, np.int64)
    return Calls(none, none, none, none, none.astype(np.int32), none.astype(np.uint8), (), why)

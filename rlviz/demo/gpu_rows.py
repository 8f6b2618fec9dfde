"""Rows of GPU activity and of the calls behind it, into an export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.export import EACH, ExportFile, rows_of
from rlviz.demo.plan import Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.demo.cover import Activity

    Int64 = NDArray[np.int64]

__all__ = ["write_activity"]

# Of each copy: its kind, memory kinds of source and target, and bytes a nanosecond.
_COPY_KINDS = {
    Stage.COPY_IN: (1, 1, 2, 26),
    Stage.COPY_OUT: (2, 2, 1, 24),
    Stage.COPY_ON: (8, 2, 2, 1400),
}
_GRAPH = 11
_PLACE = {"deviceId": 0, "contextId": 1, "greenContextId": None}


def write_activity(
    out: ExportFile, activity: Activity, pid: int, threads: tuple[int, int], zero: int
) -> None:
    """Write kernels, copies, sets, graph launches and the calls behind them.

    `pid` and `threads` are global ids, the main thread and autograd's; times are written as ns
    since `zero`.
    """
    if len(activity.kernels.start):
        _kernels(out, activity, pid, zero)
    if len(activity.copies.start):
        _copies(out, activity, pid, zero)
    if len(activity.sets.start):
        _sets(out, activity, pid, zero)
    if len(activity.graphs.start):
        _graphs(out, activity, pid, zero)
    _calls(out, activity, np.array(threads), zero)


def _kernels(out: ExportFile, activity: Activity, pid: int, zero: int) -> None:
    rows = activity.kernels
    newer = "tensorSizeMinusOneElements" in "".join(out.schema["CUPTI_ACTIVITY_KIND_KERNEL"])
    names = out.texts([kind.demangled for kind in rows.kinds])
    shorts = out.texts([kind.short or kind.demangled for kind in rows.kinds])
    shapes = np.array([(k.registers, k.grid, k.block, k.shared) for k in rows.kinds], np.int64)
    order = np.arange(len(rows.start))
    values: dict[str, object] = {
        "start": EACH,
        "end": EACH,
        **_PLACE,
        "streamId": EACH,
        "correlationId": EACH,
        "globalPid": pid,
        "demangledName": EACH,
        "shortName": EACH,
        "launchType": 1,
        "cacheConfig": 1,
        "registersPerThread": EACH,
        "gridX": EACH,
        "gridY": 1,
        "gridZ": 1,
        "blockX": EACH,
        "blockY": 1,
        "blockZ": 1,
        "staticSharedMemory": 0,
        "dynamicSharedMemory": EACH,
        "localMemoryPerThread": 0,
        "localMemoryTotal": 0,
        "gridId": EACH,
        "sharedMemoryExecuted": 65_536,
        "sharedMemoryLimitConfig": 0,
    }
    columns = [
        rows.start - zero,
        rows.end - zero,
        rows.stream,
        rows.correlation,
        names[rows.kernel],
        shorts[rows.kernel],
        *(shapes[rows.kernel, place] for place in (0, 1, 2, 3)),
        order + 1,
    ]
    if newer:
        values |= {"clusterX": 1, "clusterY": 1, "clusterZ": 1, "tensorSizeMinusOneElements": "[]"}
    for graph in (False, True):
        chosen = (rows.node > 0) == graph
        extra = {"graphNodeId": EACH, **({"graphId": _GRAPH} if newer else {})} if graph else {}
        # A node's id: the graph's number in the upper half, the node's in the lower one.
        node = ((_GRAPH << 32) + rows.node)[chosen]
        each = [column[chosen] for column in columns] + ([node] if graph else [])
        if chosen.any():
            out.insert("CUPTI_ACTIVITY_KIND_KERNEL", values | extra, rows_of(*each))


def _copies(out: ExportFile, activity: Activity, pid: int, zero: int) -> None:
    copies = activity.copies
    for stage, (kind, source, target, bytes_per_us) in _COPY_KINDS.items():
        chosen = copies.stage == stage
        if chosen.any():
            length = (copies.end - copies.start)[chosen]
            out.insert(
                "CUPTI_ACTIVITY_KIND_MEMCPY",
                {
                    "start": EACH,
                    "end": EACH,
                    **_PLACE,
                    "streamId": 23,
                    "correlationId": EACH,
                    "globalPid": pid,
                    "bytes": EACH,
                    "copyKind": kind,
                    "srcKind": source,
                    "dstKind": target,
                    "copyCount": 1,
                },
                rows_of(
                    copies.start[chosen] - zero,
                    copies.end[chosen] - zero,
                    activity.copy_correlation[chosen],
                    np.maximum(length * bytes_per_us, 4),
                ),
            )


def _sets(out: ExportFile, activity: Activity, pid: int, zero: int) -> None:
    out.insert(
        "CUPTI_ACTIVITY_KIND_MEMSET",
        {
            "start": EACH,
            "end": EACH,
            **_PLACE,
            "streamId": 23,
            "correlationId": EACH,
            "globalPid": pid,
            "value": 0,
            "bytes": 4_194_304,
            "memKind": 2,
        },
        rows_of(activity.sets.start - zero, activity.sets.end - zero, activity.set_correlation),
    )


def _graphs(out: ExportFile, activity: Activity, pid: int, zero: int) -> None:
    graphs = activity.graphs
    out.insert(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        {
            "start": EACH,
            "end": EACH,
            **_PLACE,
            "streamId": 7,
            "correlationId": EACH,
            "globalPid": pid,
            "graphId": _GRAPH,
            "graphExecId": EACH,
        },
        rows_of(
            graphs.start - zero,
            graphs.end - zero,
            activity.graph_correlation,
            12 + np.arange(len(graphs.start)) % 3,
        ),
    )


def _calls(out: ExportFile, activity: Activity, threads: Int64, zero: int) -> None:
    calls = activity.launches
    apis = out.texts(calls.apis)
    for event_class, driver in ((0, False), (1, True)):
        chosen = (
            np.array([name.startswith("cuL") for name in calls.apis], bool)[calls.api] == driver
        )
        if chosen.any():
            out.insert(
                "CUPTI_ACTIVITY_KIND_RUNTIME",
                {
                    "start": EACH,
                    "end": EACH,
                    "eventClass": event_class,
                    "globalTid": EACH,
                    "correlationId": EACH,
                    "nameId": EACH,
                    "returnValue": 0,
                    "callchainId": None,
                },
                rows_of(
                    calls.start[chosen] - zero,
                    calls.end[chosen] - zero,
                    threads[calls.thread[chosen]],
                    calls.correlation[chosen],
                    apis[calls.api[chosen]],
                ),
            )

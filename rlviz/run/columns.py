"""The columns of every frame that a `Run` gives: the one place that says what they mean.

Times are int64 nanoseconds since the run's start (``run.start_utc_ns`` in UTC). A null means that
the reports do not say; it never stands for 0.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from rlviz.run.rules import PHASES

__all__ = ["COLUMNS", "PHASE_COLUMNS", "Column", "empty", "schema"]


class Column(NamedTuple):
    """A column: its polars type, its unit (or ""), and what it holds."""

    dtype: pl.DataType
    unit: str
    meaning: str


_TEXT = pl.String()
_INT = pl.Int64()
_FLAG = pl.Boolean()
_CODE = pl.Int32()
_REAL = pl.Float64()

# refit_ns is the wall time of a refit; what GPUs were busy with in it has a name of its own.
PHASE_COLUMNS = {phase: f"{phase}_ns" for phase in PHASES} | {"refit": "refit_busy_ns"}

_SPAN = {
    "row": Column(_CODE, "", "row of the chart, as in run.rows"),
    "lane": Column(_CODE, "", "lane (a GPU and a worker), as in run.rows"),
    "start_ns": Column(_INT, "ns", "start, since the run's start"),
    "end_ns": Column(_INT, "ns", "end, since the run's start"),
}
_EVENT = {
    "name": Column(_TEXT, "", "name as nsys wrote it: a kernel's full demangled name"),
    "stream": Column(_INT, "", "CUDA stream, local to the process"),
    "pid": Column(_INT, "", "process"),
    "device": Column(_INT, "", "CUDA device, local to the process: no identity of a GPU"),
    "correlation_id": Column(_INT, "", "launch that caused it; null when not recorded"),
}
_TIME_OF_GPUS = {
    "busy_ns": Column(_INT, "ns", "union of kernels, copies, sets and graph launches"),
    "compute_ns": Column(_INT, "ns", "busy with kernels that do not communicate, or graphs"),
    "comm_exposed_ns": Column(_INT, "ns", "busy with communication and no compute under it"),
    "copy_only_ns": Column(_INT, "ns", "busy with copies and sets, and no kernel under them"),
    "idle_launch_ns": Column(_INT, "ns", "idle in gaps under 100 us"),
    "idle_short_ns": Column(_INT, "ns", "idle in gaps from 100 us to 10 ms"),
    "idle_wait_ns": Column(_INT, "ns", "idle in gaps of 10 ms and more"),
    "bubble_ns": Column(_INT, "ns", "idle in gaps of 1 ms and more"),
    "edge_ns": Column(_INT, "ns", "idle at an edge of a capture: neither busy nor idle"),
    "longest_gap_ns": Column(_INT, "ns", "longest idle piece in the iteration"),
}
_TIME_OF_PHASES = {
    name: Column(_INT, "ns", f"busy while the process was in the phase {phase}")
    for phase, name in PHASE_COLUMNS.items()
}
_ITERATION = Column(_INT, "", "number of its train step")
_DURATION = Column(_INT, "ns", "length of the iteration")
_PARTIAL = Column(_FLAG, "", "True: the capture cut it, so it is kept out of means")

COLUMNS: dict[str, dict[str, Column]] = {
    "reports": {
        "report": Column(_TEXT, "", "key: path below the folder that all reports share"),
        "path": Column(_TEXT, "", "file that was read"),
        "host": Column(_TEXT, "", "host; numbered where several have the name; null when unknown"),
        "pids": Column(pl.List(pl.Int64()), "", "workers in it: processes with GPU rows or NVTX"),
        "role": Column(_TEXT, "", "what its workers are for"),
        "nsys_version": Column(_TEXT, "", "nsys that exported it; null before 2022"),
        "schema_version": Column(_TEXT, "", "schema of the export; null before 2022"),
        "utc_start_ns": Column(_INT, "ns", "UTC at the start of its collection; null in 2020"),
        "alignment": Column(
            _TEXT,
            "",
            "what put it on the run's clock: utc, system_clock, collectives, broadcasts or user; "
            "ambiguous, far or none: nothing does",
        ),
        "offset_ns": Column(
            _INT, "ns", "what that added to its UTC; null without UTC, or if apart"
        ),
        "residual_median_ns": Column(
            _INT, "ns", "what is left between ends of collectives here and on other hosts: median"
        ),
        "residual_worst_ns": Column(_INT, "ns", "the same: worst; null with none in common"),
        "anchors": Column(_INT, "", "collectives of its host that were matched with others"),
        "window_start_ns": Column(_INT, "ns", "start of its capture window"),
        "window_end_ns": Column(_INT, "ns", "end of its capture window"),
        "kernels": Column(_INT, "", "kernels read, bad rows left out; null without GPU rows"),
        "ranges": Column(_INT, "", "NVTX ranges read; null without an NVTX table"),
        "status": Column(
            _TEXT,
            "",
            "ok, partial (GPU rows or NVTX missing), empty; apart (its clock "
            "fits no other: see alignment), or unreadable",
        ),
    },
    "rows": {
        "row": _SPAN["row"],
        "lane": _SPAN["lane"],
        "label": Column(_TEXT, "", "name of the row on the chart"),
        "pool": Column(_TEXT, "", "generation, training, colocated or other"),
        "role": Column(_TEXT, "", "what the lane's worker is for"),
        "rank": Column(
            _INT, "", "RANK of the worker, or the one in its report's name; null when unknown"
        ),
        "host": Column(_TEXT, "", "host name; null when unknown"),
        "gpu_uuid": Column(_TEXT, "", "UUID of the GPU; null when unknown"),
        "gpu_bus": Column(_TEXT, "", "PCI bus of the GPU; null when unknown"),
        "gpu_name": Column(_TEXT, "", "model of the GPU; null when unknown"),
        "pid": Column(_INT, "", "the worker's process; null when the export names none"),
        "report": Column(pl.List(pl.String()), "", "reports that the lane was read from"),
        "gpu_data": Column(_FLAG, "", "False: no GPU rows, so busy and idle are unknown"),
    },
    "kernels": {
        **_SPAN,
        **_EVENT,
        "short_name": Column(_TEXT, "", "base name, without template and arguments"),
        "graph_node_id": Column(_INT, "", "node inside a CUDA graph; null outside of graphs"),
    },
    "copies": {
        **_SPAN,
        **_EVENT,
        "kind": Column(_TEXT, "", "memcpy or memset"),
        "bytes": Column(_INT, "bytes", "bytes copied or set"),
        "direction": Column(_TEXT, "", "H2D, D2H, D2D, P2P, ...; null for a memset"),
    },
    "graphs": {
        **_SPAN,
        **_EVENT,
        "graph_id": Column(_INT, "", "the CUDA graph; null when not recorded"),
    },
    "ranges": {
        **_SPAN,
        "name": Column(_TEXT, "", "text of the range, or <unnamed>"),
        "domain": Column(_TEXT, "", "NVTX domain; null for the default domain"),
        "thread": Column(_TEXT, "", "name of the thread that opened it; null when unnamed"),
        "tid": Column(_INT, "", "thread that opened it"),
        "pid": _EVENT["pid"],
        "depth": Column(
            _CODE,
            "",
            "push_pop: ranges of its thread around it; start_end: level clear of others",
        ),
        "kind": Column(_TEXT, "", "push_pop or start_end"),
        "truncated": Column(_FLAG, "", "True: open when the capture ended, so the end is no end"),
    },
    "projected": {
        "gpu_start_ns": Column(_INT, "ns", "first start of the GPU work launched in it"),
        "gpu_end_ns": Column(_INT, "ns", "last end of the GPU work launched in it"),
        "gpu_busy_ns": Column(_INT, "ns", "union of the GPU work launched in it"),
        "gpu_events": Column(_INT, "", "kernels, copies, sets and graphs launched in it"),
    },
    "marks": {
        **_SPAN,
        "name": Column(_TEXT, "", "text of the mark, or <unnamed>"),
        "domain": Column(_TEXT, "", "NVTX domain; null for the default domain"),
        "thread": Column(_TEXT, "", "name of the thread; null when unnamed"),
        "tid": Column(_INT, "", "thread"),
        "pid": _EVENT["pid"],
    },
    "busy": dict(_SPAN),
    "phases": {
        **_SPAN,
        "phase": Column(_TEXT, "", "generation, logprobs, training, refit, reward or other"),
        "source": Column(_TEXT, "", "range: an NVTX range marks it; kernels: GPU activity tells"),
        "iteration": Column(_INT, "", "iteration that it starts in; null outside of all"),
        "truncated": Column(_FLAG, "", "True: open when the capture ended, so the end is no end"),
    },
    "iterations": {
        "iteration": _ITERATION,
        "start_ns": _SPAN["start_ns"],
        "end_ns": _SPAN["end_ns"],
        "boundary": Column(
            _TEXT, "", "what its end is: refit, first_phase, last_phase_end, marker or none"
        ),
        "start_boundary": Column(_TEXT, "", "what its start is, in the same words"),
        "train_start_ns": Column(_INT, "ns", "first start of its training ranges, over all ranks"),
        "train_end_ns": Column(_INT, "ns", "last end of its training ranges, over all ranks"),
        "segment_start_ns": Column(_INT, "ns", "first generation work between its refits"),
        "segment_end_ns": Column(_INT, "ns", "last generation work between its refits"),
        "weights": Column(_INT, "", "step whose weights its segment used"),
        "refit_start_ns": Column(_INT, "ns", "start of the refit after its training, both pools"),
        "refit_end_ns": Column(_INT, "ns", "end of the refit after its training, both pools"),
        "partial": _PARTIAL,
    },
    "summary": {
        "iteration": _ITERATION,
        "pool": Column(_TEXT, "", "generation, training or colocated"),
        "gpus": Column(_INT, "", "GPUs of the pool that were captured; times are sums over them"),
        "duration_ns": _DURATION,
        **_TIME_OF_GPUS,
        "active_ns": Column(_INT, "ns", "any GPU of the pool busy, short gaps closed, no refit"),
        "overlap_ns": Column(_INT, "ns", "both pools active"),
        "overlap_gpu_s": Column(_REAL, "s", "integral of both pools' busy shares, multiplied"),
        "exposed_generation_ns": Column(_INT, "ns", "generation active, training not"),
        "refit_ns": Column(_INT, "ns", "first start to last end of the pool's part in the refit"),
        "stall_ns": Column(_INT, "ns", "no generation around the refit, summed over GPUs"),
        "straggler_ns": Column(_INT, "ns", "time that the others wait for the straggler"),
        "straggler_row": Column(_CODE, "", "row of the straggler"),
        "tail_ns": Column(_INT, "ns", "in the segment, fewer than half of the GPUs busy"),
        **_TIME_OF_PHASES,
        "partial": _PARTIAL,
    },
    "summary_by_gpu": {
        "iteration": _ITERATION,
        "row": _SPAN["row"],
        "label": Column(_TEXT, "", "name of the row on the chart"),
        "pool": Column(_TEXT, "", "generation, training, colocated or other"),
        "duration_ns": _DURATION,
        "captured_ns": Column(_INT, "ns", "captured part: busy, edge and idle add up to it"),
        **_TIME_OF_GPUS,
        "longest_gap_start_ns": Column(_INT, "ns", "where the longest idle piece starts"),
        "longest_gap_other_active_ns": Column(_INT, "ns", "other pool's active time meanwhile"),
        "refit_ns": Column(_INT, "ns", "first start to last end of its own part in the refit"),
        "stall_ns": Column(_INT, "ns", "no generation around the refit"),
        "straggler_ns": Column(_INT, "ns", "how long others wait for it, as in summary"),
        **_TIME_OF_PHASES,
        "partial": _PARTIAL,
    },
    "gaps": {
        "row": _SPAN["row"],
        "start_ns": _SPAN["start_ns"],
        "end_ns": _SPAN["end_ns"],
        "gap_ns": Column(_INT, "ns", "length of the whole gap, which edges and iterations cut"),
        "class": Column(_TEXT, "", "launch, short or wait, by gap_ns"),
        "bubble": Column(_FLAG, "", "True: gap_ns is 1 ms or more"),
        "iteration": Column(_INT, "", "iteration that it lies in; null outside of all"),
        "other_active_ns": Column(_INT, "ns", "other pool's active time meanwhile"),
    },
    "calls": {
        **_SPAN,
        "name": Column(_TEXT, "", "function of the CUDA runtime or driver, as nsys wrote it"),
        "kind": Column(_TEXT, "", "launch, sync, copy, memory or other"),
        "thread": Column(_TEXT, "", "name of the thread that called; null when unnamed"),
        "tid": Column(_INT, "", "thread that called"),
        "pid": _EVENT["pid"],
        "correlation_id": Column(_INT, "", "that of the GPU work that it launched, if any"),
    },
    "launch_bound": {
        "row": _SPAN["row"],
        "start_ns": _SPAN["start_ns"],
        "end_ns": _SPAN["end_ns"],
        "waits": Column(_INT, "", "launch waits in it"),
        "wait_ns": Column(_INT, "ns", "sum of its launch waits: idle, with the launch outstanding"),
        "thread": Column(_TEXT, "", "thread that launched after most of it; null when unnamed"),
        "tid": Column(_INT, "", "the same: its number"),
        "pid": _EVENT["pid"],
    },
    "top_kernels": {
        "short_name": Column(_TEXT, "", "base name, without template and arguments"),
        "count": Column(_INT, "", "kernels that overlap the window"),
        "total_ns": Column(_INT, "ns", "sum of their durations in the window; streams add up"),
        "share": Column(_REAL, "", "total_ns as a share of that of all kernels"),
        "longest_ns": Column(_INT, "ns", "the longest of them in the window"),
    },
    "findings": {
        "rank": Column(_INT, "", "1 is the one to look at first"),
        "kind": Column(_TEXT, "", "what it is, a word of the page Findings"),
        "iteration": Column(_INT, "", "iteration that it is about; null: the whole run"),
        "row": Column(_CODE, "", "row that it is about; null: the whole pool"),
        "start_ns": Column(_INT, "ns", "where to look: start, since the run's start"),
        "end_ns": Column(_INT, "ns", "where to look: end, since the run's start"),
        "lost_ns": Column(_INT, "ns", "wall-clock time lost per complete iteration, mean"),
        "text": Column(_TEXT, "", "one sentence with its numbers and the name of the row"),
    },
    "diagnostics": {
        "severity": Column(_TEXT, "", "error, warning or info"),
        "report": Column(_TEXT, "", "report it is about; null when about the run"),
        "kind": Column(_TEXT, "", "a fixed word for the kind of trouble"),
        "message": Column(_TEXT, "", "what it means, and how to capture better"),
        "count": Column(_INT, "", "how many rows or reports; null where counting says nothing"),
    },
}


def schema(frame: str) -> dict[str, pl.DataType]:
    """Polars schema of one of the frames in `COLUMNS`.

    Examples
    --------
    >>> list(schema("busy"))
    ['row', 'lane', 'start_ns', 'end_ns']
    """
    return {name: column.dtype for name, column in COLUMNS[frame].items()}


def empty(frame: str) -> pl.DataFrame:
    """Give a frame of that schema without rows."""
    return pl.DataFrame(schema=schema(frame))

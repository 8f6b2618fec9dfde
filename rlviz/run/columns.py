"""The columns of every frame that a `Run` gives: the one place that says what they mean.

Times are int64 nanoseconds since the run's start (``run.start_utc_ns`` in UTC). A null means that
the reports do not say; it never stands for 0.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

__all__ = ["COLUMNS", "Column", "empty", "schema"]


class Column(NamedTuple):
    """A column: its polars type, its unit (or ""), and what it holds."""

    dtype: pl.DataType
    unit: str
    meaning: str


_TEXT = pl.String()
_INT = pl.Int64()
_FLAG = pl.Boolean()
_CODE = pl.Int32()

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

COLUMNS: dict[str, dict[str, Column]] = {
    "reports": {
        "report": Column(_TEXT, "", "key: path below the folder that all reports share"),
        "path": Column(_TEXT, "", "file that was read"),
        "host": Column(_TEXT, "", "host name; null when unknown"),
        "pids": Column(pl.List(pl.Int64()), "", "workers in it: processes with GPU rows or NVTX"),
        "role": Column(_TEXT, "", "what its workers are for"),
        "nsys_version": Column(_TEXT, "", "nsys that exported it; null before 2022"),
        "schema_version": Column(_TEXT, "", "schema of the export; null before 2022"),
        "utc_start_ns": Column(_INT, "ns", "UTC at the start of its collection; null in 2020"),
        "window_start_ns": Column(_INT, "ns", "start of its capture window"),
        "window_end_ns": Column(_INT, "ns", "end of its capture window"),
        "kernels": Column(_INT, "", "kernels read, bad rows left out; null without GPU rows"),
        "ranges": Column(_INT, "", "NVTX ranges read; null without an NVTX table"),
        "status": Column(_TEXT, "", "ok, partial (GPU rows or NVTX missing), empty, or unreadable"),
    },
    "rows": {
        "row": _SPAN["row"],
        "lane": _SPAN["lane"],
        "label": Column(_TEXT, "", "name of the row on the chart"),
        "pool": Column(_TEXT, "", "generation, training, colocated or other"),
        "role": Column(_TEXT, "", "what the lane's worker is for"),
        "rank": Column(_INT, "", "RANK of the worker; null when unknown"),
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
        "iteration": Column(_INT, "", "number of its train step"),
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
        "partial": Column(_FLAG, "", "True: the capture cut it, so it is kept out of means"),
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

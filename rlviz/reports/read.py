"""Read one report: probe it, take the columns that a timeline needs, leave bad rows out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from rlviz.errors import NotAnExport, UnreadableReport, name_of
from rlviz.reports.activity import read_copies, read_graphs, read_kernels
from rlviz.reports.database import Database, open_database
from rlviz.reports.gpu_rows import GRAPH, GpuRows, first_device, read_gpu_rows
from rlviz.reports.identity import read_identity, read_start
from rlviz.reports.nvtx import read_nvtx
from rlviz.reports.report import Diagnostic, Report
from rlviz.reports.stamp import stamp_of
from rlviz.reports.table import Names, Window

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

__all__ = ["Detail", "read_details", "read_report", "reopened", "sketch_report"]

Detail: TypeAlias = Literal["kernels", "copies", "graphs"]

_NSYS_TABLES = ("ANALYSIS_DETAILS", "META_DATA_EXPORT", "EXPORT_META_DATA", "PROCESSES")
_NSYS_PREFIXES = ("CUPTI_ACTIVITY_KIND_", "NVTX_", "TARGET_INFO_")


def read_report(path: Path, key: str | None = None, role: str | None = None) -> Report:
    """Read an nsys SQLite export of any version.

    Parameters
    ----------
    path : Path
        The file. It is opened read-only and immutable.
    key : str, optional
        Name of the report in the run; the file's name by default.
    role : str, optional
        Role that the caller knows it to have.

    Returns
    -------
    Report
        Columns on the report's own clock, and diagnostics of what it lacks.

    Raises
    ------
    NotAnExport
        The file is no nsys export.
    UnreadableReport
        The file is damaged or cannot be opened.
    """
    return _read(path, key, role, gpu_rows=True)


def sketch_report(path: Path, key: str | None = None, role: str | None = None) -> Report:
    """Read who recorded a report, and its NVTX rows: all that takes no time; no GPU rows.

    Parameters
    ----------
    path, key, role
        As for `read_report`, whose errors it raises.

    Returns
    -------
    Report
        Without `activity`: `unread` tells whether there is any. Its diagnostics do not speak of
        what the report lacks.
    """
    return _read(path, key, role, gpu_rows=False)


def _read(path: Path, key: str | None, role: str | None, *, gpu_rows: bool) -> Report:
    stamp = stamp_of(path)
    with open_database(path) as database:
        _require_nsys(database)
        start = read_start(database)
        window = Window(start.duration_ns)
        names = Names(database)
        found: list[Diagnostic] = []
        if gpu_rows:
            rows = read_gpu_rows(database, names, window, found)
        else:
            rows = GpuRows(None, first_device(database))
        ranges, marks = read_nvtx(database, names, window, found)
        if gpu_rows:
            found += _absences(database, rows.activity, ranges)
        if start.utc_ns is None:
            found.append(
                Diagnostic(
                    "warning",
                    "no-start-time",
                    "The export has no session start time: it cannot be aligned with others. "
                    "Export it again with nsys 2021.3 or later.",
                )
            )
        return Report(
            path=path,
            stamp=stamp,
            key=key or name_of(path),
            role=role,
            start=start,
            identity=read_identity(database),
            names=names.texts,
            activity=rows.activity,
            devices=rows.devices,
            sums=rows.sums,
            collectives=rows.collectives,
            ranges=ranges,
            marks=marks,
            diagnostics=tuple(found),
            unread=not gpu_rows and rows.devices is not None,
        )


def read_details(report: Report, kind: Detail) -> tuple[pl.DataFrame | None, list[str]]:
    """Read all that a report tells of its kernels, copies or graph launches.

    Parameters
    ----------
    report : Report
        A report that was read; its file is opened again.
    kind : {"kernels", "copies", "graphs"}
        Which of them.

    Returns
    -------
    rows : polars.DataFrame or None
        As of `rlviz.reports.activity`; None when the table is absent.
    names : list of str
        The report's names, and behind them those that only these rows have.

    Raises
    ------
    UnreadableReport
        The file is not there any more, or it is not the one that was read.
    """
    with reopened(report) as database:
        names = Names(database, report.names)
        window = Window(report.start.duration_ns)
        # What is left out was told when the report was read.
        return _DETAILS[kind](database, names, window, []), names.texts


@contextmanager
def reopened(report: Report) -> Iterator[Database]:
    """Open the file of a report again, if it is still the one that was read.

    Raises
    ------
    UnreadableReport
        It is not.
    """
    if stamp_of(report.path) != report.stamp:
        raise UnreadableReport(
            report.path, "it was changed after it was loaded.", "Load the run again."
        )
    with open_database(report.path) as database:
        yield database


_DETAILS = {"kernels": read_kernels, "copies": read_copies, "graphs": read_graphs}


def _require_nsys(database: Database) -> None:
    tables = database.tables
    known = any(t in _NSYS_TABLES or t.startswith(_NSYS_PREFIXES) for t in tables)
    if not known:
        shown = ", ".join(sorted(name[:40] for name in tables)[:5]) or "none"
        stem = database.path.stem
        raise NotAnExport(
            database.path,
            f"no nsys tables in it (found: {shown}).",
            f"Export it again: nsys export --type sqlite -o {stem}.sqlite {stem}.nsys-rep",
        )


def _absences(
    database: Database, activity: pl.DataFrame | None, ranges: pl.DataFrame | None
) -> list[Diagnostic]:
    has_gpu_rows = activity is not None and len(activity) > 0
    has_ranges = ranges is not None and len(ranges) > 0
    found = []
    if launches := _graph_launches_without_rows(database, activity):
        message = (
            "CUDA graphs were launched but their rows are missing: idle time is unknown. "
            "Capture with --cuda-graph-trace=node."
        )
        found.append(Diagnostic("warning", "graph-launches-without-rows", message, count=launches))
    if not has_gpu_rows and not has_ranges:
        message = (
            "Nothing was traced: neither GPU rows nor NVTX ranges. Capture with -t cuda,nvtx, "
            "and check that the profiled process reached cudaProfilerStart."
        )
        found.append(Diagnostic("warning", "nothing-traced", message))
    elif not has_gpu_rows:
        message = (
            "No GPU rows: busy and idle time of its workers are unknown, not 0. Capture with "
            "-t cuda,nvtx, and let nsys start the process that launches the kernels."
        )
        found.append(Diagnostic("warning", "no-gpu-rows", message))
    elif not has_ranges:
        message = "No NVTX ranges: its phases have no names. Capture with -t cuda,nvtx."
        found.append(Diagnostic("info", "no-nvtx", message))
    return found


def _graph_launches_without_rows(database: Database, activity: pl.DataFrame | None) -> int:
    runtime, kernel = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"
    if activity is not None and (activity["kind"] == GRAPH).any():
        return 0
    if not database.has(runtime, "nameId") or not database.has("StringIds", "id", "value"):
        return 0
    launches = database.rows(
        "SELECT id FROM StringIds"
        " WHERE value GLOB 'cudaGraphLaunch*' OR value GLOB 'cuGraphLaunch*'"
    )
    if not launches:
        return 0
    if database.has(kernel, "graphNodeId"):
        in_graphs = f"SELECT 1 FROM {kernel} WHERE graphNodeId IS NOT NULL LIMIT 1"
        if database.rows(in_graphs):
            return 0
    marks = ",".join(str(int(str(key))) for (key,) in launches)
    counted = database.rows(f"SELECT count(*) FROM {runtime} WHERE nameId IN ({marks})")
    return int(str(counted[0][0]))

"""From reports to a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from rlviz.errors import ExportNeeded, NotAnExport, RlvizError, UnfinishedCapture, written
from rlviz.reports.gpu_rows import KERNEL
from rlviz.reports.report import Diagnostic
from rlviz.run.capture import captured_by_lane
from rlviz.run.clock import Alignment, Clock, align
from rlviz.run.columns import schema
from rlviz.run.completeness import what_is_missing
from rlviz.run.events import Events
from rlviz.run.gpu_time import NO_GPU_DATA
from rlviz.run.hosts import find_machines, hosts_of
from rlviz.run.iteration import Iteration, Refit
from rlviz.run.memo import forgets
from rlviz.run.part import EVERYTHING
from rlviz.run.phases import all_phases, marked_ranges
from rlviz.run.rulebook import shipped_rules
from rlviz.run.run import Run
from rlviz.run.story import Story, tell_story
from rlviz.run.workers import find_lanes, find_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rlviz.reports.report import Report
    from rlviz.run.hosts import Host
    from rlviz.run.memo import Memo
    from rlviz.run.part import Part
    from rlviz.run.rules import Rules
    from rlviz.run.workers import Lane, Worker

__all__ = ["assemble"]

RunT = TypeVar("RunT", bound=Run)

_CLOCK = (Clock, Alignment, Diagnostic)
_STORY = (Story, Iteration, Refit, Diagnostic)

_WITHOUT_GPU = {"controller", "environment"}

_KINDS: dict[type[RlvizError], str] = {
    NotAnExport: "not-an-export",
    UnfinishedCapture: "unfinished-capture",
    ExportNeeded: "export-needed",
}


def assemble(
    reports: Sequence[Report],
    failures: Sequence[tuple[str, RlvizError]] = (),
    rules: Rules | None = None,
    iteration_marker: str | None = None,
    offsets: Mapping[str, float] | None = None,
    *,
    made: type[RunT],
    memo: Memo = forgets,
    part: Part = EVERYTHING,
) -> RunT:
    """Make a run of reports.

    Parameters
    ----------
    reports : sequence of Report
        What could be read.
    failures : sequence of (str, RlvizError)
        Key and error of what could not; they become diagnostics.
    rules : Rules, optional
        What names mean; those that rlviz knows by default.
    iteration_marker : str, optional
        Shell pattern of ranges that each mark one iteration.
    offsets : mapping of str to float, optional
        Seconds to add to the times of a host or of a report.
    made : type
        Kind of run to make: `Run`, or one that can do more.
    memo : Memo
        Keeps what takes long to work out.
    part : Part
        What of the run was asked for, and what was left out.

    Raises
    ------
    ValueError
        As of `rlviz.run.clock.align`.
    """
    rules = rules or shipped_rules()
    reports, doubles = _distinct(reports)
    machines = find_machines(reports)
    hosts = hosts_of(machines)
    clock = memo("clock", _CLOCK, lambda: align(reports, machines, offsets))
    windows, unknown_windows = _windows(reports, clock.offsets_ns)
    workers = everybody = find_workers(reports, hosts, rules)
    frame = _reports_frame(reports, hosts, clock, windows, everybody, failures)
    # What has no place on the run's clock is listed, and takes no part in anything else.
    kept = [i for i, one in enumerate(clock.alignments) if not one.apart]
    placed = [reports[i] for i in kept]
    if len(placed) < len(reports):
        workers = find_workers(placed, [hosts[i] for i in kept], rules)
    lanes = find_lanes(workers)
    offsets_ns, spans_ns = [clock.offsets_ns[i] for i in kept], [windows[i] for i in kept]
    events = Events(placed, offsets_ns, spans_ns, workers, lanes, memo)
    rows = _rows_frame(placed, workers, lanes)

    def tell() -> tuple[Story, pl.DataFrame]:
        marked = marked_ranges(events, rules)
        captured = captured_by_lane(rows, frame)
        story = tell_story(events, rows, marked, captured, rules, iteration_marker)
        return story, all_phases(marked, story, rows)

    story, phases = memo("story", _STORY, tell)
    diagnostics = [
        *(_failure(key, error, rules) for key, error in failures),
        *part.told,
        *doubles,
        *what_is_missing(reports, machines, everybody, part),
        *clock.diagnostics,
        *_of_reports(reports, everybody),
        *unknown_windows,
        *_of_workers(workers, placed),
        *_truncated(events.ranges),
        *story.diagnostics,
    ]
    return made(
        start_utc_ns=clock.start_utc_ns,
        clock=clock.text,
        simulated=any(r.identity.simulated for r in reports),
        reports=frame,
        rows=rows,
        diagnostics=pl.DataFrame(
            [(d.severity, d.report, d.kind, d.message, d.count) for d in diagnostics],
            schema=schema("diagnostics"),
            orient="row",
        ),
        events=events,
        rules=rules,
        story=story,
        phases=phases,
        memo=memo,
    )


def _distinct(reports: Sequence[Report]) -> tuple[list[Report], list[Diagnostic]]:
    """Leave out copies of a report: the same collection, read from another file."""
    first: dict[tuple[object, ...], Report] = {}
    kept, doubles = [], []
    for report in reports:
        counts = report.gpu_rows, None if report.ranges is None else len(report.ranges)
        who = report.identity
        # Two machines can have one name, and processes with one number that start at once.
        sign = (*astuple(report.start), who.host, who.machine_gpus, *counts, *who.processes)
        twin = first.get(sign) if report.start.utc_ns is not None else None
        if twin is None:
            first[sign] = report
            kept.append(report)
        else:
            message = f"The same capture as {twin.key}: it counts once."
            doubles.append(Diagnostic("info", "duplicate-report", message, report.key))
    return kept, doubles


def _windows(
    reports: Sequence[Report], offsets_ns: Sequence[int]
) -> tuple[list[tuple[int, int]], list[Diagnostic]]:
    """Capture windows on the run's clock; without ANALYSIS_DETAILS, first to last event."""
    windows, diagnostics = [], []
    for report, offset in zip(reports, offsets_ns, strict=True):
        if report.start.duration_ns is not None:
            windows.append((offset, offset + report.start.duration_ns))
            continue
        frames = [report.activity, report.ranges]
        times = [f.select("start", "end") for f in frames if f is not None and len(f)]
        spans = pl.concat(times) if times else pl.DataFrame({"start": [0], "end": [0]})
        starts, ends = spans["start"], spans["end"]
        first, last = starts.min(), max(starts.max(), ends.max() or 0)  # type: ignore[type-var]
        windows.append((offset + int(str(first)), offset + int(str(last))))
        message = (
            "The export does not tell its capture window: it is taken from the first to the last "
            "event, so idle time before and after is unknown."
        )
        diagnostics.append(Diagnostic("warning", "no-window", message, report.key))
    return windows, diagnostics


def _of_reports(reports: Sequence[Report], workers: Sequence[Worker]) -> Iterator[Diagnostic]:
    for index, report in enumerate(reports):
        roles = {worker.role for worker in workers if index in worker.reports}
        for found in report.diagnostics:
            # A controller has nothing to do on a GPU: without GPU rows it lacks none.
            expected = found.kind == NO_GPU_DATA and roles and roles <= _WITHOUT_GPU
            yield replace(found, report=report.key, severity="info" if expected else found.severity)


def _failure(key: str, error: RlvizError, rules: Rules) -> Diagnostic:
    message = f"{error.problem} {error.remedy}".strip()
    role = rules.role((), (), error.path.stem)
    if role != "unknown":
        message += f" By its name it is of a {role} worker, which has no row and is in no number."
    return Diagnostic("error", _KINDS.get(type(error), "unreadable"), message, key)


def _of_workers(workers: Sequence[Worker], reports: Sequence[Report]) -> list[Diagnostic]:
    found = []
    for worker in workers:
        key = reports[worker.reports[0]].key
        if worker.role == "unknown":
            message = (
                f"What process {worker.pid} is for is unknown: neither its ranges nor its names "
                "tell. Pass the reports as {role: path}."
            )
            found.append(Diagnostic("info", "unknown-role", message, key))
        lost = [d for d, gpu in worker.devices.items() if gpu.uuid is None and gpu.bus is None]
        if lost:
            message = (
                f"Which GPU device {', '.join(map(str, lost))} of process {worker.pid} is, the "
                "export does not tell: it has a row of its own, whoever else used it."
            )
            found.append(Diagnostic("warning", "unknown-gpu", message, key, len(lost)))
        if len(worker.devices) > 1:
            message = (
                f"Process {worker.pid} used {len(worker.devices)} GPUs: its ranges are drawn on "
                "the row of the first."
            )
            found.append(
                Diagnostic("info", "several-gpus-one-worker", message, key, len(worker.devices))
            )
    return found


def _truncated(ranges: pl.DataFrame) -> list[Diagnostic]:
    count = int(ranges["truncated"].sum())
    if not count:
        return []
    ranges_were = "range was" if count == 1 else "ranges were"
    message = (
        f"{count:,} {ranges_were} open when a capture ended: such ends are unknown, and drawn as "
        "an open edge."
    )
    return [Diagnostic("info", "truncated-ranges", message, count=count)]


def _reports_frame(
    reports: Sequence[Report],
    hosts: Sequence[Host],
    clock: Clock,
    windows: Sequence[tuple[int, int]],
    workers: Sequence[Worker],
    failures: Sequence[tuple[str, RlvizError]],
) -> pl.DataFrame:
    records: list[tuple[object, ...]] = []
    for index, report in enumerate(reports):
        own = [w for w in workers if index in w.reports]
        aligned = clock.alignments[index]
        roles = Counter(w.role for w in own)
        records.append(
            (
                report.key,
                report.spell(written(report.path)),
                hosts[index].label,
                [w.pid for w in own if w.pid is not None],
                "+".join(roles) or "unknown",
                report.identity.nsys_version,
                report.identity.schema_version,
                report.start.utc_ns,
                *astuple(aligned),
                *((None, None) if aligned.apart else windows[index]),
                None if report.activity is None else int((report.activity["kind"] == KERNEL).sum()),
                None if report.ranges is None else len(report.ranges),
                "apart" if aligned.apart else _status(report),
            )
        )
    for key, error in failures:
        records.append((key, written(error.path), *[None] * 15, "unreadable"))
    return pl.DataFrame(records, schema=schema("reports"), orient="row").sort("report")


def _status(report: Report) -> str:
    if report.unread:
        return "unread"
    has_ranges = report.ranges is not None and len(report.ranges) > 0
    if report.gpu_rows and has_ranges:
        return "ok"
    return "partial" if report.gpu_rows or has_ranges else "empty"


def _rows_frame(
    reports: Sequence[Report], workers: Sequence[Worker], lanes: Sequence[Lane]
) -> pl.DataFrame:
    records = []
    for number, lane in enumerate(lanes):
        worker = workers[lane.worker]
        records.append(
            (
                lane.row,
                number,
                lane.label,
                lane.pool,
                worker.role,
                worker.rank,
                worker.host.label,
                lane.gpu.uuid,
                lane.gpu.bus,
                lane.gpu.name,
                worker.pid,
                [reports[i].key for i in worker.reports],
                lane.device is not None and not all(reports[i].unread for i in worker.reports),
            )
        )
    return pl.DataFrame(records, schema=schema("rows"), orient="row")

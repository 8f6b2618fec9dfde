"""Who worked where: workers, the GPUs they used, and the rows and lanes of the chart."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from rlviz.reports.report import Gpu
from rlviz.run.engines import ALONE, Place, place_in_engines
from rlviz.run.rules import POOLS, ROLES, Rules, pool_of
from rlviz.run.words import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlviz.reports.report import Report
    from rlviz.run.hosts import Host

__all__ = ["Lane", "Worker", "find_lanes", "find_workers", "owner", "rank_told", "role_told"]

_RANK = re.compile(r"[0-9]{1,9}")
_CAPTURE_NUMBER = re.compile(r"\.\d+$")
# Two captures of one session tell its launch within some ns of each other.
_SAME_LAUNCH_NS = 1_000


@dataclass
class Worker:
    """A process that did GPU work or emitted NVTX, over all reports that captured it.

    Parameters
    ----------
    host : Host
        Its host.
    pid : int or None
        Its process; None when the export names none.
    role : str
        What it is for.
    rank : int or None
        ``RANK`` of its environment, else what its report's name tells.
    reports : list of int
        Indices of its reports.
    devices : dict of int to Gpu
        By deviceId; empty when it has no GPU rows.
    place : Place
        Where it stands among the engines.
    """

    host: Host
    pid: int | None
    role: str
    rank: int | None
    reports: list[int] = field(default_factory=list)
    devices: dict[int, Gpu] = field(default_factory=dict)
    place: Place = ALONE


@dataclass(frozen=True)
class Lane:
    """A GPU and a worker, or a worker without GPU data (`device` is None)."""

    row: int
    worker: int
    device: int | None
    gpu: Gpu
    label: str
    pool: str


def owner(report: Report, frame: pl.DataFrame) -> pl.Expr:
    """Process that GPU rows belong to: their own, else the only one that the report knows."""
    known = set(report.identity.processes)
    if report.ranges is not None:
        known |= set(report.ranges["pid"].unique().to_list())
    known |= set(frame["pid"].drop_nulls().unique().to_list())
    return pl.col("pid").fill_null(known.pop()) if len(known) == 1 else pl.col("pid")


def find_workers(reports: Sequence[Report], hosts: Sequence[Host], rules: Rules) -> list[Worker]:
    """Find the workers of all reports; captures of one process become one worker.

    Parameters
    ----------
    reports, hosts : sequence of Report, sequence of Host
        The reports, and where each was recorded.
    rules : Rules
        What names mean.
    """
    workers: list[Worker] = []
    by_process: dict[tuple[int, int | None], list[Worker]] = defaultdict(list)
    for index, (report, host) in enumerate(zip(reports, hosts, strict=True)):
        devices = _devices(report)
        pids = sorted({*devices, *_annotated(report)}, key=lambda pid: (pid is None, pid or 0))
        for pid in pids:
            alike = by_process[host.number, pid]
            worker = _same_session_worker(alike, reports, report)
            if worker is None:
                rank = rank_told(report, rules) if len(pids) == 1 else None
                worker = Worker(host, pid, "unknown", rank)
                workers.append(worker)
                alike.append(worker)
            worker.reports.append(index)
            for device in sorted(devices.get(pid, ())):
                worker.devices.setdefault(device, _gpu(report, pid, device))
    for worker in workers:
        worker.role = _role(worker, [reports[i] for i in worker.reports], rules)
    for worker, place in zip(workers, place_in_engines(workers, reports), strict=True):
        worker.place = place
    return workers


def find_lanes(workers: Sequence[Worker]) -> list[Lane]:
    """Give every GPU a row, every worker on it a lane, in the chart's order."""
    rows: dict[tuple[object, ...], list[tuple[int, int | None]]] = defaultdict(list)
    for index, worker in enumerate(workers):
        for device in worker.devices or [None]:
            rows[_row_key(index, worker, device)].append((index, device))
    ordered = sorted(rows.values(), key=lambda lanes: _row_order(workers, lanes))
    numbers = _numbers(workers, ordered)
    lanes = []
    for row, members in enumerate(ordered):
        pool = pool_of(workers[w].role for w, _ in members)
        gpus = [workers[w].devices[d] for w, d in members if d is not None]
        label = _label(workers, members, gpus, numbers)
        lanes += [
            Lane(row, w, d, workers[w].devices[d] if d is not None else Gpu(), label, pool)
            for w, d in members
        ]
    return lanes


def _devices(report: Report) -> dict[int | None, set[int]]:
    found: dict[int | None, set[int]] = defaultdict(set)
    if report.devices is not None:
        pids = owner(report, report.devices)
        for pid, device in report.devices.select(pids, "device").iter_rows():
            found[pid].add(device)
    return found


def _annotated(report: Report) -> set[int]:
    frames = (report.ranges, report.marks)
    return {p for frame in frames if frame is not None for p in frame["pid"].unique().to_list()}


def _gpu(report: Report, pid: int | None, device: int) -> Gpu:
    gpus = report.identity.gpus
    return gpus.get((pid if pid is not None else -1, device)) or gpus.get((-1, device)) or Gpu()


def rank_told(report: Report, rules: Rules) -> int | None:
    """Tell the rank of a report's worker, if it has but one: by its environment, else its name."""
    rank = report.identity.environment.get("RANK", "")
    return int(rank) if _RANK.fullmatch(rank) else rules.rank_of(report.path.stem)


def _same_session_worker(
    alike: Iterable[Worker], reports: Sequence[Report], report: Report
) -> Worker | None:
    # Process numbers of containers are small and repeat: the session has to be the same too.
    for worker in alike:
        if any(_same_session(reports[i], report) for i in worker.reports):
            return worker
    return None


def _same_session(one: Report, other: Report) -> bool:
    if one.path.parent == other.path.parent:
        stems = [_CAPTURE_NUMBER.sub("", r.path.stem) for r in (one, other)]
        if stems[0] == stems[1] and one.path.stem != other.path.stem:
            return True
    launches = [_launch_ns(one), _launch_ns(other)]
    if launches[0] is None or launches[1] is None:
        return False
    return abs(launches[0] - launches[1]) <= _SAME_LAUNCH_NS


def _launch_ns(report: Report) -> int | None:
    """UTC of the session's launch; known up to nsys 2025.5 only."""
    start = report.start
    if start.utc_ns is None or start.launch_delay_ns is None or start.system_clock_ns is not None:
        return None
    return start.utc_ns - start.launch_delay_ns


def role_told(report: Report, rules: Rules) -> str:
    """Tell the role of a report none of whose ranges says whose it is."""
    identity = report.identity
    processes = {*identity.processes.values(), *identity.threads.values()}
    return report.role or rules.role((), processes, report.path.stem)


def _role(worker: Worker, reports: Sequence[Report], rules: Rules) -> str:
    given = next((r.role for r in reports if r.role is not None), None)
    if given is not None:
        return given
    ranges: set[str] = set()
    processes: set[str] = set()
    for report in reports:
        if report.ranges is not None:
            own = report.ranges.filter(pl.col("pid") == worker.pid)
            ranges.update(report.names[code] for code in own["name"].unique())
        identity = report.identity
        if worker.pid is not None:
            processes.add(identity.processes.get(worker.pid, ""))
            processes.update(n for t, n in identity.threads.items() if t >> 24 == worker.pid)
    return rules.role(ranges, processes, reports[0].path.stem)


def _row_key(index: int, worker: Worker, device: int | None) -> tuple[object, ...]:
    gpu = worker.devices[device] if device is not None else Gpu()
    if gpu.uuid is not None:
        return ("uuid", gpu.uuid)
    if gpu.bus is not None:
        return ("bus", worker.host.number, gpu.bus)
    return ("worker", index, device)


def _row_order(
    workers: Sequence[Worker], lanes: Sequence[tuple[int, int | None]]
) -> tuple[object, ...]:
    pool = pool_of(workers[w].role for w, _ in lanes)
    index, device = lanes[0]
    worker = workers[index]
    gpu = worker.devices[device] if device is not None else Gpu()
    role = next(i for i, r in enumerate(ROLES) if r == worker.role)
    rank = worker.rank if worker.rank is not None else 1 << 40
    host = natural_key(worker.host.label or ""), worker.host.number
    gpu_order = (gpu.bus or "", worker.pid or 0, device or 0, index)
    return (POOLS.index(pool), host, role, worker.place, rank, *gpu_order)


def _numbers(
    workers: Sequence[Worker], rows: Sequence[Sequence[tuple[int, int | None]]]
) -> dict[int, int]:
    """Give each worker its number within its role: its rank if all are known, else its place."""
    by_role: dict[str, list[int]] = defaultdict(list)
    for members in rows:
        for index, _ in members:
            if index not in by_role[workers[index].role]:
                by_role[workers[index].role].append(index)
    numbers: dict[int, int] = {}
    for members_of_role in by_role.values():
        ranks = [workers[i].rank for i in members_of_role]
        distinct = None not in ranks and len(set(ranks)) == len(ranks)
        for place, index in enumerate(members_of_role):
            rank = workers[index].rank
            numbers[index] = rank if distinct and rank is not None else place
    return numbers


def _label(
    workers: Sequence[Worker],
    members: Sequence[tuple[int, int | None]],
    gpus: Sequence[Gpu],
    numbers: dict[int, int],
) -> str:
    names = []
    for index, _ in members:
        worker = workers[index]
        unknown = worker.role == "unknown"
        names.append(f"process {worker.pid}" if unknown else f"{worker.role} {numbers[index]}")
    who = " + ".join(dict.fromkeys(names))
    if not gpus:
        return who
    return f"{_gpu_label(gpus[0], members[0][1])}  {who}"


def _gpu_label(gpu: Gpu, device: int | None) -> str:
    if gpu.bus is not None:
        # 0000:19:00.0 is known as 19:00: most hosts have one PCI domain and no functions.
        return f"GPU {gpu.bus.removeprefix('0000:').removesuffix('.0')}"
    if gpu.uuid is not None:
        return f"GPU {gpu.uuid[:8]}"
    return f"GPU ? (device {device})"

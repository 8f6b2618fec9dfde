"""Workers and captures that should have left a report: expected is held against found."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from rlviz.reports.report import Diagnostic
from rlviz.run.part import EVERYTHING
from rlviz.run.rules import TRAINING_ROLES
from rlviz.run.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlviz.reports.report import Report, Severity
    from rlviz.run.hosts import Machine
    from rlviz.run.part import Part
    from rlviz.run.workers import Worker

__all__ = ["what_is_missing"]

_CAPTURE = re.compile(r"\.(\d{1,9})$")
_WHOLE = re.compile(r"[0-9]{1,9}")
_IN_POOLS = ("generation", *TRAINING_ROLES)
_CURE = (
    "Workers are often killed before nsys has written: capture with --capture-range-end="
    'stop-shutdown (NeMo-RL: NRL_NSYS_EXTRA_OPTIONS=\'{"capture-range-end":"stop-shutdown"}\'), '
    "let nsys finish before Ray shuts down, and collect the reports of every node."
)


def what_is_missing(
    reports: Sequence[Report],
    machines: Sequence[Machine],
    workers: Sequence[Worker],
    part: Part = EVERYTHING,
) -> list[Diagnostic]:
    """Tell which ranks, captures and GPUs the reports speak of that have left none.

    Expected are the ranks of ``WORLD_SIZE``, else those below the highest that was found; the
    members of every NCCL communicator; the captures that siblings have; the GPUs of the machine.

    Parameters
    ----------
    reports, machines, workers : sequence of Report, sequence of Machine, sequence of Worker
        All that was read, also what was set apart.
    part : Part
        What was asked for: nothing else is missing.
    """
    missing = _missing_ranks(reports, workers, part)
    # Who names one report does not expect the others in it.
    severity: Severity = "warning" if len(reports) > 1 else "info"
    return [
        *(_ranks(role, gone, size, severity) for (role, size), gone in missing.items() if gone),
        *(_strangers(reports, workers, missing, severity) if part.everything else ()),
        *(_captures(reports, workers) if part.steps is None else ()),
        *_blind(reports, workers),
        *(_unseen(reports, machines, workers) if part.everything else ()),
    ]


def _missing_ranks(
    reports: Sequence[Report], workers: Sequence[Worker], part: Part
) -> dict[tuple[str, int], list[int]]:
    """Find the ranks that are missing, by role and size."""
    found: defaultdict[tuple[str, int | None], set[int]] = defaultdict(set)
    for worker in workers:
        if worker.rank is not None:
            size = _world_size(reports[worker.reports[0]])
            valid = size if size is not None and worker.rank < size else None
            found[worker.role, valid].add(worker.rank)
    sized = {role for role, size in found if size is not None}
    missing: dict[tuple[str, int], list[int]] = {}
    for (role, size), ranks in found.items():
        if size is None and role in sized:
            continue
        expected = size if size is not None else max(ranks) + 1
        # A rank beyond all that can be is a number that means something else.
        if expected <= 1_000_000:
            gone = set(range(expected)) - ranks
            missing[role, expected] = sorted(filter(part.holds_rank, gone))
    return missing


def _world_size(report: Report) -> int | None:
    size = report.identity.environment.get("WORLD_SIZE", "")
    return int(size) if _WHOLE.fullmatch(size) else None


def _ranks(role: str, gone: Sequence[int], size: int, severity: Severity) -> Diagnostic:
    ranks = "rank" if len(gone) == 1 else "ranks"
    message = (
        f"No report of {role} {ranks} {listed(gone)} of {size}: what happened there is unknown, "
        "there is no row for it, and numbers of the pool are those of the ranks that left a "
        f"report. {_CURE}"
    )
    return Diagnostic(severity, "missing-ranks", message, count=len(gone))


def _strangers(
    reports: Sequence[Report],
    workers: Sequence[Worker],
    missing: dict[tuple[str, int], list[int]],
    severity: Severity,
) -> Iterator[Diagnostic]:
    """Tell of members of communicators that are neither found nor known to be missing."""
    roles_found = {worker.role for worker in workers}
    if not ("generation" in roles_found and roles_found & set(TRAINING_ROLES)):
        return  # they are of the pool that is missing as a whole, which is told already
    members: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    roles: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    silent = 0
    for worker in workers:
        own = {
            one
            for index in worker.reports
            for one in reports[index].identity.communicators
            if one.pid == worker.pid
        }
        silent += not own and worker.role in _IN_POOLS
        for one in own:
            if one.number is not None:
                members[one.number, one.ranks].add(one.rank)
                roles[one.number, one.ranks].add(worker.role)
    told = 0
    for (number, size), ranks in sorted(members.items(), key=lambda item: -item[0][1]):
        inside = roles[number, size]
        known = sum(len(gone) for (role, _), gone in missing.items() if role in inside)
        # A worker whose report does not name its communicators may be any of the members.
        strangers = size - len(ranks) - known - silent
        if strangers > told:
            told = strangers
            message = (
                f"{strangers} members of a communicator of {size} left no report; those that did "
                f"are of {' and '.join(sorted(inside))}. What the others did is unknown, and they "
                f"are in no number. {_CURE}"
            )
            yield Diagnostic(severity, "missing-ranks", message, count=strangers)


def _captures(reports: Sequence[Report], workers: Sequence[Worker]) -> Iterator[Diagnostic]:
    """Tell which numbered captures (``.1``, ``.2``) some workers have and others do not."""
    numbers: dict[int, set[int]] = {}
    for place, worker in enumerate(workers):
        found = [_CAPTURE.search(reports[index].path.stem) for index in worker.reports]
        numbers[place] = {int(match[1]) for match in found if match}
    for role in dict.fromkeys(worker.role for worker in workers):
        own = {p: numbers[p] for p, w in enumerate(workers) if w.role == role and numbers[p]}
        expected = set().union(*own.values())
        for place, found_numbers in own.items():
            gone = sorted(expected - found_numbers)
            if gone:
                key = reports[workers[place].reports[0]].key
                message = (
                    f"Capture {listed(gone)} of this {role} worker is missing, which other "
                    f"{role} workers have: what it did meanwhile is unknown, and is no idle time. "
                    f"{_CURE}"
                )
                yield Diagnostic("warning", "missing-captures", message, key, len(gone))


def _blind(reports: Sequence[Report], workers: Sequence[Worker]) -> Iterator[Diagnostic]:
    """Tell which workers have no GPU rows in a report that has those of others."""
    for worker in workers:
        seen = [index for index in worker.reports if reports[index].gpu_rows]
        if worker.devices or not seen or worker.role not in _IN_POOLS:
            continue
        message = (
            f"Process {worker.pid} ({worker.role}) has NVTX ranges but no GPU rows, though other "
            "processes of the report have: its busy and idle time are unknown, not 0. Let nsys "
            "start the process that launches the kernels, not its parent (vLLM: "
            "--ray-workers-use-nsight)."
        )
        yield Diagnostic("warning", "worker-without-gpu-rows", message, reports[seen[0]].key)


def _unseen(
    reports: Sequence[Report], machines: Sequence[Machine], workers: Sequence[Worker]
) -> Iterator[Diagnostic]:
    """Tell which GPUs of a machine no report has rows of."""
    used = {gpu.uuid for worker in workers for gpu in worker.devices.values()}
    for machine in machines:
        there = {
            gpu.uuid: gpu.bus or gpu.uuid
            for index in machine.reports
            for gpu in reports[index].identity.machine_gpus
            if gpu.uuid is not None
        }
        unseen = sorted(place for uuid, place in there.items() if uuid not in used)
        if unseen and len(unseen) < len(there):
            message = (
                f"GPU {listed(unseen)} of {machine.label or 'a host'} is in no report: if it took "
                "part in the run, its worker was not captured, and it is in no number."
            )
            yield Diagnostic("info", "unseen-gpus", message, count=len(unseen))

"""Why numbers are null: what cannot be known is said, never counted as 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlviz.reports.report import Diagnostic
from rlviz.run.gpu_time import LOST_GRAPHS
from rlviz.run.overlap import COLOCATED, NO_GPUS, NOT_CAPTURED
from rlviz.run.unread import UNREAD
from rlviz.run.words import counted

if TYPE_CHECKING:
    from rlviz.reports.report import Severity
    from rlviz.run.metrics import Metrics

__all__ = ["reasons"]

_OVERLAP = "Overlap, its GPU-second twin and exposed generation are unknown, not 0: "

_OF_RUN: dict[str, tuple[Severity, str]] = {
    COLOCATED: (
        "info",
        "Overlap, its GPU-second twin, exposed generation and active time of a pool are null: both "
        "pools share their GPUs (colocated).",
    ),
    NO_GPUS["generation"]: (
        "warning",
        _OVERLAP
        + "no report has GPU rows of a generation worker. Capture generation too (NeMo-RL: *vllm* "
        "in NRL_NSYS_WORKER_PATTERNS; vLLM: --ray-workers-use-nsight); rollout servers that verl "
        "starts are not profiled.",
    ),
    NO_GPUS["training"]: (
        "warning",
        _OVERLAP
        + "no report has GPU rows of a training worker. Capture training too (NeMo-RL: *policy* in "
        "NRL_NSYS_WORKER_PATTERNS).",
    ),
}
_STRAGGLER = {
    "one-rank": "only one training rank left a report",
    "no-gpu-rows": "the training ranks have no GPU rows",
    "no-matched-collectives": "the ranks have no all-reduce or reduce-scatter in common",
}


def reasons(metrics: Metrics) -> list[Diagnostic]:
    """Tell why numbers of a run's iterations are null.

    Parameters
    ----------
    metrics : Metrics
        Of the run.

    Returns
    -------
    list of Diagnostic
        One a reason, with the number of iterations or rows that it concerns.
    """
    if not metrics.iterations:
        return []
    return [
        *_of_pools(metrics),
        *_of_unread(metrics),
        *_of_gpus(metrics),
        *_of_refits(metrics),
        *_of_training(metrics),
        *_of_starts(metrics),
    ]


def _of_pools(metrics: Metrics) -> list[Diagnostic]:
    kinds = dict.fromkeys(metrics.pools.reasons.values())
    found = [
        Diagnostic(_OF_RUN[kind][0], kind, _OF_RUN[kind][1]) for kind in kinds if kind in _OF_RUN
    ]
    outside = sum(overlap.reason == NOT_CAPTURED for overlap in metrics.overlaps)
    if outside:
        message = _OVERLAP + (
            f"in {counted(outside, 'iteration')} one of the pools lies outside of its capture "
            "windows."
        )
        found.append(Diagnostic("info", NOT_CAPTURED, message, count=outside))
    return found


def _of_unread(metrics: Metrics) -> list[Diagnostic]:
    alone = {
        "generation": "active time, tail and straggler of the pool",
        "training": "active time and straggler of the pool",
    }
    return [
        Diagnostic(
            "warning",
            UNREAD,
            f"{counted(count, 'report')} of the {pool} pool cannot be used: {alone[pool]}, and "
            "overlap, its GPU-second twin and exposed generation, are unknown, not 0. Sums over "
            "GPUs are those of the GPUs that have rows. Copy or export again what cannot be read, "
            "and give offsets= for what is set apart.",
            count=count,
        )
        for pool, count in sorted(metrics.unread.items())
    ]


def _of_gpus(metrics: Metrics) -> list[Diagnostic]:
    lost = [gpu.label for gpu in metrics.gpus if gpu.unknown == LOST_GRAPHS]
    if not lost:
        return []
    message = (
        f"Busy and idle time of {', '.join(lost)} are unknown, and every number that needs them: "
        "their CUDA graphs left no rows. Capture with --cuda-graph-trace=node."
    )
    return [Diagnostic("warning", "unknown-busy", message, count=len(lost))]


def _of_refits(metrics: Metrics) -> list[Diagnostic]:
    known = {gpu.row for gpu in metrics.gpus if gpu.unknown is None}
    stalls = sum(
        ns is None and row in known for own in metrics.stalls_ns for row, ns in own.items()
    )
    if not stalls:
        return []
    message = (
        f"The stall of {counted(stalls, 'refit')} on a GPU is unknown: there is no generation "
        "work on both sides inside the capture."
    )
    return [Diagnostic("info", "unknown-stall", message, count=stalls)]


def _of_training(metrics: Metrics) -> list[Diagnostic]:
    found = []
    for reason, why in _STRAGGLER.items():
        count = sum(one == reason for one in metrics.training_stragglers)
        if count:
            where = counted(count, "iteration")
            message = f"The training straggler is unknown in {where}: {why}."
            found.append(Diagnostic("info", "unknown-straggler", message, count=count))
    return found


def _of_starts(metrics: Metrics) -> list[Diagnostic]:
    """Tell of work before the first phase: its range was open when the capture began."""
    rows = 0
    for gpu in metrics.gpus:
        for lane, activity in gpu.lanes.items():
            starts = [
                int(start[0]) for start, _ in metrics.phases.get(lane, {}).values() if len(start)
            ]
            if starts and len(activity.busy[0]) and activity.busy[0][0] < min(starts):
                rows += 1
                break
    if not rows:
        return []
    message = (
        f"Work of {counted(rows, 'GPU')} before the first range is in no phase: ranges that were "
        "open when a capture began are in no report, and nothing is idle for the lack of one."
    )
    return [Diagnostic("info", "open-at-start", message, count=rows)]

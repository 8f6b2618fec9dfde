"""Busy and idle time of each GPU."""

from __future__ import annotations

from dataclasses import dataclass

from rlviz.demo.intervals import Intervals, at_least
from rlviz.demo.plan import Gpu, Plan, Report, Spans, Stage
from rlviz.demo.shape import MS, SECOND, US

__all__ = ["LOST", "SeenGpu", "busy_of", "numbers_of", "pool_of", "seen_gpus"]

LOST = "CUDA graphs were launched, but left no rows"

_EDGE_START_NS, _EDGE_END_NS = int(0.2 * SECOND), int(1.5 * SECOND)
_LAUNCH_NS, _BUBBLE_NS, _WAIT_NS = 100 * US, 1 * MS, 10 * MS


@dataclass(frozen=True)
class SeenGpu:
    """What the reports tell of a GPU.

    `known` is false where decode graphs left no rows. `gaps` are whole ones, edges included.
    """

    gpu: Gpu
    pool: str
    reports: tuple[Report, ...]
    known: bool
    captured: Intervals
    edges: Intervals
    compute: Intervals
    exposed: Intervals
    copy_only: Intervals
    busy: Intervals
    gaps: Intervals


def busy_of(spans: Spans) -> Intervals:
    """Unite the spans."""
    return Intervals.union(spans.start, spans.end)


def seen_gpus(plan: Plan) -> dict[str, SeenGpu]:
    """Gather what the reports that exist tell of each GPU, by its UUID."""
    found: dict[str, SeenGpu] = {}
    for gpu in plan.gpus:
        reports = tuple(report for report in plan.reports if report.lane.gpu == gpu)
        if reports:
            found[gpu.uuid] = _seen(plan, gpu, reports)
    return found


def _seen(plan: Plan, gpu: Gpu, reports: tuple[Report, ...]) -> SeenGpu:
    workers = {report.lane for report in reports}
    windows = [
        Intervals.of(report.window for report in reports if report.lane == lane) for lane in workers
    ]
    edges = []
    for start, end in (report.window for report in reports):
        edges += [(start, start + _EDGE_START_NS), (end - _EDGE_END_NS, end)]
    compute, communication, copies = (
        Intervals.union_of(busy_of(report.spans.where(kind(report.spans))) for report in reports)
        for kind in (Spans.computing, Spans.communicating, Spans.copying)
    )
    roles = {lane.role for lane in workers}
    decodes = any(bool(report.spans.of(Stage.DECODE).any()) for report in reports)
    captured = at_least(len(windows), windows)
    busy = Intervals.union_of((compute, communication, copies)) & captured
    return SeenGpu(
        gpu,
        "colocated" if plan.scenario.colocated else pool_of(roles.pop()),
        reports,
        not (decodes and plan.scenario.graph_trace == "lost"),
        captured,
        Intervals.of(edges) & captured,
        compute & captured,
        (communication - compute) & captured,
        (copies - compute - communication) & captured,
        busy,
        captured - busy,
    )


def pool_of(role: str) -> str:
    """Pool of a role."""
    return "training" if role == "policy" else "generation"


def numbers_of(
    seen: SeenGpu, window: Intervals | None = None, other_pool: Intervals | None = None
) -> dict[str, object]:
    """Give the numbers of one GPU in a window, or in the whole run.

    The class of a gap goes by its whole length inside the capture window; what lies in an edge, or
    outside the window, does not count.
    """
    within = seen.captured if window is None else seen.captured & window
    if not seen.known:
        return {"pool": seen.pool, "captured_ns": within.ns, "busy_ns": None, "reason": LOST}
    gaps, pieces = seen.gaps, (seen.gaps - seen.edges) & within
    numbers: dict[str, object] = {
        "pool": seen.pool,
        "captured_ns": within.ns,
        "busy_ns": (seen.busy & within).ns,
        "compute_ns": (seen.compute & within).ns,
        "comm_exposed_ns": (seen.exposed & within).ns,
        "copy_only_ns": (seen.copy_only & within).ns,
        "edge_ns": (gaps & seen.edges & within).ns,
    }
    numbers |= _idle(gaps, pieces)
    numbers["longest_gap"] = _longest(pieces, other_pool)
    numbers["alternative_gap_cut_first"] = _idle(pieces, pieces)
    return numbers


def _idle(gaps: Intervals, pieces: Intervals) -> dict[str, object]:
    """Share out `pieces` over the classes of the gaps that they are part of."""
    length = gaps.lengths
    launch, wait = length < _LAUNCH_NS, length >= _WAIT_NS
    return {
        "idle_ns": {
            "launch": (pieces & gaps.where(launch)).ns,
            "short": (pieces & gaps.where(~launch & ~wait)).ns,
            "wait": (pieces & gaps.where(wait)).ns,
        },
        "bubble_ns": (pieces & gaps.where(length >= _BUBBLE_NS)).ns,
    }


def _longest(pieces: Intervals, other_pool: Intervals | None) -> dict[str, object] | None:
    if not len(pieces):
        return None
    at = int(pieces.lengths.argmax())
    start, end = pieces.pairs()[at]
    here = Intervals.of([(start, end)])
    return {
        "start": start,
        "end": end,
        "ns": end - start,
        "other_pool_active_ns": None if other_pool is None else (other_pool & here).ns,
    }

"""The whole of ``truth.json``."""

from __future__ import annotations

from collections import defaultdict

from rlviz.demo.intervals import Intervals
from rlviz.demo.plan import Lane, Plan, Report, Stage
from rlviz.demo.truth.gpus import SeenGpu, busy_of, numbers_of, pool_of, seen_gpus
from rlviz.demo.truth.pools import Pools
from rlviz.demo.truth.steps import Steps, hull

__all__ = ["truth_of"]

_PHASES = ("generation", "logprobs", "training", "refit")


def truth_of(plan: Plan) -> dict[str, object]:
    """Compute what a viewer must find in the reports of `plan`."""
    gpus = seen_gpus(plan)
    steps = Steps(plan)
    pools = Pools(plan, steps, gpus)
    iterations = [_iteration(plan, steps, pools, gpus, step) for step in plan.steps]
    windows = [report.window for report in plan.reports if report.lane.gpu]
    weights = sorted({one for step in plan.steps for one in (step - 1, step)})
    segments = [steps.segment(one) for one in weights]
    errors = {report.utc_error_ns for report in plan.reports}
    return {
        "format": 1,
        "simulated": True,
        "made_by": "rlviz",
        "definitions": "docs/reference/simulated-run.md; all times are ns on the run clock",
        "scenario": {**vars(plan.scenario), "clock_skew_ms": plan.scenario.skew_ms},
        "seed": plan.scenario.seed,
        "clock": {
            "zero_utc_ns": plan.utc_zero_ns,
            "host_utc_error_ns": _host_errors(plan),
            "collective_end_jitter_ns": [20_000, 50_000],
            "broadcast_root_lead_ns": [100_000, 300_000],
            "utc_alone_is_right": errors == {0},
            "system_clock_present": plan.scenario.nsys != "2025.3",
        },
        "colocated": plan.scenario.colocated,
        "gpu_hull": hull(windows),
        "reports": {report.path: _report(plan, report) for report in plan.reports},
        "ranks": {
            role: [lane.rank for lane in plan.lanes if lane.role == role]
            for role in ("policy", "generation")
        },
        "missing_reports": [_missing(plan, lane) for lane in plan.missing],
        "gpus": {uuid: _gpu(seen) for uuid, seen in gpus.items()},
        "iterations": iterations,
        "segments": [segment for segment in segments if segment],
        "controller_steps": {
            str(one.step): [one.start, one.end]
            for report in plan.reports
            for one in report.ranges
            if report.lane.role == "controller" and one.name == "step"
        },
        "planted": _planted(plan, gpus, iterations),
        "secrets": list(plan.secrets),
    }


def _host_errors(plan: Plan) -> dict[str, int]:
    """UTC errors that are not 0, by host: the error of its first report."""
    found: dict[str, int] = {}
    for report in plan.reports:
        found.setdefault(report.lane.host, report.utc_error_ns)
    return {host: error for host, error in found.items() if error}


def _pool(plan: Plan, lane: Lane) -> str | None:
    if not lane.gpu:
        return None
    return "colocated" if plan.scenario.colocated else pool_of(lane.role)


def _missing(plan: Plan, lane: Lane) -> dict[str, object]:
    return {
        "role": lane.role,
        "pool": _pool(plan, lane),
        "rank": lane.rank,
        "host": lane.host,
        "gpu": lane.gpu.uuid if lane.gpu else None,
    }


def _report(plan: Plan, report: Report) -> dict[str, object]:
    start, end = report.window
    lane = report.lane
    ranges: dict[str, dict[str, int]] = defaultdict(lambda: {"count": 0, "ns": 0})
    for one in report.ranges:
        ranges[one.name]["count"] += 1
        ranges[one.name]["ns"] += min(one.end, end) - one.start
    newer = plan.scenario.nsys != "2025.3"
    return {
        "role": lane.role,
        "pool": _pool(plan, lane),
        "rank": lane.rank,
        "host": lane.host,
        "pid": lane.pid,
        "capture": report.capture,
        "gpu": lane.gpu.uuid if lane.gpu else None,
        "bus": lane.gpu.bus if lane.gpu else None,
        "add_to_reach_run_clock_ns": start,
        "duration_ns": end - start,
        "utc_epoch_ns": plan.utc_zero_ns + start + report.utc_error_ns,
        "utc_error_ns": report.utc_error_ns,
        "system_clock_ns": report.uptime_ns + start if newer else None,
        "ranges": dict(ranges),
        "ranges_open_at_stop": sum(one.end > end for one in report.ranges),
        "rows": _rows(plan, report),
    }


def _rows(plan: Plan, report: Report) -> dict[str, int]:
    """Count the rows of the event tables; a table without rows does not exist."""
    spans, trace = report.spans, plan.scenario.graph_trace
    decode = spans.of(Stage.DECODE)
    kernels = spans.where(~spans.copying() & (~decode if trace != "node" else decode | ~decode))
    # Kernels of a graph share one launch; every other kernel, copy and set has its own.
    plain = int(spans.where(spans.computing() & ~decode).parts.sum())
    launches = plain + int(spans.communicating().sum() + spans.copying().sum() + decode.sum())
    counts = {
        "CUPTI_ACTIVITY_KIND_KERNEL": int(kernels.parts.sum() + kernels.side.sum()),
        "CUPTI_ACTIVITY_KIND_MEMCPY": int((spans.copying() & ~spans.of(Stage.SET)).sum()),
        "CUPTI_ACTIVITY_KIND_MEMSET": int(spans.of(Stage.SET).sum()),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": int(decode.sum()) if trace == "graph" else 0,
        "CUPTI_ACTIVITY_KIND_RUNTIME": launches + int(spans.side.sum()),
        "NVTX_EVENTS": len(report.ranges) + len({one.domain for one in report.ranges} - {""}),
    }
    return {table: count for table, count in counts.items() if count}


def _gpu(seen: SeenGpu) -> dict[str, object]:
    return {
        "host": seen.gpu.host,
        "bus": seen.gpu.bus,
        "pool": seen.pool,
        "physical_index": seen.gpu.index,
        "reports": [report.path for report in seen.reports],
        "whole_run": numbers_of(seen),
    }


def _iteration(
    plan: Plan, steps: Steps, pools: Pools, gpus: dict[str, SeenGpu], step: int
) -> dict[str, object]:
    start, end, start_kind, end_kind = steps.limits(step)
    window = Intervals.of([(start, end)])
    whole = all((seen.captured & window).ns == end - start for seen in gpus.values())
    wanted = ("first_phase", "first_phase") if plan.scenario.colocated else ("refit", "refit")
    segment = steps.segment(step - 1)
    refit: dict[str, object] = {**(steps.refit(step) or {"generation": None, "training": None})}
    return {
        "iteration": step,
        "window": [start, end],
        "boundary": {"start": start_kind, "end": end_kind},
        "complete": whole and (start_kind, end_kind) == wanted,
        "train": steps.train(step),
        "segment": segment,
        "refit": refit | {"per_generation_gpu": steps.stalls(step)},
        "training_straggler": steps.training_straggler(step),
        "gpus": {
            uuid: numbers_of(seen, window, pools.other_than(seen.pool))
            for uuid, seen in gpus.items()
        },
        **_by_report(plan, window),
        **pools.numbers(window, segment),
    }


def _by_report(plan: Plan, window: Intervals) -> dict[str, object]:
    """Busy time of each lane, and time in ranges of each phase."""
    lanes: dict[str, int | None] = {}
    phases: dict[str, dict[str, int]] = {}
    for report in plan.reports:
        if not report.lane.gpu:
            continue
        lost = plan.scenario.graph_trace == "lost" and report.lane.role == "generation"
        lanes[report.path] = None if lost else (busy_of(report.spans) & window).ns
        phases[report.path] = {
            phase: (
                Intervals.of(
                    (one.start, min(one.end, report.window[1]))
                    for one in report.ranges
                    if one.phase == phase and not one.domain
                )
                & window
            ).ns
            for phase in _PHASES
        }
    return {"lane_busy_ns": lanes, "phase_range_ns": phases}


def _planted(
    plan: Plan, gpus: dict[str, SeenGpu], iterations: list[dict[str, object]]
) -> dict[str, object]:
    """Name the faults, and the row that each of them is to be found in."""
    scenario = plan.scenario
    found: dict[str, object] = {}
    last_engine = scenario.engines - 1
    if scenario.slow_training_rank is not None:
        found["slow_training_rank"] = _row(plan, "policy", scenario.slow_training_rank)
    if scenario.slow_generation_gpu is not None:
        found["slow_generation_gpu"] = _row(plan, "generation", scenario.slow_generation_gpu)
    if scenario.long_tail:
        found["long_tail"] = _row(plan, "generation", last_engine)
    if scenario.slow_refit:
        found["slow_refit"] = _row(plan, "generation", last_engine)
    if scenario.exposed_communication:
        exposed: dict[str, int] = defaultdict(int)
        for iteration in iterations:
            for uuid, numbers in iteration["gpus"].items():  # type: ignore[attr-defined]
                exposed[uuid] += numbers.get("comm_exposed_ns") or 0
        policies = {
            seen.gpu.uuid: report.lane.rank
            for seen in gpus.values()
            for report in seen.reports
            if report.lane.role == "policy"
        }
        worst = policies[max(policies, key=lambda uuid: exposed[uuid])]
        found["exposed_communication"] = _row(plan, "policy", worst) | {"ranks": "all"}
    if scenario.missing_rank is not None:
        found["missing_rank"] = _row(plan, "policy", scenario.missing_rank)
    return found


def _row(plan: Plan, role: str, rank: int | None) -> dict[str, object]:
    lane = next(one for one in plan.lanes if (one.role, one.rank) == (role, rank))
    return {
        "role": role,
        "pool": _pool(plan, lane),
        "rank": rank,
        "host": lane.host,
        "gpu": lane.gpu.uuid if lane.gpu else None,
        "reports": [report.path for report in plan.reports if report.lane == lane],
    }

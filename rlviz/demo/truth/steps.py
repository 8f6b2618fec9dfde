"""What a step consists of: training, refit, segment, boundaries, stragglers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.plan import Lane, Plan, Range, Report, Spans, Stage
from rlviz.demo.truth.gpus import LOST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlviz.demo.intervals import Int64

__all__ = ["Steps", "hull"]

BEFORE = "the refit before it lies before the capture"
BEHIND = "the refit after it lies behind the capture"
_ONE_SIDED = "no generation work on both sides inside the capture"
_ONE_RANK = "only one rank left a report"


def hull(pairs: list[tuple[int, int]]) -> list[int] | None:
    """First start and last end."""
    return [min(pair[0] for pair in pairs), max(pair[1] for pair in pairs)] if pairs else None


@dataclass(frozen=True)
class Steps:
    """The steps of a plan as its reports show them."""

    plan: Plan

    @cached_property
    def engines(self) -> tuple[Lane, ...]:
        """Generation workers that left a report."""
        return tuple(
            dict.fromkeys(
                report.lane for report in self.plan.reports if report.lane.role == "generation"
            )
        )

    @cached_property
    def lost(self) -> bool:
        """Whether what the engines did cannot be known."""
        return self.plan.scenario.graph_trace == "lost"

    def ranges(self, role: str, phase: str | None, step: int) -> Iterator[tuple[Report, Range]]:
        """Default-domain ranges of a step, closed by the end of their window."""
        for report in self.plan.reports:
            if report.lane.role == role:
                for one in report.ranges:
                    if not one.domain and one.step == step and phase in (None, one.phase):
                        yield report, one

    def pairs(self, role: str, phase: str | None, step: int) -> list[tuple[int, int]]:
        """List starts and ends of the ranges of a step."""
        return [
            (one.start, min(one.end, report.window[1]))
            for report, one in self.ranges(role, phase, step)
        ]

    # -- refits ---------------------------------------------------------------------------------

    def updates(self, step: int) -> dict[Lane, tuple[int, int]]:
        """Give each engine's own update range after a step, where it was captured whole."""
        return {
            report.lane: (one.start, one.end)
            for report, one in self.ranges("generation", "refit", step)
            if one.end <= report.window[1]
        }

    def refit(self, step: int) -> dict[str, list[int] | None] | None:
        """Give the refit's span in each pool; None where it was not captured."""
        updates = self.updates(step)
        if len(updates) < len(self.engines):
            return None
        training = self.pairs("policy", "refit", step)
        if not training:
            trained = hull(self.pairs("policy", "training", step))
            for report in self.plan.reports:
                if report.lane.role == "policy" and trained:
                    training += self._broadcasts(report, step, trained[1])
        return {"generation": hull(list(updates.values())), "training": hull(training)}

    def _broadcasts(self, report: Report, step: int, after: int) -> list[tuple[int, int]]:
        """Broadcasts of a policy between train `step` and the next step's first phase."""
        following = hull(self.pairs("policy", None, step + 1))
        spans = report.spans.where(report.spans.of(Stage.BROADCAST))
        until = following[0] if following else report.window[1]
        return [
            pair
            for pair in zip(spans.start.tolist(), spans.end.tolist(), strict=True)
            if after <= pair[0] < until
        ]

    def stalls(self, step: int) -> dict[str, dict[str, object]]:
        """Give each engine's update range, and how long it generated nothing around it."""
        found: dict[str, dict[str, object]] = {}
        for lane, (start, end) in self.updates(step).items():
            assert lane.gpu is not None
            work = self.work[lane]
            before, after = work.end[work.end <= start], work.start[work.start >= end]
            entry: dict[str, object] = {"range": [start, end], "stall_ns": None}
            if self.lost:
                entry["reason"] = LOST
            elif len(before) and len(after) and self._same_capture(lane, start, int(after.min())):
                entry["stall_ns"] = int(after.min() - before.max())
            else:
                entry["reason"] = _ONE_SIDED
            found[lane.gpu.uuid] = entry
        return found

    def _same_capture(self, lane: Lane, first: int, second: int) -> bool:
        return any(
            report.window[0] <= first and second <= report.window[1]
            for report in self.plan.reports
            if report.lane == lane
        )

    # -- segments -------------------------------------------------------------------------------

    @cached_property
    def work(self) -> dict[Lane, Spans]:
        """Generation work of each engine: kernels, graphs and copies outside its updates."""
        found: dict[Lane, list[Spans]] = {lane: [] for lane in self.engines}
        for report in self.plan.reports:
            if report.lane in found:
                outside = np.ones(len(report.spans.start), bool)
                for one in report.ranges:
                    if one.phase == "refit":
                        outside &= (report.spans.end <= one.start) | (report.spans.start >= one.end)
                found[report.lane].append(report.spans.where(outside))
        return {lane: Spans.joined(parts) for lane, parts in found.items()}

    def segment(self, weights: int) -> dict[str, object] | None:
        """Give the segment that used the weights of a step; None where nothing of it was seen."""
        before, after = self.updates(weights), self.updates(weights + 1)
        starts = bool(before) or self.plan.scenario.colocated
        per_gpu: dict[str, list[int]] = {}
        for lane in self.engines:
            assert lane.gpu is not None
            work = self.work[lane]
            low = before[lane][1] if lane in before else self._last_end(lane, weights)
            high = after[lane][0] if lane in after else self._next_start(lane, weights + 1)
            inside = (work.start >= low) & (work.end <= high)
            if inside.any():
                per_gpu[lane.gpu.uuid] = [
                    int(work.start[inside].min()),
                    int(work.end[inside].max()),
                ]
        if not per_gpu:
            return None
        reason = BEFORE if not starts else None if after else BEHIND
        entry: dict[str, object] = {
            "weights": weights,
            "span": hull([(low, high) for low, high in per_gpu.values()]),
            "per_gpu": per_gpu,
            "start_known": starts,
            "end_known": bool(after),
            "reason": reason,
            "straggler": _spread(per_gpu) if after else _unknown_spread(BEHIND),
        }
        if self.lost:
            entry |= {
                "span": None,
                "per_gpu": {},
                "start_known": False,
                "end_known": False,
                "reason": LOST,
                "straggler": _unknown_spread(LOST),
            }
        return entry

    def _window(self, lane: Lane, step: int) -> tuple[int, int]:
        """Give the capture that holds a step, or the one nearest to it."""
        captures = self.plan.captures
        holding = [index for index, steps in enumerate(captures) if steps[0] <= step]
        capture = holding[-1] if holding else 0
        windows = {r.capture: r.window for r in self.plan.reports if r.lane == lane}
        return windows[capture]

    def _last_end(self, lane: Lane, weights: int) -> int:
        """From when on work belongs to a segment whose refit before was not captured."""
        return self._window(lane, weights + 1)[0]

    def _next_start(self, lane: Lane, step: int) -> int:
        """Until when work belongs to a segment whose refit after was not captured."""
        return self._window(lane, step - 1)[1]

    # -- iterations -----------------------------------------------------------------------------

    def limits(self, step: int) -> tuple[int, int, str, str]:
        """Give an iteration's window and what its two boundaries are."""
        if self.plan.scenario.colocated:
            following = self.pairs("generation", "generation", step + 1)
            if step + 1 in self.plan.steps and following:
                end, end_kind = min(pair[0] for pair in following), "first_phase"
            else:
                every = self.pairs("policy", None, step) + self.pairs("generation", None, step)
                end, end_kind = max(pair[1] for pair in every), "last_phase_end"
            first = self.pairs("generation", "generation", step)
            return min(pair[0] for pair in first), end, "first_phase", end_kind
        before, after = self.refit(step - 1), self.refit(step)
        assert after is not None
        assert after["generation"] is not None
        if before is not None and before["generation"] is not None:
            start, start_kind = before["generation"][1], "refit"
        else:
            start = min(pair[0] for pair in self.pairs("policy", None, step))
            start_kind = "first_phase"
        return start, after["generation"][1], start_kind, "refit"

    def train(self, step: int) -> dict[str, object]:
        """Give the span of training, over all policies and by report."""
        per_report: dict[str, list[int]] = {}
        for report, one in self.ranges("policy", "training", step):
            low, high = per_report.get(report.path, [one.start, one.end])
            per_report[report.path] = [min(low, one.start), max(high, one.end)]
        span = hull([(low, high) for low, high in per_report.values()])
        return {"span": span, "per_report": per_report}

    def training_straggler(self, step: int) -> dict[str, object]:
        """Charge the spread of the starts of each matched collective to the rank that is last."""
        ranks, paths, rows = [], [], []
        stages: Int64 = np.empty(0, np.int64)
        for report in self.plan.reports:
            trained = [one for r, one in self.ranges("policy", "training", step) if r is report]
            if report.lane.role != "policy" or not trained:
                continue
            spans = report.spans.where(
                report.spans.of(Stage.REDUCE_SCATTER, Stage.ALL_REDUCE)
                & (report.spans.start >= trained[0].start)
                & (report.spans.end <= trained[0].end)
            )
            ranks.append(report.lane.rank)
            paths.append(report.path)
            rows.append(spans.start)
            stages = spans.stage
        if len(ranks) < 2:
            return {"rank": None, "report": None, "reason": _ONE_RANK}
        starts = np.stack(rows)
        spread = starts.max(axis=0) - starts.min(axis=0)
        last = starts.argmax(axis=0)
        charged = [int(spread[last == index].sum()) for index in range(len(ranks))]
        worst = int(np.argmax(charged))
        mine = spread[last == worst]
        return {
            "rank": ranks[worst],
            "report": paths[worst],
            "matched_collectives": starts.shape[1],
            "times_last": len(mine),
            "charged_ns": charged[worst],
            "lateness_median_ns": int(np.median(mine)),
            "charged_by_rank_ns": dict(zip(map(str, ranks), charged, strict=True)),
            "all_reduce_spread_median_ns": int(np.median(spread[stages == Stage.ALL_REDUCE])),
        }


def _spread(per_gpu: dict[str, list[int]]) -> dict[str, object]:
    ends = {uuid: span[1] for uuid, span in per_gpu.items()}
    last = max(ends, key=lambda uuid: ends[uuid])
    return {"ns": ends[last] - min(ends.values()), "last": last, "reason": None}


def _unknown_spread(reason: str) -> dict[str, object]:
    return {"ns": None, "last": None, "reason": reason}

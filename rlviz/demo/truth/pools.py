"""Numbers of the two pools together: activity, overlap, exposed generation, tail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rlviz.demo.intervals import EMPTY, Intervals, at_least, product_ns
from rlviz.demo.shape import MS, SECOND
from rlviz.demo.truth.gpus import LOST, SeenGpu

if TYPE_CHECKING:
    from rlviz.demo.plan import Plan
    from rlviz.demo.truth.steps import Steps

__all__ = ["Pools"]

_CLOSED_NS = 1 * MS


@dataclass(frozen=True)
class Pools:
    """Both pools of a run whose GPUs do one thing each."""

    plan: Plan
    steps: Steps
    gpus: dict[str, SeenGpu]

    @cached_property
    def refits(self) -> Intervals:
        """All refits, from the first start to the last end over both pools."""
        found = []
        for step in self.plan.steps:
            spans = [span for span in (self.steps.refit(step) or {}).values() if span]
            if spans:
                found.append((min(span[0] for span in spans), max(span[1] for span in spans)))
        return Intervals.of(found)

    @cached_property
    def active(self) -> dict[str, Intervals | None]:
        """When any GPU of a pool is busy, short gaps closed, refits taken out; None: not known."""
        found: dict[str, Intervals | None] = {}
        for pool in ("generation", "training"):
            members = self._members(pool)
            known = all(one.known for one in members)
            union = Intervals.union_of(one.busy for one in members)
            found[pool] = union.closed(_CLOSED_NS) - self.refits if known else None
        return found

    def _members(self, pool: str) -> list[SeenGpu]:
        return [one for one in self.gpus.values() if one.pool == pool]

    def other_than(self, pool: str) -> Intervals | None:
        """Activity of the other pool."""
        if pool == "colocated":
            return None
        return self.active["training" if pool == "generation" else "generation"]

    def numbers(self, window: Intervals, segment: dict[str, object] | None) -> dict[str, object]:
        """Give the numbers that need both pools, in one iteration."""
        if self.plan.scenario.colocated:
            return _nothing("colocated") | {"pool_active_ns": None}
        generation, training = self.active["generation"], self.active["training"]
        if generation is None or training is None:
            known = None if training is None else (training & window).ns
            return _nothing(LOST) | {"pool_active_ns": {"generation": None, "training": known}}
        generation, training = generation & window, training & window
        both = (generation & training).ns
        engines, policies = self._members("generation"), self._members("training")
        twin = product_ns(
            [one.busy for one in engines],
            [one.busy for one in policies],
            window - self.refits,
        )
        return {
            "pool_active_ns": {"generation": generation.ns, "training": training.ns},
            "overlap": {
                "ns": both,
                "share_of_generation": both / generation.ns if generation.ns else None,
                "share_of_training": both / training.ns if training.ns else None,
            },
            "overlap_gpu_seconds": {
                "gpu_gpu_ns": twin,
                "s": twin / len(engines) / len(policies) / SECOND,
            },
            "exposed_generation": {"ns": (generation - training).ns},
            "tail": self._tail(segment),
        }

    def _tail(self, segment: dict[str, object] | None) -> dict[str, object]:
        """Time inside the segment's span with fewer than half of the generation GPUs busy."""
        if segment is None or not segment["span"]:
            return {"ns": None, "reason": "no segment was captured"}
        engines = self._members("generation")
        half = (len(engines) + 1) // 2
        span = Intervals.of([segment["span"]])  # type: ignore[list-item]

        def short(sets: list[Intervals]) -> int:
            return (span - (at_least(half, sets) if sets else EMPTY)).ns

        return {
            "ns": short([one.busy.closed(_CLOSED_NS) for one in engines]),
            "alternative_gaps_not_closed_ns": short([one.busy for one in engines]),
        }


def _nothing(reason: str) -> dict[str, object]:
    unknown = {"ns": None, "reason": reason}
    return {
        "overlap": unknown,
        "overlap_gpu_seconds": {"s": None, "reason": reason},
        "exposed_generation": unknown,
        "tail": unknown,
    }

"""Runs with known answers, measured in their known iterations: those of others, and our own.

Iterations are taken from the answers, so that a number that is wrong is wrong, and not an iteration
that was found wrongly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
import rlviz.demo
from rlviz.run.iteration import Iteration, Refit
from rlviz.run.metrics import Metrics
from rlviz.run.summary import summary, summary_by_gpu
from tests.shared import needs_shared, truth

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlviz import Run
    from rlviz.run.gpu_time import GpuTime

__all__ = ["ASYNC", "COLOCATED", "Measured", "measured", "metrics_of"]

# The UTC of one host of nemo_skew is off: only what is inside one report can be compared there.
ASYNC = [
    *(pytest.param(n, marks=needs_shared) for n in ("nemo_async", "verl_async", "edge_rows")),
    *("demo", "demo_verl", "demo_rlinf", "demo_missing"),
]
COLOCATED = [pytest.param("sync_colocated", marks=needs_shared), "demo_colocated"]

_OWN: dict[str, dict[str, Any]] = {
    "demo": {"steps": 3, "generation_gpus": 5, "policy_gpus": 3, "long_tail": True},
    "demo_verl": {"framework": "verl", "captures": 2, "steps": 4, "policy_gpus": 2},
    "demo_rlinf": {"framework": "rlinf", "steps": 2, "slow_training_rank": 1},
    "demo_missing": {"missing_rank": 0, "steps": 2, "policy_gpus": 2, "slow_generation_gpu": 2},
    "demo_colocated": {"colocated": True, "policy_gpus": 3, "steps": 3},
    "demo_lost": {"graphs": "lost", "steps": 2, "policy_gpus": 2, "generation_gpus": 2},
}
_folders: list[TemporaryDirectory[str]] = []


@dataclass(frozen=True)
class Measured:
    """A run, its known answers, and what is measured in its known iterations."""

    answer: dict[str, Any]
    run: Run
    metrics: Metrics

    @property
    def iterations(self) -> list[dict[str, Any]]:
        """Known answers of each iteration."""
        found: list[dict[str, Any]] = self.answer["iterations"]
        return found

    @property
    def generating_pool(self) -> str:
        """Pool whose GPUs generate."""
        return "colocated" if self.answer["colocated"] else "generation"

    def row(self, uuid: str) -> int:
        """Row of a GPU."""
        (row,) = self.run.rows.filter(pl.col("gpu_uuid") == uuid)["row"].unique()
        return int(row)

    def gpu(self, uuid: str) -> GpuTime:
        """What a GPU did."""
        (gpu,) = (one for one in self.metrics.gpus if one.row == self.row(uuid))
        return gpu

    def lane(self, report: str) -> int:
        """Lane that a report was read into."""
        (lane,) = self.run.rows.filter(pl.col("report").list.contains(report))["lane"]
        return int(lane)

    def by_gpu(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Lines of the summary by iteration and row."""
        frame = summary_by_gpu(self.metrics)
        return {(line["iteration"], line["row"]): line for line in frame.to_dicts()}

    def by_pool(self) -> dict[tuple[int, str], dict[str, Any]]:
        """Lines of the summary by iteration and pool."""
        frame = summary(self.metrics)
        return {(line["iteration"], line["pool"]): line for line in frame.to_dicts()}


@cache
def measured(name: str) -> Measured:
    """Load a run and prepare to measure its known iterations."""
    folder, answer = _written(name) if name in _OWN else truth(name)
    run = rlviz.load(folder)
    iterations = [_iteration(run, known) for known in answer["iterations"]]
    refits = [one.refit for one in iterations if one.refit is not None]
    return Measured(answer, run, metrics_of(run, iterations, refits))


def metrics_of(run: Run, iterations: Iterable[Iteration], refits: Iterable[Refit]) -> Metrics:
    """Measure iterations and refits of a run."""
    return Metrics(
        events=run.events,
        activity=lambda: run.lane_activity,
        rows=run.rows,
        reports=run.reports,
        diagnostics=run.diagnostics,
        rules=run.rules,
        iterations=tuple(iterations),
        refits=tuple(refits),
        phases=run.lane_phases,
    )


def _iteration(run: Run, known: dict[str, Any]) -> Iteration:
    generates = run.rows.filter((pl.col("role") == "generation") & pl.col("gpu_data"))
    lanes = dict(generates.select("gpu_uuid", "lane").iter_rows())
    refit, segment = known["refit"], known["segment"]
    updates = {
        lanes[uuid]: (entry["range"][0], entry["range"][1])
        for uuid, entry in refit["per_generation_gpu"].items()
    }
    return Iteration(
        known["iteration"],
        known["window"][0],
        known["window"][1],
        (known["boundary"]["start"], known["boundary"]["end"]),
        known["complete"],
        _span(known["train"]["span"]),
        segment["weights"],
        {lanes[uuid]: (own[0], own[1]) for uuid, own in segment["per_gpu"].items()},
        Refit(_span(refit["generation"]), _span(refit["training"]), updates),
    )


def _span(pair: list[int] | None) -> tuple[int, int] | None:
    return None if pair is None else (pair[0], pair[1])


def _written(name: str) -> tuple[Path, dict[str, Any]]:
    """Write a run of our own; it lasts as long as the tests, since a run reads on demand."""
    folder = TemporaryDirectory()
    _folders.append(folder)
    rlviz.demo.write(folder.name, kernels_per_gpu=600, **_OWN[name])
    path = Path(folder.name)
    answer: dict[str, Any] = json.loads((path / "truth.json").read_text("utf-8"))
    return path, answer

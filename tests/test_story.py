"""Iterations, refits and segments, held against runs whose answers are known."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from rlviz.demo import Scenario, write
from tests.exports import Export
from tests.shared import REPORTS, SIM, needs_shared

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz import Run

# The clock of nemo_skew is off on purpose: its iterations are right only once that is corrected.
EXACT = ("nemo_async", "edge_rows", "verl_async", "sync_colocated")

SMALL = {"steps": 3, "kernels_per_gpu": 600}
SCENARIOS: dict[str, dict[str, Any]] = {
    "async": {},
    "colocated": {"colocated": True},
    "verl": {"framework": "verl"},
    "verl in two captures": {"framework": "verl", "captures": 2, "steps": 4},
    "rlinf": {"framework": "rlinf"},
    "straggler": {"slow_training_rank": 1},
    "long tail": {"long_tail": True},
    "missing rank": {"missing_rank": 1},
    "graphs as a whole": {"graphs": "graph"},
    "one host": {"hosts": 1, "nsys": "2026.2"},
}


@cache
def simulated(name: str) -> tuple[Run, dict[str, Any]]:
    return rlviz.load(SIM / name), json.loads((SIM / name / "truth.json").read_text())


@pytest.fixture(params=list(SCENARIOS))
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Run, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("run")
    write(folder, Scenario(**(SMALL | SCENARIOS[request.param])))
    return rlviz.load(folder), json.loads((folder / "truth.json").read_text())


def check_iterations(run: Run, truth: dict[str, Any]) -> None:
    found = run.story.iterations
    expected = truth["iterations"]
    assert [i.number for i in found] == [t["iteration"] for t in expected]
    for one, known in zip(found, expected, strict=True):
        assert (one.start_ns, one.end_ns) == tuple(known["window"])
        assert one.boundary == (known["boundary"]["start"], known["boundary"]["end"])
        assert one.complete == known["complete"]
        assert one.train == tuple(known["train"]["span"])
        check_refit(one.refit, known["refit"])


def check_refit(refit: Any, known: dict[str, Any]) -> None:
    for pool in ("generation", "training"):
        expected = known.get(pool)
        if isinstance(expected, list):
            assert getattr(refit, pool) == tuple(expected)


def check_segments(run: Run, truth: dict[str, Any]) -> None:
    gpu_of_lane = run.rows["gpu_uuid"].to_list()
    for one, known in zip(run.story.iterations, truth["iterations"], strict=True):
        segment = known["segment"]
        if not segment.get("per_gpu"):
            continue
        assert one.weights == segment["weights"]
        by_gpu = {gpu_of_lane[lane]: list(span) for lane, span in one.segment.items()}
        assert by_gpu == segment["per_gpu"]


@needs_shared
@pytest.mark.parametrize("name", EXACT)
def test_iterations_of_other_hands_runs_are_found_to_the_nanosecond(name: str) -> None:
    check_iterations(*simulated(name))


@needs_shared
def test_iterations_are_right_to_a_tenth_of_a_millisecond_where_a_clock_was_off() -> None:
    run, truth = simulated("nemo_skew")
    for one, known in zip(run.story.iterations, truth["iterations"], strict=True):
        assert one.number == known["iteration"]
        assert (one.start_ns, one.end_ns) == pytest.approx(known["window"], abs=100_000)


@needs_shared
@pytest.mark.parametrize("name", EXACT)
def test_segments_of_other_hands_runs_are_found_to_the_nanosecond(name: str) -> None:
    check_segments(*simulated(name))


def test_iterations_and_segments_of_our_own_runs_are_found(
    written: tuple[Run, dict[str, Any]],
) -> None:
    check_iterations(*written)
    check_segments(*written)


@needs_shared
@pytest.mark.parametrize("folder", ["rl-run-2022.4", "rl-run-2023.4"])
def test_a_marker_of_ones_own_finds_every_step_of_a_real_run(folder: str) -> None:
    run = rlviz.load(REPORTS / folder, iteration_marker="policy_worker/step *")
    names = run.ranges().filter(pl.col("name").str.starts_with("policy_worker/step "))["name"]
    steps = sorted({int(name.rpartition(" ")[2]) for name in names})
    assert run.iterations["iteration"].to_list() == steps
    assert (run.iterations["boundary"] == "marker").all()
    starts = run.ranges().filter(pl.col("name") == f"policy_worker/step {steps[3]}")["start_ns"]
    assert run.iterations["start_ns"][3] == starts.min()


def test_a_marker_that_matches_nothing_is_told(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.push_pop(0, 100, "train")
    run = rlviz.load(tmp_path, iteration_marker="step *")
    assert run.iterations.is_empty()
    assert "no-iterations" in run.diagnostics["kind"].to_list()


def test_a_run_without_any_known_name_says_why_it_has_no_iterations(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.push_pop(0, 100, "something else")
    (line,) = rlviz.load(tmp_path).diagnostics.filter(pl.col("kind") == "no-iterations").to_dicts()
    assert "iteration_marker=" in line["message"]


def train_step(export: Export, at: int, parts: int = 1) -> None:
    export.push_pop(at, at + 1_000, "dtensor_policy_worker_v2/get_logprobs")
    for part in range(parts):
        start = at + 2_000 + 1_000 * part
        export.push_pop(start, start + 900, "dtensor_policy_worker_v2/train")


def test_several_train_ranges_of_a_step_make_one_iteration(tmp_path: Path) -> None:
    with Export(tmp_path / "dtensor_policy_worker_v2_5:8_77.sqlite", pid=77) as export:
        for step in range(3):
            train_step(export, 10_000 * step, parts=4)
    run = rlviz.load(tmp_path)
    assert run.iterations["iteration"].to_list() == [5, 6, 7]
    assert run.iterations["train_start_ns"].to_list() == [2_000, 12_000, 22_000]
    assert run.iterations["train_end_ns"].to_list() == [5_900, 15_900, 25_900]


def test_ranks_that_disagree_by_a_little_share_their_iterations(tmp_path: Path) -> None:
    for rank in range(3):
        name = f"dtensor_policy_worker_v2_1:3_{10 + rank}.sqlite"
        with Export(tmp_path / name, pid=10 + rank, environment={"RANK": str(rank)}) as export:
            for step in range(2):
                train_step(export, 10_000 * step + 37 * rank)
    run = rlviz.load(tmp_path)
    assert run.iterations["iteration"].to_list() == [1, 2]
    assert run.iterations["train_start_ns"].to_list() == [2_000, 12_000]
    assert run.iterations["train_end_ns"].to_list() == [2_974, 12_974]

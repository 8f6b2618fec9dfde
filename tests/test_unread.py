"""Reports that are there and cannot be read: what depends on them is unknown."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import polars as pl
import pytest

import rlviz
from rlviz.run.rulebook import shipped_rules
from rlviz.run.unread import unread_pools
from tests.ranks import simulated
from tests.small_reports import told

if TYPE_CHECKING:
    from pathlib import Path

OF_BOTH = ["overlap_ns", "overlap_gpu_s", "exposed_generation_ns"]


def with_broken(into: Path, pattern: str, **options: object) -> rlviz.Run:
    """Load a simulated run of which the first report that fits is cut off."""
    folder = shutil.copytree(simulated(**options).folder, into / "run")
    (folder / "truth.json").unlink()
    path = sorted(folder.rglob(pattern))[0]
    path.write_bytes(path.read_bytes()[:20_000])
    return rlviz.load(folder)


def test_one_broken_policy_leaves_no_claim_of_how_long_training_was_active(tmp_path: Path) -> None:
    run = with_broken(tmp_path, "*policy_worker*")
    summary = run.summary()
    assert all(summary[column].is_null().all() for column in OF_BOTH)
    training, generation = (summary.filter(pool=pool) for pool in ("training", "generation"))
    assert training["active_ns"].is_null().all()
    assert training["straggler_ns"].is_null().all()
    assert generation["tail_ns"].null_count() < generation.height
    generating = run.rows.filter(pool="generation")["row"].to_list()
    gaps = run.gaps().filter(pl.col("row").is_in(generating))
    assert gaps.height
    assert gaps["other_active_ns"].is_null().all()
    assert [line["count"] for line in told(run, "unread-reports")] == [1]


def test_a_broken_report_whose_name_tells_no_role_may_be_of_any_pool_like_it(
    tmp_path: Path,
) -> None:
    run = with_broken(tmp_path, "worker_process_*.1.sqlite", framework="verl", captures=2)
    messages = [line["message"] for line in told(run, "unread-reports")]
    assert ["of the generation pool" in text for text in messages] == [True, False]
    assert ["of the training pool" in text for text in messages] == [False, True]


def test_a_host_that_is_set_apart_leaves_no_claim_about_the_pools_it_worked_for() -> None:
    run = simulated(identical_steps=True, steps=3, clock_skew_ms=7_200_000).run
    assert (run.reports["status"] == "apart").sum() == 4
    summary = run.summary()
    assert summary.height
    assert all(summary[column].is_null().all() for column in (*OF_BOTH, "active_ns"))
    assert summary["busy_ns"].null_count() == 0
    assert [line["count"] for line in told(run, "unread-reports")] == [2, 2]


def test_a_rank_that_was_never_captured_leaves_the_numbers_of_the_others() -> None:
    run = simulated(missing_rank=1).run
    assert told(run, "missing-ranks")
    assert not told(run, "unread-reports")
    assert run.summary()["overlap_ns"].null_count() == 0


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ("vllm_generation_worker_1:2_9.sqlite", {"generation": 1}),
        ("vllm_generation_worker_1:2_9.qdstrm", {}),  # what an inner worker left is no rank
        ("mlflow.sqlite", {}),
        ("node-3/w_9.sqlite", {"training": 1}),  # as all others that are called like it
        ("ray_reward_worker_4.sqlite", {}),
    ],
)
def test_a_report_counts_against_the_pool_that_its_name_tells(
    failed: str, expected: dict[str, int]
) -> None:
    reports = pl.DataFrame(
        {
            "report": ["node-1/w_1.sqlite", failed],
            "role": ["policy", None],
            "status": ["ok", "unreadable"],
        }
    )
    assert unread_pools(reports, shipped_rules()) == expected

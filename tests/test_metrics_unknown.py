"""What reports cannot tell is null, and it is said why: never 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from rlviz.run.columns import schema
from rlviz.run.gpu_time import NUMBERS
from rlviz.run.iteration import Iteration
from rlviz.run.summary import summary, summary_by_gpu
from rlviz.run.unknown import reasons
from tests.exports import UTC_NS, Export
from tests.measured import measured, metrics_of

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.reports.report import Diagnostic
    from rlviz.run.metrics import Metrics

MS = 1_000_000
LATER_UTC_NS = UTC_NS + 5000 * MS
OF_BOTH = ["overlap_ns", "overlap_gpu_s", "exposed_generation_ns"]


def whole(run: rlviz.Run, *, first_ns: int = 0, last_ns: int = 1000 * MS) -> Metrics:
    """Take a stretch of a run for an iteration."""
    iteration = Iteration(1, first_ns, last_ns, ("none", "none"), complete=False)
    return metrics_of(run, [iteration], [])


def kinds(diagnostics: list[Diagnostic]) -> set[str]:
    return {one.kind for one in diagnostics}


def worker(path: Path, pid: int, *, kernels: bool = True, **settings: Any) -> None:
    """Write a report of 100 ms of work, of a worker on a GPU of its own."""
    with Export(path, pid=pid, duration_ns=3000 * MS, **settings) as export:
        export.gpu(f"gpu-{pid}", f"0000:{pid:02x}:00.0")
        export.push_pop(300 * MS, 600 * MS, "some range")
        if kernels:
            export.kernel(400 * MS, 500 * MS)


def test_gpus_whose_graphs_left_no_rows_have_no_busy_time_and_nor_has_their_pool() -> None:
    loaded = measured("demo_lost")
    metrics = loaded.metrics
    frame, diagnostics = summary(metrics), reasons(metrics)
    lost = frame.filter(pool="generation")
    null = [c for c in frame.columns if lost[c].is_null().all()]
    known = {"iteration", "pool", "gpus", "duration_ns", "refit_ns", "partial"}
    assert set(null) == set(frame.columns) - known
    assert set(lost["gpus"]) == {2}
    training = frame.filter(pool="training")
    both = {"overlap_ns", "overlap_gpu_s", "exposed_generation_ns", "tail_ns", "stall_ns"}
    assert {c for c in frame.columns if training[c].null_count()} == both
    active = [i["pool_active_ns"]["training"] for i in loaded.iterations]
    assert training["active_ns"].to_list() == active
    assert "unknown-busy" in {one.kind for one in diagnostics}


def test_gpus_whose_graphs_left_no_rows_are_listed_without_numbers_and_without_gaps() -> None:
    loaded = measured("demo_lost")
    lines, gaps = loaded.by_gpu(), loaded.metrics.gaps()
    for known in loaded.iterations:
        for uuid, answer in known["gpus"].items():
            row = loaded.row(uuid)
            line = lines[known["iteration"], row]
            assert line["captured_ns"] == answer["captured_ns"]
            assert line["busy_ns"] == answer["busy_ns"]
            lost = answer["busy_ns"] is None
            assert (line["idle_wait_ns"] is None) == (line["bubble_ns"] is None) == lost
            assert (line["generation_ns"] is None) == (line["longest_gap_ns"] is None) == lost
            assert gaps.filter(row=row).is_empty() == lost
    assert gaps["other_active_ns"].is_null().all()


def test_a_missing_rank_leaves_a_training_straggler_unknown_and_said_to_be() -> None:
    metrics = measured("demo_missing").metrics
    frame, diagnostics = summary(metrics), reasons(metrics)
    training = frame.filter(pool="training")
    assert set(training["gpus"]) == {1}
    assert training["straggler_ns"].is_null().all()
    assert training["busy_ns"].null_count() == 0
    (told,) = (one for one in diagnostics if one.kind == "unknown-straggler")
    assert (told.count, "only one training rank" in told.message) == (len(training), True)


@pytest.mark.parametrize("left_out", ["generation", "policy"])
def test_without_reports_of_a_pool_overlap_is_unknown_and_not_0(left_out: str) -> None:
    run = measured("demo").run
    kept = run.reports.filter(pl.col("role") != left_out)["path"].to_list()
    rest = rlviz.load(kept)
    metrics = whole(rest, last_ns=20_000 * MS)
    frame, diagnostics = summary(metrics), reasons(metrics)
    there, missing = ("generation", "training")[:: 1 if left_out == "policy" else -1]
    assert set(frame["pool"]) == {there}
    assert all(frame[column].is_null().all() for column in OF_BOTH)
    assert (frame["active_ns"] > 0).all()
    assert kinds(diagnostics) >= {f"no-{missing}-gpus"}


def test_a_worker_without_gpu_rows_is_no_gpu_and_has_no_idle_time(tmp_path: Path) -> None:
    worker(tmp_path / "vllm_generation_worker_1.sqlite", 1)
    worker(tmp_path / "vllm_generation_worker_2.sqlite", 2, kernels=False)
    worker(tmp_path / "dtensor_policy_worker_3.sqlite", 3, kernels=False)
    run = rlviz.load(tmp_path)
    metrics = whole(run)
    frame, diagnostics = summary(metrics), reasons(metrics)
    generation, training = frame.to_dicts()
    assert (generation["gpus"], generation["busy_ns"]) == (1, 100 * MS)
    assert (training["gpus"], training["busy_ns"], training["active_ns"]) == (0, None, None)
    assert generation["overlap_ns"] is None
    assert "no-training-gpus" in kinds(diagnostics)
    of_gpus = summary_by_gpu(metrics)
    blind = of_gpus.filter(pl.col("captured_ns").is_null())
    assert len(blind) == 2
    assert all(blind[column].is_null().all() for column in (*NUMBERS, "longest_gap_ns"))
    assert set(metrics.gaps()["row"]) == set(run.rows.filter("gpu_data")["row"])


def test_a_capture_without_gpu_rows_is_no_idle_time_of_its_gpu(tmp_path: Path) -> None:
    worker(tmp_path / "worker_process_1.1.sqlite", 1)
    worker(tmp_path / "worker_process_1.2.sqlite", 1, kernels=False, utc_ns=LATER_UTC_NS)
    (gpu,) = whole(rlviz.load(tmp_path)).gpus
    assert [side.tolist() for side in gpu.captured] == [[0], [3000 * MS]]


def test_a_pool_that_is_not_captured_in_an_iteration_has_no_numbers_there(tmp_path: Path) -> None:
    worker(tmp_path / "vllm_generation_worker_1.sqlite", 1)
    worker(tmp_path / "dtensor_policy_worker_2.sqlite", 2, utc_ns=LATER_UTC_NS)
    metrics = whole(rlviz.load(tmp_path))
    frame, diagnostics = summary(metrics), reasons(metrics)
    generation, training = frame.to_dicts()
    assert generation["active_ns"] == 100 * MS
    assert (training["gpus"], training["busy_ns"], training["active_ns"]) == (0, None, None)
    assert generation["overlap_ns"] is training["overlap_ns"] is None
    assert "pool-not-captured" in kinds(diagnostics)


def test_without_refit_training_or_segment_their_numbers_are_null(tmp_path: Path) -> None:
    worker(tmp_path / "vllm_generation_worker_1.sqlite", 1)
    worker(tmp_path / "dtensor_policy_worker_2.sqlite", 2)
    frame = summary(whole(rlviz.load(tmp_path)))
    for column in ("refit_ns", "stall_ns", "straggler_ns", "straggler_row", "tail_ns"):
        assert frame[column].is_null().all()
    assert frame["overlap_ns"].to_list() == [100 * MS] * 2


def test_a_run_without_iterations_has_empty_frames_and_all_its_gaps(tmp_path: Path) -> None:
    worker(tmp_path / "vllm_generation_worker_1.sqlite", 1)
    metrics = metrics_of(rlviz.load(tmp_path), [], [])
    for frame_of, name in ((summary, "summary"), (summary_by_gpu, "summary_by_gpu")):
        frame = frame_of(metrics)
        assert (frame.is_empty(), dict(frame.schema)) == (True, schema(name))
    assert reasons(metrics) == []
    gaps = metrics.gaps()
    assert gaps["iteration"].is_null().all()
    assert gaps.select("start_ns", "end_ns", "gap_ns", "class").rows() == [
        (200 * MS, 400 * MS, 400 * MS, "wait"),
        (500 * MS, 1500 * MS, 2500 * MS, "wait"),
    ]


def test_a_run_without_gpus_has_frames_without_numbers(tmp_path: Path) -> None:
    worker(tmp_path / "vllm_generation_worker_1.sqlite", 1, kernels=False)
    metrics = whole(rlviz.load(tmp_path))
    frame = summary(metrics)
    assert frame.select("pool", "gpus", "busy_ns", "active_ns").rows() == [
        ("generation", 0, None, None)
    ]
    assert metrics.gaps().is_empty()
    assert dict(metrics.gaps().schema) == schema("gaps")

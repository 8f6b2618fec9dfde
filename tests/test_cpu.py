"""The CPU side of a row: threads, their ranges and CUDA calls, and planted launch-bound time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import rlviz
from rlviz.reports.calls import CALL_KINDS, kind_of_call
from tests.exports import SECRET, Export
from tests.launching import US, eager, launch
from tests.shared import SHARED, needs_shared
from tests.small_reports import write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A report of three parts: eager launches, a queue that is full, and a rollout waited for."""
    path = tmp_path / "policy_worker_0.sqlite"
    with Export(path) as export:
        export.gpu("gpu-1", "0000:19:00.0")
        export.thread(4711, "python")
        export.thread(4752, "pt_autograd_0")
        export.push_pop(0, 900_000_000, "step")
        export.push_pop(1_000, 50_000_000, "forward")
        export.push_pop(2_000, 3_000, "deep")
        export.push_pop(10_000_000, 20_000_000, "backward", tid=4752)
        eager(export, 1_000_000, 400)
        # Far ahead: twenty launches at once, then kernels end to end but for 1 us.
        for place in range(20):
            start = 100_000_000 + place * 501 * US
            launch(export, 99_000_000 + place * 5 * US, start, start + 500 * US)
        # Nothing to do for half a second, then another thread launches.
        export.runtime(120_000_000, 590_000_000, "cudaEventSynchronize_v3020", tid=4711)
        eager(export, 600_000_000, 50, tid=4752)
    return path


def test_planted_stretches_are_found_and_nothing_else(planted: Path) -> None:
    found = rlviz.load(planted).launch_bound(row=0)
    columns = ["start_ns", "end_ns", "waits", "wait_ns", "thread", "tid"]
    first = 1_000_000 + 11 * US
    second = 600_000_000 + 11 * US
    assert found.select(columns).rows() == [
        (first, first + 399 * 20 * US - 5 * US, 399, 399 * 13 * US, "python", 4711),
        (second, second + 49 * 20 * US - 5 * US, 49, 49 * 13 * US, "pt_autograd_0", 4752),
    ]


def test_a_window_keeps_the_stretches_that_reach_into_it(planted: Path) -> None:
    run = rlviz.load(planted)
    assert run.launch_bound(start_ns=2_000_000, end_ns=3_000_000)["waits"].to_list() == [399]
    assert run.launch_bound(start_ns=200_000_000)["waits"].to_list() == [49]
    assert run.launch_bound(end_ns=500_000).is_empty()


def test_threads_have_their_ranges_by_depth_and_their_calls(planted: Path) -> None:
    run = rlviz.load(planted)
    main, other = run.cpu.row(0).threads
    names = run.events.names
    assert (main.tid, main.name, other.tid, other.name) == (4711, "python", 4752, "pt_autograd_0")
    depths = [[names[code] for code in level.name.tolist()] for level in main.levels]
    assert depths == [["step"], ["forward"], ["deep"]]
    assert len(main.calls.name) == 400 + 20 + 1
    assert len(other.calls.name) == 50


def test_calls_have_names_kinds_and_what_they_launched(planted: Path) -> None:
    run = rlviz.load(planted)
    calls = run.calls(row=0)
    assert calls["start_ns"].is_sorted()
    assert calls.group_by("kind").len().sort("kind").rows() == [("launch", 470), ("sync", 1)]
    assert calls.filter(kind="sync")["name"].to_list() == ["cudaEventSynchronize_v3020"]
    launched = calls.join(run.kernels(), on=["pid", "correlation_id"])
    assert launched.height == 470


def test_a_report_without_calls_is_unknown_and_says_why(tmp_path: Path) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite"))
    row = run.cpu.row(0)
    assert row.stretches is None
    assert row.absent.startswith("no CUDA calls in its report")
    assert [thread.tid for thread in row.threads] == [4711]
    assert run.launch_bound().is_empty()
    assert run.calls().is_empty()


def test_calls_without_threads_are_unknown_and_say_why(tmp_path: Path) -> None:
    path = write(tmp_path / "w.sqlite")
    with Export(tmp_path / "other.sqlite", pid=12) as export:
        export.kernel(100, 200)
        export.row("CUPTI_ACTIVITY_KIND_RUNTIME", start=1, end=2, globalTid=None, nameId=1)
    run = rlviz.load([path, tmp_path / "other.sqlite"])
    rows = run.rows.filter(pid=12)["row"]
    assert run.cpu.row(rows[0]).absent == "its process made no CUDA calls in the capture window"


def test_only_the_processes_of_the_row_are_read(tmp_path: Path) -> None:
    with Export(tmp_path / "both.sqlite", pid=1) as export:
        for pid in (1, 2):
            export.gpu(f"gpu-{pid}", f"0000:0{pid}:00.0", number=pid, pid=pid)
            correlation = export.kernel(100 * pid, 150 * pid, pid=pid)
            export.runtime(10 * pid, 11 * pid, correlation=correlation, pid=pid, tid=pid)
    run = rlviz.load(tmp_path)
    for row in (0, 1):
        own = run.rows.filter(row=row)["pid"].to_list()
        assert run.calls(row=row)["pid"].to_list() == own


def test_captures_of_one_process_stand_behind_each_other(tmp_path: Path) -> None:
    for number in (1, 2):
        path = tmp_path / f"worker_process_7.{number}.sqlite"
        with Export(path, pid=7, utc_ns=1_790_000_000_000_000_000 + number * 10**9) as export:
            export.gpu("gpu-7", "0000:19:00.0")
            eager(export, 1_000_000, 30)
    found = rlviz.load(tmp_path).launch_bound()
    assert found["waits"].to_list() == [29, 29]
    assert found["start_ns"][1] - found["start_ns"][0] == 10**9


def test_a_sharing_worker_that_keeps_the_gpu_busy_leaves_no_wait(tmp_path: Path) -> None:
    with Export(tmp_path / "policy_worker_1.sqlite", pid=1) as export:
        export.gpu("gpu", "0000:19:00.0")
        eager(export, 1_000_000, 100)
    with Export(tmp_path / "vllm_generation_worker_1.sqlite", pid=2) as export:
        export.gpu("gpu", "0000:19:00.0")
        launch(export, 100_000, 500_000, 10_000_000)
    run = rlviz.load(tmp_path)
    assert run.rows["row"].n_unique() == 1
    assert run.launch_bound().is_empty()
    assert run.calls(row=0)["lane"].unique().sort().to_list() == [0, 1]


def test_no_secret_of_the_string_table_is_read(planted: Path) -> None:
    run = rlviz.load(planted)
    texts = [*run.cpu.row(0).names, *run.calls()["name"], *run.calls()["thread"].drop_nulls()]
    assert not any(SECRET in text for text in texts)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernelExC_v11060", "launch"),
        ("cuLaunchKernel", "launch"),
        ("cudaGraphLaunch_v10000", "launch"),
        ("cudaStreamSynchronize_v3020", "sync"),
        ("cuCtxSynchronize", "sync"),
        ("cudaStreamWaitEvent_v3020", "other"),
        ("cudaMemcpyAsync_v3020", "copy"),
        ("cuMemcpyHtoDAsync_v2", "copy"),
        ("cudaMemsetAsync_v3020", "copy"),
        ("cudaMalloc_v3020", "memory"),
        ("cudaMallocAsync_v11020", "memory"),
        ("cuMemAddressReserve", "memory"),
        ("cudaHostAlloc_v3020", "memory"),
        ("cudaGetDevice_v3020", "other"),
    ],
)
def test_calls_are_of_the_kind_that_their_name_says(name: str, kind: str) -> None:
    assert CALL_KINDS[kind_of_call(name)] == kind


@needs_shared
def test_rows_of_real_reports_that_keep_their_gpu_busy_are_not_launch_bound() -> None:
    # Two H100 in training: gaps of 1 us but for seven launch waits at the start of a step.
    run = rlviz.load(SHARED / "reports/public/nsys-2026.2_h100_2gpu_1s.sqlite")
    assert run.calls(row=0).height == 2_898
    assert run.launch_bound().is_empty()
    calls = run.calls().group_by("kind").len()
    assert set(calls["kind"]) <= set(CALL_KINDS)
    assert calls.filter(pl.col("kind") == "launch")["len"].item() > 2_000

"""Trouble that people reported in public with nsys exports: a test for each, named after it.

Section and reference stand above each test.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rlviz
from rlviz.errors import NoReports
from tests.exports import UTC_NS, Export
from tests.extremes import least
from tests.ranks import simulated
from tests.shared import REPORTS, needs_shared
from tests.small_reports import refused, told, write

REPOSITORY = Path(__file__).resolve().parents[1]
MS = 1_000_000
SECOND = 1_000_000_000


def iteration_of(run: rlviz.Run, **columns: Any) -> dict[str, Any]:
    """Give the only line of the run's summary by GPU that has these values."""
    (line,) = run.summary(by="gpu").filter(**columns).to_dicts()
    return line


# -- A. files that are missing, empty, partial ----------------------------------------------------


# ray#60904
def test_workers_killed_before_nsys_had_written_leave_a_chart_of_the_others(
    tmp_path: Path,
) -> None:
    shutil.copytree(simulated(missing_rank=2).folder, tmp_path / "run")
    cut, empty = sorted((tmp_path / "run").rglob("vllm*"))[:2]
    cut.write_bytes(cut.read_bytes()[:30_000])
    empty.write_bytes(b"")
    irrelevant = tmp_path / "run" / "ray_dashboard_77.sqlite"
    with Export(irrelevant, pid=77) as export:
        export.process(77, "ray-dashboard")
    with Export(tmp_path / "run" / "vllm_generation_worker_3:5_9.sqlite", pid=9) as export:
        export.push_pop(0, 10, "vllm_genertion_worker/generate")
    run = rlviz.load(tmp_path / "run")
    assert run.rows.filter("gpu_data")["row"].n_unique() == 5
    status = dict(run.reports.group_by("status").len().rows())
    assert status == {"ok": 5, "partial": 1, "empty": 1, "unreadable": 2}
    assert {line["report"] for line in told(run, "no-gpu-rows")} == {
        "vllm_generation_worker_3:5_9.sqlite"
    }
    assert [line["report"] for line in told(run, "nothing-traced")] == [irrelevant.name]
    assert any("policy rank 2 of 4" in line["message"] for line in told(run, "missing-ranks"))


# NVIDIA-NeMo/RL#2461
def test_no_report_at_all_says_which_option_writes_them(tmp_path: Path) -> None:
    message = refused(tmp_path, NoReports)
    assert 'NRL_NSYS_EXTRA_OPTIONS=\'{"capture-range-end":"stop-shutdown"}\'' in message


# NVIDIA-NeMo/RL#4090
def test_an_unfinished_capture_of_an_inner_worker_is_no_rank(tmp_path: Path) -> None:
    write(tmp_path / "vllm_tp_worker_3:5_1.sqlite", 1)
    (tmp_path / "vllm_tp_worker_3:5_2.qdstrm").write_bytes(b"no footer")
    run = rlviz.load(tmp_path)
    assert run.rows.height == 1
    (line,) = told(run, "unfinished-capture")
    assert line["report"] == "vllm_tp_worker_3:5_2.qdstrm"
    assert "generation worker" in line["message"]
    assert not told(run, "missing-ranks")


# NVIDIA-NeMo/RL#762, #771
def test_a_report_under_session_latest_and_under_its_session_counts_once(tmp_path: Path) -> None:
    nsight = tmp_path / "ray" / "session_2026-01-02" / "logs" / "nsight"
    write(nsight / "w_1.sqlite", 1)
    other = tmp_path / "ray" / "session_2026-01-01" / "logs" / "nsight"
    write(other / "w_2.sqlite", 2)
    (tmp_path / "ray" / "session_latest").symlink_to(nsight.parents[1])
    shutil.copytree(tmp_path / "ray" / "session_2026-01-02", tmp_path / "copied")
    run = rlviz.load(tmp_path)
    assert run.rows.height == 2
    assert len(told(run, "duplicate-report")) == 1  # the copy; a link is not even read


# NVIDIA's export documentation: no locks on Lustre and NFS
def test_a_folder_that_cannot_be_written_to_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "nsight" / "w_1.sqlite", 1)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    before = path.read_bytes()
    try:
        run = rlviz.load(path.parent)
        run.kernels()
        assert [p.name for p in path.parent.iterdir()] == ["w_1.sqlite"]
        assert path.read_bytes() == before
    finally:
        path.parent.chmod(0o755)


# vllm#20178, CliMA/ClimaAtmos.jl#2911
def test_ranks_whose_report_the_importer_refused_are_named(tmp_path: Path) -> None:
    shutil.copytree(simulated().folder, tmp_path / "run")
    for path in sorted((tmp_path / "run").rglob("*policy_worker*"))[:2]:
        path.unlink()
    run = rlviz.load(tmp_path / "run")
    assert run.rows["row"].n_unique() == 6
    (line,) = told(run, "missing-ranks")
    assert "policy ranks 0, 1 of 4" in line["message"]


# ray#60904: a second capture without NVTX, and reports with NVTX only
@pytest.mark.parametrize("has", ["gpu rows", "ranges"])
def test_a_report_of_gpu_rows_or_of_ranges_alone_is_drawn_and_called_partial(
    tmp_path: Path, has: str
) -> None:
    with Export(tmp_path / "w_1.sqlite") as export:
        if has == "gpu rows":
            export.kernel(0, 10)
        else:
            export.push_pop(0, 10, "train")
    run = rlviz.load(tmp_path)
    assert run.reports["status"].to_list() == ["partial"]
    assert run.rows["gpu_data"].to_list() == [has == "gpu rows"]
    kind = "no-nvtx" if has == "gpu rows" else "no-gpu-rows"
    assert "-t cuda,nvtx" in told(run, kind)[0]["message"]


# tritonbench#468 and NVIDIA-NeMo/RL#4090 on GB200: nsys writes nothing that could be read
@pytest.mark.parametrize("hint", ["NSYS_NVTX_PROFILER_REGISTER_ONLY=0", "cuda-sw", "Wrong event"])
def test_what_leaves_no_report_to_read_has_its_cure_in_the_documentation(hint: str) -> None:
    docs = REPOSITORY / "docs" / "how-to" / "does-not-open.md"
    assert hint in docs.read_text("utf-8")


# -- B. missing or renamed tables and columns -----------------------------------------------------


# vllm#5132, #10708, #31337
@pytest.mark.parametrize("whole_table", [True, False])
def test_processes_without_kernels_keep_a_row_and_are_not_idle(
    tmp_path: Path, whole_table: bool
) -> None:
    path = tmp_path / "vllm_tp_worker_3:5_1.sqlite"
    update = "vllm_internal_worker_extension/update_weights"
    with Export(path, pid=1) as export:
        if not whole_table:
            export.gpu("gpu", "0000:01:00.0")
            export.kernel(0, 10)
            export.push_pop(0, 10, update)
        export.push_pop(0, 10, update, pid=2)
        export.push_pop(20, 30, update, pid=3)
    run = rlviz.load(path)
    blind = run.rows.filter(~pl.col("gpu_data"))
    assert blind["pid"].to_list() == [2, 3]
    assert run.busy(row=blind["row"].to_list()).is_empty()
    kind = "no-gpu-rows" if whole_table else "worker-without-gpu-rows"
    assert told(run, kind)
    known = {gpu.row for gpu in run.metrics.gpus if gpu.unknown is None}
    assert not known & set(blind["row"])


# verl-project/verl#4575
def test_rollout_that_was_not_profiled_is_no_overlap_of_0() -> None:
    run = rlviz.load(sorted(simulated().folder.rglob("*policy_worker*")))
    summary = run.summary()
    for column in ("overlap_ns", "overlap_gpu_s", "exposed_generation_ns"):
        assert summary[column].is_null().all()
    (line,) = told(run, "no-generation-gpus")
    assert "unknown, not 0" in line["message"]


# nsys-ai#235, #16, #254; flameox#190
@pytest.mark.parametrize("schema", ["3.0.0", "3.7.2", "3.20.2", "3.25.0"])
def test_versions_are_found_under_the_keys_that_nsys_writes(tmp_path: Path, schema: str) -> None:
    with Export(tmp_path / "w.sqlite", schema) as export:
        export.kernel(0, 10)
    (line,) = rlviz.load(tmp_path).reports.to_dicts()
    assert line["schema_version"] == schema
    assert line["nsys_version"] is not None


def test_a_column_that_was_renamed_is_named_and_loses_no_other_table(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with Export(path) as export:
        export.kernel(0, 10)
        export.copy(20, 30)
    with sqlite3.connect(path) as database:
        database.execute('ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN "end" TO finish')
    run = rlviz.load(path)
    assert run.copies().height == 1
    (line,) = told(run, "schema")
    assert "CUPTI_ACTIVITY_KIND_KERNEL has no column end" in line["message"]


# -- D. clocks ------------------------------------------------------------------------------------


# RL-Insight's nvtx_parser
def test_reports_launched_20_s_apart_that_capture_together_stand_together(
    tmp_path: Path,
) -> None:
    for pid, launch in ((1, 5 * SECOND), (2, 25 * SECOND)):
        write(tmp_path / f"w_{pid}.sqlite", pid, launch_ns=launch, utc_ns=UTC_NS)
    run = rlviz.load(tmp_path)
    assert run.reports["window_start_ns"].to_list() == [0, 0]
    assert run.kernels()["start_ns"].to_list() == [100, 100]


# repeated captures
@needs_shared
def test_captures_of_one_session_are_one_lane_with_the_gap_that_was_between_them() -> None:
    files = [REPORTS / "edge" / f"capture_nvtx_repeat.{n}.sqlite" for n in (1, 2)]
    run = rlviz.load(files)
    (lane,) = run.rows.to_dicts()
    assert lane["report"] == [path.name for path in files]
    first, second = run.reports.sort("report").to_dicts()
    # both tell the launch of the session: what lies between their starts is exact by it
    since = []
    for path in files:
        with sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True) as database:
            (row,) = database.execute("SELECT startTime, duration FROM ANALYSIS_DETAILS")
            since.append(row)
    gap = since[1][0] - since[0][0] - since[0][1]
    assert gap > 0
    assert abs(second["window_start_ns"] - first["window_end_ns"] - gap) < 1_000
    inside = run.ranges(start_ns=first["window_end_ns"] + 1, end_ns=second["window_start_ns"])
    assert inside.is_empty()


# negative timestamps
@needs_shared
def test_rows_before_the_capture_do_not_set_the_axis() -> None:
    run = rlviz.load(REPORTS / "edge" / "capture_nvtx_repeat.2.sqlite")
    assert least(run.ranges()["start_ns"]) >= 0
    assert (run.marks()["start_ns"] >= 0).all()
    assert run.reports["window_start_ns"].to_list() == [0]


def test_one_bad_row_never_sets_the_axis(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.kernel(100, 200)
        export.kernel(2**62, 2**62 + 1)
        export.kernel(-(2**62), 50)
        export.kernel(300, 250)
        export.kernel("soon", 400)
        export.kernel(0, 0)
        export.push_pop(0, 2**62, "for ever")
    run = rlviz.load(tmp_path)
    assert run.kernels().select("start_ns", "end_ns").rows() == [(100, 200)]
    assert run.ranges().is_empty()
    assert {line["count"] for line in told(run, "bad-rows")} == {5, 1}


# -- E. kernel rows, busy and idle ----------------------------------------------------------------


def trained(path: Path, spans: list[tuple[int, int, int]], **settings: Any) -> rlviz.Run:
    """A policy report of 10 s with kernels (start ms, end ms, stream), in one iteration."""
    with Export(path, pid=1, duration_ns=10 * SECOND, **settings) as export:
        export.gpu("gpu", "0000:01:00.0")
        export.push_pop(1 * SECOND, 3 * SECOND, "dtensor_policy_worker/train")
        for start, end, stream in spans:
            export.kernel(start * MS, end * MS, stream=stream)
    return rlviz.load(path)


# nsys-ai#574, #579
def test_kernels_of_two_streams_at_once_are_busy_once(tmp_path: Path) -> None:
    spans = [(1000, 2626, 7), (1200, 1827, 20), (2600, 2968, 20)]
    line = iteration_of(trained(tmp_path / "w.sqlite", spans))
    assert line["busy_ns"] == 1968 * MS  # of 2000 ms; the sum of the durations is 2621 ms
    assert line["duration_ns"] == 2000 * MS


# nsys-ai#240, #241, #619
def test_streams_that_are_idle_at_once_are_idle_once(tmp_path: Path) -> None:
    spans = [(1000, 1100, 7), (1100, 1150, 14), (2900, 3000, 20)]
    line = iteration_of(trained(tmp_path / "w.sqlite", spans))
    idle = sum(line[f"idle_{name}_ns"] for name in ("launch", "short", "wait"))
    assert (line["busy_ns"], idle) == (250 * MS, 1750 * MS)
    assert line["captured_ns"] == line["busy_ns"] + idle + line["edge_ns"]


# nsys-ai#236, #569, #584; tracy#1318; TraceLens#728; Hyperloom#1047
@pytest.mark.parametrize("graphs", ["graph", "node"])
def test_work_inside_cuda_graphs_is_no_idle_time(graphs: str) -> None:
    loaded = simulated(graphs=graphs)
    for uuid, gpu in loaded.truth["gpus"].items():
        (row,) = loaded.run.rows.filter(gpu_uuid=uuid)["row"]
        busy = loaded.run.busy(by="row", row=row)
        assert (busy["end_ns"] - busy["start_ns"]).sum() == gpu["whole_run"]["busy_ns"]


def test_graphs_that_left_no_rows_make_idle_time_unknown() -> None:
    run = simulated(graphs="lost").run
    lost = run.summary().filter(pool="generation")
    assert lost["busy_ns"].is_null().all()
    assert lost["idle_wait_ns"].is_null().all()
    lines = told(run, "graph-launches-without-rows")
    assert len(lines) == 4
    assert all("--cuda-graph-trace=node" in line["message"] for line in lines)


# colocated policy and vLLM, MPS
def test_two_processes_on_one_gpu_are_one_row_with_their_union(tmp_path: Path) -> None:
    for pid, role, start in ((1, "policy", 0), (2, "generation", 50)):
        with Export(tmp_path / f"vllm_{role}_worker_1:2_{pid}.sqlite", pid=pid) as export:
            export.gpu("one-gpu", "0000:01:00.0")
            export.kernel((100 + start) * MS, (200 + start) * MS)
            export.push_pop(0, 10, f"vllm_{role}_worker/x")
    run = rlviz.load(tmp_path)
    assert run.rows.select("row", "lane").rows() == [(0, 0), (0, 1)]
    assert run.busy(by="row").select("start_ns", "end_ns").rows() == [(100 * MS, 250 * MS)]


# Ray sets CUDA_VISIBLE_DEVICES
def test_eight_reports_of_device_0_are_eight_gpus(tmp_path: Path) -> None:
    for pid in range(8):
        with Export(tmp_path / f"w_{pid}.sqlite", pid=pid, utc_ns=UTC_NS + pid) as export:
            for number in range(8):
                used = 0 if number == pid else None
                export.gpu(f"gpu-{number}", f"0000:{number:02x}:00.0", number=number, device=used)
            export.kernel(100, 200, device=0)
    run = rlviz.load(tmp_path)
    assert run.rows["row"].n_unique() == 8
    assert run.rows["gpu_bus"].to_list() == [f"0000:{n:02x}:00.0" for n in range(8)]

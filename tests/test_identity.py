"""Who recorded a report: GPUs and rows, workers and lanes, hosts, roles, chained captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from tests.exports import UTC_NS, Export

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from rlviz import Run

MS = 1_000_000
SECOND = 1_000_000_000


def kinds(run: Run) -> set[str]:
    return set(run.diagnostics["kind"])


def length(frame: pl.DataFrame) -> int:
    return int((frame["end_ns"] - frame["start_ns"]).sum())


def bus(number: int) -> str:
    return f"0000:{0x19 + number:02x}:00.0"


# -- rows: which GPU -------------------------------------------------------------------------


@pytest.mark.parametrize("listed", ["own", "all", "all by visible devices"])
def test_device_0_of_eight_workers_is_eight_gpus(tmp_path: Path, listed: str) -> None:
    for number in range(8):
        pid = 100 + number
        # CUDA_DEVICE came with 3.17; before it only CUDA_VISIBLE_DEVICES tells
        schema = "3.7.2" if listed == "all by visible devices" else "3.20.2"
        with Export(
            tmp_path / f"vllm_generation_worker_1:4_{pid}.sqlite",
            schema,
            pid=pid,
            utc_ns=UTC_NS + number,
            environment={"CUDA_VISIBLE_DEVICES": str(number)},
        ) as export:
            for other in [number] if listed == "own" else range(8):
                device = 0 if other == number else None
                export.gpu(f"gpu-{other}", bus(other), number=other, device=device)
            export.kernel(1 * MS, (2 + number) * MS)
    run = rlviz.load(tmp_path)
    assert run.rows["row"].to_list() == list(range(8))
    assert run.rows["gpu_uuid"].to_list() == [f"gpu-{number}" for number in range(8)]
    assert run.rows["gpu_bus"].to_list() == [bus(number) for number in range(8)]
    assert set(run.kernels()["device"]) == {0}
    for lane in run.rows.to_dicts():
        assert length(run.busy(row=lane["row"])) == (lane["pid"] - 100 + 1) * MS


@pytest.mark.parametrize("visible", ["²", "9" * 5_000, "٣", "", "NoDevFiles,1"])
def test_visible_devices_that_are_no_numbers_leave_the_gpu_unknown(
    tmp_path: Path, visible: str
) -> None:
    path = tmp_path / "vllm_generation_worker_1:4_7.sqlite"
    with Export(path, "3.7.2", host="node-²", environment={"CUDA_VISIBLE_DEVICES": visible}) as one:
        one.gpu("gpu-0", bus(0), number=0, device=None)
        one.kernel(1 * MS, 2 * MS)
    run = rlviz.load(tmp_path)
    assert run.rows["gpu_uuid"].to_list() == [None]
    assert run.rows["host"].to_list() == ["node-²"]


def test_eight_unknown_gpus_are_not_one(tmp_path: Path) -> None:
    for number in range(8):
        path = tmp_path / f"vllm_generation_worker_1:4_{100 + number}.sqlite"
        with Export(path, pid=100 + number, utc_ns=UTC_NS + number) as export:
            export.kernel(1 * MS, 2 * MS)
    run = rlviz.load(tmp_path)
    assert run.rows["row"].n_unique() == 8
    assert set(run.rows["gpu_uuid"]) == {None}
    assert "unknown-gpu" in kinds(run)


def test_two_workers_on_one_gpu_are_one_row_with_two_lanes(tmp_path: Path) -> None:
    for name, pid, start in [("dtensor_policy_worker", 31, 10), ("vllm_generation_worker", 36, 15)]:
        path = tmp_path / f"{name}_1:5_{pid}.sqlite"
        with Export(path, pid=pid, utc_ns=UTC_NS + pid) as export:
            export.gpu("the-gpu", "0000:19:00.0")
            export.kernel(start * MS - pid, (start + 10) * MS - pid)  # 10..20 and 15..25 ms
    run = rlviz.load(tmp_path)
    assert run.rows["row"].to_list() == [0, 0]
    assert run.rows["lane"].to_list() == [0, 1]
    assert run.rows["pool"].to_list() == ["colocated", "colocated"]
    assert sorted(run.rows["role"]) == ["generation", "policy"]
    assert length(run.busy()) == 20 * MS
    assert run.busy(by="row").select("row", "lane", "start_ns", "end_ns").rows() == [
        (0, None, 10 * MS - 31, 25 * MS - 31)
    ]


def test_a_gpu_is_known_by_its_bus_where_it_has_no_uuid(tmp_path: Path) -> None:
    for host, pid in [("node-1", 1), ("node-1", 2), ("node-2", 3)]:
        with Export(
            tmp_path / f"w_{pid}.sqlite", pid=pid, host=host, utc_ns=UTC_NS + pid
        ) as export:
            export.gpu(None, "0000:19:00.0")
            export.kernel(1 * MS, 2 * MS)
    run = rlviz.load(tmp_path)
    # one bus on one host is one GPU, on another host it is another
    assert sorted(run.rows.select("row", "pid").rows()) == [(0, 1), (0, 2), (1, 3)]


def test_a_uuid_that_only_the_device_table_has_is_taken(tmp_path: Path) -> None:
    for pid in (1, 2):
        path = tmp_path / f"w_{pid}.sqlite"
        with Export(path, "3.25.0", pid=pid, utc_ns=UTC_NS + pid) as export:
            export.row("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=pid, uuid="the-gpu")
            export.kernel(1 * MS, 2 * MS)
    run = rlviz.load(tmp_path)
    assert run.rows["gpu_uuid"].to_list() == ["the-gpu", "the-gpu"]
    assert run.rows["row"].to_list() == [0, 0]


def test_a_worker_with_two_gpus_has_two_rows_and_its_ranges_once(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        for number in (0, 1):
            export.gpu(f"gpu-{number}", bus(number), number=number, device=number)
            export.kernel(1 * MS, 2 * MS, device=number)
        export.push_pop(0, 3 * MS, "step")
        export.mark(1, "started")
    run = rlviz.load(tmp_path)
    assert run.rows["row"].to_list() == [0, 1]
    assert run.ranges().select("row", "lane").rows() == [(0, 0)]
    assert run.marks().select("row", "lane").rows() == [(0, 0)]
    assert "several-gpus-one-worker" in kinds(run)


def test_processes_of_one_report_have_a_lane_each(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        for number, pid in enumerate([111, 112]):
            export.gpu(f"gpu-{number}", bus(number), number=number, device=0, pid=pid)
            export.kernel(1 * MS, (2 + number) * MS, pid=pid)
            export.push_pop(0, 3 * MS, f"of {pid}", pid=pid)
        export.push_pop(0, 3 * MS, "of a forked child", pid=113)
    run = rlviz.load(tmp_path)
    assert sorted(run.rows.select("pid", "gpu_uuid", "gpu_data").rows()) == [
        (111, "gpu-0", True),
        (112, "gpu-1", True),
        (113, None, False),
    ]
    lanes = {lane["lane"]: lane["pid"] for lane in run.rows.to_dicts()}
    for line in run.ranges().to_dicts():
        assert line["name"] in (f"of {lanes[line['lane']]}", "of a forked child")
        assert line["pid"] == lanes[line["lane"]]
    assert run.reports["pids"].to_list() == [[111, 112, 113]]


# -- hosts -----------------------------------------------------------------------------------


def test_a_ray_folder_names_the_host_where_the_report_does_not(tmp_path: Path) -> None:
    path = tmp_path / "7-logs" / "ray" / "10.0.3.14" / "session_latest" / "w_1.sqlite"
    with Export(path, host=None) as export:
        export.kernel(1 * MS, 2 * MS)
    assert rlviz.load(tmp_path).rows["host"].to_list() == ["10.0.3.14"]


def test_nodes_are_ordered_as_people_count(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        path = tmp_path / f"{number}" / f"vllm_generation_worker_1:4_{number}.sqlite"
        with Export(path, host=f"node-{number}", pid=5, utc_ns=UTC_NS + number) as export:
            export.gpu(f"gpu-{number}", bus(0))
            export.kernel(1 * MS, 2 * MS)
    assert rlviz.load(tmp_path).rows["host"].to_list() == ["node-1", "node-2", "node-10"]


# -- roles -----------------------------------------------------------------------------------


def role(tmp_path: Path, file: str, text: str | None = None, process: str = "python3") -> Any:
    with Export(tmp_path / file) as export:
        export.process(4711, process)
        export.gpu("a-gpu", bus(0))
        export.kernel(1 * MS, 2 * MS)
        if text is not None:
            export.push_pop(0, 3 * MS, text)
    (lane,) = rlviz.load(tmp_path).rows.to_dicts()
    return lane["role"], lane["pool"]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("dtensor_policy_worker_1:4_6777", "policy"),
        ("dtensor_policy_worker_v2_3:8_4711.2", "policy"),
        ("megatron_policy_worker_2:3_99", "policy"),
        ("vllm_generation_worker_1:4_6833", "generation"),
        ("vllm_async_generation_worker_3:8_4905", "generation"),
        ("sglang_generation_worker_1:4_5", "generation"),
    ],
)
def test_file_names_of_nemo_rl_tell_the_role(tmp_path: Path, file: str, expected: str) -> None:
    found, _ = role(tmp_path, f"{file}.sqlite")
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vllm_genertion_worker/generate", "generation"),
        ("vllm_generation_worker/generate", "generation"),
        ("sglang_genertion/generate", "generation"),
        ("vllm_internal_worker_extension/update_weights_from_collective", "generation"),
        ("dtensor_policy_worker_v2/train", "policy"),
        ("megatron_policy_worker/get_logprobs", "policy"),
        ("dtensor_value_worker_v2/train", "critic"),
        ("megatron_value_worker/get_values", "critic"),
    ],
)
def test_ranges_tell_the_role_misspelt_as_they_are_published(
    tmp_path: Path, text: str, expected: str
) -> None:
    found, _ = role(tmp_path, "some_report.sqlite", text)
    assert found == expected


def test_a_critic_is_known_by_its_ranges_though_its_file_says_policy(tmp_path: Path) -> None:
    found = role(tmp_path, "dtensor_policy_worker_v2_3:8_4.sqlite", "dtensor_value_worker_v2/train")
    assert found == ("critic", "training")


def test_a_process_name_tells_more_than_a_file_name(tmp_path: Path) -> None:
    found, _ = role(
        tmp_path, "dtensor_policy_worker_v2_3:8_4.sqlite", process="ray::DTensorValueWorkerV2"
    )
    assert found == "critic"


def test_a_worker_that_nothing_tells_of_is_unknown_and_in_no_pool(tmp_path: Path) -> None:
    assert role(tmp_path, "report1.sqlite", "something") == ("unknown", "other")
    assert "unknown-role" in kinds(rlviz.load(tmp_path))


@pytest.mark.parametrize("rank", ["", "-1", "abc", "²", "9" * 30, "9" * 5000, "3 "])
def test_a_rank_that_is_none_is_unknown(tmp_path: Path, rank: str) -> None:
    with Export(tmp_path / "w.sqlite", environment={"RANK": rank}) as export:
        export.kernel(1 * MS, 2 * MS)
    assert rlviz.load(tmp_path).rows["rank"].to_list() in ([None], [3])


# -- captures of one process -----------------------------------------------------------------


def chain(tmp_path: Path, schema: str, name: str = "worker_process_4711.{}.sqlite") -> Run:
    """Two captures of one session, 5 s apart, 1 s each."""
    for number, later in [(1, 0), (2, 5 * SECOND)]:
        with Export(
            tmp_path / name.format(number),
            schema,
            utc_ns=UTC_NS + later,
            launch_ns=3 * SECOND + later,
            duration_ns=SECOND,
        ) as export:
            export.gpu("the-gpu", bus(0))
            export.domain(1, "NCCL", start=-4 * SECOND - later)
            export.kernel(100 * MS, 200 * MS)
            export.push_pop(90 * MS, 210 * MS, "actor_update")
            export.push_pop(950 * MS, None, "open at the stop")
    return rlviz.load(tmp_path)


@pytest.mark.parametrize("schema", ["3.7.2", "3.20.2", "3.25.0"])
def test_captures_of_one_session_share_a_lane_with_a_gap_between_them(
    tmp_path: Path, schema: str
) -> None:
    run = chain(tmp_path, schema)
    (lane,) = run.rows.to_dicts()
    assert sorted(lane["report"]) == [
        "worker_process_4711.1.sqlite",
        "worker_process_4711.2.sqlite",
    ]
    assert run.reports.sort("report").select("window_start_ns", "window_end_ns").rows() == [
        (0, SECOND),
        (5 * SECOND, 6 * SECOND),
    ]
    assert run.busy().select("start_ns", "end_ns").rows() == [
        (100 * MS, 200 * MS),
        (5100 * MS, 5200 * MS),
    ]
    # an open range ends with its own capture, not with the last one
    assert run.ranges().filter("truncated")["end_ns"].to_list() == [SECOND, 6 * SECOND]


def test_captures_of_one_session_share_a_lane_whatever_their_names(tmp_path: Path) -> None:
    assert chain(tmp_path, "3.20.2", "{}/renamed.sqlite").rows.height == 1


# -- the run's clock -------------------------------------------------------------------------


def test_reports_launched_far_apart_that_capture_together_stand_together(tmp_path: Path) -> None:
    # startTime counts from each session's own launch: adding it would put them 20 s apart
    for pid, launched in [(1, 5 * SECOND), (2, 25 * SECOND)]:
        with Export(
            tmp_path / f"vllm_generation_worker_{pid}.sqlite",
            pid=pid,
            utc_ns=UTC_NS + pid,
            launch_ns=launched,
        ) as export:
            export.gpu(f"gpu-{pid}", bus(pid))
            export.kernel(100 * MS, 200 * MS)
    assert rlviz.load(tmp_path).kernels()["start_ns"].to_list() == [100 * MS, 100 * MS + 1]


def test_a_controller_that_started_earlier_does_not_set_the_zero(tmp_path: Path) -> None:
    path, started = tmp_path / "controller.sqlite", UTC_NS - 90 * SECOND
    with Export(path, pid=1, utc_ns=started, duration_ns=100 * SECOND) as export:
        export.start_end(85 * SECOND, 95 * SECOND, "step")
    with Export(tmp_path / "vllm_generation_worker_2.sqlite", pid=2) as export:
        export.gpu("gpu-2", bus(2))
        export.kernel(100 * MS, 200 * MS)
    run = rlviz.load(tmp_path)
    assert run.start_utc_ns == UTC_NS
    assert run.kernels()["start_ns"].to_list() == [100 * MS]
    assert run.ranges()["start_ns"].to_list() == [-5 * SECOND]
    starts = dict(run.reports.select("report", "window_start_ns").iter_rows())
    assert starts["controller.sqlite"] == -90 * SECOND


def test_without_any_gpu_row_the_earliest_report_sets_the_zero(tmp_path: Path) -> None:
    for pid in (1, 2):
        with Export(tmp_path / f"w_{pid}.sqlite", pid=pid, utc_ns=UTC_NS + pid * SECOND) as export:
            export.push_pop(1 * MS, 2 * MS, "a range")
    run = rlviz.load(tmp_path)
    assert run.start_utc_ns == UTC_NS + SECOND
    assert run.ranges()["start_ns"].sort().to_list() == [1 * MS, SECOND + 1 * MS]


def test_rows_created_before_the_capture_do_not_set_the_axis(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite", duration_ns=None) as export:
        export.domain(1, "NCCL", start=-9_880 * MS)
        export.push_pop(10 * MS, 20 * MS, "ncclAllReduce", domain=1)
    (line,) = rlviz.load(tmp_path).reports.to_dicts()
    assert (line["window_start_ns"], line["window_end_ns"]) == (10 * MS, 20 * MS)

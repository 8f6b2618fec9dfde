"""The default run: its size, its proportions, its names, and every number of it."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

import pytest

from tests.demo.written import Written, clipped, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    written = Written.run(tmp_path_factory.mktemp("default"))
    yield written
    written.close()


def test_a_gpu_is_busy_for_as_long_as_its_rows_say(run: Written) -> None:
    for uuid, gpu in run.truth["gpus"].items():
        windows = run.windows(uuid)
        rows = run.of_gpu(uuid)
        parts = [
            (clipped(windows, *one["window"]), one["gpus"][uuid])
            for one in run.truth["iterations"][2:3]
        ]
        for place, numbers in [(windows, gpu["whole_run"]), *parts]:
            swept = sweep(rows, place)
            assert {key: numbers[key] for key in swept} == swept
            idle = sum(numbers["idle_ns"].values())
            assert numbers["busy_ns"] + idle + numbers["edge_ns"] == numbers["captured_ns"]


def test_it_is_no_larger_than_promised(run: Written) -> None:
    files = list(run.folder.rglob("*.sqlite"))
    assert len(files) == 8
    assert sum(file.stat().st_size for file in files) <= 100e6
    for report in run.truth["reports"]:
        ((kernels,),) = run.ask(report, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")
        assert 20_000 <= kernels <= 50_000


def test_its_proportions_are_those_of_a_real_run(run: Written) -> None:
    complete = [one for one in run.truth["iterations"] if one["complete"]]
    assert [one["iteration"] for one in complete] == [4, 5, 6, 7]
    for iteration in complete:
        start, end = iteration["window"]
        assert (end - start) / 1e9 == pytest.approx(31, abs=2)
        for pool, low, high in (("generation", 0.25, 0.35), ("training", 0.05, 0.15)):
            numbers = [one for one in iteration["gpus"].values() if one["pool"] == pool]
            assert low <= mean(1 - one["busy_ns"] / one["captured_ns"] for one in numbers) <= high
        for pool in ("generation", "training"):
            refit = iteration["refit"][pool]
            assert 0.4 <= (refit[1] - refit[0]) / 1e9 <= 0.6


def test_no_fault_is_in_it(run: Written) -> None:
    assert run.truth["planted"] == {}
    assert run.truth["missing_reports"] == []
    for iteration in run.truth["iterations"]:
        length = iteration["window"][1] - iteration["window"][0]
        assert iteration["training_straggler"]["charged_ns"] < 0.01 * length
        assert iteration["segment"]["straggler"]["ns"] < 0.06 * length
        assert iteration["tail"]["ns"] < 0.05 * length
        for numbers in iteration["gpus"].values():
            assert numbers["comm_exposed_ns"] < 0.03 * length


def test_its_files_and_processes_have_the_published_names(run: Written) -> None:
    assert sorted(run.truth["reports"])[:3] == [
        "node-1/dtensor_policy_worker_v2_3:8_4711.sqlite",
        "node-1/dtensor_policy_worker_v2_3:8_4808.sqlite",
        "node-1/vllm_async_generation_worker_3:8_4905.sqlite",
    ]
    for report, known in run.truth["reports"].items():
        process = run.ask(report, "SELECT pid, name FROM PROCESSES")
        names = {
            "policy": "ray::DTensorPolicyWorkerV2",
            "generation": "ray::VllmAsyncGenerationWorker",
        }
        assert process == [(known["pid"], names[known["role"]])]


def test_asynchronous_generation_has_no_ranges_but_its_refits(run: Written) -> None:
    for report, known in run.truth["reports"].items():
        default = run.ask(
            report,
            "SELECT DISTINCT text FROM NVTX_EVENTS WHERE eventType = 59 AND domainId = 0",
        )
        if known["role"] == "generation":
            update = "vllm_internal_worker_extension/update_weights_from_collective"
            assert default == [(update,)]
        else:
            assert {
                "policy_worker/get_reference_policy_logprobs",
                *(
                    f"dtensor_policy_worker_v2/{name}"
                    for name in (
                        "prepare_for_lp_inference",
                        "get_logprobs",
                        "prepare_for_training",
                        "train",
                    )
                ),
            } == {name for (name,) in default}


def test_reference_logprobs_hold_a_nested_range(run: Written) -> None:
    report = next(iter(run.truth["reports"]))
    ((count,),) = run.ask(
        report,
        """
        SELECT count(*) FROM NVTX_EVENTS outer_range JOIN NVTX_EVENTS inner_range
        ON inner_range.start > outer_range.start AND inner_range."end" < outer_range."end"
        WHERE outer_range.text = 'policy_worker/get_reference_policy_logprobs'
        AND inner_range.text = 'dtensor_policy_worker_v2/get_logprobs'
        """,
    )
    assert count == 5


def test_the_domain_of_nccl_was_created_before_the_capture(run: Written) -> None:
    for report in run.truth["reports"]:
        domains = run.ask(report, "SELECT start, text FROM NVTX_EVENTS WHERE eventType = 75")
        assert len(domains) == 1
        assert domains[0][0] < 0
        assert domains[0][1] == "NCCL"


def test_backward_kernels_are_launched_by_autograd(run: Written) -> None:
    report = next(iter(run.truth["reports"]))
    launched = run.ask(
        report,
        """
        SELECT DISTINCT thread.value FROM CUPTI_ACTIVITY_KIND_KERNEL
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME USING (correlationId)
        JOIN ThreadNames ON ThreadNames.globalTid = CUPTI_ACTIVITY_KIND_RUNTIME.globalTid
        JOIN StringIds AS thread ON thread.id = ThreadNames.nameId
        JOIN StringIds AS kernel ON kernel.id = shortName WHERE kernel.value LIKE '%flash_bwd%'
        """,
    )
    assert launched == [("pt_autograd_0",)]


def test_the_ends_of_a_collective_differ_by_its_jitter_only(run: Written) -> None:
    ends = []
    for report, known in run.truth["reports"].items():
        if known["role"] == "policy":
            offset = known["add_to_reach_run_clock_ns"]
            ends.append(
                [
                    end + offset
                    for (end,) in run.ask(
                        report,
                        """
                        SELECT "end" FROM CUPTI_ACTIVITY_KIND_KERNEL
                        JOIN StringIds ON id = shortName
                        WHERE value LIKE 'nccl%' AND value NOT LIKE '%Broadcast%' ORDER BY start
                        """,
                    )
                ]
            )
    spread = [max(each) - min(each) for each in zip(*ends, strict=True)]
    assert max(spread) <= 50_000
    assert max(spread) >= 20_000


def test_the_band_gets_lower_towards_the_end_of_a_segment(run: Written) -> None:
    segment = run.truth["segments"][2]
    for uuid, (start, end) in segment["per_gpu"].items():
        rows, tenth = run.of_gpu(uuid), (end - start) // 10
        early = sweep(rows, [(start + 4 * tenth, start + 5 * tenth)])["busy_ns"] / tenth
        late = sweep(rows, [(end - tenth, end)])["busy_ns"] / tenth
        assert early > 0.95
        assert late < 0.7

"""A trace says what it lacks: ranks, captures, GPUs, reports that cannot be read."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from rlviz.reports.communicators import read_communicators
from rlviz.reports.database import open_database
from rlviz.reports.report import Communicator
from tests.exports import SECRET, UTC_NS, Export
from tests.leaks import leaks
from tests.ranks import simulated
from tests.shared import SIM, needs_shared
from tests.small_reports import told

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MISSING = {"missing-ranks", "missing-captures", "unseen-gpus", "worker-without-gpu-rows"}
RUNS: list[dict[str, Any]] = [
    {},
    {"colocated": True},
    {"framework": "verl", "captures": 2},
    {"framework": "rlinf"},
    {"graphs": "lost"},
    {"hosts": 1, "nsys": "2026.2"},
]


def lacks(run: rlviz.Run) -> set[str]:
    return MISSING & set(run.diagnostics["kind"])


def without(folder: Path, into: Path, which: Callable[[str], bool]) -> Path:
    """Copy a run but for some reports."""
    shutil.copytree(folder, into / "run")
    for path in (into / "run").rglob("*.sqlite"):
        if which(path.name):
            path.unlink()
    return into / "run"


@pytest.mark.parametrize("options", RUNS, ids=str)
def test_a_run_that_lacks_nothing_says_so(options: dict[str, Any]) -> None:
    assert lacks(simulated(**options).run) == set()


@needs_shared
@pytest.mark.parametrize(
    "name", ["nemo_async", "nemo_skew", "sync_colocated", "verl_async", "edge_rows"]
)
def test_runs_by_other_hands_lack_what_their_makers_say(name: str) -> None:
    truth = json.loads((SIM / name / "truth.json").read_text("utf-8"))
    lost = [one for one in truth["missing_reports"] if one["role"] == "policy"]
    lines = told(rlviz.load(SIM / name), "missing-ranks")
    assert sum(line["count"] for line in lines) == len(lost)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_rank_of_world_size_that_left_no_report_is_named(rank: int) -> None:
    run = simulated(missing_rank=rank).run
    (line,) = told(run, "missing-ranks")
    assert (line["severity"], line["count"]) == ("warning", 1)
    assert f"policy rank {rank} of 4" in line["message"]
    assert "--capture-range-end=stop-shutdown" in line["message"]
    (gpu,) = told(run, "unseen-gpus")
    assert gpu["count"] == 1


def test_ranks_below_the_highest_are_expected_where_world_size_is_unknown(tmp_path: Path) -> None:
    for rank in (0, 1, 4):
        environment = {"RANK": str(rank)}
        path = tmp_path / f"dtensor_policy_worker_1:4_{rank}.sqlite"
        with Export(path, pid=rank, utc_ns=UTC_NS + rank, environment=environment) as export:
            export.kernel(0, 10)
    (line,) = told(rlviz.load(tmp_path), "missing-ranks")
    assert "policy ranks 2, 3 of 5" in line["message"]


def test_ranks_in_the_names_of_reports_are_expected(tmp_path: Path) -> None:
    folder = simulated(framework="rlinf").folder
    run = rlviz.load(without(folder, tmp_path, lambda name: "RolloutGroup_2_" in name))
    lines = [line["message"] for line in told(run, "missing-ranks")]
    assert any("generation rank 2 of 4" in line for line in lines)


def test_a_member_of_a_communicator_that_left_no_report_is_missed(tmp_path: Path) -> None:
    # vLLM workers have no RANK: only the others' broadcasts know how many there are
    folder = simulated().folder
    gone = sorted(path.name for path in folder.rglob("vllm*"))[-1]
    run = rlviz.load(without(folder / "node-2", tmp_path, lambda name: name == gone))
    lines = {line["message"]: line["count"] for line in told(run, "missing-ranks")}
    assert sum(count for line, count in lines.items() if "communicator of 8" in line) == 3
    run = rlviz.load(without(folder, tmp_path / "all", lambda name: name == gone))
    # the same process number on both hosts
    (line,) = told(run, "missing-ranks")
    assert line["count"] == 2
    assert "communicator of 8" in line["message"]


def test_a_capture_that_siblings_have_is_missed(tmp_path: Path) -> None:
    folder = simulated(framework="verl", captures=2).folder
    gone = sorted(path.name for path in folder.rglob("*.2.sqlite"))[0]
    first = without(folder, tmp_path, lambda name: name == gone)
    lines = told(rlviz.load(first), "missing-captures")
    assert {line["count"] for line in lines} == {1}
    assert all("Capture 2" in line["message"] for line in lines)
    stem = gone.removesuffix(".2.sqlite")
    assert all(stem in line["report"] for line in lines)
    assert lines


def test_who_names_one_report_is_not_warned_of_the_others() -> None:
    path = min(simulated().folder.rglob("*policy_worker*"))
    (line,) = told(rlviz.load(path), "missing-ranks")
    assert line["severity"] == "info"


def test_a_world_of_absurd_size_is_no_list_of_missing_ranks(tmp_path: Path) -> None:
    for rank, size in ((0, "999999999"), (1, "9" * 40), (2, "two"), (3, "-4")):
        environment = {"RANK": str(rank), "WORLD_SIZE": size}
        path = tmp_path / f"dtensor_policy_worker_1:4_{rank}.sqlite"
        with Export(path, pid=rank, utc_ns=UTC_NS + rank, environment=environment) as export:
            export.kernel(0, 10)
    assert not told(rlviz.load(tmp_path), "missing-ranks")


# -- what NCCL's ranges tell ----------------------------------------------------------------------


def payload(export: Export, text: str | None, *, domain: int = 1, by_id: bool = False) -> None:
    export.push_pop(1, 2, "ncclAllReduce", domain=domain)
    key = "jsonTextId" if by_id else "jsonText"
    export._rows["NVTX_EVENTS"][-1][key] = export.string(text) if by_id and text else text


def communicators(path: Path) -> tuple[Communicator, ...]:
    with open_database(path) as database:
        return read_communicators(database)


def test_communicators_are_read_once_each(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with Export(path, pid=7) as export:
        export.domain(1, "NCCL")
        for number in (90, 91, 90):
            text = {"NCCL communicator ID": number, "No. of ranks": 4, "Rank": 2}
            payload(export, json.dumps(text))
        payload(export, '{"No. of ranks": 2, "Rank": 1}', by_id=True)
    assert communicators(path) == (
        Communicator(7, None, 2, 1),
        Communicator(7, 90, 4, 2),
        Communicator(7, 91, 4, 2),
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"No. of ranks"',
        '"No. of ranks"',
        '["No. of ranks", 3]',
        '{"No. of ranks": "4", "Rank": 0}',
        '{"No. of ranks": 4, "Rank": 4}',
        '{"No. of ranks": 4, "Rank": -1}',
        '{"No. of ranks": 4, "Rank": true}',
        '{"No. of ranks": 4.5, "Rank": 0}',
        '{"No. of ranks": 1e999, "Rank": 0}',
        '{"No. of ranks": NaN, "Rank": 0}',
        '{"No. of ranks": 99999999999999999999999, "Rank": 0}',
        '{"No. of ranks": ' + "9" * 5000 + ', "Rank": 0}',
        '{"No. of ranks": ' + "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_a_payload_that_is_none_of_nccls_tells_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.sqlite"
    with Export(path) as export:
        export.domain(1, "NCCL")
        payload(export, text)
    assert communicators(path) == ()


def test_other_domains_payloads_and_the_string_table_are_not_looked_through(
    tmp_path: Path,
) -> None:
    path = tmp_path / "w.sqlite"
    with Export(path) as export:
        export.string(f'{{"No. of ranks": 4, "Rank": 0, "token": "{SECRET}"}}')
        payload(export, '{"No. of ranks": 4, "Rank": 0}')
        export.kernel(0, 10)
    assert communicators(path) == ()
    assert not leaks(rlviz.load(path), SECRET)


# -- reports that cannot be read, or lack tables --------------------------------------------------


def broken_copy(folder: Path, into: Path, names: list[str]) -> Path:
    """Copy a run and break three reports: cut off, empty, and no database at all."""
    shutil.copytree(folder, into / "run")
    first, second, third = (into / "run" / name for name in names)
    first.write_bytes(first.read_bytes()[:20_000])
    second.write_bytes(b"")
    third.write_text("killed before it was written")
    return into / "run"


@pytest.mark.parametrize("pool", ["policy", "generation"])
def test_a_run_of_8_with_3_broken_reports_has_5_rows_and_names_3(tmp_path: Path, pool: str) -> None:
    loaded = simulated(policy_gpus=3, generation_gpus=5, hosts=1)
    names = sorted(path.name for path in loaded.folder.glob(f"*/*{pool}_worker*"))[:3]
    folder = broken_copy(loaded.folder / "node-1", tmp_path, names)
    run = rlviz.load(folder)
    assert run.rows["row"].n_unique() == 5
    errors = run.diagnostics.filter(severity="error")
    assert sorted(errors["report"]) == names
    assert all(f"of a {pool} worker" in message for message in errors["message"])
    assert sorted(run.reports.filter(status="unreadable")["report"]) == names
    summary = run.summary()
    of_both = ["overlap_ns", "overlap_gpu_s", "exposed_generation_ns"]
    if pool == "policy":  # nothing is left of it: what needs both is unknown, never 0
        assert all(summary[column].is_null().all() for column in of_both)
        assert "no-training-gpus" in run.diagnostics["kind"]
    else:  # two GPUs are left: the others are missed, and known to be
        assert told(run, "missing-ranks")[0]["count"] == 3
        (unread,) = told(run, "unread-reports")
        assert unread["count"] == 3
        assert "generation" in unread["message"]
        left = summary.filter(pool="generation")
        null = [*of_both, "active_ns", "tail_ns", "straggler_ns", "straggler_row"]
        assert all(left[column].is_null().all() for column in null)
        assert set(left["gpus"]) == {2}
        assert left["busy_ns"].null_count() == 0
        assert summary.filter(pool="training")["active_ns"].null_count() == 0
        of_gpus = run.summary(by="gpu")
        assert of_gpus["busy_ns"].null_count() == 0
        assert of_gpus["row"].n_unique() == 5
    assert run.findings["kind"][0] == "incomplete-trace"


def test_a_process_without_gpu_rows_beside_one_that_has_them_is_told(tmp_path: Path) -> None:
    # vLLM: the child that launches the kernels was spawned outside of nsys
    path = tmp_path / "w.sqlite"
    with Export(path, pid=1) as export:
        export.gpu("gpu", "0000:01:00.0")
        export.kernel(0, 10)
        export.push_pop(0, 10, "dtensor_policy_worker/train")
        export.push_pop(0, 10, "vllm_internal_worker_extension/update_weights", pid=2)
    run = rlviz.load(path)
    (line,) = told(run, "worker-without-gpu-rows")
    assert "Process 2 (generation)" in line["message"]
    assert run.rows["gpu_data"].to_list() == [False, True]


def test_a_controller_without_gpu_rows_is_no_warning() -> None:
    run = simulated(framework="verl").run
    (line,) = told(run, "no-gpu-rows")
    assert line["severity"] == "info"
    assert not run.diagnostics.filter(severity="warning").height

"""A part of a run: what was asked for is read, nothing else is, and what is left out is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlviz
from rlviz.errors import NoReports
from rlviz.reports.gpu_rows import read_gpu_rows
from rlviz.run.part import part_of
from tests.commands import here
from tests.exports import Export
from tests.ranks import simulated
from tests.small_reports import told, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def roles(run: rlviz.Run) -> list[str]:
    return run.rows["role"].to_list()


def names(run: rlviz.Run) -> list[str]:
    return run.reports["report"].to_list()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the reports whose GPU rows were read."""
    found: list[str] = []

    def noted(database: Any, *rest: Any) -> Any:
        found.append(database.path.name)
        return read_gpu_rows(database, *rest)

    monkeypatch.setattr("rlviz.reports.read.read_gpu_rows", noted)
    return found


@pytest.fixture
def steps_in_names(tmp_path: Path) -> Path:
    """Two policy workers, each with reports of the steps 1 to 2, 3 to 5 and 6."""
    for number, span in enumerate(("1:3", "3:6", "6:7")):
        for pid in (11, 12):
            path = tmp_path / f"dtensor_policy_worker_v2_{span}_{pid}.sqlite"
            write(path, pid=pid, utc_ns=10**18 + number * 10**9 + pid)
    return tmp_path


@pytest.mark.parametrize(
    ("steps", "spans"),
    [
        (2, ["1:3"]),
        ((1, 6), ["1:3", "6:7"]),
        (range(4, 7), ["3:6", "6:7"]),
        (range(6, 0, -5), ["1:3", "6:7"]),
        (np.arange(5, 9), ["3:6", "6:7"]),
        (iter([3]), ["3:6"]),
        ([2, 77], ["1:3"]),
    ],
)
def test_only_reports_of_the_steps_asked_for_are_opened(
    steps_in_names: Path, opened: list[str], steps: Any, spans: list[str]
) -> None:
    run = rlviz.load(steps_in_names, steps=steps, cache=False)
    wanted = [f"dtensor_policy_worker_v2_{span}_{pid}.sqlite" for span in spans for pid in (11, 12)]
    assert sorted(opened) == sorted(names(run)) == sorted(wanted)
    (line,) = told(run, "not-asked")
    assert (line["severity"], line["count"], line["report"]) == ("info", 6 - len(wanted), None)


def test_a_report_that_does_not_tell_its_steps_is_read(steps_in_names: Path) -> None:
    write(steps_in_names / "worker_process_99.sqlite", pid=99)
    run = rlviz.load(steps_in_names, steps=6, cache=False)
    assert "worker_process_99.sqlite" in names(run)
    assert told(run, "steps-untold")[0]["count"] == 1


def test_steps_that_no_report_has_are_refused_with_those_there_are(steps_in_names: Path) -> None:
    with pytest.raises(NoReports, match="steps 1 to 2, steps 3 to 5, step 6"):
        rlviz.load(steps_in_names, steps=[0, 7])


def test_only_workers_of_the_roles_asked_for_are_read(opened: list[str]) -> None:
    whole = simulated()
    opened.clear()
    run = rlviz.load(whole.folder, roles="generation", cache=False)
    assert set(roles(run)) == {"generation"}
    assert len(opened) == len(run.reports) < len(whole.run.reports)
    assert told(run, "not-asked")
    (line,) = told(run, "no-training-gpus")
    assert line["severity"] == "info"
    assert "was asked for" in line["message"]


def test_a_role_that_only_ranges_tell_is_found(tmp_path: Path) -> None:
    # NeMo-RL's value workers leave reports that bear the policy's name.
    for pid, worker in ((21, "policy"), (22, "value")):
        path = tmp_path / f"dtensor_policy_worker_v2_1:2_{pid}.sqlite"
        with Export(path, pid=pid, utc_ns=10**18 + pid) as export:
            export.gpu(f"gpu-{pid}", f"0000:{pid}:00.0")
            export.kernel(100, 200)
            export.push_pop(90, 210, f"dtensor_{worker}_worker_v2/train")
    assert roles(rlviz.load(tmp_path, roles="critic", cache=False)) == ["critic"]
    assert roles(rlviz.load(tmp_path, roles=("policy",), cache=False)) == ["policy"]


def test_a_role_is_found_without_any_range(tmp_path: Path) -> None:
    for pid, name in ((21, "policy_worker"), (22, "vllm_rollout")):
        with Export(tmp_path / f"{name}_{pid}.sqlite", pid=pid, utc_ns=10**18 + pid) as export:
            export.gpu(f"gpu-{pid}", f"0000:{pid}:00.0")
            export.kernel(100, 200)
    assert roles(rlviz.load(tmp_path, roles="generation", cache=False)) == ["generation"]


def ranked(folder: Path, ranks: Mapping[int, int], world: int | None = None) -> Path:
    for pid, rank in ranks.items():
        path = folder / f"dtensor_policy_worker_v2_1:2_{pid}.sqlite"
        told = {"RANK": str(rank)} | ({} if world is None else {"WORLD_SIZE": str(world)})
        with Export(path, pid=pid, utc_ns=10**18 + pid, environment=told) as export:
            export.gpu(f"gpu-{pid}", f"0000:{pid}:00.0")
            export.kernel(100, 200)
            export.push_pop(90, 210, "dtensor_policy_worker_v2/train")
    return folder


@pytest.mark.parametrize(
    ("ranks", "found"), [(1, [1]), ([0, 3], [0, 3]), (range(1, 3), [1, 2]), ({2}, [2])]
)
def test_only_the_ranks_asked_for_are_read(
    tmp_path: Path, opened: list[str], ranks: Any, found: list[int]
) -> None:
    folder = ranked(tmp_path, {31: 0, 32: 1, 33: 2, 34: 3}, world=4)
    run = rlviz.load(folder, ranks=ranks, cache=False)
    assert sorted(run.rows["rank"]) == found
    assert len(opened) == len(found)


def test_ranks_that_were_not_asked_for_are_not_missing(tmp_path: Path) -> None:
    # Rank 2 left no report.
    folder = ranked(tmp_path, {31: 0, 32: 1, 34: 3}, world=4)
    assert told(rlviz.load(folder, cache=False), "missing-ranks")
    assert not told(rlviz.load(folder, ranks=[0, 1], cache=False), "missing-ranks")
    (line,) = told(rlviz.load(folder, ranks=[1, 2], cache=False), "missing-ranks")
    assert line["count"] == 1
    assert "rank 2 of 4" in line["message"]


def test_ranks_that_no_report_has_are_refused_with_those_there_are(tmp_path: Path) -> None:
    folder = ranked(tmp_path, {31: 0, 32: 1, 34: 3})
    with pytest.raises(NoReports, match="policy: ranks 0 to 1, 3"):
        rlviz.load(folder, ranks=range(7, 9))


def test_a_role_that_tells_no_rank_is_read_whole_and_that_is_told(tmp_path: Path) -> None:
    ranked(tmp_path, {31: 0, 32: 1})
    write(tmp_path / "vllm_rollout_41.sqlite", pid=41)
    run = rlviz.load(tmp_path, ranks=1, cache=False)
    assert sorted(roles(run)) == ["generation", "policy"]
    assert told(run, "ranks-untold")[0]["count"] == 1
    # Where its siblings tell theirs, a report without one is none of those.
    (tmp_path / "vllm_rollout_41.sqlite").rename(tmp_path / "policy_41.sqlite")
    assert run.rows.height == 2
    assert roles(rlviz.load(tmp_path, ranks=1, cache=False)) == ["policy"]


def test_roles_that_no_report_has_are_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(NoReports, match=r"policy \(2\)"):
        rlviz.load(ranked(tmp_path, {31: 0, 32: 1}), roles="critic")


def test_what_cannot_be_read_is_told_whatever_was_asked_for(tmp_path: Path) -> None:
    ranked(tmp_path, {31: 0, 32: 1})
    (tmp_path / "torn.sqlite").write_bytes(b"no database")
    run = rlviz.load(tmp_path, roles="policy", ranks=0, cache=False)
    assert [line["report"] for line in told(run, "not-an-export")] == ["torn.sqlite"]


def test_a_part_is_the_same_from_the_store(tmp_path: Path) -> None:
    folder = ranked(tmp_path / "reports", {31: 0, 32: 1}, world=2)
    for _ in range(2):
        run = rlviz.load(folder, ranks=1, cache=tmp_path / "store")
        assert run.rows["rank"].to_list() == [1]
    whole = rlviz.load(folder, cache=tmp_path / "store")
    assert sorted(whole.rows["rank"]) == [0, 1]
    assert not told(whole, "not-asked")


@pytest.mark.parametrize(
    "asked",
    [
        {"steps": "3"},
        {"steps": 1.5},
        {"steps": True},
        {"ranks": [1, None]},
        {"ranks": []},
        {"steps": range(0)},
        {"roles": "trainer"},
        {"roles": ["policy", "trainer"]},
        {"roles": []},
    ],
)
def test_what_cannot_be_meant_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="|".join(asked)):
        rlviz.load("nowhere", **asked)


@given(
    st.integers(-20, 20),
    st.integers(-20, 20),
    st.sampled_from([-7, -3, -1, 1, 2, 5]),
    st.integers(-25, 25),
    st.integers(0, 9),
)
def test_a_range_of_steps_meets_those_that_it_lists(
    start: int, stop: int, step: int, first: int, length: int
) -> None:
    asked = range(start, stop, step)
    if asked:
        expected = any(one in asked for one in range(first, first + length))
        assert part_of(steps=asked).holds_steps(first, first + length) == expected
        listed: Iterable[int] = list(asked)
        assert part_of(steps=listed).holds_steps(first, first + length) == expected


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--ranks", "0,2-3"], 1, "1 of 4 reports were not asked for"),
        (["--roles", "policy", "--ranks", "1-1"], 0, "3 of 4 reports were not asked for"),
        (["--roles", "policy,critic"], 0, "4 reports, 4 rows"),
        (["--steps", "1"], 1, "4 reports, 4 rows"),
        (["--steps", "7"], 2, "There are reports of step 1."),
        (["--ranks", "0,two"], 2, "neither a number nor N-N"),
        (["--ranks", "3-1"], 2, "asks for nothing"),
        (["--ranks", "0-999999999999"], 2, "neither a number nor N-N"),
        (["--roles", "trainer"], 2, "no role"),
    ],
)
def test_a_part_is_asked_for_on_the_command_line(
    tmp_path: Path, options: list[str], status: int, said: str
) -> None:
    folder = ranked(tmp_path, {31: 0, 32: 1, 33: 2, 34: 3}, world=4)
    done = here("check", folder, *options)
    assert said in " ".join(done.output.replace("│", " ").split())
    assert done.exit_code == status

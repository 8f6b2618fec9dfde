"""Finding reports: folders, globs, files, roles; and the same report twice."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import rlviz
from tests.exports import UTC_NS, Export
from tests.small_reports import pids, told, write

if TYPE_CHECKING:
    from pathlib import Path

# -- what can be given -----------------------------------------------------------------------


def test_a_folder_is_searched_to_the_bottom(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", 1)
    write(tmp_path / "node-1" / "logs" / "nsight" / "b.sqlite", 2)
    run = rlviz.load(tmp_path)
    assert pids(run) == [1, 2]
    assert sorted(run.reports["report"]) == ["a.sqlite", "node-1/logs/nsight/b.sqlite"]


def test_text_paths_do_as_well_as_path_objects(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", 1)
    assert pids(rlviz.load(str(tmp_path))) == [1]
    assert pids(rlviz.load(str(tmp_path / "a.sqlite"))) == [1]


def test_the_home_folder_may_be_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "logs" / "a.sqlite", 1)
    assert pids(rlviz.load("~/logs")) == [1]


def test_a_glob_takes_what_matches_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "vllm_1.sqlite", 1)
    write(tmp_path / "vllm_2.sqlite", 2)
    write(tmp_path / "policy_3.sqlite", 3)
    write(tmp_path / "deep" / "vllm_4.sqlite", 4)
    assert pids(rlviz.load(str(tmp_path / "vllm_*.sqlite"))) == [1, 2]
    assert pids(rlviz.load(str(tmp_path / "**" / "vllm_*.sqlite"))) == [1, 2, 4]


def test_a_glob_may_match_folders(tmp_path: Path) -> None:
    write(tmp_path / "node-1" / "a.sqlite", 1)
    write(tmp_path / "node-2" / "b.sqlite", 2)
    assert pids(rlviz.load(str(tmp_path / "node-*"))) == [1, 2]


def test_a_list_mixes_files_folders_and_globs(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", 1)
    write(tmp_path / "folder" / "b.sqlite", 2)
    write(tmp_path / "c-1.sqlite", 3)
    run = rlviz.load([tmp_path / "a.sqlite", str(tmp_path / "folder"), str(tmp_path / "c-*")])
    assert pids(run) == [1, 2, 3]


def test_roles_that_are_given_win_over_guessed_ones(tmp_path: Path) -> None:
    write(tmp_path / "dtensor_policy_worker_1.sqlite", 1)
    write(tmp_path / "b" / "whatever.sqlite", 2)
    write(tmp_path / "c.sqlite", 3)
    run = rlviz.load(
        {
            "generation": str(tmp_path / "dtensor_*"),
            "policy": [tmp_path / "b"],
            "reward": tmp_path / "c.sqlite",
        }
    )
    found = {lane["pid"]: (lane["role"], lane["pool"]) for lane in run.rows.to_dicts()}
    assert found == {
        1: ("generation", "generation"),
        2: ("policy", "training"),
        3: ("reward", "other"),
    }
    assert set(run.reports["role"]) == {"generation", "policy", "reward"}


@pytest.mark.parametrize(
    "name",
    [
        "dtensor_policy_worker_1:4_6777.sqlite",
        "a b.sqlite",
        "half%20coded.sqlite",
        "what?.sqlite",
        "take#2.sqlite",
        "run[1].sqlite",
        "läuft ✓.sqlite",
        "x.y.z.sqlite",
    ],
)
def test_odd_characters_in_names_do_not_hide_a_report(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, 1)
    assert rlviz.load(tmp_path).reports["report"].to_list() == [name]
    assert rlviz.load(str(tmp_path / name)).reports["report"].to_list() == [name]
    assert pids(rlviz.load([tmp_path / name])) == [1]


def test_a_relative_name_with_a_colon_is_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "worker_1:4_6777.sqlite", 1)
    monkeypatch.chdir(tmp_path)
    assert pids(rlviz.load("worker_1:4_6777.sqlite")) == [1]
    assert pids(rlviz.load(".")) == [1]


def test_brackets_in_a_folder_name_are_no_glob(tmp_path: Path) -> None:
    write(tmp_path / "run[1]" / "a.sqlite", 1)
    assert pids(rlviz.load(str(tmp_path / "run[1]"))) == [1]


# -- the same report twice -------------------------------------------------------------------


def test_session_latest_does_not_count_a_report_twice(tmp_path: Path) -> None:
    write(tmp_path / "session_2026-11-30" / "logs" / "a.sqlite", 1)
    (tmp_path / "session_latest").symlink_to(tmp_path / "session_2026-11-30")
    run = rlviz.load(tmp_path)
    assert run.reports.height == 1
    assert run.kernels().height == 1


def test_a_folder_reached_by_a_link_alone_is_searched(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "a.sqlite", 1)
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "session_latest").symlink_to(tmp_path / "elsewhere")
    assert pids(rlviz.load(tmp_path / "ray")) == [1]
    assert pids(rlviz.load(tmp_path / "ray" / "session_latest")) == [1]


def test_a_link_that_points_at_its_own_folder_ends(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", 1)
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "nowhere.sqlite").symlink_to(tmp_path / "gone.sqlite")
    assert pids(rlviz.load(tmp_path)) == [1]


def test_a_report_named_twice_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.sqlite", 1)
    link = tmp_path / "b.sqlite"
    link.symlink_to(path)
    run = rlviz.load([path, path, link, tmp_path])
    assert run.reports.height == 1
    assert run.kernels().height == 1


def test_a_copied_report_counts_once_and_is_told(tmp_path: Path) -> None:
    write(tmp_path / "session_1" / "a.sqlite", 1)
    (tmp_path / "session_2").mkdir()
    shutil.copy(tmp_path / "session_1" / "a.sqlite", tmp_path / "session_2" / "renamed.sqlite")
    run = rlviz.load(tmp_path)
    assert run.rows.height == 1
    assert run.kernels().height == 1
    assert len(told(run, "duplicate-report")) == 1


def test_old_reports_without_a_start_time_are_no_copies_of_each_other(tmp_path: Path) -> None:
    for node in ("node-1", "node-2"):
        with Export(tmp_path / node / "a.sqlite", "2020", pid=148, host=None) as export:
            export.kernel(100, 200 if node == "node-1" else 300)
    run = rlviz.load(tmp_path)
    assert run.reports.height == 2
    # same pid, same deviceId, but nothing says that it is one process on one GPU
    assert run.rows["row"].n_unique() == 2
    assert not told(run, "duplicate-report")


def test_the_same_process_number_on_two_hosts_is_two_workers(tmp_path: Path) -> None:
    for number, host in enumerate(["node-1", "node-2"]):
        path = tmp_path / host / "vllm_worker_148.sqlite"
        with Export(path, pid=148, host=host, utc_ns=UTC_NS + number) as export:
            export.gpu(f"gpu-{host}", "0000:19:00.0")
            export.kernel(100, 200)
    run = rlviz.load(tmp_path)
    assert run.rows["host"].to_list() == ["node-1", "node-2"]
    assert run.rows["row"].to_list() == [0, 1]

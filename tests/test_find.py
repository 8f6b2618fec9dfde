"""Finding reports: folders, globs, files, roles; what is no report, and what is one twice."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from rlviz.errors import (
    ExportNeeded,
    NoReports,
    NotAnExport,
    RlvizError,
    UnfinishedCapture,
    UnreadableReport,
)
from tests.exports import UTC_NS, Export

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rlviz import Run


def write(path: Path, pid: int = 4711, **settings: Any) -> Path:
    """Write a report with one kernel; its UTC differs from that of other processes."""
    with Export(path, pid=pid, **({"utc_ns": UTC_NS + pid} | settings)) as export:
        export.gpu(f"gpu-{pid}", f"0000:{pid % 256:02x}:00.0")
        export.kernel(100, 200)
        export.push_pop(90, 210, "some range")
    return path


def pids(run: Run) -> list[int]:
    return sorted(run.rows["pid"])


def told(run: Run, kind: str) -> list[dict[str, Any]]:
    return [line for line in run.diagnostics.to_dicts() if line["kind"] == kind]


def refused(reports: Any, kind: type[RlvizError]) -> str:
    """Load what cannot be loaded; give the message."""
    with pytest.raises(kind) as caught:
        rlviz.load(reports)
    return str(caught.value)


@pytest.fixture
def no_nsys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty-path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty-path"))


@pytest.fixture
def nsys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A stand-in for nsys: exports by copying what lies beside it, and writes down each call."""
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "bin"
    folder.mkdir()
    write(folder / "export.sqlite", pid=77)
    script = folder / "nsys"
    script.write_text(
        dedent(
            f"""\
            #!{sys.executable}
            import pathlib, shutil, sys
            words = sys.argv[1:]
            here = pathlib.Path(__file__).parent
            with open(here / "calls", "a") as calls:
                calls.write(" ".join(words) + "\\n")
            for place, word in enumerate(words):
                if word in ("-o", "--output"):
                    out = words[place + 1]
                elif word.startswith("--output="):
                    out = word.partition("=")[2]
            assert words[0] == "export", words
            shutil.copy(here / "export.sqlite", out)
            """
        )
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    return folder / "calls"


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


# -- what is no report -----------------------------------------------------------------------


def text(path: Path) -> None:
    path.write_text("SELECT 1; this is no database\n" * 100)


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def half(path: Path) -> None:
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def head(path: Path) -> None:
    write(path)
    path.write_bytes(path.read_bytes()[:50])


def scrambled(path: Path) -> None:
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xaa" * (len(whole) - 100))


def shop(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE users (id); CREATE TABLE orders (id);")
    connection.close()


def empty_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE x (id); DROP TABLE x; VACUUM;")
    connection.close()


SPOILT = [text, nothing, half, head, scrambled, shop, empty_database]


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_file_that_is_no_report_is_an_error_that_names_it(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / "worker_2.sqlite")
    with pytest.raises((NotAnExport, UnreadableReport)) as caught:
        rlviz.load(tmp_path / "worker_2.sqlite")
    assert "worker_2.sqlite" in str(caught.value)
    assert caught.value.problem
    assert caught.value.remedy
    assert str(tmp_path) not in str(caught.value)


def test_another_database_is_told_by_its_tables(tmp_path: Path) -> None:
    shop(tmp_path / "worker_2.sqlite")
    message = refused(tmp_path / "worker_2.sqlite", NotAnExport)
    assert "users" in message
    assert "orders" in message
    assert "nsys export --type sqlite" in message


@pytest.mark.parametrize("spoil", SPOILT)
def test_one_bad_file_does_not_keep_the_others_from_loading(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    write(tmp_path / "good.sqlite", 1)
    spoil(tmp_path / "bad.sqlite")
    run = rlviz.load(tmp_path)
    assert pids(run) == [1]
    status = dict(run.reports.select("report", "status").iter_rows())
    assert status == {"good.sqlite": "ok", "bad.sqlite": "unreadable"}
    (line,) = [line for line in run.diagnostics.to_dicts() if line["report"] == "bad.sqlite"]
    assert line["severity"] == "error"
    assert line["kind"] in ("unreadable", "not-an-export")


def test_when_all_are_bad_every_reason_is_told(tmp_path: Path) -> None:
    text(tmp_path / "one.sqlite")
    shop(tmp_path / "two.sqlite")
    with pytest.raises(NoReports) as caught:
        rlviz.load(tmp_path)
    assert sorted(reason.path.name for reason in caught.value.reasons) == [
        "one.sqlite",
        "two.sqlite",
    ]
    assert "one.sqlite" in str(caught.value)
    assert "two.sqlite" in str(caught.value)


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "nsight").mkdir()
    message = refused(tmp_path / "nsight", NoReports)
    assert "nsight" in message
    assert "nsys" in message.splitlines()[1]


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    assert "gone" in refused(tmp_path / "gone", RlvizError)
    assert "gone.sqlite" in refused(tmp_path / "gone.sqlite", RlvizError)
    assert "gone-*" in refused(str(tmp_path / "gone-*.sqlite"), RlvizError)


def test_an_empty_list_says_that_nothing_was_given() -> None:
    assert refused([], RlvizError)


def test_other_files_of_a_log_folder_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", 1)
    (tmp_path / "worker.out").write_text("some log")
    (tmp_path / "truth.json").write_text("{}")
    (tmp_path / "a.sqlite-journal").write_text("")
    run = rlviz.load(tmp_path)
    assert run.reports.height == 1
    assert set(run.diagnostics["report"]) <= {None, "a.sqlite"}


# -- captures that nsys never finished -------------------------------------------------------


def test_an_unfinished_capture_is_named_and_is_no_report(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", 1)
    (tmp_path / "worker_9.qdstrm").write_bytes(b"\0" * 64)
    run = rlviz.load(tmp_path)
    assert pids(run) == [1]
    (line,) = told(run, "unfinished-capture")
    assert "worker_9.qdstrm" in f"{line['report']} {line['message']}"


def test_only_unfinished_captures_are_an_error_that_explains_them(tmp_path: Path) -> None:
    for name in ("worker_8.qdstrm", "worker_9.qdstrm"):
        (tmp_path / name).write_bytes(b"\0" * 64)
        assert name in refused(tmp_path / name, UnfinishedCapture)
    with pytest.raises(NoReports) as caught:
        rlviz.load(tmp_path)
    assert [type(reason) for reason in caught.value.reasons] == [UnfinishedCapture] * 2
    assert "worker_9.qdstrm" in str(caught.value)


# -- reports that are not exported yet -------------------------------------------------------


@pytest.mark.usefixtures("no_nsys")
def test_without_nsys_the_command_to_run_is_told(tmp_path: Path) -> None:
    for name in ("worker_1:4_6777.nsys-rep", "worker_1:4_6805.nsys-rep"):
        (tmp_path / name).write_bytes(b"NVIDIA")
        message = refused(tmp_path / name, ExportNeeded)
        assert "nsys export --type sqlite" in message
        assert name in message
    with pytest.raises(NoReports) as caught:
        rlviz.load(tmp_path)
    assert [type(reason) for reason in caught.value.reasons] == [ExportNeeded] * 2


@pytest.mark.usefixtures("no_nsys")
def test_without_nsys_the_exported_ones_still_load(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", 1)
    (tmp_path / "b.nsys-rep").write_bytes(b"NVIDIA")
    run = rlviz.load(tmp_path)
    assert pids(run) == [1]
    (line,) = told(run, "export-needed")
    assert line["report"] == "b.nsys-rep"


def test_a_newer_export_beside_the_report_is_taken(tmp_path: Path, nsys: Path) -> None:
    logs = tmp_path / "logs"
    write(logs / "a.sqlite", 1)
    (logs / "a.nsys-rep").write_bytes(b"NVIDIA")
    age(logs / "a.nsys-rep", seconds=60)
    for asked in (logs, logs / "a.nsys-rep"):
        run = rlviz.load(asked)
        assert pids(run) == [1]
        assert run.reports.height == 1
        assert not told(run, "export-needed")
    assert not nsys.exists()


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_nsys_exports_into_the_cache_folder_once(tmp_path: Path, nsys: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "worker_3:5_123.nsys-rep").write_bytes(b"NVIDIA")
    for _ in range(2):
        run = rlviz.load(logs)
        assert pids(run) == [77]
        assert run.reports["report"].to_list() == ["worker_3:5_123.nsys-rep"]
    assert [path.name for path in logs.iterdir()] == ["worker_3:5_123.nsys-rep"]
    assert len(nsys.read_text().splitlines()) == 1
    assert list((tmp_path / "cache").rglob("*.sqlite"))


def test_a_report_that_changed_is_exported_again(tmp_path: Path, nsys: Path) -> None:
    report = tmp_path / "logs" / "a.nsys-rep"
    report.parent.mkdir()
    report.write_bytes(b"NVIDIA")
    rlviz.load(report)
    report.write_bytes(b"NVIDIA, and more")
    rlviz.load(report)
    assert len(nsys.read_text().splitlines()) == 2


def test_an_export_older_than_its_report_is_not_trusted(tmp_path: Path, nsys: Path) -> None:
    logs = tmp_path / "logs"
    write(logs / "a.sqlite", 1)
    age(logs / "a.sqlite", seconds=60)
    (logs / "a.nsys-rep").write_bytes(b"NVIDIA")
    assert pids(rlviz.load(logs / "a.nsys-rep")) == [77]
    assert len(nsys.read_text().splitlines()) == 1


def test_reports_of_one_name_in_two_folders_do_not_share_an_export(
    tmp_path: Path, nsys: Path
) -> None:
    for node in ("node-1", "node-2"):
        (tmp_path / "logs" / node).mkdir(parents=True)
        (tmp_path / "logs" / node / "a.nsys-rep").write_bytes(node.encode())
    rlviz.load(tmp_path / "logs")
    assert len(nsys.read_text().splitlines()) == 2


def test_an_nsys_that_fails_is_an_error_that_names_the_report(
    tmp_path: Path, nsys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = nsys.parent / "nsys"
    script.write_text("#!/bin/sh\necho 'Importer error' >&2\nexit 1\n")
    report = tmp_path / "logs" / "a.nsys-rep"
    report.parent.mkdir()
    report.write_bytes(b"NVIDIA")
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    message = refused(report, RlvizError)
    assert "a.nsys-rep" in message
    assert not list((tmp_path / "cache").rglob("*.sqlite"))

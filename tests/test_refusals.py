"""What is no report: other files, damaged ones, captures without an export."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

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
from tests.small_reports import pids, refused, told, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# -- files that are none ---------------------------------------------------------------------


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


def garbled(path: Path) -> None:
    write(path)
    # SQLite quotes what it cannot parse, and the quote is no UTF-8
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE \xdd\xfeBLE"))


def shop(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE users (id); CREATE TABLE orders (id);")
    connection.close()


def empty_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE x (id); DROP TABLE x; VACUUM;")
    connection.close()


SPOILT = [text, nothing, half, head, scrambled, garbled, shop, empty_database]


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

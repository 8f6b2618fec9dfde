"""What fuzzing found once: each as small as it can be, so that it never comes back."""

from __future__ import annotations

import os
import sqlite3
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import rlviz
from rlviz.errors import NotAnExport, UnreadableReport
from rlviz.reports.database import open_database
from rlviz.reports.identity import read_identity
from rlviz.view.compose import compose
from rlviz.view.held import hold
from rlviz.view.page import page
from tests.exports import Export
from tests.small_reports import pids, refused, write
from tests.test_schemas import alter

if TYPE_CHECKING:
    from pathlib import Path

ODD = os.fsdecode(b"worker_\xff.sqlite")


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    try:
        (tmp_path / ODD).touch()
    except OSError:
        pytest.skip("file names are UTF-8 here")
    return tmp_path / ODD


def test_a_file_name_that_is_no_utf_8_is_loaded_and_drawn(odd: Path) -> None:
    write(odd, 1)
    run = rlviz.load(odd)
    assert run.reports["report"].to_list() == [r"worker_\udcff.sqlite"]
    page(compose(run)).encode()


def test_a_bad_file_of_such_a_name_is_named_and_keeps_no_other_from_loading(odd: Path) -> None:
    write(odd.with_name("good.sqlite"), 1)
    message = refused(odd, NotAnExport)
    assert r"worker_\udcff.sqlite" in message
    message.encode()
    (odd.parent / os.fsdecode(b"\xff.qdstrm")).write_bytes(b"")
    run = rlviz.load(odd.parent)
    assert pids(run) == [1]
    assert {r"worker_\udcff.sqlite", r"\udcff.qdstrm"} < set(run.reports["report"])


def test_a_page_that_is_cut_off_while_texts_are_read_is_an_error_of_ours(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        for number in range(2_000):
            export.push_pop(number, number + 1, f"a range of its own {number}")
    with sqlite3.connect(tmp_path / "w.sqlite") as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'NVTX_EVENTS'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with open_database(tmp_path / "w.sqlite") as database:
        with (tmp_path / "w.sqlite").open("r+b") as file:
            file.seek((root - 1) * size)
            file.write(b"\xaa" * size)
        with pytest.raises(UnreadableReport):
            database.texts("NVTX_EVENTS", "text")


@pytest.mark.parametrize("time", [2**63 - 1, -(2**63), 2**60])
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("ANALYSIS_DETAILS", "duration"),
        ("ANALYSIS_DETAILS", "startTime"),
        ("TARGET_INFO_SESSION_START_TIME", "utcEpochNs"),
        ("TARGET_INFO_SESSION_START_TIME", "systemClockNs"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "end"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "start"),
        ("NVTX_EVENTS", "start"),
        ("NVTX_EVENTS", "end"),
    ],
)
@pytest.mark.parametrize("window", [True, False])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_time_however_extreme_overflows(
    tmp_path: Path, time: int, table: str, column: str, window: bool
) -> None:
    for pid in (1, 2):
        path = write(tmp_path / f"{pid}.sqlite", pid, duration_ns=1000 if window else None)
        if pid == 2:
            with suppress(sqlite3.OperationalError):  # such a table is not in the report
                alter(path, f"UPDATE {table} SET {column} = {time}")
    run = rlviz.load(tmp_path)
    hold(run, compose(run))
    run.summary()
    assert len(run.findings) >= 0
    assert 1 in pids(run)


def test_a_page_leaves_out_events_that_are_too_far_apart_to_be_written(tmp_path: Path) -> None:
    day = 24 * 3_600_000_000_000
    with Export(tmp_path / "w.sqlite", duration_ns=10 * day) as export:
        export.gpu("a-gpu", "0000:19:00.0")
        export.kernel(100, 200)
        export.kernel(9 * day, 9 * day + 100)
    run = rlviz.load(tmp_path)
    held = hold(run, compose(run))
    assert held.json is None
    assert "more than three days" in held.left_out


def test_a_long_text_that_many_rows_repeat_is_in_memory_once(tmp_path: Path) -> None:
    long = "x" * 100_000
    with Export(tmp_path / "w.sqlite") as export:
        for number in range(600):
            export.push_pop(number, number + 1, long)
        export.push_pop(700, 701, None)
    with open_database(tmp_path / "w.sqlite") as database:
        tracemalloc.start()
        codes, texts = database.texts("NVTX_EVENTS", "text", "eventType = 59")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (codes.tolist(), texts) == ([0] * 600 + [-1], [long])
    assert peak < 20 * len(long)


@pytest.mark.parametrize("number", [2**63 - 1, 2**32, -1, -(2**63)])
def test_a_domain_of_a_number_that_none_has_is_no_domain(tmp_path: Path, number: int) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.domain(1, "NCCL")
        export.domain(number, "none")
        export.push_pop(1, 2, "a", domain=1)
        export.push_pop(3, 4, "b", domain=number)
    assert rlviz.load(tmp_path).ranges()["domain"].to_list() == ["NCCL", None]


def test_a_long_name_of_many_threads_is_kept_short(tmp_path: Path) -> None:
    # Else the store holds all of it for each thread, and JSON makes six letters of each.
    with Export(tmp_path / "w.sqlite") as export:
        for tid in range(200):
            export.thread(tid, "\x02" * 100_000)
    with open_database(tmp_path / "w.sqlite") as database:
        threads = read_identity(database).threads
    assert [len(name) for name in threads.values()] == [1_000] * 200

"""What is kept comes back as it was, or not at all."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import rlviz
from rlviz.cli.cache import cache
from rlviz.levels import store as store_module
from rlviz.levels.kept import key_of, read_through
from rlviz.levels.store import Store
from rlviz.reports.read import read_report
from rlviz.reports.report import Report
from tests.exports import Export
from tests.shared import REPORTS
from tests.small_reports import write

ROWS = pl.DataFrame({"a": [1, 2, 3], "b": [None, 5, None], "c": ["x", None, "z"]})

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=20)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def no_sqlite(*_: Any, **__: Any) -> None:
    pytest.fail("SQLite was opened")


def assert_equal(one: Report, other: Report) -> None:
    for field in fields(Report):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, pl.DataFrame):
            assert_frame_equal(a, b)
        elif field.name != "entry":
            assert a == b, field.name


@given(numbers=NUMBERS, text=TEXTS, facts=st.dictionaries(TEXTS, st.integers() | TEXTS))
def test_what_is_kept_comes_back(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int | None], text: str, facts: Any
) -> None:
    frame = pl.DataFrame(
        {"n": numbers, "t": [text] * len(numbers)}, schema={"n": pl.Int64, "t": str}
    )
    frame = frame.with_columns(pl.lit(3, pl.UInt8).alias("k"), (pl.col("n") > 0).alias("f"))
    store = Store(tmp_path_factory.mktemp("store"))
    store.put("key", {"rows": frame, "none": frame.head(0)}, facts)
    entry = store.get("key")
    assert entry is not None
    assert entry.facts == facts
    assert_frame_equal(entry.frame("rows"), frame)
    assert_frame_equal(entry.frame("none"), frame.head(0))


def test_numbers_are_mapped_not_copied(tmp_path: Path) -> None:
    entry = Store(tmp_path).put("key", {"rows": ROWS}, {})
    assert entry is not None
    assert len(entry.frame("rows")["a"].to_numpy(allow_copy=False)) == 3


@pytest.mark.parametrize("name", ["facts.json", "numbers.bin", "rows.arrow"])
@pytest.mark.parametrize("harm", ["cut", "flip", "remove"])
def test_a_damaged_entry_is_removed_and_told(tmp_path: Path, name: str, harm: str) -> None:
    store = Store(tmp_path)
    store.put("key", {"rows": ROWS}, {"a": 1})
    file = tmp_path / "key" / name
    content = bytearray(file.read_bytes())
    if harm == "remove":
        file.unlink()
    elif harm == "cut":
        file.write_bytes(content[:-3])
    else:
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    if (name, harm) == ("facts.json", "remove"):
        assert store.get("key") is None
    else:
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert store.get("key") is None
    assert list(tmp_path.iterdir()) == []
    assert store.put("key", {"rows": ROWS}, {"a": 2}) is not None


def test_an_entry_that_is_no_report_is_told_and_made_again(tmp_path: Path) -> None:
    path, store = write(tmp_path / "w.sqlite"), Store(tmp_path / "store")
    read_through(store, path)
    (entry,) = store.folder.iterdir()
    shutil.rmtree(entry)
    store.put(key_of(path), {}, {"frames": [], "names": ["of something else"]})
    with pytest.warns(RuntimeWarning, match="damaged") as told:
        assert_equal(read_report(path), read_through(store, path))
    assert len(told) == 1
    kept = store.get(key_of(path))
    assert kept is not None
    assert "identity" in kept.facts


def test_an_entry_of_another_layout_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path).put("key", {"rows": ROWS}, {})
    monkeypatch.setattr(store_module, "_LAYOUT", 1000)
    with pytest.warns(RuntimeWarning):
        assert Store(tmp_path).get("key") is None


def test_the_first_of_two_writers_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("key", {"rows": ROWS}, {"writer": 1})
    second = store.put("key", {"rows": ROWS}, {"writer": 2})
    assert second is not None
    assert second.facts == {"writer": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    size = Store(tmp_path / "a").put("key", {"rows": ROWS}, {}) and Store(tmp_path / "a").info()
    assert size
    store = Store(tmp_path / "b", most_bytes=size.size_bytes * 2)
    for age, key in enumerate(["one", "two"]):
        store.put(key, {"rows": ROWS}, {})
        os.utime(tmp_path / "b" / key / "facts.json", (age, age))
    assert store.get("one") is not None
    store.put("six", {"rows": ROWS}, {})
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["one", "six"]


def test_what_a_killed_writer_left_is_swept(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = store_module._host()
    (tmp_path / f"unfinished-{host}-{dead.pid}-x").mkdir()
    (tmp_path / f"unfinished-{host}-{os.getpid()}-x").mkdir()
    (tmp_path / "unfinished-elsewhere-1-x").mkdir()
    old = tmp_path / "unfinished-elsewhere-2-x"
    old.mkdir()
    os.utime(old, (0, 0))
    Store(tmp_path).put("key", {"rows": ROWS}, {})
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"key", f"unfinished-{host}-{os.getpid()}-x", "unfinished-elsewhere-1-x"}


def test_a_store_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "store")
    with pytest.warns(RuntimeWarning, match="RLVIZ_CACHE_DIR") as told:
        entries = [store.put("key", {"rows": ROWS}, {}) for _ in range(2)]
    assert entries == [None, None]
    assert len(told) == 1


def test_clear_removes_all(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("key", {"rows": ROWS}, {})
    assert store.info().entries == 1
    assert store.clear() > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's list of open files")
def test_small_columns_hold_no_file_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    entry = Store(tmp_path).put("key", {"rows": ROWS}, {})
    assert entry is not None
    held = [entry.frame("rows") for _ in range(20)]
    assert len(held) == 20
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 20


def test_a_reopened_report_is_equal_and_touches_no_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "w.sqlite")
    with Export(tmp_path / "n.sqlite") as export:
        export.kernel(100, 200, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
        export.kernel(300, 200)
    paths = [path, tmp_path / "n.sqlite", *sorted(REPORTS.rglob("*.sqlite"))[:5]]
    store = Store(tmp_path / "store")
    before = [read_report(one) for one in paths]
    first = [read_through(store, one) for one in paths]
    monkeypatch.setattr(sqlite3, "connect", no_sqlite)
    for one, there, fresh in zip(paths, first, before, strict=True):
        again = read_through(store, one)
        assert_equal(again, there)
        assert_equal(again, fresh)


def test_a_run_that_is_reopened_touches_no_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.sqlite")
    write(tmp_path / "b.sqlite", pid=4712)
    first = rlviz.load(tmp_path)
    monkeypatch.setattr(sqlite3, "connect", no_sqlite)
    again = rlviz.load(tmp_path)
    assert_frame_equal(again.rows, first.rows)
    assert_frame_equal(again.diagnostics, first.diagnostics)


def test_a_changed_report_is_read_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    path = write(tmp_path / "w.sqlite")
    read_through(store, path)
    path.unlink()
    write(path, pid=4712)
    report = read_through(store, path)
    assert report.devices is not None
    assert report.devices["pid"].to_list() == [4712]
    assert store.info().entries == 2


def test_equal_files_share_an_entry_and_nothing_of_their_place(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    one = write(tmp_path / "ray" / "10.0.0.1" / "w.sqlite", host=None)
    other = tmp_path / "ray" / "10.0.0.2" / "v.sqlite"
    other.parent.mkdir()
    shutil.copy2(one, other)
    assert key_of(one) == key_of(other)
    first, second = read_through(store, one), read_through(store, other, "k", "policy")
    assert store.info().entries == 1
    assert (first.identity.host, second.identity.host) == ("10.0.0.1", "10.0.0.2")
    assert (second.path, second.key, second.role) == (other, "k", "policy")


def test_nothing_secret_is_kept(tmp_path: Path) -> None:
    from tests.exports import SECRET

    read_through(Store(tmp_path / "store"), write(tmp_path / "w.sqlite"))
    for file in (tmp_path / "store").rglob("*.*"):
        assert SECRET.encode() not in file.read_bytes()


def test_without_a_cache_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    rlviz.load(write(tmp_path / "w.sqlite"), cache=False)
    assert not (tmp_path / "cache").exists()
    rlviz.load(tmp_path / "w.sqlite", cache=tmp_path / "mine")
    assert not (tmp_path / "cache").exists()
    assert Store(tmp_path / "mine").info().entries == 1


def test_the_command_line_tells_and_clears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    rlviz.load(write(tmp_path / "w.sqlite"))
    told = CliRunner().invoke(cache, ["info"])
    assert told.output.splitlines()[0] == str(tmp_path / "cache" / "store")
    assert told.output.splitlines()[1].startswith("entries: 1; ")
    assert "freed" in CliRunner().invoke(cache, ["clear"]).output
    assert "entries: 0; 0.0 MiB" in CliRunner().invoke(cache, ["info"]).output

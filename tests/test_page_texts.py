"""Texts that are read from a file's pages equal those that SQLite reads, or are left to SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlviz.reports import btree, database, page_texts
from rlviz.reports.database import open_database
from rlviz.reports.page_texts import read_texts
from tests.shared import REPORTS, needs_shared
from tests.test_btree import every_page, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = "a INTEGER, b TEXT, c INTEGER"
letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
texts = st.one_of(st.none(), st.sampled_from(["", "a", "train step", "ü" * 40]), letters)


def by_pages(path: Path, where: str = "") -> list[str | None] | None:
    with every_page, open_database(path) as opened:
        read = read_texts(path, opened.connection, "t", "b", where)
    if read is None:
        return None
    codes, found = read
    return [None if code < 0 else found[code].decode("utf-8", "replace") for code in codes]


def by_sql(path: Path, table: str = "t", column: str = "b", where: str = "") -> list[str | None]:
    with patch.object(database, "read_texts", lambda *_: None), open_database(path) as opened:
        codes, found = opened.texts(table, column, where)
    return [None if code < 0 else found[code] for code in codes]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-3, 3), texts, st.integers()), min_size=1, max_size=60))
def test_texts_are_those_of_sql(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str | None, int]]
) -> None:
    rows = [(a, b, max(min(c, 2**63 - 1), -(2**63))) for a, b, c in rows]
    path = write(tmp_path_factory.mktemp("t") / "t.sqlite", rows, columns=COLUMNS)
    assert by_pages(path) == by_sql(path) == [b for _, b, _ in rows]
    where = "a IN (1, 2)"
    assert by_pages(path, where) == by_sql(path, where=where)


@pytest.mark.parametrize("odd", [7, 1.5, b"blob", "x" * 600, "long " * 2_000])
def test_what_is_odd_is_left_to_sql(tmp_path: Path, odd: Any) -> None:
    rows = [(k, "plain", k) for k in range(500)]
    rows[321] = (1, odd, 2)
    path = write(tmp_path / "t.sqlite", rows, columns="a INTEGER, b, c INTEGER")
    assert by_pages(path) is None
    with every_page, open_database(path) as opened:
        codes, found = opened.texts("t", "b")
    assert [found[code] for code in codes] == by_sql(path)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 56, 57, 58, 63, 64, 65, 500, 512])
def test_texts_of_any_length_are_told_apart(tmp_path: Path, length: int) -> None:
    base = ["n" * length, "n" * length + "\0", "m" + "n" * length, None]
    rows = [(k, base[k % 4][:512] if k % 4 < 3 else None, k) for k in range(300)]  # type: ignore[index]
    path = write(tmp_path / "t.sqlite", rows, columns=COLUMNS)
    assert by_pages(path) == [b for _, b, _ in rows]


def test_two_texts_of_one_sum_are_no_text(tmp_path: Path) -> None:
    rows = [(k, f"name {k % 5}", k) for k in range(300)]
    path = write(tmp_path / "t.sqlite", rows, columns=COLUMNS)
    with patch.object(page_texts, "_MIX", np.uint64(0)):  # all sums are 0
        assert by_pages(path) is None


def test_broken_texts_are_read_as_sql_gives_them(tmp_path: Path) -> None:
    rows = [(k, "fine", k) for k in range(300)]
    path = write(
        tmp_path / "t.sqlite",
        rows,
        "UPDATE t SET b = CAST(x'66ff66' AS TEXT) WHERE a = 3",
        columns=COLUMNS,
    )
    found = by_pages(path)
    assert found == by_sql(path)
    assert found is not None
    assert found[3] == "f\N{REPLACEMENT CHARACTER}f"


def test_many_different_texts_are_left_to_sql(tmp_path: Path) -> None:
    rows: Sequence[tuple[int, str, int]] = [(k, f"name {k}", k) for k in range(400)]
    path = write(tmp_path / "t.sqlite", rows, columns=COLUMNS)
    with patch.object(page_texts, "_MOST_TEXTS", 300):
        assert by_pages(path) is None
    assert by_pages(path) == [b for _, b, _ in rows]


def test_a_text_of_another_encoding_is_left_to_sql(tmp_path: Path) -> None:
    rows = [(k, "name", k) for k in range(300)]
    path = write(tmp_path / "t.sqlite", rows, columns=COLUMNS, before="encoding = 'UTF-16le'")
    assert by_pages(path) is None


@needs_shared
def test_ranges_of_real_exports_have_the_names_that_sql_gives() -> None:
    checked = 0
    for path in sorted(REPORTS.rglob("*.sqlite")):
        with patch.object(btree, "FEW_PAGES", 0), open_database(path) as opened:
            if not opened.has("NVTX_EVENTS", "text", "eventType"):
                continue
            read = read_texts(path, opened.connection, "NVTX_EVENTS", "text")
        if read is not None:
            codes, found = read
            told = [None if code < 0 else found[code].decode("utf-8", "replace") for code in codes]
            assert told == by_sql(path, "NVTX_EVENTS", "text"), path
            checked += 1
    assert checked > 10

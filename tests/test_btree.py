"""What is read from a file's pages equals what SQLite reads, or is left to SQLite."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlviz.errors import RlvizError
from rlviz.reports import btree
from rlviz.reports.btree import read_integers
from rlviz.reports.database import NOT_INTEGER, NULL, open_database
from tests.shared import REPORTS, needs_shared, stem_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Rows = list[tuple[int, ...]]

every_page = patch.object(btree, "FEW_PAGES", 0)
WIDTHS = [0, 7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 62, 63]
AROUND = {sign * 2**width + d for width in WIDTHS for sign in (1, -1) for d in (-1, 0, 1)}
EDGES = sorted(edge for edge in AROUND if NOT_INTEGER < edge < 2**63)


def by_sql(path: Path, table: str, columns: Sequence[str], where: str = "") -> Rows:
    """Read as the sentinels say, with nothing but SQL."""
    cells = ", ".join(f'typeof("{c}"), "{c}"' for c in columns)
    query = f'SELECT {cells} FROM "{table}" NOT INDEXED' + (f" WHERE {where}" if where else "")
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        connection.text_factory = bytes
        return [
            tuple(
                value if kind == b"integer" else NULL if kind == b"null" else NOT_INTEGER
                for kind, value in zip(row[::2], row[1::2], strict=True)
            )
            for row in connection.execute(query)
        ]


def by_pages(path: Path, table: str, columns: Sequence[str], where: str = "") -> Rows | None:
    """Read from the pages; None where SQLite has to."""
    with every_page, open_database(path) as database:
        read = read_integers(path, database.connection, table, columns, where)
    return None if read is None else rows_of(read, columns)


def by_either(path: Path, table: str, columns: Sequence[str], where: str = "") -> Rows:
    """Read as a report is read."""
    with every_page, open_database(path) as database:
        return rows_of(database.integers(table, columns, where), columns)


def rows_of(read: tuple[dict[str, Any], int], columns: Sequence[str]) -> Rows:
    values, rows = read
    assert all(values[c].dtype == np.int64 and len(values[c]) == rows for c in columns)
    return list(zip(*(values[c].tolist() for c in columns), strict=True))


def write(
    path: Path,
    rows: Sequence[Sequence[Any]],
    *statements: str,
    columns: str = "a INTEGER, b INTEGER, c TEXT, d INTEGER",
    page_size: int = 4096,
    before: str = "journal_mode = OFF",
) -> Path:
    """Write table t, and run further statements."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA page_size = {page_size}; PRAGMA {before}")
        connection.execute(f"CREATE TABLE t ({columns})")
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def some_rows(count: int, seed: int = 0) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    values = [None, 0, 1, *EDGES]
    return [
        (draw.choice(values), 1_000 + i, "x" * draw.randrange(70), draw.choice(values))
        for i in range(count)
    ]


# -- reports that nsys wrote -----------------------------------------------------------------

TIMELINE = {"NVTX_EVENTS", *(f"CUPTI_ACTIVITY_KIND_{k}" for k in ("KERNEL", "MEMCPY", "MEMSET"))}


@needs_shared
@pytest.mark.parametrize("path", sorted(REPORTS.rglob("*.sqlite")), ids=stem_of)
def test_every_table_of_every_report_reads_as_through_sqlite(path: Path) -> None:
    with every_page, open_database(path) as database:
        for table, known in database.tables.items():
            columns = sorted(known)
            expected = by_sql(path, table, columns)
            assert rows_of(database.integers(table, columns), columns) == expected
            listed = "SELECT name FROM pragma_table_info(?) WHERE pk = 0 AND type = 'INTEGER'"
            numbers = [name for (name,) in database.rows(listed, (table,)) if name in known]
            read = read_integers(path, database.connection, table, numbers)
            if table in TIMELINE and expected:  # even where someone added a column of texts
                assert read is not None, f"{table} was left to SQLite"
            if read is not None:
                assert rows_of(read, numbers) == by_sql(path, table, numbers)


# -- any table -------------------------------------------------------------------------------

integers = st.integers(-200, 200) | st.sampled_from(EDGES) | st.integers(-(2**62), 2**63 - 1)
lengths = st.integers(0, 70) | st.sampled_from([57, 58, 59, 400, 480, 4_000, 4_100, 9_000, 70_000])
texts = lengths.map(lambda length: "é" * (length // 2))
cells = st.none() | integers | st.floats() | texts | texts.map(str.encode)
page_sizes = st.sampled_from([512, 1024, 4096, 8192, 65536])
repeats = st.sampled_from([1, 1, 5, 60])  # few pages, or many
thorough = settings(max_examples=40, deadline=None)

KINDS = ["INTEGER", "INT NOT NULL DEFAULT 0", "", "TEXT", "BLOB", "NUMERIC", "REAL", "FLOAT"]
STATEMENTS = [
    "DELETE FROM t WHERE rowid % 3 = 1",
    "DELETE FROM t WHERE rowid > 4",
    f"UPDATE t SET c0 = {2**40} WHERE rowid % 2",
    "CREATE INDEX i ON t (c0)",
    "ALTER TABLE t ADD COLUMN late INTEGER DEFAULT 7",
]


@thorough
@given(st.data())
def test_integers_of_any_size_are_read_from_pages(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    width = data.draw(st.integers(1, 60))
    row = st.lists(st.none() | integers, min_size=width, max_size=width)
    path = write(
        tmp_path_factory.mktemp("any") / "t.sqlite",
        data.draw(st.lists(row, min_size=1, max_size=10)) * data.draw(repeats),
        columns=", ".join(f"c{place} INTEGER" for place in range(width)),
        page_size=data.draw(page_sizes),
    )
    places = st.integers(0, width - 1)
    wanted = [f"c{place}" for place in data.draw(st.lists(places, min_size=1, unique=True))]
    assert by_pages(path, "t", wanted) == by_sql(path, "t", wanted)


@thorough
@given(st.data())
def test_any_table_reads_as_through_sqlite(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8))
    row = st.tuples(
        *(cells.filter(lambda cell: cell is not None) if "NOT" in k else cells for k in kinds)
    )
    statements = data.draw(st.lists(st.sampled_from(STATEMENTS), unique=True))
    key = data.draw(st.sampled_from(["", "id INTEGER PRIMARY KEY, ", "id INT PRIMARY KEY, "]))
    rows = data.draw(st.lists(row, max_size=10)) * data.draw(repeats)
    path = write(
        tmp_path_factory.mktemp("any") / "t.sqlite",
        [(place, *row) for place, row in enumerate(rows)] if key else rows,
        *statements,
        columns=key + ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds)),
        page_size=data.draw(page_sizes),
        before=data.draw(
            st.sampled_from(["journal_mode = OFF", "auto_vacuum = 1", "encoding = 'UTF-16'"])
        ),
    )
    names = [f"c{place}" for place in range(len(kinds))]
    names += ["id"] * bool(key) + ["late"] * any("late" in s for s in statements)
    wanted = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    expected = by_sql(path, "t", wanted)
    assert by_either(path, "t", wanted) == expected
    assert by_pages(path, "t", wanted) in (None, expected)


# -- tables with a feature of their own ------------------------------------------------------

ABD = ["a", "b", "d"]


def test_a_tree_of_three_levels_reads_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", some_rows(12_000), page_size=512)
    assert by_pages(path, "t", ABD) == by_sql(path, "t", ABD)


@pytest.mark.parametrize("wide_first", [False, True])
def test_rows_that_get_shorter_or_longer_all_find_room(tmp_path: Path, wide_first: bool) -> None:
    # room for all rows is guessed from the first pages
    wide = [(i, i, "x" * 300, i) for i in range(4_000)]
    narrow = [(i, i, "", i) for i in range(40_000)]
    rows = wide + narrow if wide_first else narrow + wide
    path = write(tmp_path / "t.sqlite", rows, page_size=512)
    assert by_pages(path, "t", ABD) == [(a, b, d) for a, b, _, d in rows]


def test_tables_that_grew_side_by_side_are_told_apart(tmp_path: Path) -> None:
    rows = some_rows(3_000)
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.executescript("PRAGMA page_size = 512")
        for table in ("t", "u", "v"):
            connection.execute(f"CREATE TABLE {table} (a INTEGER, b INTEGER, c TEXT, d INTEGER)")
        for place, row in enumerate(rows):
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", row)
            for table in ("u", "v") if place % 500 > 250 else ("u",) * 9:
                connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", row[::-1])
        connection.commit()
    path = tmp_path / "t.sqlite"
    assert by_pages(path, "t", ABD) == by_sql(path, "t", ABD)


def test_row_numbers_of_every_length_are_stepped_over(tmp_path: Path) -> None:
    statements = [f"INSERT INTO t (rowid, a, d) VALUES ({n}, {k}, 5)" for k, n in enumerate(EDGES)]
    path = write(tmp_path / "t.sqlite", [], *statements)
    read = by_pages(path, "t", ["a", "d"])
    assert read == [(k, 5) for k in range(len(EDGES))]


def test_a_long_text_behind_the_wanted_columns_is_no_reason_for_sql(tmp_path: Path) -> None:
    rows = [(i, -i, "x" * (200 * i), i) for i in range(60)]
    path = write(tmp_path / "t.sqlite", rows)
    assert by_pages(path, "t", ["a", "b"]) == [(i, -i) for i in range(60)]
    assert by_pages(path, "t", ["a", "d"]) is None
    assert by_either(path, "t", ["a", "d"]) == [(i, i) for i in range(60)]


def test_a_column_that_the_table_lacks_is_null(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", [(1, 2, "", 3)] * 5)
    assert by_pages(path, "t", ["a", "nowhere"]) == [(1, NULL)] * 5


@pytest.mark.parametrize(
    ("columns", "wanted", "statement"),
    [
        ("a INTEGER PRIMARY KEY, b, c, d", "a", ""),
        ("a INT PRIMARY KEY, b, c, d", "b", ""),
        ("a INT PRIMARY KEY, b, c, d) WITHOUT ROWID --", "b", ""),
        ("a REAL, b, c, d", "a", ""),
        ("a, b, c, d", "late", "ALTER TABLE t ADD COLUMN late INTEGER DEFAULT 7"),
        ("g AS (a + 1), a, b, c, d", "a", ""),
        ("g AS (a + 1) STORED, a, b, c, d", "a", ""),
        ("a, b, c, d", "a", "DELETE FROM t"),
    ],
)
def test_what_stands_elsewhere_than_in_plain_records_is_read_too(
    tmp_path: Path, columns: str, wanted: str, statement: str
) -> None:
    rows = [(i, 2 * i, 3, 4) for i in range(300)]
    path = write(tmp_path / "t.sqlite", rows, *filter(None, [statement]), columns=columns)
    assert by_either(path, "t", [wanted]) == by_sql(path, "t", [wanted])


def test_pages_newer_than_the_file_are_left_to_sqlite(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", some_rows(50))
    beside = tmp_path / "t.sqlite-wal"
    beside.touch()
    assert by_pages(path, "t", ABD) is not None
    beside.write_bytes(b"anything")
    assert by_pages(path, "t", ABD) is None


def test_pages_that_keep_bytes_for_themselves_are_left_to_sqlite(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", some_rows(50))
    content = bytearray(path.read_bytes())
    content[20] = 8
    path.write_bytes(content)
    assert by_pages(path, "t", ABD) is None


def test_a_small_table_is_read_through_sqlite(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", some_rows(50))
    with open_database(path) as database:
        assert read_integers(path, database.connection, "t", ABD) is None
        assert rows_of(database.integers("t", ABD), ABD) == by_sql(path, "t", ABD)


# -- rows that meet a condition --------------------------------------------------------------


def test_a_condition_keeps_the_same_rows_as_in_sql(tmp_path: Path) -> None:
    rows = [(kind, i, "", i) for i, kind in enumerate([59, 60, 34, 75, None, 33] * 50)]
    path = write(tmp_path / "t.sqlite", rows)
    where = "a IN (59, 60, 34)"
    read = by_pages(path, "t", ["b", "a"], where)
    assert read == [(b, a) for a, b, *_ in rows if a in (59, 60, 34)]
    assert by_pages(path, "t", ["b"], where) == [row[:1] for row in read]
    assert by_pages(path, "t", ["b"], "a IN (7)") == []


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("INTEGER", "a IN (59) AND b > 3"),
        ("INTEGER", "a = 59"),
        ("REAL", "a IN (59)"),
        ("TEXT", "a IN (59)"),
        ("", "a IN (59)"),
    ],
)
def test_a_condition_that_means_more_is_left_to_sqlite(
    tmp_path: Path, kind: str, where: str
) -> None:
    rows = [(59.5, 1), (59.0, 2), ("59", 3), (59, 4), (60, 5), (b"59", 6)]
    path = write(tmp_path / "t.sqlite", rows, columns=f"a {kind}, b INTEGER")
    assert by_pages(path, "t", ["b"], where) is None
    assert by_either(path, "t", ["b"], where) == by_sql(path, "t", ["b"], where)


@pytest.mark.parametrize("pages", [0, 10_000])
def test_an_index_that_someone_added_does_not_mix_up_names(tmp_path: Path, pages: int) -> None:
    rows = [(i % 3, i, f"name {i}", 999 - i) for i in range(1_000)]
    path = write(
        tmp_path / "t.sqlite",
        rows,
        "CREATE INDEX texts ON t (a, c DESC)",
        "CREATE INDEX numbers ON t (d, a, b)",
    )
    with patch.object(btree, "FEW_PAGES", pages), open_database(path) as database:
        for where, kept in [("", rows), ("a IN (0, 2)", [row for row in rows if row[0] != 1])]:
            read, _ = database.integers("t", ["b", "d"], where)
            codes, texts = database.texts("t", "c", where)
            assert read["b"].tolist() == [row[1] for row in kept]
            assert [texts[code] for code in codes] == [row[2] for row in kept]


# -- damaged files ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    rows = [(a, b, 30 * c if b % 50 == 0 else c, d) for a, b, c, d in some_rows(400)]
    return write(tmp_path_factory.mktemp("sound") / "t.sqlite", rows, page_size=512).read_bytes()


def outcome(path: Path) -> tuple[Rows | None, Rows | None]:
    """What SQLite reads and what we read; None where it fails."""
    try:
        expected = by_sql(path, "t", ABD)
    except (sqlite3.Error, UnicodeDecodeError):
        expected = None
    try:
        return expected, by_either(path, "t", ABD)
    except RlvizError:
        return expected, None


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_file_reads_as_through_sqlite(tmp_path: Path, sound: bytes, seed: int) -> None:
    draw = random.Random(seed)
    content = bytearray(sound)
    for _ in range(draw.choice([1, 1, 2, 8])):
        page = 512 * draw.randrange(1, len(content) // 512)  # not the first, which is SQLite's
        other = 512 * draw.randrange(1, len(content) // 512)
        byte = page + draw.choice([draw.randrange(512), draw.randrange(32)])
        match draw.randrange(3):
            case 0:
                content[byte] ^= 1 << draw.randrange(8)
            case 1:
                content[byte] = draw.randrange(256)
            case 2:  # two pages that are one, or a circle
                content[page : page + 512] = content[other : other + 512]
    path = tmp_path / "t.sqlite"
    path.write_bytes(content)
    expected, _ = outcome(path)
    # Behind a page's end SQLite reads what lies in memory, so two reads of its own can differ.
    assert by_pages(path, "t", ABD) in (None, expected)


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, sound: bytes, kept: float) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(sound[: int(kept * len(sound))])
    assert outcome(path) == (None, None)


def test_a_file_that_is_cut_off_while_it_is_read_ends_nothing(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(sound)
    with every_page, open_database(path) as database:
        path.write_bytes(sound[:5_000])
        assert read_integers(path, database.connection, "t", ABD) is None


def test_a_schema_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", some_rows(5))
    content = path.read_bytes().replace(b"a INTEGER, b INTEGER", b"a INTEGER,\xff( INTEGER")
    path.write_bytes(content)
    with pytest.raises(RlvizError, match="SQLite cannot read it"), open_database(path):
        pass

"""SQLite, asked for many rows at once, gives the same as asked row by row."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlviz.errors import UnreadableReport
from rlviz.reports import btree, by_number
from rlviz.reports.btree import NOTHING_MORE, More
from rlviz.reports.by_number import NumberedTable
from rlviz.reports.database import NOT_INTEGER, NULL, open_database
from tests.test_btree import by_sql, rows_of, write

ROW_NUMBERS = [-(2**63), -(2**63) + 1, -5, 0, 7, 2**40, 2**63 - 2, 2**63 - 1]


@pytest.mark.parametrize("at_once", [1, 3, 4, 100])
@pytest.mark.parametrize(
    "columns",
    [
        "k INTEGER PRIMARY KEY, a INTEGER, b",
        "k INTEGER, a INTEGER, b",
        "k INTEGER PRIMARY KEY, a INTEGER, b) WITHOUT ROWID; -- ",
        'k INTEGER, a INTEGER, b, "RowID" INTEGER DEFAULT 3',
    ],
)
def test_sql_gives_every_row_once_whatever_its_number(
    tmp_path: Path, columns: str, at_once: int
) -> None:
    path = tmp_path / "t.sqlite"
    cells = [None, 2**63 - 1, -(2**63) + 2, 1.5, "7", b"1,2", 0, 3]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"CREATE TABLE t ({columns})")
        rows = [(k, i, cell) for i, (k, cell) in enumerate(zip(ROW_NUMBERS, cells, strict=True))]
        connection.executemany("INSERT INTO t (k, a, b) VALUES (?, ?, ?)", rows)
        connection.commit()
    with patch.object(by_number, "_ROWS", at_once), open_database(path) as database:
        for where in ("", "a > 2"):
            read = database.integers("t", ["a", "b"], where)
            assert rows_of(read, ["a", "b"]) == by_sql(path, "t", ["a", "b"], where)


# What a column is like for a while: numbers in some range, and seldom something else.
STEADY = st.one_of(
    st.just((0, 0)),
    st.tuples(st.integers(-(2**63) + 2, 2**63 - 1), st.integers(0, 3)),
    st.tuples(st.integers(-5, 5), st.integers(0, 2**62)),
)
EXTREMES = [2**63 - 1, -(2**63) + 2, 2**62, -(2**62), 2**61, -(2**61), -1, 0, 1]
ODD = st.one_of(
    st.sampled_from([None, *EXTREMES, 1.5, -0.5, 7.0, 2.0**62, -(2.0**63), float("inf")]),
    st.sampled_from([float("-inf"), "7", "x", "", "1e3", "-", b"7", b"", "."]),
)


@st.composite
def columns_of(draw: st.DrawFn, rows: int) -> list[Any]:
    """Draw a column: every phase has a range of its own, in which a few cells are odd."""
    column: list[Any] = []
    while len(column) < rows:
        low, span = draw(STEADY)
        high = min(low + span, 2**63 - 1)
        column += draw(st.lists(st.integers(low, high), min_size=1, max_size=30))
        if draw(st.integers(0, 3)) == 0:
            column.append(draw(ODD))
        if draw(st.integers(0, 5)) == 0:
            column += [None] * draw(st.integers(1, 12))
    return column[:rows]


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[tuple[Any, ...]]]:
    kinds = [draw(st.sampled_from(["INTEGER", "", "TEXT", "REAL", "NUMERIC"])) for _ in range(4)]
    rows = draw(st.integers(0, 90))
    columns = [draw(columns_of(rows)) for _ in range(3)]
    # One that is counted from another, as ends are from starts.
    near = [
        value + place % 5 if isinstance(value, int) and value < 2**62 else value
        for place, value in enumerate(columns[0])
    ]
    return (
        "a {}, near {}, b {}, c {}".format(*kinds),
        list(zip(columns[0], near, *columns[1:], strict=True)),
    )


@settings(max_examples=150)
@given(table=tables(), gaps=st.booleans(), data=st.data())
def test_numbers_packed_into_few_texts_are_those_of_the_rows(
    table: tuple[str, list[tuple[Any, ...]]], gaps: bool, data: st.DataObject
) -> None:
    kinds, rows = table
    wanted = data.draw(st.permutations(["a", "near", "b", "c", "missing"]))
    further = More(("c", "missing"), "b", tuple(data.draw(st.lists(st.integers(-3, 5)))))
    with tempfile.TemporaryDirectory() as folder:
        removed = ["DELETE FROM t WHERE rowid % 13 = 5"] if gaps else []
        path = write(Path(folder, "t.sqlite"), rows, *removed, columns=kinds)
        with (
            patch.multiple(by_number, _ROWS=16, _FIRST_ROWS=4),
            open_database(path) as database,
        ):
            there = [c for c in wanted if c != "missing"]
            for where in ("", "a >= 0 OR b IS NULL", "b IN (1, 2, 3)"):
                read, count = database.integers("t", wanted, where)
                assert rows_of((read, count), there) == by_sql(path, "t", there, where)
                assert read["missing"].tolist() == [NULL] * count
            few = ["near", "b"]
            blocks = list(database.blocks_and("t", few, further))
            read_all = [
                row for block, _ in blocks for row in rows_of((block, len(block["b"])), few)
            ]
            assert read_all == by_sql(path, "t", few)
            chosen = [
                row
                for _, some in blocks
                if some
                for row in rows_of((some, len(some["c"])), ["near", "b", "c"])
            ]
            assert chosen == [
                row
                for row in by_sql(path, "t", ["near", "b", "c"])
                if further.values and row[1] in further.values
            ]


# Steady rows, and what may come in the place of one cell of theirs: also numbers that just fit in
# the bits that were guessed, or just do not.
START = 10**9
STEADY_ROWS = [(START + 9 * i, START + 9 * i + i, 7, i % 3, None if i % 2 else i) for i in range(8)]
KINDS = ["a", "near", "same", "few", "nullable"]
EDGES = [sign * 2**bits + d for bits in range(63) for sign in (-1, 1) for d in (-1, 0, 1)]
NEAR_EDGES = [START + sign * 2**bits + d for bits in range(62) for sign in (-1, 1) for d in (-1, 0)]
NO_INTEGERS = [None, "", "7", b"7", f"{START + 50}", b"5", 7.0, 1.5, 1e300, -1e300, float("-inf")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [KINDS, ["few", "nullable", "same", "a", "near"], ["a", "few"]])
def test_a_cell_that_was_not_guessed_is_read_all_the_same(kind: str, order: list[str]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(KINDS)})")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", STEADY_ROWS * 2)
        table = by_number.NumberedTable(connection, "t", KINDS)
        for odd in (*EDGES, *NEAR_EDGES, *NO_INTEGERS):
            connection.execute(f"UPDATE t SET {kind} = ? WHERE rowid = 14", (odd,))
            with patch.multiple(by_number, _ROWS=8, _FIRST_ROWS=8):
                read = [
                    row for rows in table.rows(order) for row in rows_of((rows.columns, 8), order)
                ]
            told = connection.execute(f"SELECT {', '.join(order)} FROM t").fetchall()
            assert read == [tuple(map(as_integer, row)) for row in told], odd


def test_a_number_too_long_beside_one_too_short_is_seen() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (a)")
        wanted = [*range(12), -(10**18) // 2, -2 * 10**18, 14, 15]
        connection.executemany("INSERT INTO t VALUES (?)", [(a,) for a in wanted])
        table = by_number.NumberedTable(connection, "t", ["a"])
        with patch.multiple(by_number, _ROWS=8, _FIRST_ROWS=8):
            read = [a for rows in table.rows(["a"]) for a in rows.columns["a"].tolist()]
        assert read == wanted


def as_integer(cell: object) -> int:
    return NULL if cell is None else cell if isinstance(cell, int) else NOT_INTEGER


def test_rows_as_nsys_writes_them_are_not_read_one_by_one(tmp_path: Path) -> None:
    rows = [(10**11 + 300 * i, 10**11 + 300 * i + i % 97, i % 5, 7) for i in range(5_000)]
    path = write(tmp_path / "t.sqlite", rows, columns="start INTEGER, end INTEGER, n INTEGER, d")
    spelled = by_number.NumberedTable._spelled
    calls = []

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return spelled(*arguments, **named)

    with (
        patch.object(btree, "FEW_PAGES", 1_000),
        patch.multiple(by_number, _ROWS=256, _FIRST_ROWS=64),
        patch.object(by_number.NumberedTable, "_spelled", counted),
        open_database(path) as database,
    ):
        read = database.blocks_and("t", ["start", "end", "n", "d"], NOTHING_MORE)
        assert sum(len(block["n"]) for block, _ in read) == len(rows)
    assert len(calls) == 2  # the first rows, and nothing behind the last


TEXTS = st.one_of(
    st.none(),
    st.sampled_from(["", "train", "\x1e", "\x1f", "a\x1fb", "x" * 512, "x" * 513, "ä" * 300]),
    st.sampled_from([b"", b"\x1e", b"\xff\xfe", b"a\0b", b"\0" + b"y" * 600, 5, 1.5]),
    st.text(max_size=3),
)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=40),
    st.sampled_from("TN"),
    st.sampled_from(
        [
            "SELECT 1",
            "DELETE FROM t",
            "DELETE FROM t WHERE rowid % 13 = 5",
            f"UPDATE t SET rowid = {2**63 - 1} WHERE rowid = 3",
            f"UPDATE t SET rowid = {-(2**63)} WHERE rowid = 3",
        ]
    ),
)
def test_texts_read_together_are_those_of_the_rows(
    rows: list[tuple[Any, int]], affinity: str, change: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kind = {"T": "TEXT", "N": ""}[affinity]
        path = write(
            Path(folder, "t.sqlite"),
            rows,
            change,
            columns=f"text {kind}, a INTEGER",
        )

        query = "SELECT CAST(text AS TEXT) FROM t WHERE a IN (1, 2)"
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            wanted = [text for (text,) in connection.execute(query)]
        with patch.object(by_number, "_ROWS", 8), open_database(path) as database:
            codes, texts = database.texts("t", "text", "a IN (1, 2)")
        assert [None if code < 0 else texts[code] for code in codes] == wanted


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_do_not_stand_by_their_numbers_come_once_or_not_at_all(
    tmp_path: Path, seed: int
) -> None:
    # Pages that changed places: looking for what comes after a row leads to what came before it.
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER, text)")
        cells = ((k, f"text {k % 7}") for k in range(3_000))
        connection.executemany("INSERT INTO t VALUES (?, ?)", cells)
        connection.commit()
        size = int(connection.execute("PRAGMA page_size").fetchone()[0])
    pages = bytearray(path.read_bytes())
    chosen = random.Random(seed)
    for _ in range(3):
        one, other = (size * chosen.randrange(2, len(pages) // size) for _ in range(2))
        before = bytes(pages[one : one + size])
        pages[one : one + size] = pages[other : other + size]
        pages[other : other + size] = before
    path.write_bytes(pages)
    with patch.object(by_number, "_ROWS", 64), open_database(path) as database:
        table = NumberedTable(database.connection, "t", {"a", "text"})
        numbers = [np.empty(0, np.int64)]
        with suppress(sqlite3.DatabaseError):
            numbers += [rows.numbers for rows in table.rows(["a"]) if rows.numbers is not None]
        assert (np.diff(np.concatenate(numbers)) > 0).all()
        looked_up = np.arange(1, 3_001, 40)
        with suppress(sqlite3.DatabaseError):
            found = table.numbered(["a"], looked_up)
            assert (found["a"] == looked_up - 1).all()
        count = len(database.integers("t", ["a"])[0]["a"])
        with suppress(UnreadableReport):
            assert len(database.texts("t", "text", count=count)[0]) == count

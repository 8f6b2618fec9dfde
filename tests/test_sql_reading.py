"""SQLite, asked for many rows at once, gives the same as asked row by row."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from rlviz.reports import database as database_of_reports
from rlviz.reports.database import open_database
from tests.test_btree import by_sql, rows_of

if TYPE_CHECKING:
    from pathlib import Path

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
    with patch.object(database_of_reports, "_ROWS", at_once), open_database(path) as database:
        for where in ("", "a > 2"):
            read = database.integers("t", ["a", "b"], where)
            assert rows_of(read, ["a", "b"]) == by_sql(path, "t", ["a", "b"], where)

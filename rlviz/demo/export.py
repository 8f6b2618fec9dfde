"""An SQLite file with nsys's own tables: each is created when it gets its first rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from rlviz.demo.intervals import Int64

__all__ = ["EACH", "ExportFile", "rows_of", "statements"]

EACH = object()


@cache
def statements(version: str) -> dict[str, list[str]]:
    """Give the statements of a schema by table; an enumeration has its rows, too."""
    text = files("rlviz.demo").joinpath("schema", f"{version}.sql").read_text("utf-8")
    found: dict[str, list[str]] = {}
    for statement in re.findall(r"^(?:CREATE|INSERT).*?;$", text, re.DOTALL | re.MULTILINE):
        table = re.split(r"[\s(]+", statement, maxsplit=3)[2]
        found.setdefault(table, []).append(statement)
    return found


@dataclass
class ExportFile:
    """A report that is being written: tables appear with their first rows."""

    database: sqlite3.Connection
    schema: dict[str, list[str]]
    strings: dict[str, int] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)

    def create(self, table: str) -> None:
        """Create a table, and fill it if it is an enumeration."""
        if table not in self.created:
            self.created.add(table)
            for statement in self.schema[table]:
                self.database.execute(statement)

    def insert(
        self, table: str, values: dict[str, object], rows: Iterable[Sequence[object]] = ((),)
    ) -> None:
        """Insert rows of `table`.

        `values` gives the columns: a constant, or `EACH` where `rows` has a value for each row, in
        the order of `values`. Constants are not bound row by row: that halves the time. Columns
        that are not named stay NULL.
        """
        self.create(table)
        listed = ", ".join(f'"{name}"' for name in values)
        holes = ", ".join("?" if value is EACH else _literal(value) for value in values.values())
        self.database.executemany(f"INSERT INTO {table} ({listed}) VALUES ({holes})", rows)

    def text(self, value: str) -> int:
        """Give the id of a string."""
        return self.strings.setdefault(value, len(self.strings) + 1)

    def texts(self, values: Sequence[str]) -> Int64:
        """Give the ids of strings."""
        return np.array([self.text(value) for value in values], dtype=np.int64)


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def rows_of(*columns: Int64) -> Iterable[tuple[object, ...]]:
    """Turn columns into rows."""
    return zip(*(column.tolist() for column in columns), strict=True)

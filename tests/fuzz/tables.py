"""Damage that is done in SQL: to values, tables and the schema."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

__all__ = ["TABLE_DAMAGE"]

_TIMES = ("start", "end", "utcEpochNs", "systemClockNs", "duration", "startTime", "timestamp")
_EXTREMES = (
    *(-(2**63), 2**63 - 1, 2**63 - 2, -(2**62), 2**62, -1, 0, 1, 10**18, -(10**18), 2**53 + 1),
    *(2**31, 2**32, 2**48, -(2**40), 10**15, 4_000_000_000_000),
)
_ODD: tuple[Any, ...] = (
    *("", "x", "12", "nan", "\0", "9" * 5000, "\ud800".encode("utf-8", "surrogatepass")),
    *(b"", b"\xff\xfe\x00", b"12", 3.5, -0.0, 1e300, float("inf"), float("-inf"), None),
    *_EXTREMES,
)
_READ = (
    *("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"),
    *("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds"),
    *("ThreadNames", "PROCESSES", "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV"),
    *("TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "ANALYSIS_DETAILS", "META_DATA_EXPORT"),
    *("META_DATA_CAPTURE", "EXPORT_META_DATA"),
)


def _altering(
    alter: Callable[[sqlite3.Connection, Random], None],
) -> Callable[[Path, Random], None]:
    def damage(path: Path, random: Random) -> None:
        # In place of waiting or leaving a journal: nobody else has the file.
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.text_factory = bytes
            # Where it was damaged before, or a constraint forbids more, what was done stays.
            with suppress(sqlite3.Error, UnicodeDecodeError):
                connection.execute("PRAGMA journal_mode = OFF").fetchall()
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute("PRAGMA foreign_keys = OFF")
                connection.execute("BEGIN")
                alter(connection, random)
            with suppress(sqlite3.Error):
                connection.execute("COMMIT")

    damage.__name__ = alter.__name__.strip("_")
    return damage


def _tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return sorted(name.decode("utf-8", "replace") for (name,) in names)


def _table(connection: sqlite3.Connection, random: Random) -> str:
    tables = _tables(connection)
    read = [name for name in tables if name in _READ]
    return random.choice(read if read and random.random() < 0.9 else tables or ["none"])


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    listed = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name.decode("utf-8", "replace") for (name,) in listed]


def _some(random: Random) -> str:
    some = ("1", f"rowid % {random.randint(2, 9)} = 0", f"rowid = {random.randint(1, 40)}")
    return random.choice(some)


def _set(connection: sqlite3.Connection, table: str, column: str, value: Any, where: str) -> None:
    connection.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE {where}', (value,))


def _wrong_types(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    columns = _columns(connection, table) or ["none"]
    for column in random.choices(columns, k=random.randint(1, 3)):
        _set(connection, table, column, random.choice(_ODD), _some(random))


def _nulls(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    for column in random.choices(_columns(connection, table) or ["none"], k=random.randint(1, 6)):
        _set(connection, table, column, None, _some(random))


def _extreme_times(connection: sqlite3.Connection, random: Random) -> None:
    for _ in range(random.randint(1, 4)):
        table = _table(connection, random)
        times = [c for c in _columns(connection, table) if c in _TIMES]
        if times:
            column = random.choice(times)
            _set(connection, table, column, random.choice(_EXTREMES), _some(random))


def _extreme_ids(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    ids = [c for c in _columns(connection, table) if c.lower().endswith(("id", "tid", "pid"))]
    for column in random.choices(ids or ["none"], k=2):
        _set(connection, table, column, random.choice(_EXTREMES), _some(random))


def _huge_strings(connection: sqlite3.Connection, random: Random) -> None:
    table = random.choice(["StringIds", "NVTX_EVENTS", "PROCESSES", "TARGET_INFO_SYSTEM_ENV"])
    column = "text" if table == "NVTX_EVENTS" else "name" if table == "PROCESSES" else "value"
    pieces = ("x", "\0", "é", "\u202e", "<script>", '"', "{", "\n", "9")
    text: Any = random.choice(pieces) * random.choice([1_000, 100_000, 1_000_000])
    if random.random() < 0.3:
        text = b"\xff" + text.encode()
    few = f"rowid = {random.randint(1, 40)}"
    _set(connection, table, column, text, few if len(text) > 100_000 else _some(random))


def _missing_tables(connection: sqlite3.Connection, random: Random) -> None:
    for _ in range(random.randint(1, 4)):
        connection.execute(f'DROP TABLE "{_table(connection, random)}"')


def _missing_columns(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    for column in random.sample(_columns(connection, table), k=random.randint(1, 2)):
        renamed = f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "was_{column}"'
        dropped = f'ALTER TABLE "{table}" DROP COLUMN "{column}"'
        connection.execute(random.choice([renamed, dropped]))


def _duplicated_table(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    if random.random() < 0.5:
        connection.execute(f'INSERT OR IGNORE INTO "{table}" SELECT * FROM "{table}"')
        return
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master"
        " WHERE name = ?",
        (table,),
    )


def _strange_schema(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    changes = (
        f"rootpage = {random.choice([0, 1, 2, 3, 10**6, -1])}",
        "rootpage = 'x'",
        "sql = NULL",
        "sql = 'CREATE TABLE ' || name || ' (start, end'",
        "sql = 'CREATE VIRTUAL TABLE ' || name || ' USING nothing(x)'",
        "sql = sql || ' WITHOUT ROWID'",
        "sql = 'CREATE TABLE ' || name || ' (' || hex(zeroblob(100000)) || ')'",
        "name = x'ff00'",
        "type = 'index'",
        "name = 'sqlite_' || name, tbl_name = 'sqlite_' || tbl_name",
    )
    connection.execute("PRAGMA writable_schema = ON")
    change = random.choice(changes)
    connection.execute(f"UPDATE sqlite_master SET {change} WHERE name = ?", (table,))


def _view_in_place(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    connection.execute(f'ALTER TABLE "{table}" RENAME TO "hidden"')
    endless = (
        "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)"
        " SELECT start, start AS end, 59 AS eventType, 1 AS globalTid, 0 AS deviceId FROM n"
    )
    select = random.choice(['SELECT * FROM "hidden"', endless])
    connection.execute(f'CREATE VIEW "{table}" AS {select}')


def _triggers(connection: sqlite3.Connection, random: Random) -> None:
    for number in range(random.randint(1, 5)):
        table, verb = _table(connection, random), random.choice(["INSERT", "UPDATE", "DELETE"])
        connection.execute(
            f'CREATE TRIGGER t{number} AFTER {verb} ON "{table}" BEGIN DELETE FROM "{table}"; END'
        )
    table = _table(connection, random)
    column = random.choice(_columns(connection, table) or ["none"])
    connection.execute(f'CREATE INDEX odd ON "{table}" (hex("{column}"))')


def _another_kind_of_table(connection: sqlite3.Connection, random: Random) -> None:
    table = _table(connection, random)
    columns = _columns(connection, table)
    connection.execute(f'DROP TABLE "{table}"')
    listed = ", ".join(f'"{column}"' for column in columns)
    first, *rest = columns
    bomb = "length(hex(zeroblob(500000000)))"
    generated = ", ".join([*(f'"{c}"' for c in rest), f'"{first}" GENERATED ALWAYS AS ({bomb})'])
    many = ", ".join(f"m{number}" for number in range(900))
    made = (
        f'CREATE VIRTUAL TABLE "{table}" USING fts5({listed})',
        f'CREATE TABLE "{table}" ({listed}, PRIMARY KEY ("{first}")) WITHOUT ROWID',
        f'CREATE TABLE "{table}" ({generated})',
        f'CREATE TABLE "{table}" ({listed} COLLATE nocase, {many})',
    )
    connection.execute(random.choice(made))
    some = ", ".join(["1"] * len(rest))
    for _ in range(20):
        connection.execute(f'INSERT OR IGNORE INTO "{table}" VALUES ({some}, 7)')


def _many_tables(connection: sqlite3.Connection, random: Random) -> None:
    for number in range(random.choice([100, 2000])):
        connection.execute(f'CREATE TABLE "TARGET_INFO_{number}" (name, value)')


TABLE_DAMAGE = {
    damage.__name__: damage
    for damage in map(
        _altering,
        (
            *(_wrong_types, _nulls, _extreme_times, _extreme_ids),
            *(_huge_strings, _missing_tables, _missing_columns, _duplicated_table),
            *(_strange_schema, _view_in_place, _triggers, _another_kind_of_table, _many_tables),
        ),
    )
}

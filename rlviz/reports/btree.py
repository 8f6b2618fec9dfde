"""Integer columns of a table, read from the pages of its file: a few times as fast as through SQL.

SQLite remains the reference: what is odd or damaged in any way is left to it.
"""

from __future__ import annotations

import re
import sqlite3
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from rlviz.reports.pages import NotPlain, PageFile, batches, leaf_cells, leaf_counts, leaves
from rlviz.reports.records import NOT_INTEGER, NULL, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future
    from io import FileIO
    from pathlib import Path

    from numpy.typing import NDArray

    from rlviz.reports.pages import Block

    Int64 = NDArray[np.int64]

__all__ = [
    "FEW_PAGES",
    "NOTHING_MORE",
    "ODD",
    "Choice",
    "More",
    "opened_table",
    "read_blocks",
    "read_integers",
]

FEW_PAGES = 8
"""Up to so many pages of rows, SQL is as fast."""

_MOST_THREADS = 2  # more wait for each other


def _threads() -> int:
    # A process beside others is told how many threads polars may have there.
    return min(_MOST_THREADS, pl.thread_pool_size())


@dataclass(frozen=True)
class More:
    """Further columns, of some rows only.

    Parameters
    ----------
    columns : tuple of str
        What to read of them.
    of : str
        A column that tells which rows; it is read of all.
    values : tuple of int
        Its values in those rows.
    """

    columns: tuple[str, ...]
    of: str
    values: tuple[int, ...]

    def rows(self, told: Int64) -> NDArray[np.intp]:
        """Find these rows among others, by their values in column `of`."""
        if self._table is None:
            return np.flatnonzero(np.isin(told, self.values))
        # What is out of its range finds the first or the last, and neither is a value.
        return np.flatnonzero(self._table.take(told + 1, mode="clip"))

    @cached_property
    def _table(self) -> NDArray[np.bool_] | None:
        if not self.values or min(self.values) < 0 or max(self.values) >= _DENSE:
            return None
        table = np.zeros(max(self.values) + 3, np.bool_)
        table[np.array(self.values) + 1] = True
        return table


NOTHING_MORE = More((), "", ())

_DENSE = 1 << 24  # as nsys numbers its strings: up to here a table is small

_MEMBERSHIP = re.compile(r"(\w+) IN \((\d+(?:, \d+)*)\)")


def read_integers(
    path: Path,
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    where: str = "",
) -> tuple[dict[str, Int64], int] | None:
    """Read integer columns, in the order of the rows.

    Parameters
    ----------
    path : Path
        The file.
    connection : sqlite3.Connection
        An open connection to it, to ask for its layout.
    table : str
        A table that exists.
    columns : sequence of str
        Columns wanted; one that the table lacks comes back all `NULL`.
    where : str
        Condition; of the form ``column IN (1, 2)``, or the table is left to SQLite.

    Returns
    -------
    columns : dict of str to ndarray of int64, shape (n,)
        `NULL` stands for NULL, `NOT_INTEGER` for text, blobs and fractions.
    n : int
        Number of rows.
    None
        In place of both, when the table is small, odd, or damaged, and better left to SQLite.
    """
    try:
        with opened_table(path, connection, table, columns, where) as (file, pages, choice):
            return _named(choice, columns, _read(file, pages, choice.places))
    except ODD:
        return None


def read_blocks(
    path: Path,
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    more: More = NOTHING_MORE,
) -> Iterator[tuple[dict[str, Int64], dict[str, Int64]]]:
    """Read integer columns some thousand rows at a time, in the order of the rows.

    Parameters
    ----------
    path, connection, table, columns
        As for `read_integers`.
    more : More
        What to read of some of the rows besides.

    Yields
    ------
    block : dict of str to ndarray of int64
        The columns of the next rows, as of `read_integers`; at least one row.
    chosen : dict of str to ndarray of int64
        `columns` and further ones of those rows of the block that `more` tells.

    Raises
    ------
    NotPlain
        The rest is better left to SQLite; what came before is right.
    """
    try:
        wanted = (*columns, *more.columns)
        with opened_table(path, connection, table, wanted) as (file, pages, choice):
            yield from _decoded(file, pages, _Blocks(choice.place, columns, more))
    except ODD as error:
        raise NotPlain from error


ODD = (NotPlain, IndexError, OSError, UnicodeDecodeError, sqlite3.Error)
"""What tells that a table is better left to SQLite."""


@contextmanager
def opened_table(
    path: Path, connection: sqlite3.Connection, table: str, columns: Sequence[str], where: str = ""
) -> Iterator[tuple[PageFile, Int64, Choice]]:
    """Open the file of a table that is worth it, with the pages of its rows."""
    layout = _layout(connection, table)
    choice = _choose(layout, columns, where)
    with path.open("rb", buffering=0) as raw:
        _require_plain(path, raw)
        file = PageFile(raw, *_size(connection))
        pages = leaves(file, layout.root)
        if len(pages) <= FEW_PAGES:
            raise NotPlain
        yield file, pages, choice


class _Layout(NamedTuple):
    root: int
    types: dict[str, str]  # in the order of the records
    keys: frozenset[str]


class Choice(NamedTuple):
    """Where the columns are that are wanted, and which rows.

    Parameters
    ----------
    place : dict of str to int
        Place in a record by column.
    only : str or None
        A column that tells the rows; None: all.
    values : list of int
        Its values in these.
    """

    place: dict[str, int]
    only: str | None
    values: list[int]

    @property
    def places(self) -> list[int]:
        """Places of all columns, ascending."""
        return sorted(self.place.values())

    def cells(self, block: Block) -> Int64:
        """Find where in a block the rows begin that are wanted."""
        cells = leaf_cells(block, leaf_counts(block))
        if self.only is None:
            return cells
        judged = np.empty(len(cells), np.int64)
        decode(block, cells, {self.place[self.only]: judged})
        if (judged == NOT_INTEGER).any():  # a fraction can equal a number
            raise NotPlain
        return cells[np.isin(judged, self.values)]


def _layout(connection: sqlite3.Connection, table: str) -> _Layout:
    roots = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
    ).fetchall()
    columns = connection.execute(
        "SELECT name, upper(type), pk, hidden FROM pragma_table_xinfo(?)", (table,)
    ).fetchall()
    # Generated columns may have no place in a record; virtual tables have no page.
    if len(roots) != 1 or not isinstance(roots[0][0], int) or any(c[3] for c in columns):
        raise NotPlain
    keys = frozenset(name for name, _, key, _ in columns if key)
    return _Layout(roots[0][0], {name: kind for name, kind, _, _ in columns}, keys)


def _require_plain(path: Path, raw: FileIO) -> None:
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists() and wal.stat().st_size:  # newer pages than those of the file
        raise NotPlain
    if raw.read(21)[20:] != b"\0":  # pages end in bytes that are kept for an extension of SQLite
        raise NotPlain


def _size(connection: sqlite3.Connection) -> tuple[int, int]:
    ((page_size,),) = connection.execute("PRAGMA page_size").fetchall()
    ((page_count,),) = connection.execute("PRAGMA page_count").fetchall()
    return page_size, page_count


def _choose(layout: _Layout, columns: Sequence[str], where: str) -> Choice:
    only, values = None, []
    if where:
        match = _MEMBERSHIP.fullmatch(where)
        # SQLite compares as the column's type wants it: plain with integers only.
        if match is None or "INT" not in layout.types.get(match[1], ""):
            raise NotPlain
        only, values = match[1], [int(value) for value in match[2].split(", ")]
    order = {name: place for place, name in enumerate(layout.types)}
    place = {c: order[c] for c in {*columns, *([only] if only else [])} if c in order}
    # A primary key may stand outside the record, and a column of fractions holds them as integers
    # where it can.
    fractions = ("REAL", "FLOA", "DOUB")
    if not place or any(
        c in layout.keys or any(word in layout.types[c] for word in fractions) for c in place
    ):
        raise NotPlain
    return Choice(place, only, values)


def _read(file: PageFile, pages: Int64, places: Sequence[int]) -> dict[int, Int64]:
    """Read columns, given by their places, of all rows of the leaf `pages`."""
    columns: dict[int, Int64] = {}
    room = done = seen = 0
    running: deque[Future[None]] = deque()
    threads = _threads()
    with ThreadPoolExecutor(threads) as pool:
        for part in batches(pages):
            block = file.load(part)
            counts = leaf_counts(block)
            seen, until = seen + len(part), done + int(counts.sum())
            if until > room:
                _finish(running, 0)  # nobody may write into an array that moves
                room = int(1.1 * until * len(pages) / seen) + 1
                columns = _with_room(columns, places, room)
            target = {place: column[done:until] for place, column in columns.items()}
            running.append(pool.submit(_fill, block, counts, target))
            done = until
            _finish(running, threads)
        _finish(running, 0)
    for column in columns.values():
        column.resize(done, refcheck=False)
    return columns


def _fill(block: Block, counts: Int64, target: dict[int, Int64]) -> None:
    decode(block, leaf_cells(block, counts), target)


def _with_room(columns: dict[int, Int64], places: Sequence[int], room: int) -> dict[int, Int64]:
    if not columns:
        return {place: np.empty(room, np.int64) for place in places}
    for column in columns.values():
        column.resize(room, refcheck=False)
    return columns


def _decoded(
    file: PageFile, pages: Int64, wanted: _Blocks
) -> Iterator[tuple[dict[str, Int64], dict[str, Int64]]]:
    """Decode block after block, a few of them ahead."""
    threads = _threads()
    if threads == 1:
        for part in batches(pages):
            yield wanted.of(file.load(part))
        return
    running: deque[Future[tuple[dict[str, Int64], dict[str, Int64]]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for part in batches(pages):
            running.append(pool.submit(wanted.of, file.load(part)))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


class _Blocks(NamedTuple):
    place: dict[str, int]
    columns: Sequence[str]
    more: More

    def of(self, block: Block) -> tuple[dict[str, Int64], dict[str, Int64]]:
        """Decode a block; of the rows that `more` is about, all columns."""
        cells = leaf_cells(block, leaf_counts(block))
        rows = self._decoded(block, cells, self.columns)
        if not self.more.values:
            return rows, {}
        chosen = self.more.rows(rows[self.more.of])
        further = self._decoded(block, cells[chosen], self.more.columns)
        return rows, {**{c: v[chosen] for c, v in rows.items()}, **further}

    def _decoded(self, block: Block, cells: Int64, columns: Sequence[str]) -> dict[str, Int64]:
        target = {self.place[c]: np.empty(len(cells), np.int64) for c in columns if c in self.place}
        if len(cells) and target:
            decode(block, cells, target)
        return _by_name(self.place, columns, target, len(cells))


def _finish(running: deque[Future[None]], most: int) -> None:
    """Wait until at most so many are left."""
    while len(running) > most:
        running.popleft().result()


def _named(
    choice: Choice, columns: Sequence[str], read: dict[int, Int64]
) -> tuple[dict[str, Int64], int]:
    rows = len(next(iter(read.values())))
    if choice.only:
        judged = read[choice.place[choice.only]]
        if (judged == NOT_INTEGER).any():  # a fraction can equal a number
            raise NotPlain
        keep = np.isin(judged, choice.values)
        # One by one, so that no more than one column is there twice.
        for place in list(read):
            read[place] = read.pop(place)[keep]
        rows = int(keep.sum())
    return _by_name(choice.place, columns, read, rows), rows


def _by_name(
    place: dict[str, int], columns: Sequence[str], read: dict[int, Int64], rows: int
) -> dict[str, Int64]:
    return {c: read[place[c]] if c in place else np.full(rows, NULL, np.int64) for c in columns}

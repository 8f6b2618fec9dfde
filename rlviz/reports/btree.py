"""Integer columns of a table, read from the pages of its file: a few times as fast as through SQL.

SQLite remains the reference: what is odd or damaged in any way is left to it.
"""

from __future__ import annotations

import re
import sqlite3
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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

__all__ = ["FEW_PAGES", "THREADS", "read_blocks", "read_integers"]

FEW_PAGES = 8
"""Up to so many pages of rows, SQL is as fast."""

THREADS = 2
"""More than two wait for each other."""

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
        with _opened(path, connection, table, columns, where) as (file, pages, choice):
            return _named(choice, columns, _read(file, pages, choice.places))
    except _ODD:
        return None


def read_blocks(
    path: Path,
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    where: str = "",
) -> Iterator[dict[str, Int64]]:
    """Read integer columns some thousand rows at a time, in the order of the rows.

    Parameters
    ----------
    path, connection, table, columns, where
        As for `read_integers`. It pays where few rows meet the condition: of the others no more
        than that is read.

    Yields
    ------
    dict of str to ndarray of int64
        The columns of some rows, as of `read_integers`; at least one row.

    Raises
    ------
    NotPlain
        The rest is better left to SQLite; what came before is right.
    """
    try:
        with _opened(path, connection, table, columns, where) as (file, pages, choice):
            for read in _decoded(file, pages, choice):
                rows = len(next(iter(read.values())))
                if rows:
                    yield _by_name(choice, columns, read, rows)
    except _ODD as error:
        raise NotPlain from error


_ODD = (NotPlain, IndexError, OSError, UnicodeDecodeError, sqlite3.Error)


@contextmanager
def _opened(
    path: Path, connection: sqlite3.Connection, table: str, columns: Sequence[str], where: str
) -> Iterator[tuple[PageFile, Int64, _Choice]]:
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


class _Choice(NamedTuple):
    place: dict[str, int]
    only: str | None
    values: list[int]

    @property
    def places(self) -> list[int]:
        return sorted(self.place.values())


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


def _choose(layout: _Layout, columns: Sequence[str], where: str) -> _Choice:
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
    return _Choice(place, only, values)


def _read(file: PageFile, pages: Int64, places: Sequence[int]) -> dict[int, Int64]:
    """Read columns, given by their places, of all rows of the leaf `pages`."""
    columns: dict[int, Int64] = {}
    room = done = seen = 0
    running: deque[Future[None]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
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
            _finish(running, THREADS)
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


def _decoded(file: PageFile, pages: Int64, choice: _Choice) -> Iterator[dict[int, Int64]]:
    """Decode block after block, a few of them ahead."""
    running: deque[Future[dict[int, Int64]]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for part in batches(pages):
            running.append(pool.submit(_chosen, file.load(part), choice))
            if len(running) > 2 * THREADS:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


def _chosen(block: Block, choice: _Choice) -> dict[int, Int64]:
    cells = leaf_cells(block, leaf_counts(block))
    if choice.only:
        judged = np.empty(len(cells), np.int64)
        decode(block, cells, {choice.place[choice.only]: judged})
        if (judged == NOT_INTEGER).any():  # a fraction can equal a number
            raise NotPlain
        cells = cells[np.isin(judged, choice.values)]
    columns = {place: np.empty(len(cells), np.int64) for place in choice.places}
    if len(cells):
        decode(block, cells, columns)
    return columns


def _finish(running: deque[Future[None]], most: int) -> None:
    """Wait until at most so many are left."""
    while len(running) > most:
        running.popleft().result()


def _named(
    choice: _Choice, columns: Sequence[str], read: dict[int, Int64]
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
    return _by_name(choice, columns, read, rows), rows


def _by_name(
    choice: _Choice, columns: Sequence[str], read: dict[int, Int64], rows: int
) -> dict[str, Int64]:
    return {
        c: read[choice.place[c]] if c in choice.place else np.full(rows, NULL, np.int64)
        for c in columns
    }

"""A report's SQLite file: opened so that nothing is changed, probed, read column by column."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from rlviz.errors import NotAnExport, RlvizError, UnreadableReport
from rlviz.reports.btree import NOTHING_MORE, read_blocks, read_integers
from rlviz.reports.by_number import Codes, NumberedTable, cell
from rlviz.reports.page_texts import read_texts
from rlviz.reports.pages import NotPlain
from rlviz.reports.records import NOT_INTEGER, NULL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rlviz.reports.btree import More

    Int64 = NDArray[np.int64]

__all__ = ["NOT_INTEGER", "NULL", "Database", "open_database"]

# An error whose text quotes a damaged schema comes as one of decoding.
_FAILURES = (sqlite3.Error, UnicodeDecodeError)

_ROWS = 1 << 14  # at a time, through SQL
_NONE = np.empty(0, np.int64)

_EXPORT_AGAIN = "Export it again: nsys export --type sqlite -o {stem}.sqlite {stem}.nsys-rep"


@dataclass(frozen=True)
class Database:
    """An open report.

    Parameters
    ----------
    path : Path
        The file.
    tables : dict of str to frozenset of str
        Columns of each table that exists. Views are no tables: nsys writes none.
    """

    path: Path
    tables: dict[str, frozenset[str]]
    connection: sqlite3.Connection

    def has(self, table: str, *columns: str) -> bool:
        """Tell whether the table exists and has these columns."""
        return table in self.tables and self.tables[table].issuperset(columns)

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Fetch the rows of a small query.

        Raises
        ------
        UnreadableReport
            When SQLite cannot read the file.
        """
        with self._reading():
            return self.connection.execute(query, parameters).fetchall()

    def integers(
        self, table: str, columns: Sequence[str], where: str = ""
    ) -> tuple[dict[str, Int64], int]:
        """Read integer columns, in the table's own order.

        Parameters
        ----------
        table : str
            A table that exists.
        columns : sequence of str
            Columns wanted; one that the table lacks comes back all `NULL`.
        where : str
            SQL condition over the table's columns.

        Returns
        -------
        columns : dict of str to ndarray of int64, shape (n,)
            `NULL` stands for NULL, `NOT_INTEGER` for text, blobs and fractions.
        n : int
            Number of rows.
        """
        read = read_integers(self.path, self.connection, table, columns, where)
        if read is not None:
            return read
        parts = [block for block, _ in self._through_sql(table, columns, where=where)]
        split = {c: np.concatenate([_NONE, *(part[c] for part in parts)]) for c in columns}
        return split, sum(len(part[columns[0]]) for part in parts)

    def blocks(self, table: str, columns: Sequence[str]) -> Iterator[dict[str, Int64]]:
        """Read integer columns as `integers` does, but some rows at a time.

        Of many rows no more is in memory than a block.

        Yields
        ------
        dict of str to ndarray of int64
            The columns of the next rows; at least one row.
        """
        return (block for block, _ in self.blocks_and(table, columns, NOTHING_MORE))

    def blocks_and(
        self, table: str, columns: Sequence[str], more: More
    ) -> Iterator[tuple[dict[str, Int64], dict[str, Int64]]]:
        """Read as `blocks` does, and of some rows further columns.

        Parameters
        ----------
        table, columns
            As for `integers`.
        more : More
            What to read of which rows.

        Yields
        ------
        block : dict of str to ndarray of int64
            As of `blocks`.
        chosen : dict of str to ndarray of int64
            `columns` and further ones of those rows of the block that `more` tells.
        """
        done = 0
        try:
            for block, chosen in read_blocks(self.path, self.connection, table, columns, more):
                done += len(block[columns[0]])
                yield block, chosen
        except NotPlain:
            yield from self._through_sql(table, columns, more, done=done)

    def _through_sql(
        self,
        table: str,
        columns: Sequence[str],
        more: More = NOTHING_MORE,
        where: str = "",
        done: int = 0,
    ) -> Iterator[tuple[dict[str, Int64], dict[str, Int64]]]:
        """Read as `blocks_and` does, without the rows that are `done`."""
        numbered = self._numbered(table)
        if numbered is not None:
            with suppress(*_FAILURES):  # no row numbers; or damaged, which is told below
                for rows in numbered.rows(columns, where, done):
                    block = rows.columns
                    these, chosen = _chosen(block, more)
                    if chosen and rows.numbers is not None:
                        chosen |= numbered.numbered(more.columns, rows.numbers[these])
                    done += rows.height
                    yield block, chosen
                return
        for read in self._row_by_row(table, (*columns, *more.columns), where, done):
            yield {c: read[c] for c in columns}, _chosen(read, more)[1]

    def _numbered(self, table: str) -> NumberedTable | None:
        # A column of that name hides the numbers of the rows.
        hidden = any(name.lower() == "rowid" for name in self.tables[table])
        return None if hidden else NumberedTable(self.connection, table, self.tables[table])

    def _row_by_row(
        self, table: str, columns: Sequence[str], where: str, done: int
    ) -> Iterator[dict[str, Int64]]:
        cells = (cell(c) if c in self.tables[table] else str(NULL) for c in columns)
        query = f"SELECT {', '.join(cells)}{_in_order(table, where)} LIMIT -1 OFFSET {done}"
        with self._reading():
            cursor = self.connection.execute(query)
            while True:
                some = islice(cursor, _ROWS)
                flat = np.fromiter(chain.from_iterable(some), dtype=np.int64)
                if not len(flat):
                    return
                matrix = flat.reshape(-1, len(columns))
                yield {c: np.ascontiguousarray(matrix[:, i]) for i, c in enumerate(columns)}

    def texts(
        self, table: str, column: str, where: str = "", count: int | None = None
    ) -> tuple[Int64, list[str]]:
        """Read a text column as codes, in the table's own order.

        Parameters
        ----------
        table, column, where
            As for `integers`.
        count : int, optional
            How many rows `integers` has found: of a damaged table, one way of reading may find
            others than the next.

        Returns
        -------
        codes : ndarray of int64, shape (n,)
            Index into `texts`, -1 for NULL.
        texts : list of str
            The distinct texts.

        Raises
        ------
        UnreadableReport
            The rows cannot be read, or not as many as there are.
        """
        for codes, texts in self._ways_to_texts(table, column, where):
            if count is None or len(codes) == count:
                return codes, [_lenient(text) for text in texts]
        raise _unreadable(self.path, sqlite3.DatabaseError())

    def _ways_to_texts(
        self, table: str, column: str, where: str
    ) -> Iterator[tuple[Int64, list[bytes]]]:
        """Read them from the pages, else by row number, else row by row."""
        if read := read_texts(self.path, self.connection, table, column, where):
            yield read
        # As bytes: SQLite's own decoding gives up at the first broken text.
        self.connection.text_factory = bytes
        try:
            if numbered := self._numbered(table):
                with suppress(*_FAILURES):
                    if read := numbered.texts(column, where):
                        yield read
            query = f'SELECT CAST("{column}" AS TEXT){_in_order(table, where)}'
            codes = Codes()
            with self._reading():
                # One at a time: a text that a million rows repeat is in memory once.
                coded = codes.of(chain.from_iterable(self.connection.execute(query)))
            yield coded, codes.texts
        finally:
            self.connection.text_factory = _lenient

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """Look up texts of ``StringIds``: these ids only, since the table holds secrets too."""
        wanted = list(ids)
        if not self.has("StringIds", "id", "value"):
            return {}
        found: dict[int, str] = {}
        for first in range(0, len(wanted), 500):
            part = wanted[first : first + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT id, CAST(value AS TEXT) FROM StringIds WHERE id IN ({marks})"
            found.update({int(str(key)): str(text) for key, text in self.rows(query, part)})
        return found

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            raise _unreadable(self.path, error) from None


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Open a report read-only and immutable: no lock, no journal, nothing written beside it.

    Raises
    ------
    NotAnExport
        The file is empty, or no SQLite database.
    UnreadableReport
        The file is damaged, cut off, or may not be read.
    """
    _check_header(path)
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise _unreadable(path, error) from None
    try:
        connection.text_factory = _lenient
        connection.execute("PRAGMA trusted_schema = OFF")
        yield Database(path, _probe(path, connection), connection)
    finally:
        connection.close()


def _chosen(block: Mapping[str, Int64], more: More) -> tuple[NDArray[np.intp], dict[str, Int64]]:
    if not more.values:
        return np.empty(0, np.intp), {}
    these = more.rows(block[more.of])
    return these, {c: v[these] for c, v in block.items()}


def _check_header(path: Path) -> None:
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
        header = _first_bytes(path) if regular else b""
    except OSError as error:
        problem = f"it cannot be opened ({error.strerror})."
        raise UnreadableReport(
            path, problem, "Check that the file is there and readable."
        ) from None
    if not regular:
        raise NotAnExport(path, "it is no regular file.", "Name the exported .sqlite files.")
    if not header:
        raise NotAnExport(path, "it is empty (0 bytes).", _remedy(path))
    if header != b"SQLite format 3\x00":
        raise NotAnExport(path, "it is no SQLite database.", _remedy(path))


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)


def _probe(path: Path, connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    try:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        listed = "SELECT name FROM pragma_table_info(?)"
        return {
            name: frozenset(column for (column,) in connection.execute(listed, (name,)))
            for (name,) in names
        }
    except _FAILURES as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> RlvizError:
    # Not its message: SQLite quotes what it cannot parse, and that may be anything in the file.
    code = getattr(error, "sqlite_errorname", type(error).__name__)
    problem = f"SQLite cannot read it ({code}): it is damaged or was cut off."
    return UnreadableReport(path, problem, _remedy(path))


def _remedy(path: Path) -> str:
    return _EXPORT_AGAIN.format(stem=path.stem)


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _in_order(table: str, where: str) -> str:
    # An index that someone added would give the rows in an order of its own.
    return f' FROM "{table}" NOT INDEXED' + (f" WHERE {where}" if where else "")

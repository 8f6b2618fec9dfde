"""Columns of a table that numbers its rows, through SQL: a text for many rows."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rlviz.reports.packing import Guess
from rlviz.reports.records import NOT_INTEGER, NULL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rlviz.reports.packing import Packing

    Int64 = NDArray[np.int64]
    Columns = dict[str, Int64]

__all__ = ["Codes", "NumberedTable", "Rows", "cell"]

_ROWS = 1 << 14  # at a time
_FIRST_ROWS = 1 << 10  # enough to guess from
_LAST = (1 << 63) - 1  # the greatest row number there can be

_LONGEST = 512  # of texts that are read together
_BETWEEN, _NO_TEXT = "\x1f", "\x1e"


class Rows(NamedTuple):
    """Some rows of a table.

    Parameters
    ----------
    height : int
        How many.
    columns : dict of str to ndarray of int64, shape (height,)
        `NULL` stands for NULL, `NOT_INTEGER` for text, blobs and fractions.
    numbers : ndarray of int64, shape (height,), or None
        Their numbers; None where a condition chose them.
    """

    height: int
    columns: Columns
    numbers: Int64 | None


class Codes(dict["bytes | None", int]):
    """Numbers texts as they come; None is -1."""

    def __init__(self) -> None:
        super().__init__({None: -1})

    def __missing__(self, text: bytes | None) -> int:
        code = self[text] = len(self) - 1
        return code

    def of(self, texts: Iterable[bytes | None]) -> Int64:
        """Give the codes of texts."""
        return np.fromiter(map(self.__getitem__, texts), np.int64)

    @property
    def texts(self) -> list[bytes]:
        """Texts in the order of their codes."""
        return [text for text in self if text is not None]


class _OutOfOrder(sqlite3.DatabaseError):
    """Rows do not stand by their numbers: the table is damaged, and looking them up misses some."""


class NumberedTable(NamedTuple):
    """A table with a ``rowid``.

    Parameters
    ----------
    connection : sqlite3.Connection
        An open database.
    name : str
        The table.
    there : collection of str
        Its columns.
    """

    connection: sqlite3.Connection
    name: str
    there: Collection[str]

    def rows(self, columns: Sequence[str], where: str = "", done: int = 0) -> Iterator[Rows]:
        """Read integer columns some thousand rows at a time, by row number.

        Parameters
        ----------
        columns : sequence of str
            Columns wanted; one that the table lacks comes back all `NULL`.
        where : str
            SQL condition over the table's columns.
        done : int
            Leave out so many rows at the beginning.

        Raises
        ------
        sqlite3.Error
            The rest cannot be read so; what came before is right.
        """
        own = [column for column in columns if column in self.there]
        ((last,),) = self.connection.execute(f'SELECT max(rowid) FROM "{self.name}"').fetchall()
        guess, first, most = Guess(), NULL, min(_ROWS, _FIRST_ROWS)
        while first <= _LAST:
            rows, until = None, min(first + _ROWS - 1, last or 0)
            if guess.packing is not None and first <= until:
                rows = self._packed(guess.packing, first, until, where)
            if rows is None:
                limit = f"LIMIT {most} OFFSET {done}"
                numbers, read = self._spelled(own, f"rowid >= {first}", where, limit)
                if not len(numbers):
                    return
                if numbers[0] < first or (np.diff(numbers) <= 0).any():
                    raise _OutOfOrder
                guess.learn(read)
                rows, until = Rows(len(numbers), read, numbers), int(numbers[-1])
                most, done = _ROWS, 0
            first = until + 1
            if rows.height:
                yield rows._replace(columns=self._all(columns, rows.columns, rows.height))

    def numbered(self, columns: Sequence[str], numbers: Int64) -> Columns:
        """Read integer columns of the rows that have these numbers, ascending."""
        own = [column for column in columns if column in self.there]
        found, read = self._spelled(own, f"rowid IN ({','.join(map(str, numbers.tolist()))})")
        if not np.array_equal(found, numbers):
            raise _OutOfOrder
        return self._all(columns, read, len(numbers))

    def texts(self, column: str, where: str = "") -> tuple[Int64, list[bytes]] | None:
        """Read a text column as codes, by row number.

        `connection` has to give texts as bytes.

        Parameters
        ----------
        column : str
            A column that exists.
        where : str
            As for `rows`, whose errors it raises.

        Returns
        -------
        codes : ndarray of int64, shape (n,)
            Index into `texts`, -1 for NULL.
        texts : list of bytes
            The distinct texts.
        None
            In place of both, when some row numbers between the first and the last are not there.
        """
        numbers = self._all_numbers()
        if numbers is None:
            return None
        codes, parts = Codes(), [np.empty(0, np.int64)]
        for first in numbers[::_ROWS]:
            until = min(first + _ROWS - 1, numbers[-1])
            parts.append(codes.of(self._texts_of(column, where, (first, until))))
        return np.concatenate(parts), codes.texts

    def _all_numbers(self) -> range | None:
        """Give the numbers of all rows; None where some are missing between them."""
        table = f'FROM "{self.name}"'
        # Each is known without a look at the rows, but only on its own.
        asked = f"SELECT (SELECT min(rowid) {table}), (SELECT max(rowid) {table})"
        ((first, last),) = self.connection.execute(asked).fetchall()
        ((count,),) = self.connection.execute(f"SELECT count(*) {table}").fetchall()
        if first is None:
            return range(0)
        return range(first, last + 1) if last - first + 1 == count else None

    def _texts_of(
        self, column: str, where: str, between: tuple[int, int]
    ) -> Iterable[bytes | None]:
        text = f'CAST("{column}" AS TEXT)'
        # A long one becomes two, so that their number is wrong, as where a text has a separator.
        together = (
            f"CASE WHEN length(CAST({text} AS BLOB)) <= {_LONGEST} THEN {text}"
            f" WHEN \"{column}\" IS NULL THEN '{_NO_TEXT}' ELSE '{_BETWEEN}' END"
        )
        counted = f"count(*), count(\"{column}\"), group_concat({together}, '{_BETWEEN}')"
        rows = f'FROM "{self.name}" NOT INDEXED WHERE rowid BETWEEN ? AND ?'
        rows += f" AND ({where})" if where else ""
        ((count, there, joined),) = self.connection.execute(
            f"SELECT {counted} {rows}", between
        ).fetchall()
        if not count:
            return ()
        texts: list[bytes] = joined.split(_BETWEEN.encode())
        absent = _NO_TEXT.encode()
        if len(texts) == count == there:
            return texts
        if len(texts) == count and texts.count(absent) == count - there:
            return (None if one == absent else one for one in texts)
        return (one for (one,) in self.connection.execute(f"SELECT {text} {rows}", between))

    def _packed(self, packing: Packing, first: int, until: int, where: str) -> Rows | None:
        """Read the rows from one number to another; None: they are not as guessed."""
        cells = ", ".join(packing.texts(where))
        query = (
            f'SELECT count(*), {cells} FROM "{self.name}" NOT INDEXED WHERE rowid BETWEEN ? AND ?'
        )
        ((there, *texts),) = self.connection.execute(query, (first, until)).fetchall()
        if there != until - first + 1:
            return None  # far apart, they would be few at a time, and which they are is not known
        found = packing.columns([text or "" for text in texts])
        if found is None:
            return None
        height, columns = found
        return Rows(height, columns, None if where else np.arange(first, until + 1))

    def _spelled(
        self, columns: Sequence[str], these: str, where: str = "", limit: str = ""
    ) -> tuple[Int64, Columns]:
        """Read rows whatever is in them, each column in a text of its own."""
        spelled = ", ".join(f"group_concat(c{place})" for place in range(len(columns)))
        cells = ", ".join(f"{cell(c)} AS c{place}" for place, c in enumerate(columns))
        ordered = f"{these}{f' AND ({where})' if where else ''} ORDER BY rowid {limit}"
        inner = ", ".join(filter(None, ("rowid AS k", cells)))
        source = f'SELECT {inner} FROM "{self.name}" NOT INDEXED WHERE {ordered}'
        outer = ", ".join(filter(None, ("group_concat(k)", spelled)))
        (texts,) = self.connection.execute(f"SELECT {outer} FROM ({source})").fetchall()
        numbers, *read = (np.fromstring(text or "", np.int64, sep=",") for text in texts)
        return numbers, dict(zip(columns, read, strict=True))

    @staticmethod
    def _all(columns: Sequence[str], read: Columns, count: int) -> Columns:
        return {c: read[c] if c in read else np.full(count, NULL) for c in columns}


def cell(column: str) -> str:
    """Give the SQL of an integer in a column.

    typeof() costs a tenth of the read and spares every reader after it odd values.
    """
    return (
        f"CASE typeof(\"{column}\") WHEN 'integer' THEN \"{column}\" WHEN 'null' THEN {NULL}"
        f" ELSE {NOT_INTEGER} END"
    )

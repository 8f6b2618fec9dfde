"""A text column of a table, as codes: read from the pages of its file, no text a row in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.reports.btree import ODD, opened_table
from rlviz.reports.pages import NotPlain, batches
from rlviz.reports.records import locate

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from numpy.typing import NDArray

    from rlviz.reports.pages import Block

    Int64 = NDArray[np.int64]
    Words = NDArray[np.uint64]

__all__ = ["read_texts"]

# Longer ones are few, and better left to SQLite; and so is a column of different texts.
_LONGEST = 512
_MOST_TEXTS = 20_000
_NULL, _FIRST_TEXT = 0, 13
# Odd numbers, as good as any, that spread words over all sums.
_SPREAD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def read_texts(
    path: Path, connection: sqlite3.Connection, table: str, column: str, where: str = ""
) -> tuple[Int64, list[bytes]] | None:
    """Read a text column, in the order of the rows.

    Parameters
    ----------
    path, connection, table, where
        As for `rlviz.reports.btree.read_integers`.
    column : str
        The column.

    Returns
    -------
    codes : ndarray of int64, shape (n,)
        Index into `texts`, -1 for NULL.
    texts : list of bytes
        The distinct texts in UTF-8, in the order in which they come.
    None
        In place of both, when the table is small, odd, damaged, or has many different texts.
    """
    try:
        ((encoding,),) = connection.execute("PRAGMA encoding").fetchall()
        if encoding != "UTF-8":
            return None
        found = _Texts()
        with opened_table(path, connection, table, [column], where) as (file, pages, choice):
            parts = []
            for part in batches(pages):
                block = file.load(part)
                cells = choice.cells(block)
                if len(cells):
                    parts.append(found.codes(block, cells, choice.place[column]))
    except (*ODD, KeyError):
        return None
    return np.concatenate([np.empty(0, np.int64), *parts]), found.texts


class _Texts:
    """Numbers texts as they come, by sums of their words; what has one sum is compared."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self._sums = np.empty(0, np.uint64)  # ascending, and the code of each
        self._codes = np.empty(0, np.int64)
        self._words = np.empty((0, _LONGEST // 8 + 1), np.uint64)  # by code; the last is the size

    def codes(self, block: Block, cells: Int64, place: int) -> Int64:
        """Give the codes of the texts of some rows.

        Raises
        ------
        NotPlain
            A value is neither text nor NULL, or it is long, or too many differ.
        """
        kinds, at, sizes = locate(block, cells, place)
        is_text = (kinds >= _FIRST_TEXT) & (kinds & 1 == 1)
        if (~is_text & (kinds != _NULL)).any() or sizes.max() > _LONGEST:
            raise NotPlain
        own = np.flatnonzero(is_text)
        codes = np.full(len(cells), -1)
        if len(own):
            words = _words_of(block, at[own], sizes[own])
            codes[own] = self._code(block, at[own], sizes[own], words)
        return codes

    def _code(self, block: Block, at: Int64, sizes: Int64, words: list[Words]) -> Int64:
        sums = sizes.astype(np.uint64) * _SPREAD
        for word in words:
            sums ^= word
            sums *= _MIX
            sums ^= sums >> np.uint64(29)
        place = np.searchsorted(self._sums, sums)
        known = np.zeros(len(sums), np.bool_)
        inside = place < len(self._sums)
        known[inside] = self._sums[place[inside]] == sums[inside]
        if not known.all():
            self._add(block, at, sizes, words, sums, np.flatnonzero(~known))
            place = np.searchsorted(self._sums, sums)
        codes: Int64 = self._codes[place]
        self._compare(codes, sizes, words)
        return codes

    def _add(
        self,
        block: Block,
        at: Int64,
        sizes: Int64,
        words: list[Words],
        sums: Words,
        rows: Int64,
    ) -> None:
        """Take in the texts of rows whose sums are new."""
        _, first = np.unique(sums[rows], return_index=True)
        rows = rows[np.sort(first)]
        if len(self.texts) + len(rows) > _MOST_TEXTS:
            raise NotPlain
        more = np.zeros((len(rows), self._words.shape[1]), np.uint64)
        for number, word in enumerate(words):
            more[:, number] = word[rows]
        more[:, -1] = sizes[rows]
        self._words = np.concatenate((self._words, more))
        codes = np.arange(len(rows)) + len(self.texts)
        self.texts += [
            block.raw[first : first + size].tobytes()
            for first, size in zip(at[rows].tolist(), sizes[rows].tolist(), strict=True)
        ]
        everything = np.concatenate((self._sums, sums[rows]))
        order = np.argsort(everything)
        self._sums = everything[order]
        self._codes = np.concatenate((self._codes, codes))[order]

    def _compare(self, codes: Int64, sizes: Int64, words: list[Words]) -> None:
        """Make sure that rows have the texts that their sums tell."""
        if (self._words[codes, -1] != sizes).any():
            raise NotPlain
        for number, word in enumerate(words):
            if (self._words[codes, number] != word).any():
                raise NotPlain


def _words_of(block: Block, at: Int64, sizes: Int64) -> list[Words]:
    """Give the bytes of texts eight at a time; what is behind a text is 0."""
    raw = block.raw
    every = np.ndarray((len(raw) - 7,), "<u8", raw.data, strides=(1,))  # one from every byte on
    words = []
    for first in range(0, int(sizes.max()), 8):
        left = sizes - first
        # Beyond the block nothing is read: the row has no byte there.
        word = every.take(np.minimum(at + first, len(every) - 1))
        bits = (64 - 8 * np.clip(left, 1, 8)).astype(np.uint64)
        word = word << bits >> bits
        word[left <= 0] = 0
        words.append(word)
    return words

"""The pages of an SQLite file: where the rows of a table stand.

Formulas and limits are those of https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Int64 = NDArray[np.int64]

__all__ = ["Block", "NotPlain", "PageFile", "batches", "leaf_cells", "leaf_counts", "leaves"]

_INTERIOR, _LEAF = 5, 13
_INTERIOR_HEADER, _LEAF_HEADER = 12, 8
_DEEPEST = 20  # SQLite's own limit on the depth of a tree
_MARGIN = 8
_BATCH = 256
# Tables that grew side by side take turns in the file: to read over a short gap is cheaper than to
# read once more.
_GAP = 4


class NotPlain(Exception):
    """A table that is better left to SQLite: odd, or damaged."""


class Block(NamedTuple):
    """Some pages in memory.

    Parameters
    ----------
    raw : ndarray of uint8
        Whole pages, then eight zeros, so that any byte of them begins a word of eight.
    starts : ndarray of int64
        Where each page begins in `raw`, in the order in which it was asked for.
    page_size : int
        A power of two; every page begins at a multiple of it.
    """

    raw: Bytes
    starts: Int64
    page_size: int


@dataclass(frozen=True)
class PageFile:
    """An SQLite file, read by page number.

    It is read, not mapped into memory: the system ends a process that looks at a mapped file which
    someone else just cut off, and it counts all of that file as memory of the process.

    Parameters
    ----------
    file : FileIO
        The file, open and unbuffered.
    page_size : int
        Bytes a page.
    count : int
        Number of pages.
    """

    file: FileIO
    page_size: int
    count: int

    def load(self, pages: Int64) -> Block:
        """Read pages, given by their numbers from 1.

        Raises
        ------
        NotPlain
            One of them is not in the file.
        """
        if pages.min() < 1 or pages.max() > self.count:
            raise NotPlain
        ordered = pages if (pages[1:] > pages[:-1]).all() else np.unique(pages)
        breaks = np.flatnonzero(np.diff(ordered) > _GAP)
        first = ordered[np.concatenate(([0], breaks + 1))]
        length = ordered[np.concatenate((breaks, [-1]))] + 1 - first
        place = np.cumsum(length) - length
        raw = np.empty(int(length.sum()) * self.page_size + _MARGIN, np.uint8)
        raw[-_MARGIN:] = 0
        for page, here, many in zip(first.tolist(), place.tolist(), length.tolist(), strict=True):
            self._read(page, raw[here * self.page_size : (here + many) * self.page_size])
        run = np.searchsorted(first, pages, side="right") - 1
        return Block(raw, (place[run] + pages - first[run]) * self.page_size, self.page_size)

    def _read(self, page: int, target: Bytes) -> None:
        self.file.seek((page - 1) * self.page_size)
        rest = target.data
        while rest:
            got = self.file.readinto(rest)
            if not got:  # the file ends earlier than it says
                raise NotPlain
            rest = rest[got:]


def leaves(file: PageFile, root: int) -> Int64:
    """Find the pages that hold the rows of a table, in the order of the rows.

    Raises
    ------
    NotPlain
        The pages below `root` are no table, not equally deep, or go round in circles.
    """
    level = np.array([root], np.int64)
    for _ in range(_DEEPEST):
        block = file.load(level[:1])
        if block.raw[0] == _LEAF:
            return level
        level = np.concatenate([_children(file.load(part)) for part in batches(level)])
        if len(level) > file.count:
            break
    raise NotPlain


def batches(pages: Int64) -> Iterator[Int64]:
    """Cut a list of pages into parts that the processor can keep at hand."""
    for first in range(0, len(pages), _BATCH):
        yield pages[first : first + _BATCH]


def leaf_counts(block: Block) -> Int64:
    """Count the rows of each leaf page of a block."""
    return _counts(block, _LEAF, _LEAF_HEADER)


def leaf_cells(block: Block, counts: Int64) -> Int64:
    """Find where in a block the rows of its leaf pages begin."""
    return _cells(block, counts, _LEAF_HEADER)


def _children(block: Block) -> Int64:
    counts = _counts(block, _INTERIOR, _INTERIOR_HEADER)
    cells = _cells(block, counts, _INTERIOR_HEADER)
    # A page names its last child in its header, the others in its cells.
    last = _unsigned32(block.raw, block.starts + 8)
    return np.insert(_unsigned32(block.raw, cells), np.cumsum(counts), last)


def _counts(block: Block, kind: int, header: int) -> Int64:
    counts = _unsigned16(block.raw, block.starts + 3)
    if (block.raw.take(block.starts) != kind).any():
        raise NotPlain
    # Only a table without rows has a page without cells.
    if counts.min() < 1 or header + 2 * counts.max() > block.page_size:
        raise NotPlain
    return counts


def _cells(block: Block, counts: Int64, header: int) -> Int64:
    first = np.cumsum(counts) - counts
    at = np.repeat(block.starts + header - 2 * first, counts) + 2 * np.arange(counts.sum())
    offsets = _unsigned16(block.raw, at)
    # A cell has four bytes at least, and stands behind the list of the cells.
    if (np.minimum.reduceat(offsets, first) < header + 2 * counts).any():
        raise NotPlain
    if offsets.max() > block.page_size - 4:
        raise NotPlain
    return np.repeat(block.starts, counts) + offsets


def _unsigned16(raw: Bytes, at: Int64) -> Int64:
    return raw.take(at).astype(np.int64) << 8 | raw[1:].take(at)


def _unsigned32(raw: Bytes, at: Int64) -> Int64:
    return _unsigned16(raw, at) << 16 | _unsigned16(raw, at + 2)

"""The integers in the rows of an SQLite table, all rows of a block at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rlviz.reports.pages import NotPlain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rlviz.reports.pages import Block

    Bytes = NDArray[np.uint8]
    Int64 = NDArray[np.int64]

__all__ = ["NOT_INTEGER", "NULL", "decode", "locate"]

# What a cell without a number becomes; no time or identifier of nsys comes near.
NULL = -(2**63)
NOT_INTEGER = NULL + 1

# A record begins with the kinds of its values ("serial types"): 0 NULL; 1 to 6 integers of 1, 2, 3,
# 4, 6 and 8 bytes; 7 a fraction; 8 and 9 the numbers 0 and 1; 12 and up blobs and texts. 10 and 11,
# which SQLite keeps to itself, count as longer than any record.
_KINDS = np.arange(128)
_BYTES = np.where(
    _KINDS < 12, [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 2**40, 2**40, *[0] * 116], (_KINDS - 12) >> 1
)
_STORED = (_KINDS >= 1) & (_KINDS <= 6)
_SHIFT = np.where(_STORED, 64 - 8 * _BYTES, 0)  # leaves a value's own bytes of eight
_FIXED = np.select([_KINDS == 0, _KINDS == 8, _KINDS == 9], [NULL, 0, 1], NOT_INTEGER)
_LONG = 126  # stands for every blob from here on, the next one for every text


class _Records(NamedTuple):
    head: Int64  # where each record begins
    whole: Int64  # where it would end if it were all in this page
    stop: Int64  # where its part in this page ends


class _Column(NamedTuple):
    kinds: int | Bytes  # a number where all rows have the same
    sizes: int | Int64
    at: Int64  # the kind of the next column stands `ahead` bytes behind this
    ahead: int


def decode(block: Block, cells: Int64, wanted: Mapping[int, Int64]) -> None:
    """Read columns of rows of a block.

    Parameters
    ----------
    block : Block
        Leaf pages of a table.
    cells : ndarray of int64, shape (n,)
        Where in the block the rows begin; one at least.
    wanted : mapping of int to ndarray of int64, shape (n,)
        By the place of a column in the table: where its values go.

    Raises
    ------
    NotPlain, IndexError
        A row is odd or damaged, or lacks a column.
    """
    raw = block.raw
    words = np.ndarray((len(raw) - 7,), ">i8", raw.data, strides=(1,))  # one from every byte on
    records = _records(block, cells)
    told = raw.take(records.head)  # bytes that tell the kinds, this one included
    if told.max() >= 128:
        raise NotPlain
    first = at = records.head + told
    # Values that are as long in all rows move all of them by the same distance.
    moved, columns = 0, _columns(raw, records.head + 1)
    for place, column in zip(range(max(wanted) + 1), columns, strict=False):
        if place in wanted:
            _read(raw[moved:], words[moved:], at, column.kinds, wanted[place])
        if isinstance(column.sizes, int):
            moved += column.sizes
        else:
            at = at + column.sizes
    # Anything may have been read up to here: now it shows whether it lay inside its record.
    _check(records, first, column.at + column.ahead, at + moved)


def locate(block: Block, cells: Int64, place: int) -> tuple[Bytes, Int64, Int64]:
    """Find a column of rows of a block.

    Parameters
    ----------
    block : Block
        Leaf pages of a table.
    cells : ndarray of int64, shape (n,)
        Where in the block the rows begin; one at least.
    place : int
        Of the column in the table.

    Returns
    -------
    kinds : ndarray of uint8, shape (n,)
        What the values are: 0 NULL, from 12 on even numbers blobs and odd ones texts.
    at, sizes : ndarray of int64, shape (n,)
        Where each begins, and how many bytes it has.

    Raises
    ------
    NotPlain, IndexError
        A row is odd or damaged, or lacks the column.
    """
    raw = block.raw
    records = _records(block, cells)
    told = raw.take(records.head)
    if told.max() >= 128:
        raise NotPlain
    first = at = records.head + told
    for _, column in zip(range(place + 1), _columns(raw, records.head + 1), strict=False):
        start, at = at, at + column.sizes
    _check(records, first, column.at + column.ahead, at)
    kinds = np.broadcast_to(np.asarray(column.kinds, np.uint8), len(cells))
    return kinds, start, at - start


def _records(block: Block, cells: Int64) -> _Records:
    raw, size = block.raw, block.page_size
    payload, at = _varint(raw, cells, 3)
    # The row's number comes next, and takes up to nine bytes.
    length = np.ones(len(cells), np.int64)
    more = np.ones(len(cells), np.bool_)
    for place in range(8):
        more &= raw[place:].take(at) >= 128
        if not more.any():
            break
        length += more
    head = at + length
    whole = stop = end = head + payload
    if payload.max() > size - 35:
        # The rest of a long record is on other pages, named by the four bytes behind this part.
        least = (size - 12) * 32 // 255 - 23
        part = least + (payload - least) % (size - 4)
        part = np.where(part > size - 35, least, part)
        spills = payload > size - 35
        stop = np.where(spills, head + part, whole)
        end = np.where(spills, stop + 4, whole)
    if (end > (cells | (size - 1)) + 1).any():  # beyond its page
        raise NotPlain
    return _Records(head, whole, stop)


def _varint(raw: Bytes, at: Int64, most: int) -> tuple[Int64, Int64]:
    """Read numbers of seven bits a byte, and where they end."""
    byte = raw.take(at)
    more = byte >= 128
    value = (byte & 127).astype(np.int64)
    at = at + 1
    for _ in range(most - 1):
        if not more.any():
            return value, at
        byte = raw.take(at)
        value = np.where(more, value << 7 | byte & 127, value)
        at += more
        more &= byte >= 128
    if more.any():
        raise NotPlain
    return value, at


def _columns(raw: Bytes, at: Int64) -> Iterator[_Column]:
    """Find the kinds of one column after the other; those of the first stand at `at`."""
    words = np.ndarray((len(raw) - 7,), "<u8", raw.data, strides=(1,))
    while True:
        eight = words[at]
        common, differ = int(eight[0]), int(np.bitwise_or.reduce(eight ^ eight[0]))
        for place in range(8):
            kind = common >> 8 * place & 255
            if kind < 128 and not differ >> 8 * place & 255:
                yield _Column(kind, int(_BYTES[kind]), at, place + 1)
                continue
            kinds = (eight >> np.uint64(8 * place)).astype(np.uint8)
            if kinds.max() >= 128:  # the kind takes several bytes: a text of more than 57 letters
                long, at = _varint(raw, at + place, 4)
                kinds = np.where(long < _LONG, long, _LONG | (long & 1)).astype(np.uint8)
                sizes = np.where(long < _LONG, _BYTES.take(kinds), (long - 12) >> 1)
                yield _Column(kinds, sizes, at, 0)
                break
            yield _Column(kinds, _BYTES.take(kinds), at, place + 1)
        else:
            at = at + 8


def _read(raw: Bytes, words: Int64, at: Int64, kinds: int | Bytes, target: Int64) -> None:
    if isinstance(kinds, int) and not _STORED[kinds]:
        target[:] = _FIXED[kinds]
        return
    if isinstance(kinds, int) and kinds == 1:
        target[:] = raw.view(np.int8).take(at)
        return
    target[:] = words[at]
    target >>= _SHIFT.take(kinds)
    if not isinstance(kinds, int) and (kinds.min() < 1 or kinds.max() > 6):
        fixed = np.flatnonzero(~_STORED.take(kinds))
        target[fixed] = _FIXED.take(kinds[fixed])


def _check(records: _Records, first: Int64, kinds_end: Int64, values_end: Int64) -> None:
    if (kinds_end > first).any() or (values_end > records.stop).any():
        raise NotPlain
    # SQLite takes a record for damaged that has something behind its last value.
    full = kinds_end == first
    if (full & (values_end != records.whole)).any():
        raise NotPlain

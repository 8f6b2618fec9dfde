"""Integers of many rows in a few long texts: SQLite spells numbers sooner than Python fetches them.

What the next rows will be like is guessed from those before. Of a row, SQLite makes one or two
numbers of 19 digits in which each column has its bits, or a point where the guess does not hold:
then the rows have to be read otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rlviz.reports.records import NULL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Columns = dict[str, Int64]

__all__ = ["Guess", "Packing"]

_DIGITS = 19
_BASE = 10**18  # added to what has 62 bits, gives 19 digits
_BITS = 62
_FARTHEST = 1 << _BITS
_SURELY_FITS = 1 << 58  # even a few more in a sum with the number
_ODD = "."  # also in all that SQLite makes of a fraction, or of a number of more than 64 bits
_GREATEST = (1 << 63) - 1  # SQL has every text and blob above all numbers
_SMALL_BITS = 45  # numbers of no more are counted from 0, and may become eight times as great
_CLOSER_BITS = 3  # fewer do not make up for the subtraction


class _Range(NamedTuple):
    low: int
    high: int  # below `low` where there is no number
    absent: bool  # some are NULL

    def and_(self, other: _Range) -> _Range:
        return _Range(
            min(self.low, other.low), max(self.high, other.high), self.absent or other.absent
        )


class _Field(NamedTuple):
    column: str
    since: str  # the column that it is counted from; "" is none
    low: int
    bits: int
    absent: bool  # 0 stands for NULL, and every number for one less

    @property
    def difference(self) -> str:
        return f'("{self.column}" - "{self.since}")' if self.since else f'+"{self.column}"'

    def term(self, shift: int) -> tuple[str, int]:
        """Give the SQL of its part of a number, and what has to be taken off in the end."""
        term, off = self.difference, (self.low - self.absent) << shift
        if self.absent or abs(off) > _SURELY_FITS:
            term, off = f"({term} - ({self.low - self.absent}))", 0
        if self.absent:
            term = f"ifnull({term}, 0)"
        return (f"{term} * {1 << shift}" if shift else term), off

    def condition(self, *, highest: bool) -> str:
        """Tell in SQL that the value fits; of the highest bits of a number, its length tells."""
        value, is_number = self.difference, f'+"{self.column}" <= {_GREATEST}'
        high = self.low + (1 << self.bits) - 1 - self.absent
        inside = f"{value} BETWEEN {self.low} AND {high}" if self.bits else f"{value} = {self.low}"
        if self.absent:
            return f'("{self.column}" IS NULL OR ({is_number} AND {inside}))'
        if highest:
            return is_number
        return f"{is_number} AND {inside}" if self.since else inside


class Packing(NamedTuple):
    """What a text is made of.

    Parameters
    ----------
    names : tuple of str
        The columns, in their order.
    numbers : list of list of _Field
        What each number holds, the highest bits first.
    nulls : frozenset of str
        Columns that are NULL in all rows.
    """

    names: tuple[str, ...]
    numbers: list[list[_Field]]
    nulls: frozenset[str]

    def texts(self, where: str) -> list[str]:
        """Give the SQL of an aggregate for each number, over the rows where `where` holds."""
        conditions = [f'"{column}" IS NULL' for column in self.names if column in self.nulls]
        cells = []
        for number in self.numbers:
            terms, base = [], _BASE
            for field, shift in _with_shifts(number):
                conditions.append(field.condition(highest=field is number[0]))
                term, off = field.term(shift)
                terms.append(term)
                base -= off
            cells.append(" + ".join([*terms, str(base)]))
        cells[0] = f"CASE WHEN {' AND '.join(conditions)} THEN {cells[0]} ELSE '{_ODD}' END"
        if where:
            cells = [f"CASE WHEN {where} THEN {cell} END" for cell in cells]
        return [f"group_concat({cell}, '')" for cell in cells]

    def columns(self, texts: Sequence[str]) -> tuple[int, Columns] | None:
        """Take rows out of the texts, and tell how many; None where one was not as guessed."""
        rows, rest = divmod(len(texts[0]), _DIGITS)
        # No number has more digits, so that with so many in all none can have fewer.
        if rest or any(len(t) != len(texts[0]) or _ODD in t or "-" in t for t in texts):
            return None
        packed: Columns = {}
        fields = {}
        for number, text in zip(self.numbers, texts, strict=True):
            value = _parsed(text.encode("ascii"), rows)
            for field, shift in _with_shifts(number):
                fields[field.column] = field
                part = value >> shift
                if field is not number[0]:
                    part &= (1 << field.bits) - 1
                packed[field.column] = part
        columns: Columns = {}
        for name in self.names:
            if name in self.nulls:
                columns[name] = np.full(rows, NULL)
                continue
            field, part = fields[name], packed[name]
            gone = part == 0 if field.absent else None
            part += field.low - field.absent
            if field.since:
                part += columns[field.since]
            if gone is not None:
                part[gone] = NULL
            columns[name] = part
        return rows, columns


class Guess:
    """What rows are like, from those that were read.

    Attributes
    ----------
    packing : Packing or None
        For rows like them; None: they are not to be packed.
    """

    def __init__(self) -> None:
        self.packing: Packing | None = None
        self._ranges: dict[tuple[str, str], _Range | None] = {}

    def learn(self, columns: Mapping[str, Int64]) -> None:
        """Take rows into account: one at least."""
        own = _ranges(columns)
        known = {key: _both(self._ranges.get(key, found), found) for key, found in own.items()}
        self.packing = _packing(tuple(columns), known)
        if self.packing is None:
            known, self.packing = own, _packing(tuple(columns), own)
        self._ranges = known


def _ranges(columns: Mapping[str, Int64]) -> dict[tuple[str, str], _Range | None]:
    found: dict[tuple[str, str], _Range | None] = {}
    before = ""
    for name, values in columns.items():
        found[name, ""] = own = _range(values)
        if before:
            since, found[name, before] = found[before, ""], None
            if own is not None and since is not None and not since.absent:
                difference = np.where(values != NULL, values - columns[before], NULL)
                found[name, before] = _range(difference)
        before = name
    return found


def _range(values: Int64) -> _Range | None:
    there = values[values != NULL]
    if not len(there):
        return _Range(_FARTHEST, -_FARTHEST, absent=True)
    low, high = int(there.min()), int(there.max())
    if not -_FARTHEST < 2 * low <= 2 * high < _FARTHEST:
        return None
    return _Range(low, high, absent=len(there) < len(values))


def _both(one: _Range | None, other: _Range | None) -> _Range | None:
    return None if one is None or other is None else one.and_(other)


def _packing(
    names: tuple[str, ...], ranges: Mapping[tuple[str, str], _Range | None]
) -> Packing | None:
    fields, nulls = [], set()
    for before, name in zip(("", *names), names, strict=False):
        own, since = ranges[name, ""], ranges[name, before]
        if own is None:
            return None
        if own.high < own.low:
            nulls.add(name)
            continue
        field = _field(name, "", own)
        if since is not None and before:
            closer = _field(name, before, since)
            if closer.bits + _CLOSER_BITS <= field.bits:
                field = closer
        if field.bits > _BITS:
            return None
        fields.append(field)
    return Packing(names, _placed(fields), frozenset(nulls))


def _field(name: str, since: str, known: _Range) -> _Field:
    low, high, absent = known
    if low == high:
        return _Field(name, since, low, int(absent), absent)
    if low >= 0 and high < 1 << _SMALL_BITS:
        return _Field(name, since, 0, high.bit_length() + 3, absent)
    span = high - low + 1
    return _Field(name, since, low - span, (3 * span).bit_length(), absent)


def _placed(fields: list[_Field]) -> list[list[_Field]]:
    """Share the columns out to as few numbers as may be.

    What a number has left is its greatest column's, which may grow: so they get the same.
    """
    fields.sort(key=lambda field: -field.bits)
    count = 0
    while True:
        count += 1
        numbers: list[list[_Field]] = [[] for _ in range(count)]
        for field in fields:
            min(numbers, key=_bits).append(field)
        if max(map(_bits, numbers)) <= _BITS:
            return numbers


def _bits(number: list[_Field]) -> int:
    return sum(field.bits for field in number)


def _with_shifts(number: list[_Field]) -> Iterable[tuple[_Field, int]]:
    shift = _bits(number)
    for field in number:
        shift -= field.bits
        yield field, shift


def _parsed(text: bytes, rows: int) -> Int64:
    """Read numbers of `_DIGITS` digits: the first three, and twice eight at a time."""
    value = np.zeros(rows, np.int64)
    if not rows:
        return value
    for place in range(3):
        value *= 10
        value += np.ndarray((rows,), np.uint8, text, place, (_DIGITS,))
    value -= 111 * ord("0")
    for place in (3, 11):
        value *= 10**8
        value += _eight_digits(np.ndarray((rows,), "<u8", text, place, (_DIGITS,)))
    value -= _BASE
    return value


def _eight_digits(words: NDArray[np.uint64]) -> Int64:
    # Neighbours are joined: digits to pairs, pairs to fours, fours to the number.
    joined = words & np.uint64(0x0F0F_0F0F_0F0F_0F0F)
    for mask, factor, bits in (
        (0x00FF_00FF_00FF_00FF, 10 << 8 | 1, 8),
        (0x0000_FFFF_0000_FFFF, 100 << 16 | 1, 16),
        (0x0000_0000_FFFF_FFFF, 10_000 << 32 | 1, 32),
    ):
        joined *= np.uint64(factor)
        joined >>= np.uint64(bits)
        joined &= np.uint64(mask)
    return joined.view(np.int64)

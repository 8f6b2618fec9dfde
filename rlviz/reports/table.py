"""What every event table needs: names as codes, and rows that cannot be true left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER
from rlviz.reports.report import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.reports.database import Database

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    Flags = NDArray[np.bool_]

__all__ = ["LONGEST_NS", "UNNAMED", "Faults", "Names", "Window", "missing_columns", "nullable"]

UNNAMED = "<unnamed>"

_DENSE = 1 << 24

# GPU times are converted to the CPU's clock and may pass the window's limits by a little; further
# out than this, a row tells of another clock or of nothing.
_SLACK_NS = 5_000_000_000

LONGEST_NS = 1 << 53
"""No capture is longer: 104 days, as far as a browser counts in nanoseconds."""


class Names:
    """The distinct texts of a report, and the code of each."""

    def __init__(self, database: Database, known: Sequence[str] = ()) -> None:
        self._database = database
        self._codes = {text: code for code, text in enumerate(known)}
        # By id, its code and 2 more: 0 is yet to be looked up. Of zeros, only what is written to
        # takes memory.
        self._by_id = np.zeros(_DENSE, np.int32)
        self._by_odd_id: dict[int, int] = {}

    @property
    def texts(self) -> list[str]:
        """Texts in the order of their codes."""
        return list(self._codes)

    def code(self, text: str) -> int:
        """Give the text a code, or find the one it has."""
        return self._codes.setdefault(text, len(self._codes))

    def of_texts(self, codes: Int64, texts: list[str]) -> Int64:
        """Turn codes into `texts` into codes of this report; -1 stays -1."""
        return np.array([*(self.code(text) for text in texts), -1], np.int64)[codes]

    def of_string_ids(self, ids: Int64) -> Int32:
        """Turn ids of ``StringIds`` into codes; -1 where there is no such string."""
        if not len(ids):
            return np.empty(0, np.int32)
        # nsys numbers its strings: a table tells the code of an id.
        if ids.min() < 0 or ids.max() >= _DENSE:
            return self._of_any_ids(ids)
        codes = self._by_id.take(ids)
        if not codes.all():
            new = _by_first(ids[codes == 0])
            self._by_id[new] = self._look_up(new) + 2
            codes = self._by_id.take(ids)
        codes -= 2
        return codes

    def _of_any_ids(self, ids: Int64) -> Int32:
        codes = np.full(len(ids), -1, np.int32)
        dense = (ids >= 0) & (ids < _DENSE)
        codes[dense] = self.of_string_ids(ids[dense])
        sparse = ~dense & (ids > NOT_INTEGER)
        if sparse.any():
            known = self._by_odd_id
            new = _by_first(ids[sparse])
            new = new[[int(key) not in known for key in new]]
            known.update(zip(new.tolist(), self._look_up(new).tolist(), strict=True))
            codes[sparse] = [known[key] for key in ids[sparse].tolist()]
        return codes

    def _look_up(self, ids: Int64) -> Int32:
        strings = self._database.strings(ids.tolist())
        codes = [self.code(strings[key]) if key in strings else -1 for key in ids.tolist()]
        return np.array(codes, np.int32)


@dataclass(frozen=True)
class Window:
    """The capture window on the report's clock: from 0 to `duration_ns`, which may be unknown."""

    duration_ns: int | None

    def far_outside(self, start: Int64, end: Int64) -> Flags:
        """Tell which rows begin or end where this capture cannot have seen them."""
        if self.duration_ns is None:
            return (start < -LONGEST_NS) | (end > LONGEST_NS)
        return (start < -_SLACK_NS) | (end > self.duration_ns + _SLACK_NS)


@dataclass
class Faults:
    """Rows of one table that are left out, by reason."""

    table: str
    rows: int
    good: Flags = field(init=False)
    reasons: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.good = np.ones(self.rows, np.bool_)

    def leave_out(self, bad: Flags, reason: str) -> None:
        """Leave out the rows that are `bad` and not left out yet."""
        bad = bad & self.good
        self.reasons[reason] = int(bad.sum())
        if self.reasons[reason]:
            self.good &= ~bad

    def include(self, others: Faults) -> None:
        """Take in those of further rows; `good` stays that of the first."""
        self.rows += others.rows
        for reason, count in others.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count

    def diagnostics(self) -> list[Diagnostic]:
        """One diagnostic for the table, or none."""
        total = sum(self.reasons.values())
        if not total:
            return []
        parts = ", ".join(f"{n} {reason}" for reason, n in self.reasons.items() if n)
        message = f"{total} of {self.rows} rows of {self.table} left out and not counted: {parts}."
        return [Diagnostic("warning", "bad-rows", message, count=total)]


def missing_columns(
    database: Database, table: str, columns: tuple[str, ...], found: list[Diagnostic]
) -> bool:
    """Tell whether the table is unusable, and add the diagnostic that says why."""
    if table not in database.tables:
        return True
    missing = [c for c in columns if c not in database.tables[table]]
    if missing:
        message = (
            f"{table} has no column {', '.join(missing)}: it was not read. The schema is unknown "
            "to rlviz; export the report again with another version of nsys."
        )
        found.append(Diagnostic("warning", "schema", message, count=len(missing)))
    return bool(missing)


def nullable(name: str, values: Int64) -> pl.Series:
    """Make a column in which `NULL` and `NOT_INTEGER` are null."""
    series = pl.Series(name, values)
    absent = values <= NOT_INTEGER
    return series.set(pl.Series(absent), None) if absent.any() else series


def _by_first(values: Int64) -> Int64:
    """Give distinct values in the order in which they come."""
    distinct, first = np.unique(values, return_index=True)
    return distinct[np.argsort(first)]

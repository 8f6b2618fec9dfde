"""What every event table needs: names as codes, and rows that cannot be true left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER, NULL
from rlviz.reports.report import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.reports.database import Database

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["LONGEST_NS", "UNNAMED", "Faults", "Names", "Window", "missing_columns", "nullable"]

UNNAMED = "<unnamed>"

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

    def of_string_ids(self, ids: Int64) -> Int64:
        """Turn ids of ``StringIds`` into codes; -1 where there is no such string."""
        distinct = pl.Series(ids).unique().sort().to_numpy()
        wanted = [int(key) for key in distinct if key not in (NULL, NOT_INTEGER)]
        strings = self._database.strings(wanted)
        codes = [self.code(strings[int(k)]) if int(k) in strings else -1 for k in distinct]
        return np.array(codes, np.int64)[np.searchsorted(distinct, ids)]


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
    reasons: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.good = np.ones(self.rows, np.bool_)

    def leave_out(self, bad: Flags, reason: str) -> None:
        """Leave out the rows that are `bad` and not left out yet."""
        bad = bad & self.good
        if count := int(bad.sum()):
            self.reasons.append((count, reason))
            self.good &= ~bad

    def diagnostics(self) -> list[Diagnostic]:
        """One diagnostic for the table, or none."""
        total = sum(count for count, _ in self.reasons)
        if not total:
            return []
        parts = ", ".join(f"{count} {reason}" for count, reason in self.reasons)
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

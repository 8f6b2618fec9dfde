"""The GPU events of a row as they are drawn: times on the run's clock, the run's codes of names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.gpu_part import GpuPart

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    Flags = NDArray[np.bool_]

__all__ = ["RowEvents", "order_of"]


@dataclass(frozen=True)
class RowEvents:
    """GPU events of one row by start, over all its lanes and reports.

    Columns stand as the report has them, most often mapped from a file: only what is asked for is
    put on the run's clock and into its names.

    Parameters
    ----------
    read_start, read_end : ndarray of int64, shape (n,)
        Times of the report.
    read_name : ndarray of int32, shape (n,)
        Codes of the report.
    offset_ns : int
        What turns the times into those of the run.
    recode : ndarray of int32
        The run's code of each of the report's codes.
    """

    read_start: Int64
    read_end: Int64
    read_name: Int32
    offset_ns: int
    recode: Int32

    @classmethod
    def of(cls, parts: Sequence[GpuPart]) -> RowEvents:
        """Bring the parts of a row together, one at least."""
        if len(parts) == 1:
            part = parts[0]
            start, end, name = (part.read[c].to_numpy() for c in ("start", "end", "name"))
            return cls(start, end, name, part.offset_ns, part.recode)
        order = order_of(parts)
        start, end, name = (
            joint if order is None else joint[order]
            for joint in (
                np.concatenate([getattr(part, column) for part in parts])
                for column in ("start_ns", "end_ns", "name")
            )
        )
        return cls.as_they_are(start, end, name)

    @classmethod
    def as_they_are(cls, start_ns: Int64, end_ns: Int64, name: Int32) -> RowEvents:
        """Take events that are on the run's clock and have its names already."""
        names = int(name.max(initial=0)) + 1
        return cls(start_ns, end_ns, name, 0, np.arange(names, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.read_start)

    def start_ns(self, own: slice | Int64 = slice(None)) -> Int64:
        """Give the starts of some events."""
        return self.read_start[own] + self.offset_ns

    def end_ns(self, own: slice | Int64 = slice(None)) -> Int64:
        """Give the ends of some events."""
        return self.read_end[own] + self.offset_ns

    def moved(self, own: slice | Int64, by_ns: int) -> tuple[Int64, Int64]:
        """Give copies of starts and ends of some events, so much later on the run's clock."""
        moved = self.offset_ns + by_ns
        return self.read_start[own] + moved, self.read_end[own] + moved

    def end_behind(self, own: slice, at_ns: int) -> Flags:
        """Tell of some events which end behind a moment."""
        return self.read_end[own] > at_ns - self.offset_ns

    def name(self, own: slice | Int64 = slice(None)) -> Int32:
        """Give the codes of the names of some events."""
        return self.recode[self.read_name[own]]

    def begun_before(self, at_ns: int) -> int:
        """Count the events that start before a moment."""
        return int(np.searchsorted(self.read_start, at_ns - self.offset_ns, side="left"))


def order_of(parts: Sequence[GpuPart]) -> Int64 | None:
    """Tell how to sort the events of several parts by start; None where they are."""
    if len(parts) == 1:
        return None
    start = np.concatenate([part.start_ns for part in parts])
    return np.argsort(start, kind="stable") if (start[1:] < start[:-1]).any() else None

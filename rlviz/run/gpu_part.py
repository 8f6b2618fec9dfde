"""GPU rows of one lane in one report, as a run has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from rlviz.run.intervals import union

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["GpuPart"]

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class GpuPart:
    """Lean GPU rows of one lane in one report, by start.

    Parameters
    ----------
    row, lane : int
        Where they belong.
    entry : str or None
        Key under which the store keeps the report.
    first : int
        Number of the first among the rows of the report.
    read : polars.DataFrame
        The rows as of `rlviz.reports.gpu_rows`, with times and codes of their report.
    read_sums : polars.DataFrame
        What they add up to by kind and name, as of `rlviz.reports.sums`.
    offset_ns : int
        What turns the report's times into those of the run.
    recode : ndarray of int32
        The run's code of each of the report's codes of names.
    """

    row: int
    lane: int
    entry: str | None
    first: int
    read: pl.DataFrame
    read_sums: pl.DataFrame
    offset_ns: int
    recode: NDArray[np.int32]

    @cached_property
    def start_ns(self) -> Int64:
        """Starts on the run's clock."""
        return self._shifted("start")

    @cached_property
    def end_ns(self) -> Int64:
        """Ends on the run's clock."""
        return self._shifted("end")

    @property
    def kind(self) -> NDArray[np.uint8]:
        """Kinds as of `rlviz.reports.gpu_rows`."""
        kind: NDArray[np.uint8] = self.read["kind"].to_numpy()
        return kind

    @property
    def sums(self) -> pl.DataFrame:
        """What the rows add up to by kind and name (a code): count, total_ns, longest_ns."""
        own = self.read_sums["name"].to_numpy()
        return self.read_sums.with_columns(pl.Series("name", self.recode[own]))

    @cached_property
    def name(self) -> NDArray[np.int32]:
        """Codes of short names."""
        name: NDArray[np.int32] = self.recode[self.read["name"].to_numpy()]
        return name

    def starts(self, own: slice | Int64 | Flags) -> Int64:
        """Give the starts of some rows."""
        return self.read["start"].to_numpy()[own] + self.offset_ns

    def ends(self, own: slice | Int64 | Flags) -> Int64:
        """Give the ends of some rows."""
        return self.read["end"].to_numpy()[own] + self.offset_ns

    def tell(self, table: NDArray[T], own: slice = slice(None)) -> NDArray[T]:
        """Look the names of some rows up in a table by the run's codes."""
        found: NDArray[T] = table[self.recode][self.read["name"].to_numpy()[own]]
        return found

    def begun_before(self, at_ns: int) -> int:
        """Count the rows that start before a moment."""
        return int(self.read["start"].to_numpy().searchsorted(at_ns - self.offset_ns))

    def release(self) -> None:
        """Let go of what is made of the report's columns, which are there to make it again."""
        for name in ("start_ns", "end_ns", "name", "busy"):
            self.__dict__.pop(name, None)

    def _shifted(self, column: str) -> Int64:
        read = self.read[column].to_numpy()
        return read + self.offset_ns if self.offset_ns else read

    @cached_property
    def busy(self) -> tuple[Int64, Int64]:
        """Union of the rows."""
        return union(self.start_ns, self.end_ns)

"""Collectives of a report, in the order in which a rank took part in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

__all__ = ["BROADCASTS", "KINDS", "TOGETHER", "Kind", "Series", "series_of"]


@dataclass(frozen=True)
class Kind:
    """Collectives that tell a clock.

    Parameters
    ----------
    name : str
        What to call them.
    kernels : str
        Regular expression over the names of their kernels.
    apart_ns : int
        Ends of one collective on two ranks are never further apart.
    sharp_ns : int
        Half of them are not further from their median than this, or they are no collectives of one
        communicator: workers that wait for the same thing go on at nearly the same time, too.
    alone_ns : int
        One that ends sooner after the one before it is not told from that by its time.
    """

    name: str
    kernels: str
    apart_ns: int
    sharp_ns: int
    alone_ns: int


TOGETHER = Kind("collectives", r"(?i)all_?reduce|all_?gather", 1_000_000, 250_000, 5_000_000)
"""All ranks need all others: none is done before the last one has come."""

BROADCASTS = Kind("broadcasts", r"(?i)broadcast", 5_000_000, 2_500_000, 25_000_000)
"""The root is done when its data is out, the others when it has come: some ms are normal."""

KINDS = (TOGETHER, BROADCASTS)
"""The best first."""


@dataclass(frozen=True)
class Series:
    """Collectives of one communicator on one rank, in their order.

    Parameters
    ----------
    report : int
        Index of the report.
    key : tuple
        Name and grid of the kernels; the same on every rank.
    end_ns : ndarray of int64, shape (n,)
        Ends of those that are told apart by their times, ascending, on the clock to be judged.
    gap_ns : ndarray of int64, shape (n,)
        How long after the end of the one before it each ends.
    window_ns : (int, int)
        When the report would have seen one, on the same clock.
    length_ns : int
        Median duration.
    """

    report: int
    key: tuple[object, ...]
    end_ns: Int64
    gap_ns: Int64
    window_ns: tuple[int, int]
    length_ns: int

    def after(self, gap_ns: int) -> Series:
        """Keep those that end at least so long after the one before them."""
        kept = self.gap_ns >= gap_ns
        return replace(self, end_ns=self.end_ns[kept], gap_ns=self.gap_ns[kept])


def series_of(
    report: int, collectives: pl.DataFrame, base_ns: int, window_ns: tuple[int, int], kind: Kind
) -> list[Series]:
    """Sort the collectives of a report into series.

    Parameters
    ----------
    report : int
        Index of the report.
    collectives : polars.DataFrame
        As of `rlviz.reports.collectives`.
    base_ns : int
        What turns its times into those of the clock to be judged.
    window_ns : (int, int)
        Capture window on that clock.
    kind : Kind
        Which of them.
    """
    chosen = collectives.filter(pl.col("name").str.contains(kind.kernels))
    # Each communicator has a stream of its own; its number means nothing to other processes.
    by_rank = ["pid", "device", "stream", "name", "grid_x", "grid_y", "grid_z"]
    found = []
    for key, part in chosen.partition_by(by_rank, as_dict=True, maintain_order=True).items():
        end = np.sort(part["end"].to_numpy()) + base_ns
        gap = np.diff(end, prepend=window_ns[0])
        alone = gap >= kind.alone_ns
        length = int((part["end"] - part["start"]).median() or 0)  # type: ignore[arg-type]
        if alone.any():
            found.append(Series(report, key[3:], end[alone], gap[alone], window_ns, length))
    return found

"""How much of any window is busy: merged intervals with prefix sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

__all__ = ["Coverage"]


@dataclass(frozen=True)
class Coverage:
    """Exact busy time up to any moment, by binary search.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        Disjoint ascending intervals in nanoseconds, as `rlviz.run.intervals.union` gives them.
    sums : ndarray of int64, shape (n + 1,)
        Their lengths, summed up.
    """

    start: Int64
    end: Int64
    sums: Int64

    @classmethod
    def of(cls, start: Int64, end: Int64) -> Coverage:
        """Prepare disjoint ascending intervals.

        Examples
        --------
        >>> Coverage.of(np.array([0, 20]), np.array([10, 25])).between(np.array([5, 22, 30]))
        array([7, 3])
        """
        return cls(start, end, np.concatenate(([0], np.cumsum(end - start))))

    def until(self, at: Int64) -> Int64:
        """Busy nanoseconds before each moment `at`."""
        place = np.searchsorted(self.start, at, side="right")
        if len(self.end) == 0:
            return np.zeros(len(at), np.int64)
        # The last interval that began may go on past the moment.
        over = np.maximum(self.end[np.maximum(place - 1, 0)] - at, 0)
        return np.asarray(self.sums[place] - np.where(place > 0, over, 0))

    def between(self, edges: Int64) -> Int64:
        """Busy nanoseconds between each two successive `edges`; shape (len(edges) - 1,)."""
        return np.diff(self.until(edges))

"""What is drawn of a row where its events are many: a bucket about a pixel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Nanoseconds = NDArray[np.uint32 | np.int64]

__all__ = ["Facet", "Strip"]

Facet: TypeAlias = Literal["code", "kind", "group"]


@dataclass(frozen=True)
class Strip:
    """Buckets of a row in a view; arrays have shape (n,).

    Parameters
    ----------
    row : int
        Row of the chart.
    start_ns, width_ns : int
        Left edge of the first bucket on the run's clock, and width of all.
    busy_ns : ndarray of uint32 or int64
        Exact union of the events in the bucket.
    count : ndarray of int32
        Events that a bucket stands for.
    code : ndarray of uint8
        What takes most of its event time, `NOTHING` without any: an index into
        ``rlviz.run.phases.ACTIVITY``, into ``rlviz.levels.groups.KINDS``, or a group.
    """

    row: int
    start_ns: int
    width_ns: int
    busy_ns: Nanoseconds
    count: Int32
    code: UInt8

    def __len__(self) -> int:
        return len(self.code)

    @cached_property
    def coverage(self) -> UInt8:
        """Busy share of each bucket, of 255, rounded up: what is there at all is never 0."""
        share = -(-self.busy_ns.astype(np.int64) * 255 // self.width_ns)
        return np.where(self.count > 0, np.maximum(share, 1), 0).astype(np.uint8)

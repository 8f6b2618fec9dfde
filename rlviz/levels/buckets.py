"""Activity merged into buckets of equal width: busy time exact, names by dominance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.levels.coverage import Coverage
from rlviz.run.intervals import union

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Float = NDArray[np.float64]

__all__ = ["Buckets", "bucket_width_ns", "in_buckets"]


@dataclass(frozen=True)
class Buckets:
    """The buckets of a row that hold anything; all arrays have shape (n,).

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64
        The bucket's own edges, cut to the first and last event.
    busy_ns : ndarray of int64
        Union of what lies in it; over all buckets the sum is the row's busy time.
    count : ndarray of int64
        Events that reach into it. One that spans several buckets counts in each.
    name, color, kind : ndarray of int64
        Code with the most event time in it.
    name_share : ndarray of float64
        That time over the event time of all names in it.
    """

    start_ns: Int64
    end_ns: Int64
    busy_ns: Int64
    count: Int64
    name: Int64
    color: Int64
    kind: Int64
    name_share: Float


def bucket_width_ns(span_ns: int, at_most: int) -> int:
    """Smallest power of two that cuts `span_ns` into `at_most` buckets.

    Powers of two make buckets of one width the halves of the next.

    Examples
    --------
    >>> bucket_width_ns(1000, 10)
    128
    """
    needed = max(span_ns // max(at_most - 1, 1), 1)
    return 1 << int(needed - 1).bit_length()


def in_buckets(
    start: Int64, end: Int64, name: Int64, color: Int64, kind: Int64, width_ns: int
) -> Buckets:
    """Merge events into buckets whose edges are multiples of `width_ns`.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        Nanoseconds; they may overlap. Events without length have no share in a bucket's busy time
        but make it a bucket that holds something.
    name, color, kind : ndarray of int64, shape (n,)
        Codes, 0 or more.
    width_ns : int
        Width of a bucket.

    Examples
    --------
    >>> b = in_buckets(*(np.array(a) for a in ([0, 6], [5, 12], [0, 1], [0, 0], [0, 0])), 8)
    >>> b.busy_ns, b.count, b.name
    (array([7, 4]), array([2, 1]), array([0, 1]))
    """
    if len(start) == 0:
        none = np.empty(0, np.int64)
        return Buckets(none, none, none, none, none, none, none, np.empty(0))
    pieces = _pieces(start, end, width_ns)
    owner = pieces["owner"].to_numpy()
    codes = {"name": name, "color": color, "kind": kind}
    pieces = pieces.with_columns(pl.Series(key, code[owner]) for key, code in codes.items())
    held = pieces.group_by("bucket").agg(pl.len().alias("count"), pl.sum("time")).sort("bucket")
    names, colors, kinds = (_dominant(pieces, key) for key in codes)
    bucket = held["bucket"].to_numpy()
    left, right = bucket * width_ns, (bucket + 1) * width_ns
    coverage = Coverage.of(*union(start, end))
    total = held["time"].to_numpy()
    most = names["time"].to_numpy()
    return Buckets(
        start_ns=np.maximum(left, start.min()),
        end_ns=np.minimum(right, max(end.max(), int(start.max()) + 1)),
        busy_ns=coverage.until(right) - coverage.until(left),
        count=held["count"].cast(pl.Int64).to_numpy(),
        name=names["name"].to_numpy(),
        color=colors["color"].to_numpy(),
        kind=kinds["kind"].to_numpy(),
        name_share=np.where(total > 0, most / np.maximum(total, 1), 1.0),
    )


def _pieces(start: Int64, end: Int64, width_ns: int) -> pl.DataFrame:
    """Cut events at bucket edges: columns bucket, owner (index of the event), time (ns)."""
    first = start // width_ns
    # An event that ends on an edge does not reach into the bucket behind it.
    last = np.maximum((end - 1) // width_ns, first)
    pieces = last - first + 1
    owner = np.repeat(np.arange(len(start)), pieces)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    bucket = first[owner] + within
    left = np.maximum(start[owner], bucket * width_ns)
    right = np.minimum(end[owner], (bucket + 1) * width_ns)
    return pl.DataFrame({"bucket": bucket, "owner": owner, "time": right - left})


def _dominant(pieces: pl.DataFrame, code: str) -> pl.DataFrame:
    """Find the code with the most time in each bucket; of equals the smallest, to be stable."""
    times = pieces.group_by("bucket", code).agg(pl.sum("time"))
    order = times.sort(["bucket", "time", code], descending=[False, True, False])
    return order.group_by("bucket", maintain_order=True).first()

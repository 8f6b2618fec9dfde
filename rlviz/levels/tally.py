"""What lies in buckets of equal width: the one place where events become aggregates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.levels.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.levels.coverage import Coverage

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Times = NDArray[np.signedinteger[Any]]

__all__ = ["NOTHING", "Columns", "Pieces", "Tally", "cut_at_edges", "dominant", "joined", "tally"]

NOTHING = 255
"""Code of a bucket in which nothing takes time."""


# Up to here, times are small enough for numbers of four bytes, two of them together with the bits
# of a code as well: half as much to move.
_NARROW_NS = 1 << 24
_MOST_BITS = 6


@dataclass(frozen=True)
class Columns:
    """Events to aggregate; arrays have shape (n,), ascending by start. They may overlap.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64
        When.
    name : ndarray of int32
        Code of the name.
    code, group : ndarray of uint8
        What it was for, and the group that its name is in: two small sets of codes.
    codes, names : int
        How many codes and names there are.
    kinds : tuple of int
        Kind of each group.
    """

    start_ns: Int64
    end_ns: Int64
    name: Int32
    code: UInt8
    group: UInt8
    codes: int
    names: int
    kinds: tuple[int, ...]

    @property
    def name_bits(self) -> int:
        """Bits that a name takes."""
        return max(self.names - 1, 1).bit_length()

    def __getitem__(self, own: slice | Int64) -> Columns:
        return replace(
            self,
            start_ns=self.start_ns[own],
            end_ns=self.end_ns[own],
            name=self.name[own],
            code=self.code[own],
            group=self.group[own],
        )

    def followed_by(self, other: Columns) -> Columns:
        """Put other events behind these."""
        return replace(
            self,
            start_ns=np.concatenate((self.start_ns, other.start_ns)),
            end_ns=np.concatenate((self.end_ns, other.end_ns)),
            name=np.concatenate((self.name, other.name)),
            code=np.concatenate((self.code, other.code)),
            group=np.concatenate((self.group, other.group)),
        )


@dataclass(frozen=True)
class Tally:
    """Buckets of one width, one behind the other; arrays have shape (n,) or (codes, n).

    Parameters
    ----------
    width_ns : int
        Width of a bucket.
    first : int
        Number of the first bucket: bucket i spans ``(first + i) * width_ns`` and the next.
    busy_ns : ndarray of int64
        Union of what lies in each.
    begun, carried : ndarray of int64
        Events that begin in it; that began before it and reach into it.
    longest_ns : ndarray of int64
        Length of the longest event that reaches into it.
    by_code, by_kind, by_group : ndarray of int32 or int64
        Event time of each code; events that overlap count side by side.
    names : Pairs
        Event time of each name.
    """

    width_ns: int
    first: int
    busy_ns: Int64
    begun: Int64
    carried: Int64
    longest_ns: Int64
    by_code: Times
    by_kind: Times
    by_group: Times
    names: Pairs

    def __len__(self) -> int:
        return len(self.busy_ns)

    def coarser(self) -> Tally:
        """Merge two buckets each into one of twice the width."""
        lead = self.first % 2
        tail = (lead + len(self)) % 2

        def halves(column: Times) -> tuple[Times, Times]:
            if lead or tail:
                column = np.pad(column, [(0, 0)] * (column.ndim - 1) + [(lead, tail)])
            return column[..., 0::2], column[..., 1::2]

        return Tally(
            2 * self.width_ns,
            self.first // 2,
            np.add(*halves(self.busy_ns)),
            np.add(*halves(self.begun)),
            # What reaches into the pair from before it reaches into its first half.
            halves(self.carried)[0],
            np.maximum(*halves(self.longest_ns)),
            np.add(*halves(_roomy(self.by_code))),
            np.add(*halves(_roomy(self.by_kind))),
            np.add(*halves(_roomy(self.by_group))),
            self.names.coarser(lead),
        )


def tally(events: Columns, coverage: Coverage, width_ns: int, first: int, count: int) -> Tally:
    """Sum up events by bucket.

    Parameters
    ----------
    events : Columns
        All that reach into the buckets; what lies outside of these is cut off.
    coverage : Coverage
        Union of the events.
    width_ns, first, count : int
        Width, number of the first and number of buckets.
    """
    edges = (np.arange(count + 1) + first) * width_ns
    start, end = np.maximum(events.start_ns, edges[0]), np.minimum(events.end_ns, edges[-1])
    pieces = cut_at_edges(start, end, int(edges[0]), width_ns)
    begins = events.start_ns >= edges[0]
    begun = np.bincount(pieces.bucket[: len(begins)][begins], minlength=count)
    code, group, name = (
        np.concatenate((column, column[pieces.owner]), dtype=np.int64)
        for column in (events.code, events.group, events.name)
    )
    by_group = _by(group, len(events.kinds), pieces, count)
    return Tally(
        width_ns,
        first,
        coverage.between(edges),
        begun,
        np.bincount(pieces.bucket, minlength=count) - begun,
        _longest(events, pieces, count),
        _by(code, events.codes, pieces, count),
        _merged(by_group, events.kinds),
        by_group,
        Pairs.of(pieces.bucket, name, pieces.time_ns, events.name_bits),
    )


def joined(parts: Sequence[Tally]) -> Tally:
    """Put tallies of one width into one; where there is none, nothing is.

    Parameters
    ----------
    parts : sequence of Tally
        In their order, at least one.
    """
    first = parts[0].first
    size = parts[-1].first + len(parts[-1]) - first

    def whole(name: str) -> Int64:
        shape = getattr(parts[0], name).shape[:-1]
        found = np.zeros((*shape, size), np.int64)
        for part in parts:
            place = part.first - first
            found[..., place : place + len(part)] = getattr(part, name)
        return found

    return Tally(
        parts[0].width_ns,
        first,
        whole("busy_ns"),
        whole("begun"),
        whole("carried"),
        whole("longest_ns"),
        whole("by_code"),
        whole("by_kind"),
        whole("by_group"),
        Pairs.joined([part.names for part in parts], [part.first - first for part in parts]),
    )


def dominant(times: Times) -> UInt8:
    """Give the code with the most time in each bucket, of equals the smallest.

    Parameters
    ----------
    times : ndarray of int32 or int64, shape (codes, n)
        Event time.

    Returns
    -------
    ndarray of uint8, shape (n,)
        `NOTHING` where there is none.

    Examples
    --------
    >>> dominant(np.array([[5, 4, 0], [2, 4, 0]]))
    array([  0,   0, 255], dtype=uint8)
    """
    # One maximum over numbers that hold both, time above code, is faster than argmax over rows.
    bits = max(len(times) - 1, 1).bit_length()
    mask = (1 << bits) - 1
    if times.dtype == np.int32 and bits > _MOST_BITS:
        times = times.astype(np.int64)
    code = (mask - np.arange(len(times), dtype=times.dtype))[:, None]
    most: Times = ((times << bits) | code).max(axis=0)
    return np.where(most > mask, mask - (most & mask), NOTHING).astype(np.uint8)


@dataclass(frozen=True)
class Pieces:
    """Events cut at bucket edges: the first piece of each event, then what is left of some.

    Parameters
    ----------
    bucket, time_ns : ndarray of int64
        Of each piece.
    owner : ndarray of int64
        Numbers of the events that the pieces behind the first ones are of.
    """

    bucket: Int64
    time_ns: Int64
    owner: Int64


def cut_at_edges(start_ns: Int64, end_ns: Int64, zero_ns: int, width_ns: int) -> Pieces:
    """Cut events where buckets end.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
        Events, none before `zero_ns`.
    zero_ns, width_ns : int
        Start of bucket 0, and width of all, a power of two.

    Examples
    --------
    >>> cut_at_edges(np.array([12, 15]), np.array([14, 25]), 10, 8)
    Pieces(bucket=array([0, 0, 1]), time_ns=array([2, 3, 7]), owner=array([1]))
    """
    # Shifting is several times faster than dividing.
    bits = width_ns.bit_length() - 1
    left = start_ns - zero_ns if zero_ns else start_ns.copy()
    left >>= bits
    own_end = (left + 1) << bits
    own_end += zero_ns
    over = np.flatnonzero(end_ns > own_end)
    many = ((end_ns[over] - 1 - zero_ns) >> bits) - left[over]
    owner = np.repeat(over, many)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    bucket = left[owner] + 1 + within
    opens = zero_ns + bucket * width_ns
    rest = np.minimum(end_ns[owner], opens + width_ns) - opens
    return Pieces(
        np.concatenate((left, bucket)),
        np.concatenate((np.minimum(end_ns, own_end) - start_ns, rest)),
        owner,
    )


def _by(code: Int64, codes: int, pieces: Pieces, count: int) -> Times:
    place = code * count + pieces.bucket
    # Sums of a bucket stay far below 2^53, so float64 counts them exactly.
    summed = np.bincount(place, weights=pieces.time_ns, minlength=codes * count)
    narrow = summed.max(initial=0) < _NARROW_NS
    times: Times = summed.astype(np.int32 if narrow else np.int64)
    return times.reshape(codes, count)


def _roomy(times: Times) -> Times:
    """Give times that can be added to each other without running over."""
    is_narrow = times.dtype == np.int32
    return times.astype(np.int64) if is_narrow and times.max(initial=0) >= _NARROW_NS else times


def _merged(times: Times, into: tuple[int, ...]) -> Times:
    found = np.zeros((max(into) + 1, times.shape[1]), times.dtype)
    for code, own in zip(into, times, strict=True):
        found[code] += own
    return found


def _longest(events: Columns, pieces: Pieces, count: int) -> Int64:
    """Give the longest event that reaches into each bucket."""
    found = np.zeros(count, np.int64)
    length = events.end_ns - events.start_ns
    first = pieces.bucket[: len(length)]
    if len(length):
        # Events stand by start, so those that begin in a bucket stand together.
        begins = np.flatnonzero(np.concatenate(([True], first[1:] != first[:-1])))
        np.maximum.at(found, first[begins], np.maximum.reduceat(length, begins))
        np.maximum.at(found, pieces.bucket[len(length) :], length[pieces.owner])
    return found

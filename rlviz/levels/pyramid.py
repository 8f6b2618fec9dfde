"""Activity at every width: buckets of 2^k ns, each level made of the one below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.levels.coverage import Coverage

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]

__all__ = ["NOTHING", "Level", "Pyramid", "dominant", "tally"]

NOTHING = 255
"""Code of a bucket in which nothing takes time."""

# So many average events fit into a bucket of the finest level; below it the events themselves are
# few enough to look at.
_EVENTS_A_BUCKET = 8
# The coarsest level has fewer buckets than any chart has pixels.
_FEWEST_BUCKETS = 256
_MOST_BUCKETS = 1 << 23


@dataclass(frozen=True)
class Level:
    """Buckets of one width; all arrays have shape (n,), buckets without anything included.

    Parameters
    ----------
    width_ns : int
        Width of a bucket, a power of two.
    first : int
        Number of the first bucket: bucket i spans ``(first + i) * width_ns`` and the next.
    busy_ns : ndarray of int64
        Exact union of the events in the bucket.
    begun, carried : ndarray of int32
        Events that begin in it; that began before it and reach into it.
    longest_ns : ndarray of int64
        Length of the longest event that reaches into it.
    code : ndarray of uint8
        Code with the most event time in it, of equals the smallest; `NOTHING` without any.
    """

    width_ns: int
    first: int
    busy_ns: Int64
    begun: Int32
    carried: Int32
    longest_ns: Int64
    code: UInt8

    @property
    def count(self) -> Int32:
        """Events that a bucket stands for."""
        return self.begun + self.carried


@dataclass(frozen=True)
class Pyramid:
    """All levels of a track, from the finest to the coarsest, each twice as wide as the last."""

    levels: tuple[Level, ...]

    @classmethod
    def of(cls, start: Int64, end: Int64, code: UInt8, codes: int, coverage: Coverage) -> Pyramid:
        """Build the levels of a track.

        Parameters
        ----------
        start, end : ndarray of int64, shape (n,)
            Events in nanoseconds, by start; they may overlap.
        code : ndarray of uint8, shape (n,)
            What tells them apart, from 0 to ``codes - 1``.
        codes : int
            Number of codes.
        coverage : Coverage
            Union of the events.
        """
        if len(start) == 0:
            return cls(())
        width = _finest_width(start, coverage)
        level, times = _finest(start, end, code, codes, coverage, width)
        levels = [level]
        while len(level.busy_ns) > _FEWEST_BUCKETS:
            level, times = _coarser(level, times)
            levels.append(level)
        return cls(tuple(levels))

    def at(self, width_ns: int) -> Level | None:
        """Give the coarsest level whose buckets are `width_ns` wide at most; None below all."""
        fits = [level for level in self.levels if level.width_ns <= width_ns]
        return fits[-1] if fits else None


def tally(
    start: Int64, end: Int64, code: UInt8, codes: int, width_ns: int, first: int, count: int
) -> Int64:
    """Sum up event time by bucket and code.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        Events in nanoseconds.
    code : ndarray of uint8, shape (n,)
        Their codes.
    codes : int
        Number of codes.
    width_ns, first, count : int
        Width, number of the first and number of buckets; all events lie in them.

    Returns
    -------
    ndarray of int64, shape (count, codes)
        Nanoseconds; events that overlap count side by side.

    Examples
    --------
    >>> tally(np.array([0, 6]), np.array([5, 12]), np.array([0, 1]), 2, 8, 0, 2)
    array([[5, 2],
           [0, 4]])
    """
    left = start // width_ns - first
    right = np.maximum((end - 1) // width_ns - first, left)
    code = code.astype(np.int64)
    inside = left == right
    summed = np.zeros(count * codes)
    summed += np.bincount(
        left[inside] * codes + code[inside], weights=(end - start)[inside], minlength=len(summed)
    )
    cut = ~inside
    if cut.any():
        first_ns = first * width_ns
        summed += _cut(
            start[cut] - first_ns, end[cut] - first_ns, code[cut], codes, width_ns, count
        )
    # Sums of a bucket stay far below 2^53, so float64 has counted them exactly.
    return summed.astype(np.int64).reshape(count, codes)


def _cut(
    start: Int64, end: Int64, code: Int64, codes: int, width: int, count: int
) -> NDArray[np.float64]:
    """Sum up events that reach over edges: their ends by themselves, their middles as a ramp."""
    left, right = start // width, (end - 1) // width
    size = count * codes
    summed = np.bincount(left * codes + code, weights=(left + 1) * width - start, minlength=size)
    summed += np.bincount(right * codes + code, weights=end - right * width, minlength=size)
    # Between its first and last bucket an event fills all of them: +1 where that begins, -1 behind.
    steps = np.bincount((left + 1) * codes + code, minlength=size + codes)
    steps -= np.bincount(right * codes + code, minlength=size + codes)
    fills = np.cumsum(steps[:size].reshape(count, codes), axis=0)
    return summed + fills.ravel() * float(width)


def _finest_width(start: Int64, coverage: Coverage) -> int:
    busy = max(int(coverage.sums[-1]), 1)
    span = int(max(start[-1], coverage.end[-1] if len(coverage.end) else 0) - start[0])
    wanted = max(busy * _EVENTS_A_BUCKET // len(start), span // _MOST_BUCKETS, 1)
    return 1 << (int(wanted).bit_length() - 1)


def _finest(
    start: Int64, end: Int64, code: UInt8, codes: int, coverage: Coverage, width: int
) -> tuple[Level, Int64]:
    first = int(start[0] // width)
    left = start // width - first
    right = np.maximum((end - 1) // width - first, left)
    count = int(right.max()) + 1
    edges = (np.arange(count + 1) + first) * width
    begun = np.bincount(left, minlength=count)
    ended = np.bincount(right, minlength=count)
    # What began before a bucket and has not ended in one before it reaches into it.
    carried = np.concatenate(([0], np.cumsum(begun - ended)[:-1]))
    times = tally(start, end, code, codes, width, first, count)
    level = Level(
        width,
        first,
        coverage.between(edges),
        begun.astype(np.int32),
        carried.astype(np.int32),
        _longest(end - start, left, right, count),
        dominant(times),
    )
    return level, times


def _longest(length: Int64, left: Int64, right: Int64, count: int) -> Int64:
    """Give the longest event that reaches into each bucket."""
    found = np.zeros(count, np.int64)
    # Events are sorted by start, so those that begin in a bucket stand together.
    begins = np.flatnonzero(np.concatenate(([True], left[1:] != left[:-1])))
    found[left[begins]] = np.maximum.reduceat(length, begins)
    spread = np.flatnonzero(right > left)
    many = right[spread] - left[spread]
    owner = np.repeat(spread, many)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    np.maximum.at(found, left[owner] + 1 + within, length[owner])
    return found


def dominant(times: Int64) -> UInt8:
    """Give the code with the most time in each bucket; `NOTHING` where there is none."""
    some = times.max(axis=1) > 0
    return np.where(some, times.argmax(axis=1), NOTHING).astype(np.uint8)


def _coarser(level: Level, times: Int64) -> tuple[Level, Int64]:
    """Make the level of twice the width."""
    lead = level.first % 2
    tail = (lead + len(level.busy_ns)) % 2
    times = np.pad(times, ((lead, tail), (0, 0))).reshape(-1, 2, times.shape[1]).sum(axis=1)
    busy, begun, carried, longest = (
        np.pad(column, (lead, tail)).reshape(-1, 2)
        for column in (level.busy_ns, level.begun, level.carried, level.longest_ns)
    )
    wider = Level(
        2 * level.width_ns,
        level.first // 2,
        busy.sum(axis=1),
        begun.sum(axis=1, dtype=np.int32),
        # What reaches into the pair from before it reaches into its first half.
        np.ascontiguousarray(carried[:, 0]),
        longest.max(axis=1),
        dominant(times),
    )
    return wider, times

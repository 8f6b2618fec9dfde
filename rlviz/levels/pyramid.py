"""Activity at every width: buckets of 2^k ns, each level made of the one below it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.tally import NOTHING, dominant, joined, tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.coverage import Coverage
    from rlviz.levels.tally import Columns, Tally

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Nanoseconds = NDArray[np.uint32 | np.int64]

__all__ = ["Level", "Pyramid", "level_of"]

# So many average events fit into a bucket of the finest level; below it the events themselves are
# few enough to look at.
_EVENTS_A_BUCKET = 4
# The coarsest level has fewer buckets than any chart has pixels.
_FEWEST_BUCKETS = 256
_MOST_BUCKETS = 1 << 23
# Levels are built in blocks of 2^13 of the finest buckets, which fit into a core's cache.
_BLOCK_LEVELS = 13


@dataclass(frozen=True)
class Level:
    """Buckets of one width; all arrays have shape (n,), buckets without anything included.

    Parameters
    ----------
    width_ns : int
        Width of a bucket, a power of two.
    first : int
        Number of the first bucket: bucket i spans ``(first + i) * width_ns`` and the next.
    busy_ns : ndarray of uint32 or int64
        Exact union of the events in the bucket.
    begun, carried : ndarray of int32
        Events that begin in it; that began before it and reach into it.
    longest_ns : ndarray of uint32 or int64
        Length of the longest event that reaches into it.
    code, kind, group : ndarray of uint8
        Code with the most event time in it, of equals the smallest; `NOTHING` without any.
    name : ndarray of int32
        Name with the most event time in it, of equals the smallest; -1 without any event.
    share : ndarray of uint8
        That name's part of the event time of all names, of 255.
    """

    width_ns: int
    first: int
    busy_ns: Nanoseconds
    begun: Int32
    carried: Int32
    longest_ns: Nanoseconds
    code: UInt8
    kind: UInt8
    group: UInt8
    name: Int32
    share: UInt8

    def __len__(self) -> int:
        return len(self.busy_ns)

    @property
    def count(self) -> Int32:
        """Events that a bucket stands for."""
        return self.begun + self.carried

    def __getitem__(self, own: slice) -> Level:
        cut = (getattr(self, name)[own] for name in COLUMNS)
        return Level(self.width_ns, self.first + own.start, *cut)


COLUMNS = tuple(f.name for f in fields(Level) if f.name not in ("width_ns", "first"))
"""Names of the arrays of a level."""


@dataclass(frozen=True)
class Pyramid:
    """All levels of a track, from the finest to the coarsest, each twice as wide as the last."""

    levels: tuple[Level, ...]

    @classmethod
    def of(cls, events: Columns, coverage: Coverage, threads: int = 1) -> Pyramid:
        """Build the levels of a track.

        Parameters
        ----------
        events : Columns
            The events.
        coverage : Coverage
            Union of the events.
        threads : int
            How many to use.
        """
        if len(events.start_ns) == 0:
            return cls(())
        levels = _empty_levels(events)
        in_blocks = min(_BLOCK_LEVELS, len(levels) - 1)
        width = levels[0].width_ns

        def build(block: _Block) -> Tally:
            first, count = block.number << _BLOCK_LEVELS, 1 << _BLOCK_LEVELS
            buckets = tally(block.events(events), coverage, width, first, count)
            return _fill(levels[: in_blocks + 1], buckets)

        blocks = _blocks(events, width << _BLOCK_LEVELS)
        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                tops = list(pool.map(build, blocks))
        else:
            tops = [build(block) for block in blocks]
        if len(levels) > in_blocks + 1:
            _fill(levels[in_blocks + 1 :], joined(tops).coarser())
        return cls(tuple(levels))

    def at(self, width_ns: int) -> Level | None:
        """Give the coarsest level whose buckets are `width_ns` wide at most; None below all."""
        fits = [level for level in self.levels if level.width_ns <= width_ns]
        return fits[-1] if fits else None


def level_of(buckets: Tally) -> Level:
    """Keep of a tally what is drawn and told.

    Parameters
    ----------
    buckets : Tally
        The buckets.
    """
    name, share = buckets.names.dominant(buckets.by_code.sum(axis=0))
    return Level(
        buckets.width_ns,
        buckets.first,
        buckets.busy_ns,
        buckets.begun.astype(np.int32),
        buckets.carried.astype(np.int32),
        buckets.longest_ns,
        dominant(buckets.by_code),
        dominant(buckets.by_kind),
        dominant(buckets.by_group),
        name,
        share,
    )


@dataclass(frozen=True)
class _Block:
    """Events that reach into one block: those that begin in it, and those that began before."""

    number: int
    begun: slice
    carried: Int64

    def events(self, all_events: Columns) -> Columns:
        begun = all_events[self.begun]
        return all_events[self.carried].followed_by(begun) if len(self.carried) else begun


def _blocks(events: Columns, width_ns: int) -> Iterator[_Block]:
    """Cut events into blocks of time; those in which nothing is are left out."""
    numbers = np.arange(events.start_ns[0] // width_ns, _last_moment(events) // width_ns + 1)
    limits = np.searchsorted(events.start_ns, np.append(numbers, numbers[-1] + 1) * width_ns)
    carried = np.empty(0, np.int64)
    for number, first, last in zip(numbers.tolist(), limits[:-1], limits[1:], strict=True):
        if last > first or len(carried):
            yield _Block(number, slice(first, last), carried)
            stays = carried[events.end_ns[carried] > (number + 1) * width_ns]
            begun = first + np.flatnonzero(events.end_ns[first:last] > (number + 1) * width_ns)
            carried = np.concatenate((stays, begun))


def _empty_levels(events: Columns) -> list[Level]:
    """Make room for all levels, with the narrowest numbers that do."""
    length = events.end_ns - events.start_ns
    first_ns, last_ns = int(events.start_ns[0]), _last_moment(events)
    wanted = max(
        int(length.sum()) * _EVENTS_A_BUCKET // len(length), (last_ns - first_ns) // _MOST_BUCKETS
    )
    width = 1 << max(wanted - 1, 0).bit_length()
    long = _narrowest(int(length.max()))
    levels: list[Level] = []
    while not levels or len(levels[-1]) > _FEWEST_BUCKETS:
        first = first_ns // width
        size = last_ns // width - first + 1
        levels.append(
            Level(
                width,
                first,
                np.zeros(size, _narrowest(width)),
                np.zeros(size, np.int32),
                np.zeros(size, np.int32),
                np.zeros(size, long),
                np.full(size, NOTHING, np.uint8),
                np.full(size, NOTHING, np.uint8),
                np.full(size, NOTHING, np.uint8),
                np.full(size, -1, np.int32),
                np.zeros(size, np.uint8),
            )
        )
        width *= 2
    return levels


def _narrowest(most: int) -> type[np.uint32 | np.int64]:
    return np.uint32 if most < 1 << 32 else np.int64


def _last_moment(events: Columns) -> int:
    """Give the last nanosecond that is in a bucket."""
    return max(int(events.end_ns.max()) - 1, int(events.start_ns[-1]))


def _fill(levels: Sequence[Level], buckets: Tally) -> Tally:
    """Write buckets, and those that they merge into, to their places in the levels."""
    for level in levels:
        if level.width_ns > buckets.width_ns:
            buckets = buckets.coarser()
        place = buckets.first - level.first
        inside = slice(max(-place, 0), min(len(level) - place, len(buckets)))
        found = level_of(buckets)
        for name in COLUMNS:
            own = slice(place + inside.start, place + inside.stop)
            getattr(level, name)[own] = getattr(found, name)[inside]
    return buckets

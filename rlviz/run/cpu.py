"""The CPU side of a row: what the threads of its processes did, and how they kept its GPU fed."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.calls import SYNC, Calls, read_calls, read_work
from rlviz.run.columns import empty
from rlviz.run.cpu_frames import calls_frame, inside_of, stretches_frame
from rlviz.run.intervals import union
from rlviz.run.launch import UNKNOWN, Stretches, launch_bound, launch_waits, launches_of
from rlviz.run.nesting import clear_levels, depth
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.sources import Source

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Key = tuple[int, int]

__all__ = ["CpuSide", "Level", "Row", "Thread"]

# Rows that are looked at by turns are not read again, as long as all together have no more ranges
# and calls: about 250 MB.
_REMEMBERED = 10_000_000
_NO_LANE = "its export does not say which process worked on it"
_NEVER, _ALWAYS = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def _quiet(_calls: int) -> None:
    pass


@dataclass(frozen=True)
class Level:
    """What a thread did on one level, by start; arrays have shape (n,), times are the run's.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64
        When.
    name : ndarray of int32
        Codes: of ranges in ``run.events.names``, of calls in ``Row.names``.
    kind : ndarray of uint8 or None
        Of calls, places in ``rlviz.reports.calls.CALL_KINDS``; None of ranges.
    """

    start_ns: Int64
    end_ns: Int64
    name: Int32
    kind: UInt8 | None = None

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True)
class Thread:
    """One thread: its ranges by depth, and its CUDA calls.

    Parameters
    ----------
    pid, tid : int
        Process and thread.
    name : str or None
        Its name; None where the export has none.
    levels : tuple of Level
        NVTX ranges: push/pop ranges by depth, below them start/end ranges clear of each other.
    calls : Level
        Its CUDA calls.
    """

    pid: int
    tid: int
    name: str | None
    levels: tuple[Level, ...]
    calls: Level

    @property
    def active_ns(self) -> int:
        """Time in outermost ranges and in calls: threads are ordered by it."""
        own = [self.calls, *self.levels[:1]]
        return sum(int((one.end_ns - one.start_ns).sum()) for one in own)


@dataclass(frozen=True)
class Row:
    """The CPU side of one row.

    Parameters
    ----------
    threads : tuple of Thread
        The threads of its processes that opened a range or called CUDA, most active first.
    names : tuple of str
        Names of calls.
    absent : str
        Why there are no calls; "" where there are some.
    stretches : Stretches or None
        When its GPU was launch-bound; None where that is unknown.
    """

    threads: tuple[Thread, ...]
    names: tuple[str, ...]
    absent: str
    stretches: Stretches | None

    def __len__(self) -> int:
        return sum(len(level) for one in self.threads for level in (one.calls, *one.levels))


class CpuSide:
    """Reads the CPU side of rows, each when it is asked for.

    Parameters
    ----------
    events : Events
        The events of the run.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._rows: OrderedDict[int, Row] = OrderedDict()

    def row(self, row: int, tell: Callable[[int], None] = _quiet) -> Row:
        """Give the CPU side of a row; of the last few rows it is remembered.

        `tell` is called now and then with the number of calls that were read since.
        """
        if row not in self._rows:
            self._rows[row] = self._read(row, tell)
            while len(self._rows) > 1 and sum(map(len, self._rows.values())) > _REMEMBERED:
                self._rows.popitem(last=False)
        self._rows.move_to_end(row)
        return self._rows[row]

    def calls(self, rows: Iterable[int]) -> pl.DataFrame:
        """Give the CUDA calls of rows, columns as ``COLUMNS["calls"]``."""
        frames = [empty("calls")]
        for row in rows:
            for lane, part in self._by_process(row, _quiet):
                frames += [calls_frame(row, lane, source, calls) for source, calls in part]
        return pl.concat(frames).sort("row", "lane", "start_ns", maintain_order=True)

    def stretches(self, rows: Iterable[int]) -> pl.DataFrame:
        """Give launch-bound stretches of rows, columns as ``COLUMNS["launch_bound"]``."""
        frames = [empty("launch_bound")]
        for row in rows:
            found = self.row(row)
            if found.stretches is not None:
                names = {(one.pid << 24) | one.tid: one.name for one in found.threads}
                frames.append(stretches_frame(row, found.stretches, names))
        return pl.concat(frames)

    def _by_process(
        self, row: int, tell: Callable[[int], None]
    ) -> list[tuple[int, list[tuple[Source, Calls]]]]:
        """Read the calls of each process of a row once, be it on several devices of it."""
        found: dict[int, list[tuple[Source, Calls]]] = {}
        seen: set[tuple[str, int | None]] = set()
        for source in self._events.sources(row):
            key = source.report.key, source.pid
            if key not in seen:
                seen.add(key)
                calls = read_calls(source.report, (source.pid,), tell)
                found.setdefault(source.lane, []).append((source, calls))
        return list(found.items())

    def _read(self, row: int, tell: Callable[[int], None]) -> Row:
        read = [both for _, own in self._by_process(row, tell) for both in own]
        names: dict[str, int] = {}
        calls: dict[Key, list[Level]] = {}
        for source, one in read:
            recode = np.array([names.setdefault(n, len(names)) for n in one.names], np.int32)
            for thread, own in _by_thread(one.thread):
                level = Level(
                    one.start[own] + source.offset_ns,
                    one.end[own] + source.offset_ns,
                    recode[one.name[own]],
                    one.kind[own],
                )
                calls.setdefault(_key(thread), []).append(level)
        called = [one for _, one in read if not one.absent]
        why = dict.fromkeys(one.absent for _, one in read if one.absent)
        absent = "" if called else "; ".join(why) or _NO_LANE
        threads = self._threads(row, read, {key: _joined(own) for key, own in calls.items()})
        stretches = self._stretches(row, read) if called else None
        return Row(threads, tuple(names), absent, stretches)

    def _threads(
        self, row: int, read: Sequence[tuple[Source, Calls]], calls: dict[Key, Level]
    ) -> tuple[Thread, ...]:
        named = {
            _key(thread): source.report.spell(name)
            for source, _ in read
            for thread, name in source.report.identity.threads.items()
        }
        levels = self._levels(row)
        threads = [
            Thread(*key, named.get(key), levels.get(key, ()), calls.get(key, _NO_CALLS))
            for key in {**levels, **calls}
        ]
        return tuple(sorted(threads, key=lambda one: (-one.active_ns, one.pid, one.tid)))

    def _levels(self, row: int) -> dict[Key, tuple[Level, ...]]:
        """Sort the ranges of a row's workers by thread and level."""
        workers = {self._events.workers[source.lane] for source in self._events.sources(row)}
        lanes = [lane for lane, worker in enumerate(self._events.workers) if worker in workers]
        ranges = self._events.ranges.filter(pl.col("lane").is_in(lanes))
        found = {}
        for (thread,), own in ranges.partition_by("thread", as_dict=True).items():
            if thread is not None:
                nested, free = own.filter(pl.col("push_pop")), own.filter(~pl.col("push_pop"))
                # What is nested stands above what only overlaps.
                levels = [*_leveled(nested, depth), *_leveled(free, clear_levels)]
                found[_key(thread)] = tuple(levels)
        return found

    def _stretches(self, row: int, read: Sequence[tuple[Source, Calls]]) -> Stretches | None:
        by_key = {(s.report.key, s.pid): calls for s, calls in read}
        parts: list[tuple[Int64, Int64, Int64, Int64]] = []
        syncs: dict[int, list[tuple[Int64, Int64]]] = {}
        for source in self._events.sources(row):
            if source.device is None:
                continue
            calls = by_key[source.report.key, source.pid]
            work = read_work(source.report, source.pid, source.device)
            call = launches_of(work.correlation, work.start, calls.correlation, calls.end)
            until = np.where(call == UNKNOWN, _NEVER, _ALWAYS)
            until[call >= 0] = calls.end[call[call >= 0]] + source.offset_ns
            caller = np.zeros(len(call), np.int64)
            caller[call >= 0] = calls.thread[call[call >= 0]]
            start, end = work.start + source.offset_ns, work.end + source.offset_ns
            parts.append((start, end, until, caller))
        for source, calls in read:
            own = calls.kind == SYNC
            for thread, at in _by_thread(calls.thread[own]):
                spans = calls.start[own][at], calls.end[own][at]
                moved = spans[0] + source.offset_ns, spans[1] + source.offset_ns
                syncs.setdefault(thread, []).append(moved)
        if not parts:
            return None
        # Most rows have one part, which need not be there twice.
        whole = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        start, end, until, caller = whole
        merged = {thread: union(*joined(own)) for thread, own in syncs.items()}
        waits = launch_waits(start, end, until, caller, merged)
        return launch_bound(waits)


class WithCpuSide:
    """What a run tells of its CPU side; reports are opened again for it."""

    events: Events
    rows: pl.DataFrame

    @cached_property
    def cpu(self) -> CpuSide:
        """Reads the threads of rows."""
        return CpuSide(self.events)

    def calls(
        self,
        *,
        row: int | Sequence[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> pl.DataFrame:
        """CUDA calls of the threads behind rows, columns as ``COLUMNS["calls"]``.

        The reports are opened again for it. A process that works on several GPUs has its calls on
        the row of each; a row whose report has no calls has none here.

        Examples
        --------
        >>> import rlviz
        >>> rlviz.load("demo-reports").calls(row=0, start_ns=0, end_ns=10**9).columns[:4]
        ['row', 'lane', 'start_ns', 'end_ns']
        """
        return inside_of(self.cpu.calls(self._asked(row)), start_ns, end_ns)

    def launch_bound(
        self,
        *,
        row: int | Sequence[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> pl.DataFrame:
        """Stretches in which GPUs wait for launches, columns as ``COLUMNS["launch_bound"]``.

        The reports are opened again for it. The page Definitions says what a launch wait is. A row
        whose report has no calls has none here: whether it is launch-bound is unknown.

        Examples
        --------
        >>> import rlviz
        >>> rlviz.load("demo-reports").launch_bound(row=0)["wait_ns"].sum() >= 0
        True
        """
        return inside_of(self.cpu.stretches(self._asked(row)), start_ns, end_ns)

    def _asked(self, row: int | Sequence[int] | None) -> list[int]:
        known = sorted(set(self.rows["row"].to_list()))
        asked = known if row is None else [row] if isinstance(row, int) else list(row)
        return [one for one in known if one in asked]


_NONE = np.empty(0, np.int64)
_NO_CALLS = Level(_NONE, _NONE, _NONE.astype(np.int32), _NONE.astype(np.uint8))


def _key(thread: int) -> Key:
    return thread >> 24, thread & 0xFFFFFF


def _by_thread(thread: Int64) -> list[tuple[int, Int64]]:
    """Give each thread and where its calls stand, in their order."""
    if not len(thread):
        return []
    distinct, code = np.unique(thread, return_inverse=True)
    order = np.argsort(code, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(code))[:-1])
    return [(int(one), own) for one, own in zip(distinct, parts, strict=True)]


def _joined(levels: Sequence[Level]) -> Level:
    """Put the calls of a thread in several captures behind each other."""
    if len(levels) == 1:
        return levels[0]
    start, end, name, kind = (
        np.concatenate([getattr(one, column) for one in levels])
        for column in ("start_ns", "end_ns", "name", "kind")
    )
    order = np.argsort(start, kind="stable")
    return Level(start[order], end[order], name[order], kind[order])


def _leveled(ranges: pl.DataFrame, leveling: Callable[[Int64, Int64, Int64], Int64]) -> list[Level]:
    start, end, name = (ranges[c].to_numpy() for c in ("start_ns", "end_ns", "name"))
    level = leveling(np.zeros(len(start), np.int64), start, end)
    found = []
    for number in range(int(level.max(initial=-1)) + 1):
        own = np.flatnonzero(level == number)
        own = own[np.argsort(start[own], kind="stable")]
        found.append(Level(start[own], end[own], name[own].astype(np.int32)))
    return found

"""Launch-bound: a GPU that has run dry waits for the thread that launches its next work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.intervals import union
from rlviz.run.thresholds import BUBBLE_NS, LAUNCH_NS
from rlviz.run.within import within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Spans = tuple[Int64, Int64]

__all__ = [
    "LEAST_SHARE",
    "LEAST_WAITS",
    "UNKNOWN",
    "Stretches",
    "Waits",
    "launch_bound",
    "launch_waits",
    "launches_of",
]

LEAST_WAITS = 10
"""A stretch has so many launch waits at least: after a sync a few come by themselves, until the
thread is ahead again."""

LEAST_SHARE = 0.1
"""Launch waits take this share of a stretch at least: else shorter launches would win nothing."""

UNKNOWN = -1
"""In place of a call: the report does not tell which one launched the work."""


@dataclass(frozen=True)
class Waits:
    """Gaps of a GPU that its launching thread accounts for; arrays have shape (n,), ascending.

    Parameters
    ----------
    start, end : ndarray of int64
        The gaps, in ns.
    wait_ns : ndarray of int64
        The launch wait in each, above 0.
    thread : ndarray of int64
        Who launched the work that ends it.
    """

    start: Int64
    end: Int64
    wait_ns: Int64
    thread: Int64


@dataclass(frozen=True)
class Stretches:
    """Launch-bound stretches; arrays have shape (n,), ascending.

    Parameters
    ----------
    start, end : ndarray of int64
        From the first gap's start to the last one's end, in ns.
    waits : ndarray of int64
        Number of launch waits in it.
    wait_ns : ndarray of int64
        Their sum.
    thread : ndarray of int64
        The thread with the most of it.
    """

    start: Int64
    end: Int64
    waits: Int64
    wait_ns: Int64
    thread: Int64


def launches_of(work: Int64, start: Int64, calls: Int64, call_end: Int64) -> Int64:
    """Find the call that each piece of GPU work had to wait for.

    Parameters
    ----------
    work, start : ndarray of int64, shape (n,)
        Correlation ids of GPU work, negative where there is none, and when it started.
    calls, call_end : ndarray of int64, shape (m,)
        Correlation ids of calls, and when they ended.

    Returns
    -------
    ndarray of int64, shape (n,)
        Place of the call; `UNKNOWN` where there is none; -2 for what needs no call of its own: a
        CUDA graph's kernels share one call, which was heard when the first of them started. Of
        several records of a call (runtime and driver) it is the one that ends first.
    """
    found = np.full(len(work), UNKNOWN, np.int64)
    if not len(work) or not len(calls):
        return found
    order = np.lexsort((call_end, calls))
    place = np.searchsorted(calls, work, side="left", sorter=order)
    inside = np.minimum(place, len(calls) - 1)
    known = (place < len(calls)) & (calls[order[inside]] == work) & (work >= 0)
    found[known] = order[inside[known]]
    ids = np.sort(work[known])
    if (ids[1:] == ids[:-1]).any():
        found[known & _repeats(work, start)] = _HEARD
    return found


_HEARD = -2


def _repeats(work: Int64, start: Int64) -> Flags:
    """Tell of GPU work whether other work of the same call started before it."""
    order = np.lexsort((start, work))
    work, start = work[order], start[order]
    begins = np.flatnonzero(np.concatenate(([True], work[1:] != work[:-1])))
    first = np.repeat(start[begins], np.diff(np.append(begins, len(work))))
    found = np.empty(len(work), np.bool_)
    found[order] = start > first
    return found


def launch_waits(
    start: Int64,
    end: Int64,
    call_end: Int64,
    thread: Int64,
    syncs: Mapping[int, Spans],
) -> Waits:
    """Measure how long a GPU waits for the launch of its next work, gap by gap.

    The launch wait of a gap is its part before the call that launched the work which ends it had
    ended, less what of it the thread of that call spent in synchronising calls; what follows is
    launch latency, and no wait. Only gaps under 1 ms count: in a longer one the thread did
    something else. See docs/reference/definitions.md.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        All work of the GPU, in any order, ns.
    call_end : ndarray of int64, shape (n,)
        When the call that launched it ended; the least number there is where it waited for no
        call, the greatest where that is unknown.
    thread : ndarray of int64, shape (n,)
        Who called; anything where that is unknown.
    syncs : mapping of int to (ndarray, ndarray)
        By thread, the union of its synchronising calls.
    """
    solid = end > start
    if not solid.all():
        start, end, call_end, thread = (one[solid] for one in (start, end, call_end, thread))
    busy_start, busy_end = union(start, end)
    gap_start, gap_end = busy_end[:-1], busy_start[1:]
    short = gap_end - gap_start < BUBBLE_NS
    gap_start, gap_end = gap_start[short], gap_end[short]
    # Of work that starts together, what was launched first ended the gap.
    order = np.lexsort((call_end, start))
    by = order[np.searchsorted(start, gap_end, side="left", sorter=order)]
    known = call_end[by] < np.iinfo(np.int64).max
    gap_start, gap_end, by = gap_start[known], gap_end[known], by[known]
    until = np.clip(call_end[by], gap_start, gap_end)
    wait = until - gap_start
    for one, spans in syncs.items():
        own = np.flatnonzero(thread[by] == one)
        wait[own] -= within(spans, gap_start[own], until[own])
    waits = wait > 0
    return Waits(gap_start[waits], gap_end[waits], wait[waits], thread[by][waits])


def launch_bound(waits: Waits) -> Stretches:
    """Put launch waits together that follow each other closely.

    Parameters
    ----------
    waits : Waits
        Launch waits of one GPU.

    Returns
    -------
    Stretches
        Waits that are no more than 100 us apart, `LEAST_WAITS` of them at least, that take
        `LEAST_SHARE` of the time at least.
    """
    if not len(waits.start):
        none = np.empty(0, np.int64)
        return Stretches(none, none, none, none, none)
    opens = np.concatenate(([True], waits.start[1:] - waits.end[:-1] > LAUNCH_NS))
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(opens)) - 1
    count = last - first + 1
    wait = np.add.reduceat(waits.wait_ns, first)
    start, end = waits.start[first], waits.end[last]
    kept = (count >= LEAST_WAITS) & (wait >= LEAST_SHARE * (end - start))
    thread = _most(waits, np.cumsum(opens) - 1, len(first))
    return Stretches(start[kept], end[kept], count[kept], wait[kept], thread[kept])


def _most(waits: Waits, stretch: Int64, stretches: int) -> Int64:
    """Find the thread with the most launch wait of each stretch, of equals the smallest."""
    threads, code = np.unique(waits.thread, return_inverse=True)
    # A GPU is launched to by a few threads: a table has room for all.
    table = np.zeros((len(threads), stretches), np.int64)
    np.add.at(table, (code, stretch), waits.wait_ns)
    most: Int64 = threads[table.argmax(axis=0)]
    return most

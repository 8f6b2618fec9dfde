"""Launch waits and launch-bound stretches, held against a walk over every moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rlviz.run.intervals import union
from rlviz.run.launch import (
    LEAST_SHARE,
    LEAST_WAITS,
    UNKNOWN,
    Waits,
    launch_bound,
    launch_waits,
    launches_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# A gap of ten ticks is 1 ms: a bubble, and no launch wait.
TICK_NS = 100_000
BUBBLE_TICKS = 10


class Work(NamedTuple):
    start: int
    end: int
    correlation: int


class Call(NamedTuple):
    start: int
    end: int
    correlation: int
    thread: int
    sync: bool


ticks = st.integers(0, 40)
works = st.builds(
    lambda start, length, correlation: Work(start, start + length, correlation),
    ticks,
    st.integers(0, 4),
    st.integers(-1, 8),
)
calls = st.builds(
    lambda start, length, correlation, thread, sync: Call(
        start, start + length, correlation, thread, sync
    ),
    ticks,
    st.integers(0, 6),
    st.integers(0, 8),
    st.integers(0, 1),
    st.booleans(),
)


def told(work: Sequence[Work], calls: Sequence[Call]) -> dict[int, tuple[int, int]]:
    """Give wait and end of each gap by its start, as the code under test has it, in ticks."""
    columns = np.array(work, np.int64).reshape(-1, 3).T
    called = np.array(calls, np.int64).reshape(-1, 5).T
    call = launches_of(columns[2], columns[0], called[2], called[1])
    until = np.where(call == UNKNOWN, np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    until[call >= 0] = called[1][call[call >= 0]] * TICK_NS
    thread = np.zeros(len(call), np.int64)
    thread[call >= 0] = called[3][call[call >= 0]]
    syncs = {
        one: union(*(called[:2, (called[3] == one) & (called[4] == 1)] * TICK_NS)) for one in (0, 1)
    }
    found = launch_waits(columns[0] * TICK_NS, columns[1] * TICK_NS, until, thread, syncs)
    return {
        int(start) // TICK_NS: (int(wait) // TICK_NS, int(end) // TICK_NS)
        for start, end, wait in zip(found.start, found.end, found.wait_ns, strict=True)
    }


def walked(work: Sequence[Work], calls: Sequence[Call]) -> dict[int, tuple[int, int]]:
    """Give the same by asking at every tick what the GPU and the thread did."""
    solid = [one for one in work if one.end > one.start]
    found: dict[int, tuple[int, int]] = {}
    opens = None
    for tick in range(60):
        if any(one.start <= tick < one.end for one in solid):
            opens = None
            continue
        coming = [one for one in solid if one.start > tick]
        if not coming or not any(one.end <= tick for one in solid):
            continue
        opens = tick if opens is None else opens
        closes = min(one.start for one in coming)
        if closes - opens >= BUBBLE_TICKS:
            continue
        reason = ended_by([one for one in solid if one.start == closes], work, calls)
        if reason is None or tick >= reason.end:
            continue
        if any(c.sync and c.thread == reason.thread and c.start <= tick < c.end for c in calls):
            continue
        wait, _ = found.get(opens, (0, closes))
        found[opens] = wait + 1, closes
    return found


def ended_by(first: Sequence[Work], work: Sequence[Work], calls: Sequence[Call]) -> Call | None:
    """Find the call that a gap's end had to wait for, if it had to and the call is known."""
    waited = []
    for one in first:
        own = [call for call in calls if call.correlation == one.correlation]
        if not own:
            continue
        if any(o.correlation == one.correlation and o.start < one.start for o in work):
            return None  # one of several kernels of a graph, and not the first
        waited.append(min(own, key=lambda call: call.end))
    return min(waited, key=lambda call: call.end) if waited else None


@settings(max_examples=400)
@given(st.lists(works, max_size=10), st.lists(calls, max_size=10, unique_by=lambda c: c.end))
@example([Work(0, 2, 1), Work(6, 8, 2)], [Call(3, 5, 2, 0, False)])
def test_launch_waits_equal_a_walk_over_every_moment(work: list[Work], calls: list[Call]) -> None:
    assert told(work, calls) == walked(work, calls)


def test_what_follows_the_call_is_latency_and_no_wait() -> None:
    assert told([Work(0, 2, 1), Work(9, 10, 2)], [Call(3, 5, 2, 0, False)]) == {2: (3, 9)}


def test_work_that_was_queued_before_the_gpu_ran_dry_waited_for_no_thread() -> None:
    assert told([Work(0, 4, 1), Work(9, 10, 2)], [Call(1, 3, 2, 0, False)]) == {}


def test_a_pause_of_a_millisecond_is_a_bubble_and_no_launch_wait() -> None:
    assert told([Work(0, 2, 1), Work(11, 12, 2)], [Call(10, 11, 2, 0, False)]) == {2: (9, 11)}
    assert told([Work(0, 2, 1), Work(12, 13, 2)], [Call(11, 12, 2, 0, False)]) == {}


def test_a_thread_that_waits_in_a_sync_is_not_launching() -> None:
    sync = Call(0, 5, 9, 0, True)
    assert told([Work(0, 2, 1), Work(8, 9, 2)], [sync, Call(6, 7, 2, 0, False)]) == {2: (2, 8)}


def test_the_later_kernels_of_a_graph_wait_for_no_call() -> None:
    graph = [Work(0, 1, 1), Work(5, 6, 7), Work(8, 9, 7)]
    assert told(graph, [Call(3, 10, 7, 0, False)]) == {1: (4, 5)}


def test_work_without_a_recorded_call_is_unknown_rather_than_waited_for() -> None:
    assert told([Work(0, 2, 1), Work(5, 6, -1)], [Call(3, 4, 2, 0, False)]) == {}


def test_a_launch_that_the_driver_records_too_counts_by_the_one_that_ends_first() -> None:
    both = [Call(2, 7, 2, 0, False), Call(3, 5, 2, 0, False)]
    assert told([Work(0, 2, 1), Work(9, 10, 2)], both) == {2: (3, 9)}


gaps = st.tuples(
    st.integers(1, 300_000), st.integers(1, 200_000), st.floats(0.01, 1), st.integers(0, 2)
)


@settings(max_examples=100)
@given(st.lists(gaps, max_size=60))
def test_stretches_equal_those_that_a_loop_puts_together(
    parts: list[tuple[int, int, float, int]],
) -> None:
    at, rows = 0, []
    for apart, length, share, thread in parts:
        start = at + apart
        at = start + length
        rows.append((start, at, max(int(length * share), 1), thread))
    expected, own = [], list[tuple[int, int, int, int]]()
    for row in [*rows, (1 << 60, 1 << 60, 0, 0)]:
        if own and row[0] - own[-1][1] > 100_000:
            wait = sum(one[2] for one in own)
            length = own[-1][1] - own[0][0]
            if len(own) >= LEAST_WAITS and wait >= LEAST_SHARE * length:
                expected.append((own[0][0], own[-1][1], len(own), wait))
            own = []
        own.append(row)
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    found = launch_bound(Waits(*columns))
    assert list(zip(found.start, found.end, found.waits, found.wait_ns, strict=True)) == expected


def test_a_stretch_names_the_thread_that_was_waited_for_longest() -> None:
    start = np.arange(12) * 20_000
    thread = np.array([5] * 8 + [3] * 4)
    wait = np.where(thread == 3, 9_000, 2_500)
    found = launch_bound(Waits(start, start + 9_000, wait, thread))
    assert found.thread.tolist() == [3]


def test_a_few_waits_after_a_sync_make_no_stretch() -> None:
    start = np.arange(LEAST_WAITS - 1) * 20_000
    one = np.full(len(start), 9_000)
    assert len(launch_bound(Waits(start, start + one, one, one)).start) == 0

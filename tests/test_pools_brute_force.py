"""Numbers of both pools of random small timelines against a look at every tick."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rlviz.run.activity import Activity
from rlviz.run.gaps import idle_gaps
from rlviz.run.gpu_time import GpuTime
from rlviz.run.iteration import Iteration, Refit
from rlviz.run.overlap import Pools, half_busy
from rlviz.run.phase_time import disjoint_phases, phase_busy
from rlviz.run.rules import PHASES
from rlviz.run.stragglers import Stalls, generation_straggler
from tests.ticks import (
    LAST,
    close,
    quickly,
    recorded,
    runs,
    span,
    spans,
    ticks,
    ticks_of,
    unite,
    windows,
    work,
)

TICK_NS = 500_000  # half of what closes a gap: one idle tick is no pause of a pool, two of them are

# -- both pools ------------------------------------------------------------------------------


def gpu_of(row: int, pool: str, pairs: Any) -> GpuTime:
    busy = unite(pairs, TICK_NS)
    nothing = unite([])
    activity = Activity(busy, nothing, nothing, nothing)
    captured = unite([(0, LAST + 10)], TICK_NS)
    role = "generation" if pool == "generation" else "policy"
    gaps = idle_gaps(busy, captured, nothing)
    label = f"GPU {row}"
    return GpuTime(
        row,
        pool,
        label,
        {row: activity},
        {row: role},
        None,
        captured,
        nothing,
        activity,
        busy,
        gaps,
    )


pool = st.lists(spans, min_size=1, max_size=3)


@quickly
@given(pool, pool, st.lists(span.filter(lambda s: s[0] < s[1]), max_size=2), windows)
def test_active_pools_overlap_and_twin_equal_a_look_at_every_tick(
    generation: list[Any], training: list[Any], refits: list[tuple[int, int]], window: Any
) -> None:
    gpus = [
        *(gpu_of(n, "generation", pairs) for n, pairs in enumerate(generation)),
        *(gpu_of(n, "training", pairs) for n, pairs in enumerate(training, len(generation))),
    ]
    scaled = [Refit((s * TICK_NS, e * TICK_NS), None) for s, e in refits]
    asked = Iteration(1, window[0] * TICK_NS, window[1] * TICK_NS, ("none", "none"), True)
    pools = Pools(gpus, scaled)
    (found,) = pools.overlaps([asked])
    if not ticks([window]) & set(range(LAST + 10)):
        assert found.reason == "pool-not-captured"
        return
    inside, outside = ticks([window]), ticks(refits)
    active = {
        name: (close(set().union(*map(ticks, own)), 2) - outside) & inside
        for name, own in (("generation", generation), ("training", training))
    }
    assert found.active_ns == {name: len(own) * TICK_NS for name, own in active.items()}
    both = active["generation"] & active["training"]
    assert found.overlap_ns == len(both) * TICK_NS
    exposed = active["generation"] - active["training"]
    assert found.exposed_generation_ns == len(exposed) * TICK_NS
    twin = sum(
        sum(tick in ticks(pairs) for pairs in generation)
        * sum(tick in ticks(pairs) for pairs in training)
        for tick in inside - outside
    )
    assert found.twin_gpu_gpu_ns == twin * TICK_NS


@quickly
@given(st.lists(spans, min_size=1, max_size=4))
def test_half_of_the_gpus_are_busy_where_a_count_says_so(generation: list[Any]) -> None:
    gpus = [gpu_of(n, "generation", pairs) for n, pairs in enumerate(generation)]
    sets = [close(ticks(pairs), 2) for pairs in generation]
    everywhere = range(LAST + 10)
    half = {t for t in everywhere if 2 * sum(t in own for own in sets) >= len(sets)}
    assert ticks_of(half_busy(gpus), TICK_NS) == half


# -- phases, stalls and stragglers -----------------------------------------------------------

ORDER = ("refit", "training", "logprobs", "reward", "generation", "other")
phases = st.dictionaries(st.sampled_from(PHASES), spans, max_size=4)


@quickly
@given(phases, spans)
def test_each_busy_tick_counts_for_the_one_phase_that_tells_most(
    named: dict[str, Any], busy: Any
) -> None:
    of_lane = {name: unite(pairs) for name, pairs in named.items()}
    left = ticks(pair for pairs in named.values() for pair in pairs)
    expected: dict[str, set[int]] = {}
    for name in ORDER:
        expected[name] = ticks(named.get(name, ())) & left
        left -= expected[name]
    found = disjoint_phases(of_lane)
    assert {name: ticks_of(own) for name, own in found.items()} == {
        name: own for name, own in expected.items() if own
    }
    scaled = {name: unite(pairs, TICK_NS) for name, pairs in named.items()}
    counted = phase_busy(gpu_of(0, "training", busy), {0: scaled})
    assert {name: ticks_of(own, TICK_NS) for name, own in counted.items()} == {
        name: own & ticks(busy) for name, own in expected.items()
    }


@quickly
@given(st.lists(work, max_size=12), windows, spans)
def test_a_stall_is_from_the_last_work_before_an_update_to_the_first_after_it(
    works: list[Any], update: Any, captured: Any
) -> None:
    of_lane = [s for lane, _, s in works if lane == 0]
    before = [end for start, end in of_lane if start < update[0]]
    after = [start for start, _ in of_lane if start >= update[1]]
    expected = None
    if before and after:
        low = min(max(before), update[0])
        if any(s <= low and min(after) <= e for s, e in runs(ticks(captured))):
            expected = max(min(after) - max(before), 0)
    stalls = Stalls(recorded(works, 2), {0: unite(captured), 1: unite(captured)})
    assert stalls.of(0, update) == expected


@quickly
@given(st.dictionaries(st.integers(0, 3), span, max_size=4))
def test_the_generation_straggler_is_the_gpu_that_ends_last(segment: dict[int, Any]) -> None:
    row_of_lane = [0, 0, 1, 2]  # two workers share a GPU
    asked = Iteration(1, 0, LAST, ("refit", "refit"), True, segment=segment)
    found = generation_straggler(asked, row_of_lane)
    if not segment:
        assert found is None
        return
    assert found is not None
    ends: dict[int, list[int]] = {}
    for lane, (_, end) in segment.items():
        ends.setdefault(row_of_lane[lane], []).append(end)
    last = {row: max(own) for row, own in ends.items()}
    assert found.late_ns == {row: end - min(last.values()) for row, end in last.items()}
    assert found.spread_ns == max(last.values()) - min(last.values())
    assert last[found.row] == max(last.values())

"""Levels of detail, held against a sweep over every nanosecond."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlviz.levels import pyramid as pyramids
from rlviz.levels.buckets import bucket_width_ns, in_buckets
from rlviz.levels.coverage import Coverage
from rlviz.levels.pyramid import NOTHING, Level, Pyramid
from rlviz.run.intervals import intersection, subtraction, union

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

CODES = 3
ZERO, SPAN = 600, 4_000

events = st.lists(
    st.tuples(st.integers(-500, 2_500), st.integers(0, 900), st.integers(0, CODES - 1)),
    min_size=1,
    max_size=40,
)
giants = st.tuples(st.just(-400), st.just(3_000), st.integers(0, CODES - 1))


def columns(drawn: list[tuple[int, int, int]]) -> tuple[Int64, Int64, NDArray[np.uint8]]:
    table = np.array(sorted(drawn), np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 0] + table[:, 1], table[:, 2].astype(np.uint8)


def covered(start: Int64, end: Int64) -> NDArray[np.bool_]:
    busy = np.zeros(SPAN, bool)
    for a, b in zip(start + ZERO, end + ZERO, strict=True):
        busy[a:b] = True
    return busy


@settings(max_examples=60)
@given(events, st.lists(giants, max_size=1), st.lists(st.integers(-600, 3_400), min_size=2))
def test_coverage_of_any_window_equals_a_sweep(
    drawn: list[tuple[int, int, int]], giant: list[tuple[int, int, int]], edges: list[int]
) -> None:
    start, end, _ = columns(drawn + giant)
    busy = covered(start, end)
    asked = np.array(sorted(edges))
    found = Coverage.of(*union(start, end)).between(asked)
    swept = [busy[a:b].sum() for a, b in zip(asked[:-1] + ZERO, asked[1:] + ZERO, strict=True)]
    assert found.tolist() == swept


@settings(max_examples=60)
@given(events, st.lists(giants, max_size=1))
def test_every_bucket_of_every_level_equals_a_sweep(
    drawn: list[tuple[int, int, int]], giant: list[tuple[int, int, int]]
) -> None:
    start, end, code = columns(drawn + giant)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyramids, "_FEWEST_BUCKETS", 2)
        built = Pyramid.of(start, end, code, CODES, Coverage.of(*union(start, end)))
    busy = covered(start, end)
    times = np.zeros((CODES, SPAN), np.int64)
    for a, b, c in zip(start + ZERO, end + ZERO, code, strict=True):
        times[c, a:b] += 1
    for level in built.levels:
        for i in range(len(level.busy_ns)):
            check_bucket(level, i, start, end, busy, times)


def check_bucket(
    level: Level,
    i: int,
    start: Int64,
    end: Int64,
    busy: NDArray[np.bool_],
    times: NDArray[np.int64],
) -> None:
    left = (level.first + i) * level.width_ns
    right = left + level.width_ns
    inside = slice(max(left + ZERO, 0), max(right + ZERO, 0))
    reaches = ((start >= left) & (start < right)) | ((start < left) & (end > left))
    by_code = times[:, inside].sum(axis=1)
    assert level.busy_ns[i] == busy[inside].sum()
    assert level.count[i] == reaches.sum()
    assert level.longest_ns[i] == (end - start)[reaches].max(initial=0)
    assert level.code[i] == (by_code.argmax() if by_code.any() else NOTHING)


def test_each_level_is_twice_as_wide_and_loses_nothing() -> None:
    random = np.random.default_rng(1)
    start = np.cumsum(random.integers(1, 3_000, 20_000))
    end = start + random.integers(0, 4_000, 20_000)
    code = random.integers(0, CODES, 20_000).astype(np.uint8)
    coverage = Coverage.of(*union(start, end))
    levels = Pyramid.of(start, end, code, CODES, coverage).levels
    widths = [level.width_ns for level in levels]
    assert [b // a for a, b in pairwise(widths)] == [2] * (len(levels) - 1)
    for level in levels:
        assert level.busy_ns.sum() == coverage.sums[-1]
        assert level.begun.sum() == len(start)
        assert (level.busy_ns <= level.width_ns).all()


def test_a_lone_short_kernel_in_an_empty_minute_is_in_every_level() -> None:
    start = np.array([30_000_000_000, 60_000_000_000])
    end = start + np.array([2_000, 1_000])
    built = Pyramid.of(start, end, np.zeros(2, np.uint8), CODES, Coverage.of(*union(start, end)))
    for level in built.levels:
        lone = level.busy_ns[30_000_000_000 // level.width_ns - level.first]
        assert lone == 2_000


def test_a_track_without_events_has_no_levels() -> None:
    none = np.empty(0, np.int64)
    built = Pyramid.of(none, none, none.astype(np.uint8), CODES, Coverage.of(none, none))
    assert built.levels == ()
    assert built.at(1 << 40) is None


@settings(max_examples=60)
@given(events, st.integers(0, 9))
def test_buckets_keep_the_busy_time_and_name_what_takes_most(
    drawn: list[tuple[int, int, int]], power: int
) -> None:
    start, end, code = columns(drawn)
    name = code.astype(np.int64)
    found = in_buckets(start, end, name, name, name, 1 << power)
    assert found.busy_ns.sum() == covered(start, end).sum()
    assert (found.end_ns > found.start_ns).all()
    for left, dominant, share in zip(found.start_ns, found.name, found.name_share, strict=True):
        low = left // (1 << power) * (1 << power)
        cut = np.minimum(end, low + (1 << power)) - np.maximum(start, low)
        times = [int(np.maximum(cut, 0)[name == c].sum()) for c in range(CODES)]
        if sum(times):
            assert dominant == times.index(max(times))
            assert share == pytest.approx(max(times) / sum(times))


@pytest.mark.parametrize("span", [1, 2, 1_000, 161_000_000_000])
def test_the_width_of_buckets_is_the_smallest_power_of_two_that_fits(span: int) -> None:
    width = bucket_width_ns(span, 1_500)
    assert width & (width - 1) == 0
    assert span / width <= 1_500
    assert width == 1 or span / (width // 2) > 1_499 - 1


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=10)


@given(spans, spans)
def test_intersection_and_subtraction_equal_a_sweep(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    a, b = (
        union(*(np.array(c, np.int64) for c in ([s for s, _ in x], [s + n for s, n in x])))
        for x in (one, other)
    )
    in_a, in_b = covered(*a), covered(*b)
    for found, expected in (
        (intersection(*a, *b), in_a & in_b),
        (subtraction(*a, *b), in_a & ~in_b),
    ):
        assert (covered(*found) == expected).all()
        assert (found[0] < found[1]).all()
        assert (found[0][1:] >= found[1][:-1]).all()

"""Levels of detail, held against a sweep over every nanosecond."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlviz.levels import pyramid as pyramids
from rlviz.levels.coverage import Coverage
from rlviz.levels.pyramid import Level, Pyramid
from rlviz.levels.tally import NOTHING, Columns
from rlviz.run.intervals import intersection, subtraction, union

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

CODES = 3
NAMES = 11
KINDS = (0, 1, 0, 2)
ZERO, SPAN = 600, 4_000

events = st.lists(
    st.tuples(st.integers(-500, 2_500), st.integers(0, 900), st.integers(0, CODES - 1)),
    min_size=1,
    max_size=40,
)
giants = st.tuples(st.just(-400), st.just(3_000), st.integers(0, CODES - 1))


def columns(drawn: list[tuple[int, int, int]], names: int = NAMES) -> Columns:
    """Events by start; names spread over the codes, groups over the names, kinds over these."""
    table = np.array(sorted(drawn), np.int64).reshape(-1, 3)
    name = (7 * table[:, 2] + table[:, 0] % 5) % names
    return Columns(
        table[:, 0],
        table[:, 0] + table[:, 1],
        name.astype(np.int32),
        table[:, 2].astype(np.uint8),
        (name % len(KINDS)).astype(np.uint8),
        CODES,
        names,
        KINDS,
    )


def pyramid_of(events: Columns, threads: int = 1) -> Pyramid:
    return Pyramid.of(events, Coverage.of(*union(events.start_ns, events.end_ns)), threads)


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
    made = columns(drawn + giant)
    start, end = made.start_ns, made.end_ns
    busy = covered(start, end)
    asked = np.array(sorted(edges))
    found = Coverage.of(*union(start, end)).between(asked)
    swept = [busy[a:b].sum() for a, b in zip(asked[:-1] + ZERO, asked[1:] + ZERO, strict=True)]
    assert found.tolist() == swept


@settings(max_examples=60)
@given(events, st.lists(giants, max_size=1), st.integers(1, 3), st.sampled_from([NAMES, 1 << 40]))
def test_every_bucket_of_every_level_equals_a_sweep(
    drawn: list[tuple[int, int, int]], giant: list[tuple[int, int, int]], block: int, names: int
) -> None:
    made = columns(drawn + giant, NAMES)
    made = replace(made, names=names)  # with so many names, pairs do not fit into one number
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyramids, "_FEWEST_BUCKETS", 2)
        patch.setattr(pyramids, "_BLOCK_LEVELS", block)
        built = pyramid_of(made)
    busy = covered(made.start_ns, made.end_ns)
    for level in built.levels:
        for i in range(len(level)):
            check_bucket(level, i, made, busy)


def check_bucket(level: Level, i: int, made: Columns, busy: NDArray[np.bool_]) -> None:
    left = (level.first + i) * level.width_ns
    right = left + level.width_ns
    start, end = made.start_ns, made.end_ns
    reaches = ((start >= left) & (start < right)) | ((start < left) & (end > left))
    assert level.busy_ns[i] == busy[max(left + ZERO, 0) : max(right + ZERO, 0)].sum()
    assert level.count[i] == reaches.sum()
    assert level.longest_ns[i] == (end - start)[reaches].max(initial=0)
    time = np.maximum(np.minimum(end, right) - np.maximum(start, left), 0)
    kind = np.array(made.kinds)[made.group]
    for told, code in ((level.code, made.code), (level.group, made.group), (level.kind, kind)):
        by_code = np.bincount(code, weights=time)
        assert told[i] == (by_code.argmax() if by_code.any() else NOTHING)
    if not reaches.any():
        assert (level.name[i], level.share[i]) == (-1, 0)
        return
    names = {n: time[reaches & (made.name == n)].sum() for n in sorted(set(made.name[reaches]))}
    name = max(names, key=lambda n: names[n])
    assert level.name[i] == name
    whole = sum(names.values())
    assert level.share[i] == (np.rint(255 * names[name] / whole) if whole else 255)


def random_events(count: int, seed: int = 1) -> Columns:
    random = np.random.default_rng(seed)
    start = np.cumsum(random.integers(1, 3_000, count))
    length = random.integers(0, 4_000, count)
    return columns(
        list(zip(start.tolist(), length.tolist(), (start % CODES).tolist(), strict=True))
    )


def test_each_level_is_twice_as_wide_and_loses_nothing() -> None:
    made = random_events(20_000)
    levels = pyramid_of(made).levels
    widths = [level.width_ns for level in levels]
    assert [b // a for a, b in pairwise(widths)] == [2] * (len(levels) - 1)
    busy_ns = Coverage.of(*union(made.start_ns, made.end_ns)).sums[-1]
    for level in levels:
        assert level.busy_ns.sum() == busy_ns
        assert level.begun.sum() == 20_000
        assert (level.busy_ns <= level.width_ns).all()


@pytest.mark.parametrize("bits", [14, 22, 30])
def test_long_times_are_summed_up_as_short_ones(bits: int) -> None:
    short = random_events(40_000)
    long = replace(short, start_ns=short.start_ns << bits, end_ns=short.end_ns << bits)
    levels = {level.width_ns: level for level in pyramid_of(short).levels}
    shared = [level for level in pyramid_of(long).levels if level.width_ns >> bits in levels]
    assert len(shared) > 3
    for level in shared:
        other = levels[level.width_ns >> bits]
        for name in pyramids.COLUMNS:
            shift = bits if name.endswith("_ns") else 0
            assert np.array_equal(
                getattr(level, name).astype(np.int64),
                getattr(other, name).astype(np.int64) << shift,
            ), name


def test_blocks_and_threads_make_the_same_levels() -> None:
    made = random_events(40_000)
    whole = pyramid_of(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyramids, "_BLOCK_LEVELS", 3)
        parts = pyramid_of(made, threads=2)
    assert len(parts.levels) == len(whole.levels) > 4
    for one, other in zip(whole.levels, parts.levels, strict=True):
        for column in pyramids.COLUMNS:
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


def test_a_lone_short_kernel_in_an_empty_minute_is_in_every_level() -> None:
    built = pyramid_of(columns([(30_000_000_000, 2_000, 0), (60_000_000_000, 1_000, 0)]))
    for level in built.levels:
        lone = level.busy_ns[30_000_000_000 // level.width_ns - level.first]
        assert lone == 2_000


def test_a_track_without_events_has_no_levels() -> None:
    built = pyramid_of(columns([]))
    assert built.levels == ()
    assert built.at(1 << 40) is None


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

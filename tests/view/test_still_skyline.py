"""Columns of a still figure against a count by hand."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlviz.view.scene import Bars
from rlviz.view.still_skyline import NOTHING, columns_of, outlines

END = 40
COLUMN = 4


def bars_of(found: list[tuple[int, int, float, int, int]]) -> Bars:
    """Make bars of (left, right, share, color, row)."""
    left, right, share = (np.array([f[i] for f in found], float) for i in range(3))
    color, row = (np.array([f[i] for f in found], np.int32) for i in (3, 4))
    ones = np.ones(len(found), np.int32)
    bottom = np.full(len(found), 1.0)
    busy = (right - left) * share
    return Bars(left, right, bottom - share, bottom, row, ones, color, color, ones, busy, bottom)


@st.composite
def buckets(draw: st.DrawFn) -> list[tuple[int, int, float, int, int]]:
    """Buckets that touch or lie apart, of two rows."""
    found = []
    for row in (0, 1):
        cuts = sorted(draw(st.sets(st.integers(-5, END + 5), max_size=20)))
        for left, right in itertools.pairwise(cuts):
            if draw(st.booleans()):
                share = draw(st.integers(1, 8)) / 8
                found.append((left, right, share, draw(st.integers(0, 2)), row))
    return found


events = st.lists(
    st.tuples(st.integers(-5, END), st.integers(0, 9), st.integers(0, 2), st.integers(0, 1)),
    max_size=20,
).map(lambda found: [(at, at + length, 1.0, color, row) for at, length, color, row in found])

EDGES = np.arange(0.0, END + COLUMN, COLUMN)


@given(buckets())
def test_columns_hold_the_busy_time_of_buckets(
    found: list[tuple[int, int, float, int, int]],
) -> None:
    share, color = columns_of(bars_of(found), 0, EDGES)
    for i in range(len(share)):
        seconds = range(i * COLUMN, (i + 1) * COLUMN)
        held: dict[int, float] = defaultdict(float)
        for left, right, height, code, row in found:
            if row == 0:
                held[code] += height * sum(left <= second < right for second in seconds)
        assert np.isclose(share[i], sum(held.values()) / COLUMN)
        most = max(held.values(), default=0.0)
        if most:
            assert np.isclose(held[int(color[i])], most)
        else:
            assert color[i] == NOTHING


@given(events)
def test_columns_hold_the_union_of_events_that_overlap(
    found: list[tuple[int, int, float, int, int]],
) -> None:
    share, color = columns_of(bars_of(found), 0, EDGES)
    own = [(left, right) for left, right, _, _, row in found if row == 0]
    for i in range(len(share)):
        seconds = range(i * COLUMN, (i + 1) * COLUMN)
        busy = sum(any(left <= s < right for left, right in own) for s in seconds)
        assert np.isclose(share[i], busy / COLUMN)
        if busy:
            assert color[i] != NOTHING


def test_an_event_without_length_is_seen() -> None:
    share, color = columns_of(bars_of([(9, 9, 1.0, 2, 0), (16, 24, 0.5, 1, 0)]), 0, EDGES)
    assert color[2] == 2
    assert share[2] == 0.0
    assert list(color[4:6]) == [1, 1]
    assert (color == NOTHING).sum() == len(color) - 3


def test_a_kernel_of_a_microsecond_in_an_hour_is_seen() -> None:
    edges = np.linspace(0.0, 3600.0, 1501)
    tiny = bars_of([(1800, 1801, 1.0, 1, 0)])
    short = Bars(**{**vars(tiny), "right": tiny.left + 1e-6, "busy_s": np.array([1e-6])})
    share, color = columns_of(short, 0, edges)
    assert (color == 1).sum() == 1
    assert 0 < share.max() < 1e-6


def test_neighbours_of_one_colour_have_one_outline_without_needless_corners() -> None:
    x = np.arange(7.0)
    height = np.array([2.0, 2.0, 3.0, 1.0, 0.0, 1.0])
    color = np.array([0, 0, 0, 1, NOTHING, 0])
    found = dict(outlines(x, height, color, 10.0))
    assert [len(one) for one in found[0]] == [7, 5]
    assert found[0][0].tolist() == [[0, 10], [0, 8], [2, 8], [2, 7], [3, 7], [3, 10], [0, 10]]
    assert found[1][0].tolist() == [[3, 10], [3, 9], [4, 9], [4, 10], [3, 10]]

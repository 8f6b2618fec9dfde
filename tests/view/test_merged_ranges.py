"""Ranges at any zoom: as if they were merged anew for each window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlviz.view.merged_ranges import MergedRanges

if TYPE_CHECKING:
    from collections.abc import Sequence

# A level, its start and its end; and for how many ranges it stands.
Range = tuple[int, int, int]
Drawn = tuple[int, int, int, int]

WIDTHS = st.sampled_from([0, 1, 700, 1 << 10, 1 << 13, 1 << 20])
EVER = 1 << 50


@st.composite
def ranges(draw: st.DrawFn) -> list[Range]:
    """Ranges of a few levels; those of one do not overlap, some have no length, some touch."""
    found = []
    for level in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, 5_000))
        for _ in range(draw(st.integers(0, 30))):
            at += draw(st.sampled_from([0, 1, 300, 1_025, 5_000, 1_000_000]))
            length = draw(st.sampled_from([0, 1, 200, 1_023, 1_024, 3_000, 400_000]))
            found.append((level, at, at + length))
            at += length
    return list(draw(st.permutations(found)))


def merged(ranges: Sequence[Range], width: int) -> list[Drawn]:
    """Merge by one look at each range."""
    found: list[Drawn] = []
    was_sliver = False
    for level, left, right in sorted(ranges):
        sliver = right - left < width
        last = found[-1] if found else (-1, 0, 0, 0)
        if last[0] == level and sliver and was_sliver and left - last[2] <= width:
            found[-1] = (level, last[1], max(last[2], right), last[3] + 1)
        else:
            found.append((level, left, right, 1))
        was_sliver = sliver
    return found


def drawn_of(
    ranges: Sequence[Range], start: int, end: int, width: int
) -> tuple[list[Drawn], list[int], list[int]]:
    """Merge as rlviz does; gives also the longest of each and its length."""
    level, left, right = np.array(ranges, np.int64).reshape(-1, 3).T
    levels = MergedRanges.of(level.astype(np.int32), left, right, left % 7 == 0)
    found, used = levels.within(start, end, width, at_most=1_000)
    assert used == width
    columns = (found.level, found.start_ns, found.end_ns, found.count)
    drawn = list(zip(*(column.tolist() for column in columns), strict=True))
    return drawn, found.longest.tolist(), found.longest_ns.tolist()


@given(ranges(), WIDTHS)
def test_a_run_is_merged_as_by_one_look_at_each_range(ranges: list[Range], width: int) -> None:
    drawn, longest, longest_ns = drawn_of(ranges, -1, EVER, width)
    assert drawn == merged(ranges, width)
    for (level, start, end, _), place, length in zip(drawn, longest, longest_ns, strict=True):
        own = [r - a for lane, a, r in ranges if lane == level and start <= a and r <= end]
        assert length == max(own)
        assert ranges[place][0] == level
        assert ranges[place][2] - ranges[place][1] == length


@given(ranges(), WIDTHS, st.integers(-10, 3_000_000), st.integers(1, 3_000_000))
def test_nothing_of_a_window_is_missing_and_nothing_long_is_merged(
    ranges: list[Range], width: int, start: int, length: int
) -> None:
    end = start + length
    drawn, *_ = drawn_of(ranges, start, end, width)
    inside = [one for one in ranges if (one[2] > start or one[1] == start) and one[1] < end]
    for level, left, right in inside:
        assert any(one[0] == level and one[1] <= left and right <= one[2] for one in drawn)
        if right - left >= max(width, 1):
            assert (level, left, right, 1) in drawn
    whole = merged(ranges, width)
    for level, left, right, count in drawn:
        assert any(w[0] == level and w[1] <= left and right <= w[2] for w in whole)
        assert count <= sum(a >= left and b <= right for lane, a, b in ranges if lane == level)


def test_too_many_ranges_are_merged_to_wider_ones() -> None:
    start = np.arange(10_000, dtype=np.int64) * 5_000
    none = np.zeros(10_000, np.bool_)
    levels = MergedRanges.of(np.zeros(10_000, np.int32), start, start + 2_000, none)
    found, width = levels.within(0, int(start[-1]), 1_000, at_most=500)
    assert len(found) <= 500
    assert width > 1_000
    assert found.count.sum() in (9_999, 10_000)

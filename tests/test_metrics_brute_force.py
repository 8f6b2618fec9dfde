"""Numbers of random small timelines against sweeps too dumb to be wrong.

A timeline is a set of ticks; what is asked of it is asked of each tick.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlviz.run import stragglers
from rlviz.run.activity import Activity, activity_of_lanes
from rlviz.run.edges import edges_by_row
from rlviz.run.gaps import CLASSES, idle_gaps
from rlviz.run.intervals import subtraction
from rlviz.run.rules import Pattern, Rules
from rlviz.run.within import closed, how_many, within
from tests.ticks import (
    LAST,
    close,
    columns,
    quickly,
    recorded,
    runs,
    spans,
    ticks,
    ticks_of,
    unite,
    windows,
    work,
)

MS, US = 1_000_000, 1_000

# -- measuring -------------------------------------------------------------------------------


@quickly
@given(spans, st.lists(windows, max_size=4))
def test_a_union_is_measured_in_each_window(pairs: list[tuple[int, int]], asked: Any) -> None:
    found = within(unite(pairs), *columns(asked))
    assert found.tolist() == [len(ticks(pairs) & ticks([window])) for window in asked]


@quickly
@given(st.lists(spans, max_size=4), windows)
def test_sets_are_counted_at_each_moment(sets: list[Any], window: tuple[int, int]) -> None:
    time, level = how_many([unite(pairs) for pairs in sets])
    assert (np.diff(time) > 0).all()
    assert not len(level) or level[-1] == 0
    held = [sum(tick in ticks(pairs) for pairs in sets) for tick in range(*window)]
    place = np.searchsorted(time, np.arange(*window), side="right") - 1
    told = np.append(level, 0)[place]  # before the first moment there is none
    assert told.tolist() == held


@quickly
@given(spans, st.integers(0, 4))
def test_only_gaps_that_are_short_enough_are_closed(pairs: Any, under: int) -> None:
    assert ticks_of(closed(unite(pairs), under)) == close(ticks(pairs), under)


# -- columns of busy -------------------------------------------------------------------------


rules = Rules(communication=Pattern(("nccl*",)))


@quickly
@given(st.lists(work, max_size=20), st.integers(1, 2), spans)
def test_columns_of_busy_equal_a_look_at_every_tick(
    works: list[Any], reports: int, captured: Any
) -> None:
    lanes = activity_of_lanes(recorded(works, reports), rules)
    assert set(lanes) == {lane for lane, _, _ in works}
    inside = ticks(captured)
    gpu = Activity.together(list(lanes.values())).cut_to(unite(captured))
    for own, members in (
        (gpu, (0, 1)),
        *((a.cut_to(unite(captured)), (n,)) for n, a in lanes.items()),
    ):
        of = {
            kind: ticks(s for lane, name, s in works if lane in members and name in names) & inside
            for kind, names in {
                "compute": ("gemm", "graph"),
                "comm": ("nccl",),
                "copy": ("copy", "set"),
            }.items()
        }
        assert ticks_of(own.busy) == of["compute"] | of["comm"] | of["copy"]
        assert ticks_of(own.compute) == of["compute"]
        assert ticks_of(own.comm_exposed) == of["comm"] - of["compute"]
        assert ticks_of(own.copy_only) == of["copy"] - of["compute"] - of["comm"]


# -- idle ------------------------------------------------------------------------------------

around = [1, 99 * US + 999, 100 * US, MS - 1, MS, 10 * MS - 1, 10 * MS, 12 * MS]
lengths = st.lists(st.sampled_from(around), min_size=1, max_size=9)


def pieces_of(of: list[int]) -> list[tuple[int, int]]:
    """Stretches of these lengths, one after the other."""
    ends = np.cumsum(of).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


def class_of(length: int) -> str:
    return "launch" if length < 100 * US else "wait" if length >= 10 * MS else "short"


@quickly
@given(lengths, st.booleans(), st.data())
def test_a_gap_has_the_class_of_its_whole_length_however_it_is_cut(
    parts: list[int], starts_busy: bool, data: st.DataObject
) -> None:
    stretches = pieces_of(parts)
    end = stretches[-1][1]
    gaps = stretches[1 if starts_busy else 0 :: 2]
    busy = unite(stretches[0 if starts_busy else 1 :: 2])
    moment = st.integers(0, end)
    edge = sorted(data.draw(st.tuples(moment, moment)))
    window = sorted(data.draw(st.tuples(moment, moment)))
    found = idle_gaps(busy, unite([(0, end)]), unite([(edge[0], edge[1])]))

    def left(gap: tuple[int, int], limits: list[int]) -> int:
        """Length of what is in the limits and not in the edge."""
        low, high = max(gap[0], limits[0]), min(gap[1], limits[1])
        covered = max(min(high, edge[1]) - max(low, edge[0]), 0)
        return max(high - low, 0) - (covered if high > low else 0)

    by_class, bubble = found.sums_in(np.array([window[0], 0]), np.array([window[1], end]))
    for name, told in zip(CLASSES, by_class.tolist(), strict=True):
        for limits, told_ns in zip((window, [0, end]), told, strict=True):
            own = [gap for gap in gaps if class_of(gap[1] - gap[0]) == name]
            assert told_ns == sum(left(gap, limits) for gap in own)
    long = [gap for gap in gaps if gap[1] - gap[0] >= MS]
    assert bubble.tolist() == [sum(left(gap, w) for gap in long) for w in (window, [0, end])]
    cut = found.cut_at(np.unique(window))
    assert (cut.end > cut.start).all()
    assert set(zip(cut.start.tolist(), cut.end.tolist(), strict=True)) == {
        piece
        for s, e in zip(found.start.tolist(), found.end.tolist(), strict=True)
        for piece in parted(s, e, window)
    }
    whole = {gap: gap[1] - gap[0] for gap in gaps}
    for start, length in zip(cut.start.tolist(), cut.whole_ns.tolist(), strict=True):
        assert [ns for (s, e), ns in whole.items() if s <= start < e] == [length]
    inside = [
        p
        for s, e in zip(cut.start, cut.end, strict=True)
        if window[0] <= s and e <= window[1]
        for p in [int(e - s)]
    ]
    longest = found.longest_in(window[0], window[1])
    assert (0 if longest is None else longest[1] - longest[0]) == max(inside, default=0)


def parted(start: int, end: int, limits: list[int]) -> list[tuple[int, int]]:
    inner = sorted({limit for limit in limits if start < limit < end})
    return list(zip([start, *inner], [*inner, end], strict=True))


@quickly
@given(spans, spans, spans)
def test_captured_time_is_busy_or_edge_or_idle(busy: Any, captured: Any, edges: Any) -> None:
    inside = ticks(captured)
    of_busy, of_edges = (unite(runs(ticks(pairs) & inside)) for pairs in (busy, edges))
    found = idle_gaps(of_busy, unite(captured), of_edges)
    idle = ticks_of(unite(zip(found.start.tolist(), found.end.tolist(), strict=True)))
    assert idle == inside - ticks(busy) - ticks(edges)
    edge = ticks_of(subtraction(*of_edges, *of_busy))
    assert len(inside) == len(ticks(busy) & inside) + len(edge) + len(idle)


@quickly
@given(st.lists(windows, min_size=1, max_size=3), st.lists(windows, max_size=2))
def test_edges_are_the_ends_of_every_window_of_every_worker(first: Any, second: Any) -> None:
    tenth = 100 * MS
    lanes = [own for own in (first, second) if own]
    names = [[f"{lane}.{n}" for n in range(len(own))] for lane, own in enumerate(lanes)]
    reports = pl.DataFrame(
        [
            (name, start * tenth, end * tenth)
            for own, of in zip(names, lanes, strict=True)
            for name, (start, end) in zip(own, of, strict=True)
        ],
        schema={"report": pl.String, "window_start_ns": pl.Int64, "window_end_ns": pl.Int64},
        orient="row",
    )
    rows = pl.DataFrame({"row": [0] * len(lanes), "lane": range(len(lanes)), "report": names})
    captured = set.intersection(*(ticks(own) for own in lanes))
    near = ticks((s, s + 2) for own in lanes for s, _ in own) | ticks(
        (e - 15, e) for own in lanes for _, e in own
    )
    assert ticks_of(edges_by_row(rows, reports)[0], tenth) == near & captured


@quickly
@given(works=st.lists(work, min_size=1), at=st.integers(0, LAST), length=st.integers(0, 9))
def test_a_stall_is_from_the_last_work_before_an_update_to_the_first_behind(
    works: list[tuple[int, str, tuple[int, int]]], at: int, length: int
) -> None:
    # So that stretches end among few rows.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stragglers, "_STRIDE", 2)
        captured = np.array([-1]), np.array([10 * LAST])
        stalls = stragglers.Stalls(recorded(works, parts=2), dict.fromkeys((0, 1), captured))
        found = stalls.of(0, (at, at + length))
    own = [span for lane, _, span in works if lane == 0]
    before = [end for start, end in own if start < at]
    after = [start for start, _ in own if start >= at + length]
    wanted = max(min(after) - max(before), 0) if before and after else None
    assert found == wanted

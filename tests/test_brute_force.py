"""Random small exports against sweeps too dumb to be wrong."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.random_exports import (
    GPUS,
    WINDOW_NS,
    Range,
    Span,
    Work,
    closed,
    everything,
    lanes,
    load,
    loose_ranges,
    most_at_once,
    nested_ranges,
    overlaps,
    rubbish,
    spans,
    sweep,
    windows,
    work,
    write_ranges,
    write_work,
)

if TYPE_CHECKING:
    from tests.exports import Export

# Shrinking loads hundreds of reports; an example of a dozen events is small enough to read.
quickly = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
)


def pieces_by(key: str, busy: pl.DataFrame) -> dict[int, list[Span]]:
    """Busy pieces of each lane or row; those of no length say nothing."""
    found: dict[int, list[Span]] = {}
    for line in busy.to_dicts():
        span = (line["start_ns"], line["end_ns"])
        assert span[0] <= span[1]
        found.setdefault(line[key], []).extend([span] if span[0] < span[1] else [])
    return found


def clip(pieces: list[Span], window: Span) -> list[Span]:
    cut = [(max(start, window[0]), min(end, window[1])) for start, end in pieces]
    return [(start, end) for start, end in cut if start < end]


@quickly
@given(st.lists(work(), min_size=1, max_size=15), windows)
def test_busy_time_equals_a_brute_force_sweep(works: list[Work], window: Span) -> None:
    run = load(lambda export: write_work(export, works))
    start, end = window
    whole, part = (
        pieces_by("lane", run.busy()),
        pieces_by("lane", run.busy(start_ns=start, end_ns=end)),
    )
    for lane, (uuid, pid) in lanes(run).items():
        mine = [item for item in works if (GPUS[item.worker], item.worker[0]) == (uuid, pid)]
        swept = sweep((item.start, item.end) for item in mine)
        assert whole.get(lane, []) == swept
        assert part.get(lane, []) == clip(swept, window)


@quickly
@given(st.lists(work(), min_size=1, max_size=15), windows)
def test_busy_time_of_a_shared_gpu_is_the_union_of_its_workers(
    works: list[Work], window: Span
) -> None:
    run = load(lambda export: write_work(export, works))
    start, end = window
    whole = pieces_by("row", run.busy(by="row"))
    part = pieces_by("row", run.busy(by="row", start_ns=start, end_ns=end))
    for lane in run.rows.to_dicts():
        mine = [item for item in works if GPUS[item.worker] == lane["gpu_uuid"]]
        swept = sweep((item.start, item.end) for item in mine)
        assert whole.get(lane["row"], []) == swept
        assert part.get(lane["row"], []) == clip(swept, window)


@quickly
@given(st.lists(work(), max_size=15), st.lists(rubbish(), max_size=5))
def test_good_rows_all_count_and_bad_rows_never_do(works: list[Work], bad: list[Work]) -> None:
    run = load(lambda export: write_work(export, [*bad[:2], *works, *bad[2:]]))
    found = Counter(
        (line["pid"], line["device"], line["stream"], line["start_ns"], line["end_ns"])
        for line in everything(run).to_dicts()
    )
    assert found == Counter((*item.worker, item.stream, item.start, item.end) for item in works)
    told = run.diagnostics.filter(pl.col("kind") == "bad-rows")["count"].sum()
    assert told == len(bad)


@quickly
@given(st.lists(work(), min_size=1, max_size=15), windows)
def test_a_window_gives_whole_the_events_that_overlap_it(works: list[Work], window: Span) -> None:
    run = load(lambda export: write_work(export, works))
    start, end = window
    found = Counter(everything(run, start_ns=start, end_ns=end).iter_rows())
    assert found == Counter(
        line for line in everything(run).iter_rows() if overlaps(line[2], line[3], window)
    )
    after = Counter(everything(run, start_ns=start, end_ns=None).iter_rows())
    before = Counter(everything(run, start_ns=None, end_ns=start).iter_rows())
    crossing = Counter(line for line in everything(run).iter_rows() if line[2] < start < line[3])
    assert after + before - crossing == Counter(everything(run).iter_rows())


@quickly
@given(st.lists(work(), min_size=1, max_size=15), st.data())
def test_events_come_in_order_and_only_of_the_rows_asked_for(
    works: list[Work], data: st.DataObject
) -> None:
    run = load(lambda export: write_work(export, works))
    every = run.rows["row"].unique().to_list()
    some = data.draw(st.lists(st.sampled_from(every), unique=True))
    for ask in (run.kernels, run.copies, run.graphs, run.busy):
        whole = ask()
        keys = whole.select("row", "lane", "start_ns").rows()
        assert keys == sorted(keys)
        assert ask(row=some).rows() == whole.filter(pl.col("row").is_in(some)).rows()
        assert ask(row=every[0]).rows() == whole.filter(pl.col("row") == every[0]).rows()


# -- ranges ----------------------------------------------------------------------------------


@quickly
@given(nested_ranges())
def test_depth_of_nested_ranges_is_that_of_a_stack(ranges: list[tuple[Range, int]]) -> None:
    run = load(lambda export: write_ranges(export.push_pop, [r for r, _ in ranges]))
    found = Counter(
        run.ranges().select("start_ns", "end_ns", "tid", "truncated", "depth").iter_rows()
    )
    assert found == Counter(
        (
            item.start,
            WINDOW_NS if item.end is None else item.end,
            100 + item.thread,
            item.end is None,
            depth,
        )
        for item, depth in ranges
    )


@quickly
@given(loose_ranges())
def test_ranges_wider_than_their_parent_are_as_deep_as_ranges_are_open(
    ranges: list[Range],
) -> None:
    run = load(lambda export: write_ranges(export.push_pop, ranges))
    found = run.ranges().group_by("tid").agg(pl.col("depth").max() + 1)
    expected = {}
    for thread in {item.thread for item in ranges}:
        mine = [
            (r.start, WINDOW_NS if r.end is None else r.end) for r in ranges if r.thread == thread
        ]
        expected[100 + thread] = most_at_once(mine)
    assert dict(found.iter_rows()) == expected


@quickly
@given(loose_ranges())
def test_start_end_ranges_never_share_a_lane_while_open_and_take_no_lane_too_many(
    ranges: list[Range],
) -> None:
    ranges = [item._replace(thread=0) for item in ranges]
    run = load(lambda export: write_ranges(export.start_end, ranges))
    found = run.ranges()
    assert set(found["kind"]) <= {"start_end"}
    for _, part in found.group_by("depth"):
        inside = sorted(zip(part["start_ns"], part["end_ns"], strict=True))
        assert all(end <= start for (_, end), (start, _) in pairwise(inside))
    assert sorted(found["depth"].unique()) == list(range(most_at_once(closed(ranges))))


@quickly
@given(loose_ranges())
def test_start_end_ranges_of_several_threads_are_kept_apart_too(ranges: list[Range]) -> None:
    found = load(lambda export: write_ranges(export.start_end, ranges)).ranges()
    for _, part in found.group_by("lane", "tid", "depth"):
        inside = sorted(zip(part["start_ns"], part["end_ns"], strict=True))
        assert all(end <= start for (_, end), (start, _) in pairwise(inside))


@quickly
@given(loose_ranges(), windows)
def test_ranges_belong_to_the_thread_that_opened_them_and_end_where_they_end(
    ranges: list[Range], window: Span
) -> None:
    run = load(lambda export: write_ranges(export.start_end, ranges))
    columns = ["start_ns", "end_ns", "tid", "truncated"]
    expected = [
        (r.start, WINDOW_NS if r.end is None else r.end, 100 + r.thread, r.end is None)
        for r in ranges
    ]
    assert Counter(run.ranges().select(columns).iter_rows()) == Counter(expected)
    part = run.ranges(start_ns=window[0], end_ns=window[1]).select(columns)
    assert Counter(part.iter_rows()) == Counter(
        line for line in expected if overlaps(line[0], line[1], window)
    )


@quickly
@given(st.lists(spans(), min_size=1, max_size=10), loose_ranges())
def test_without_a_window_the_first_and_last_event_are_it(
    kernels: list[Span], ranges: list[Range]
) -> None:
    def fill(export: Export) -> None:
        write_work(export, [Work("kernel", *span, (100, 0), 7) for span in kernels])
        write_ranges(export.push_pop, ranges)

    run = load(fill, duration_ns=None)
    (line,) = run.reports.to_dicts()
    starts = [start for start, _ in kernels] + [item.start for item in ranges]
    # a range without an end says no more than that it began
    ends = [end for _, end in kernels] + [item.end or item.start for item in ranges]
    assert (line["window_start_ns"], line["window_end_ns"]) == (min(starts), max(ends))
    open_ends = run.ranges().filter("truncated")["end_ns"]
    assert open_ends.to_list() == [max(ends)] * sum(item.end is None for item in ranges)


@quickly
@given(st.lists(spans(), min_size=1, max_size=12), windows)
def test_marks_have_no_length_and_neighbouring_windows_share_none(
    places: list[Span], window: Span
) -> None:
    def fill(export: Export) -> None:
        for start, _ in places:
            export.mark(start, "step done")

    run = load(fill)
    marks = run.marks()
    assert sorted(marks["start_ns"]) == sorted(start for start, _ in places)
    assert marks["end_ns"].to_list() == marks["start_ns"].to_list()
    start, end = window
    pieces = [
        run.marks(end_ns=start),
        run.marks(start_ns=start, end_ns=end),
        run.marks(start_ns=end),
    ]
    assert pl.concat(pieces).rows() == marks.rows()

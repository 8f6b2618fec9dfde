"""Sums over a span: the run's own kernels and busy time, as a chart asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from rlviz.view.asked import Span
from rlviz.view.compare_mean import MeanDetail
from rlviz.view.detail import Detail
from rlviz.view.span_sums import MOST_KERNELS

if TYPE_CHECKING:
    from rlviz.view.timeline import Timeline


def cut_kernels(timeline: Timeline, rows: list[int], start_ns: int, end_ns: int) -> pl.DataFrame:
    """Kernels one by one, cut to a window."""
    kernels = timeline.run.kernels(row=rows, start_ns=start_ns, end_ns=end_ns)
    inside = pl.col("end_ns").clip(None, end_ns) - pl.col("start_ns").clip(start_ns, None)
    return kernels.with_columns(inside.alias("inside_ns"))


@pytest.mark.parametrize("rows", [None, [0], [3, 1]])
def test_kernels_of_a_span_are_those_of_the_run_cut_to_it(
    timeline: Timeline, detail: Detail, rows: list[int] | None
) -> None:
    start, end = timeline.window
    start, end = start + (end - start) * 0.3, start + (end - start) * 0.72
    told = detail.kernels(Span(start, end, None if rows is None else frozenset(rows)))
    wanted = cut_kernels(timeline, rows or [0, 1, 2, 3], round(start * 1e9), round(end * 1e9))
    by_name = wanted.group_by("short_name").agg(pl.len(), pl.col("inside_ns").sum())
    assert told["names"] == len(by_name)
    assert told["count"] == len(wanted)
    assert told["total"] == pytest.approx(int(wanted["inside_ns"].sum()) / 1e9)
    assert len(told["kernels"]) == min(len(by_name), MOST_KERNELS)
    known = {name: (count, total / 1e9) for name, count, total in by_name.iter_rows()}
    for name, count, total in told["kernels"]:
        assert (count, total) == (known[name][0], pytest.approx(known[name][1]))
    totals = [total for _, _, total in told["kernels"]]
    assert totals == sorted(totals, reverse=True)
    left_out = sorted((total for _, total in known.values()), reverse=True)[MOST_KERNELS:]
    assert all(total <= totals[-1] for total in left_out)


def test_busy_time_of_a_span_is_the_union_of_what_ran(timeline: Timeline, detail: Detail) -> None:
    start, end = timeline.window
    start, end = start + (end - start) * 0.3, start + (end - start) * 0.35
    told = dict(detail.busy(Span(start, end))["busy"])
    first, last = round(start * 1e9), round(end * 1e9)
    for row, track in timeline.run.tracks.items():
        fine = np.linspace(first, last, 20_001)
        middle = (fine[1:] + fine[:-1]) / 2
        before = np.searchsorted(np.sort(track.start_ns), middle, side="right")
        after = np.searchsorted(np.sort(track.end_ns), middle, side="right")
        assert told.get(row, 0.0) == pytest.approx(
            np.mean(before > after) * (end - start), abs=(end - start) * 0.01
        )


def test_a_span_without_length_is_a_moment(timeline: Timeline, detail: Detail) -> None:
    kernel = timeline.run.kernels(row=0).row(5, named=True)
    at = (kernel["start_ns"] + kernel["end_ns"]) // 2 / 1e9
    told = detail.kernels(Span(at, at, frozenset({0})))
    assert kernel["short_name"] in {name for name, *_ in told["kernels"]}


def test_a_span_with_no_row_or_nothing_in_it_sums_up_to_nothing(detail: Detail) -> None:
    for span in (Span(0.0, 50.0, frozenset()), Span(1e6, 2e6), Span(0.0, 9.0, frozenset({99}))):
        assert detail.kernels(span) == {"kernels": [], "names": 0, "count": 0, "total": 0.0}
        assert detail.busy(span) == {"busy": []}


def test_names_are_made_legible(timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = timeline.run.top_kernels().head(1)
    frame = frame.with_columns(pl.lit("a\u202e\x00b").alias("short_name"))
    monkeypatch.setattr(type(timeline.run), "top_kernels", lambda *_, **__: frame)
    told = Detail(timeline.run, timeline.scene).kernels(Span(0.0, 1.0))
    assert told["kernels"][0][0] == "a⟨U+202E⟩␀b"


def test_a_mean_has_neither(timeline: Timeline) -> None:
    mean: Any = MeanDetail(timeline.run, timeline.scene)
    for ask in (mean.kernels, mean.busy):
        with pytest.raises(ValueError, match="of its own"):
            ask(Span(0.0, 1.0))

"""What a zoomed chart is sent: the run's own view of the window, and nothing of what it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from rlviz.view.asked import Bucket, Window
from rlviz.view.choices import COLOR_BY, coloring, facet_of
from rlviz.view.detail import LEVELS_BYTES, Detail
from rlviz.view.held import hold
from rlviz.view.timeline import Timeline
from tests.view.packed import places_of, ranges_of

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.view.choices import ColorBy


@pytest.mark.parametrize("color_by", COLOR_BY)
def test_buckets_are_those_of_the_runs_own_view(
    timeline: Timeline, detail: Detail, color_by: ColorBy
) -> None:
    facts, columns = detail.answer(Window(*timeline.window, 800, color_by))
    start, end = (round(at * 1e9) for at in timeline.window)
    facet, colors = facet_of(timeline.scene, color_by)
    view = timeline.run.view(start, end, 800, facet=facet)
    assert (facts["color_by"], facts["search"], facts["rows"]) == (color_by, "", None)
    assert len(facts["strips"]) == len(view.strips) == 4
    coverage, color = (np.frombuffer(column, "u1") for column in columns[:2])
    at = 0
    for (row, left, width, length), strip in zip(facts["strips"], view.strips, strict=True):
        own = slice(at, at := at + length)
        assert row == strip.row
        assert (left, width) == (strip.start_ns / 1e9, strip.width_ns / 1e9)
        np.testing.assert_array_equal(coverage[own], strip.coverage)
        np.testing.assert_array_equal(color[own], colors[strip.code])
    assert at == len(coverage) == len(color)
    assert color.max() < len(coloring(timeline.scene)[color_by]["palette"])
    assert all(len(column) == 0 for column in columns[2:9])


def test_only_the_rows_that_are_seen_are_sent(timeline: Timeline, detail: Detail) -> None:
    facts, _ = detail.answer(Window(*timeline.window, 800, rows=frozenset({2, 0})))
    assert [row for row, *_ in facts["strips"]] == facts["rows"] == [0, 2]


@pytest.mark.parametrize("width", [800, 100_000])
def test_a_bucket_tells_what_it_stands_for(timeline: Timeline, detail: Detail, width: int) -> None:
    start, end = (round(at * 1e9) for at in timeline.window)
    facts, columns = detail.answer(Window(*timeline.window, width))
    row, left, bucket_s, length = facts["strips"][1]
    coverage = np.frombuffer(columns[0], "u1")[facts["strips"][0][3] :][:length]
    width_ns = round(bucket_s * 1e9)
    track = timeline.run.tracks[row]
    for place in np.flatnonzero(coverage)[:: max(np.count_nonzero(coverage) // 20, 1)]:
        told = detail.bucket(Bucket(row, left + place * bucket_s, bucket_s))
        from_ns = round(left * 1e9) + place * width_ns
        opens = np.maximum(track.start_ns, from_ns)
        closes = np.minimum(track.end_ns, from_ns + width_ns)
        own = (opens < closes) | ((track.start_ns == opens) & (track.end_ns == opens))
        times = np.bincount(track.name[own], weights=(closes - opens)[own])
        assert told["count"] == np.count_nonzero(own)
        assert told["longest"] == (track.end_ns - track.start_ns)[own].max() / 1e9
        assert told["name"] == int(np.argmax(times))
        assert told["text"] == timeline.run.events.names[told["name"]]
        assert told["share"] == pytest.approx(times.max() / times.sum(), abs=1 / 255)
        busy = timeline.run.tracks[row].coverage.between(np.array([from_ns, from_ns + width_ns]))
        assert told["busy"] == int(busy[0]) / 1e9
    assert start < end


@pytest.mark.parametrize("bucket", [Bucket(99, 1, 1), Bucket(0, 1, 1e-10), Bucket(0, -1e6, 1e-3)])
def test_what_is_no_bucket_is_refused(detail: Detail, bucket: Bucket) -> None:
    with pytest.raises(ValueError, match="bucket"):
        detail.bucket(bucket)


def test_a_search_tells_of_each_bucket_what_is_in_it(timeline: Timeline, detail: Detail) -> None:
    facts, columns = detail.answer(Window(*timeline.window, 800, search="allgather"))
    match = np.frombuffer(columns[2], "u1")
    names = timeline.run.events.names.str.to_lowercase().str.contains("allgather").to_numpy()
    assert 0 < np.count_nonzero(match) < len(match)
    at = 0
    for row, left, width, length in facts["strips"]:
        track = timeline.run.tracks[row]
        hit = names[track.name]
        start, end = track.start_ns[hit], np.maximum(track.end_ns[hit], track.start_ns[hit] + 1)
        edges = round(left * 1e9) + np.arange(length + 1) * round(width * 1e9)
        inside = (start[None, :] < edges[1:, None]) & (end[None, :] > edges[:-1, None])
        np.testing.assert_array_equal(match[at : at + length], inside.sum(axis=1).clip(max=255))
        at += length
    _, columns = detail.answer(Window(*timeline.window, 800, search="no such kernel"))
    assert not np.frombuffer(columns[2], "u1").any()


def test_levels_that_come_with_a_chart_hold_the_whole_run_in_little(
    timeline: Timeline, detail: Detail
) -> None:
    facts, buckets = detail.levels()
    assert facts is not None
    assert LEVELS_BYTES / 4 < len(buckets) <= LEVELS_BYTES
    assert (facts["start"], facts["end"]) == (timeline.scene.first_s, timeline.scene.last_s)
    lengths = [length for *_, length in facts["strips"]]
    assert 2 * sum(lengths) == len(buckets)
    coverage = np.frombuffer(buckets[: sum(lengths)], "u1")
    busy_s = (coverage / 255).sum() * facts["strips"][0][2]
    wanted_s = sum(int(t.coverage.sums[-1]) for t in timeline.run.tracks.values()) / 1e9
    assert busy_s == pytest.approx(wanted_s, rel=0.01)


def test_events_are_those_of_the_runs_own_view(timeline: Timeline, detail: Detail) -> None:
    middle = sum(timeline.window) / 2
    facts, columns = detail.answer(Window(middle, middle + 1, 800))
    start, end = round(facts["start"] * 1e9), round(facts["end"] * 1e9)
    view = timeline.run.view(start, end, 800)
    assert facts["strips"] == []
    assert len(view.row) > 10
    types = ("f8", "f8", "i4", "i4", "u1", "u1")
    left, right, row, name, color, kind = (
        np.frombuffer(b, t) for b, t in zip(columns[3:9], types, strict=True)
    )
    np.testing.assert_array_equal(np.rint(left * 1e9), view.event_start_ns)
    np.testing.assert_array_equal(np.rint(right * 1e9), view.event_end_ns)
    np.testing.assert_array_equal(row, view.row)
    np.testing.assert_array_equal(name, view.name)
    np.testing.assert_array_equal(color, facet_of(timeline.scene, "phase")[1][view.code])
    np.testing.assert_array_equal(kind, timeline.run.groups.kind_of_name[view.name])
    texts = timeline.run.events.names
    assert {facts["names"][str(code)] for code in name} == {texts[int(code)] for code in name}


def test_ranges_of_a_small_window_are_exact(timeline: Timeline, detail: Detail) -> None:
    start, end = timeline.scene.iterations[1][1:3]
    third = Window(start, start + (end - start) / 3, 100_000_000)  # no page asks for so many pixels
    facts, columns = detail.answer(third)
    assert facts["merged"] == 0
    sent = ranges_of(facts, columns)
    span: Any = {"start_ns": round(third.start_s * 1e9), "end_ns": round(third.end_s * 1e9)}
    own = timeline.run.ranges(**span).filter(pl.col("end_ns") > span["start_ns"])
    assert sent["left"].size == len(own) > 0
    assert sorted(np.rint(sent["left"] * 1e9)) == sorted(own["start_ns"])
    assert sorted(np.rint(sent["right"] * 1e9)) == sorted(own["end_ns"])
    assert set(sent["count"]) == {1}


def test_a_range_stays_in_its_place_at_any_zoom(timeline: Timeline, detail: Detail) -> None:
    first = timeline.scene.overlays
    sent = ranges_of(*detail.answer(Window(*timeline.window, 800)))
    place = {
        key: {(r, a, b): (t, u) for r, a, b, t, u, n in zip(*of, strict=True) if n == 1}
        for key, of in (
            (
                "first",
                [getattr(first, c) for c in ("row", "left", "right", "top", "bottom", "count")],
            ),
            ("near", [sent[c] for c in ("row", "left", "right", "top", "bottom", "count")]),
        )
    }
    common = place["first"].keys() & place["near"].keys()
    assert len(common) > 20
    assert all(place["first"][key] == place["near"][key] for key in common)


def test_a_window_is_cut_to_the_run(timeline: Timeline, detail: Detail) -> None:
    facts, _ = detail.answer(Window(-1e14, 1e14, 800))
    assert [facts["start"], facts["end"]] == [timeline.scene.first_s, timeline.scene.last_s]
    with pytest.raises(ValueError, match="outside"):
        detail.answer(Window(1e9, 2e9, 800))


def test_a_page_holds_the_run_or_says_what_it_leaves_out(timeline: Timeline) -> None:
    whole = hold(timeline.run, timeline.scene)
    assert whole.json is not None
    assert whole.left_out == ""
    small = hold(timeline.run, timeline.scene, 0.001)
    assert small.json is None
    events = sum(len(track.start_ns) for track in timeline.run.tracks.values())
    assert f"{events:,} single GPU events" in small.left_out
    assert "detail=0.001" in small.left_out


def test_only_a_page_takes_detail(timeline: Timeline, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only a page takes detail"):
        timeline.save(tmp_path / "x.png", detail=False)
    without = timeline.save(tmp_path / "x.html", detail=False).read_text("utf-8")
    assert "rlviz-held" not in without.split("<script>")[0]


def test_a_run_that_learns_more_names_later_still_gives_detail(timeline: Timeline) -> None:
    made = Timeline(timeline.run)
    known = len(made.scene.names)
    timeline.run.kernels()
    facts, _ = Detail(timeline.run, made.scene).answer(Window(*made.window, 800))
    assert all(int(code) < known for code in facts["names"])
    assert "default domain" in facts["names"].values()
    assert hold(timeline.run, made.scene).json is not None


def test_a_search_finds_places_of_names_that_no_mark_of_the_first_view_stands_for(
    timeline: Timeline, detail: Detail
) -> None:
    names = timeline.run.events.names
    bars = set(timeline.scene.bars.name.tolist())
    run = timeline.run
    rare = next(n for t in run.tracks.values() for n in t.name.tolist() if n not in bars)
    places = places_of(*detail.places(names[rare].upper()))
    assert (places["domain"] == -1).any()
    found = [
        (track.row, start, end)
        for track in run.tracks.values()
        for name, start, end in zip(track.name, track.start_ns, track.end_ns, strict=True)
        if names[rare].lower() in names[int(name)].lower()
    ]
    for row, start, end in found:
        own = places["row"] == row
        assert ((places["left"] <= start / 1e9) & (places["right"] >= end / 1e9))[own].any()
    # No place begins or ends where nothing was found.
    assert set(places["left"]) <= {start / 1e9 for _, start, _ in found}
    assert set(places["right"]) <= {end / 1e9 for _, _, end in found}


def test_places_of_a_range_are_those_of_its_name(timeline: Timeline, detail: Detail) -> None:
    own = timeline.run.ranges().filter(pl.col("name").str.to_lowercase().str.contains("train"))
    places = places_of(*detail.places("train"))
    named = places["domain"] >= 0
    assert 0 < np.count_nonzero(named) <= len(own)
    assert set(np.rint(places["left"][named] * 1e9)) <= set(own["start_ns"])
    assert set(np.rint(places["right"][named] * 1e9)) <= set(own["end_ns"])
    assert len(places_of(*detail.places("no such name"))["left"]) == 0

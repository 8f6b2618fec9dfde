"""What a zoomed chart is sent: the run's own view of the window, and nothing of what it is not."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import rlviz
from rlviz.demo import write
from rlviz.run.phases import ACTIVITY
from rlviz.view import widget as widget_module
from rlviz.view.detail import COLOR_OF_CODE, Detail, Window, window_asked
from rlviz.view.held import hold
from rlviz.view.palette import COLORS, color_code
from rlviz.view.scene import Overlays
from rlviz.view.timeline import Timeline
from rlviz.view.widget import ChartWidget

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=1, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=6_000)
    return Timeline(rlviz.load(folder))


@pytest.fixture(scope="module")
def detail(timeline: Timeline) -> Detail:
    return Detail(timeline.run, timeline.scene)


def test_buckets_are_those_of_the_runs_own_view(timeline: Timeline, detail: Detail) -> None:
    facts, columns = detail.answer(Window(*timeline.window, 800))
    start, end = (round(at * 1e9) for at in timeline.window)
    view = timeline.run.view(start, end, 800)
    assert len(facts["strips"]) == len(view.strips) == 4
    coverage, color, count = (
        np.frombuffer(b, t) for b, t in zip(columns[:3], ("u1", "u1", "i4"), strict=True)
    )
    at = 0
    for (row, left, width, length), strip in zip(facts["strips"], view.strips, strict=True):
        own = slice(at, at := at + length)
        assert row == strip.row
        assert (left, width) == (strip.start_ns / 1e9, strip.width_ns / 1e9)
        np.testing.assert_array_equal(coverage[own], strip.coverage)
        np.testing.assert_array_equal(count[own], strip.count)
        np.testing.assert_array_equal(color[own], COLOR_OF_CODE[strip.code])
    assert at == len(coverage) == len(color) == len(count)
    assert all(len(column) == 0 for column in columns[3:8])


def test_events_are_those_of_the_runs_own_view(timeline: Timeline, detail: Detail) -> None:
    middle = sum(timeline.window) / 2
    facts, columns = detail.answer(Window(middle, middle + 1, 800))
    start, end = round(facts["start"] * 1e9), round(facts["end"] * 1e9)
    view = timeline.run.view(start, end, 800)
    assert facts["strips"] == []
    assert len(view.row) > 10
    types = ("f8", "f8", "i4", "i4", "u1")
    left, right, row, name, color = (
        np.frombuffer(b, t) for b, t in zip(columns[3:8], types, strict=True)
    )
    np.testing.assert_array_equal(np.rint(left * 1e9), view.event_start_ns)
    np.testing.assert_array_equal(np.rint(right * 1e9), view.event_end_ns)
    np.testing.assert_array_equal(row, view.row)
    np.testing.assert_array_equal(name, view.name)
    np.testing.assert_array_equal(color, COLOR_OF_CODE[view.code])
    texts = timeline.run.events.names
    assert {facts["names"][str(code)] for code in name} == {texts[int(code)] for code in name}


def test_ranges_of_a_small_window_are_exact(timeline: Timeline, detail: Detail) -> None:
    start, end = timeline.scene.iterations[1][1:3]
    third = Window(start, start + (end - start) / 3, 100_000_000)  # no page asks for so many pixels
    facts, columns = detail.answer(third)
    assert facts["merged"] == 0
    table = np.frombuffer(columns[8], "f8").reshape(len(fields(Overlays)), -1)
    sent = dict(zip((one.name for one in fields(Overlays)), table, strict=True))
    span: Any = {"start_ns": round(third.start_s * 1e9), "end_ns": round(third.end_s * 1e9)}
    own = timeline.run.ranges(**span).filter(pl.col("end_ns") > span["start_ns"])
    assert sent["left"].size == len(own) > 0
    assert sorted(np.rint(sent["left"] * 1e9)) == sorted(own["start_ns"])
    assert sorted(np.rint(sent["right"] * 1e9)) == sorted(own["end_ns"])
    assert set(sent["count"]) == {1}


def test_a_range_stays_in_its_place_at_any_zoom(timeline: Timeline, detail: Detail) -> None:
    first = timeline.scene.overlays
    names = [one.name for one in fields(Overlays)]
    _, columns = detail.answer(Window(*timeline.window, 800))
    sent = dict(zip(names, np.frombuffer(columns[8], "f8").reshape(len(names), -1), strict=True))
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


def test_every_activity_has_its_colour() -> None:
    assert [list(COLORS)[code] for code in COLOR_OF_CODE[: len(ACTIVITY)]] == list(ACTIVITY)
    assert COLOR_OF_CODE[255] == color_code("other")


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"start": 1, "end": 1, "width": 10},
        {"start": 2, "end": 1, "width": 10},
        {"start": 0, "end": 1, "width": 0},
        {"start": 0, "end": 1, "width": 1e9},
        {"start": 0, "end": float("nan"), "width": 10},
        {"start": float("-inf"), "end": 1, "width": 10},
        {"start": 0, "end": 10**400, "width": 10},
        {"start": "0", "end": 1, "width": 10},
        {"start": [0], "end": {}, "width": None},
    ],
)
def test_what_is_no_window_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="window"):
        window_asked(message)


def test_a_window_is_cut_to_the_run(timeline: Timeline, detail: Detail) -> None:
    facts, _ = detail.answer(Window(-1e14, 1e14, 800))
    assert [facts["start"], facts["end"]] == [timeline.scene.first_s, timeline.scene.last_s]
    with pytest.raises(ValueError, match="outside"):
        detail.answer(Window(1e9, 2e9, 800))


def test_a_view_is_answered_or_refused_with_its_own_number(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(ChartWidget, "send", lambda _, *message: sent.append(message))
    made = timeline._widget
    ask = {"kind": "detail", "view": "v", "sequence": 7}
    widget_module._received(made, {**ask, "start": 1, "end": 2, "width": 500}, [])
    (facts, columns), *_ = sent
    assert (facts["kind"], facts["view"], facts["sequence"]) == ("answer", "v", 7)
    assert len(columns) == 9
    widget_module._received(made, {**ask, "start": 2, "end": 2, "width": 500}, [])
    assert sent[1] == ({**ask, "kind": "refusal", "problem": "the window has no width"},)


def test_a_view_is_told_when_its_detail_fails(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(ChartWidget, "send", lambda _, *message: sent.append(message))
    broken = Timeline(SimpleNamespace(reports=[]))  # type: ignore[arg-type]
    broken.__dict__["scene"] = timeline.scene
    ask = {"kind": "detail", "view": "v", "sequence": 1, "start": 1, "end": 2, "width": 500}
    with pytest.raises(AttributeError):
        widget_module._received(broken._widget, ask, [])
    assert sent[0][0]["kind"] == "refusal"


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

"""What a row expands into, as the kernel tells and draws it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rlviz
from rlviz.levels.lanes import MARKS_A_LANE, LaneTrack
from rlviz.view import threads as module
from rlviz.view.asked import Window
from rlviz.view.held_threads import hold_threads
from rlviz.view.threads import LANES_A_ROW, Threads
from rlviz.view.timeline import Timeline
from rlviz.view.widget import _received
from tests.exports import SECRET, Export
from tests.launching import write_run

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.view.palette import Theme


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    return Timeline(rlviz.load(write_run(tmp_path_factory.mktemp("run")), cache=False))


@pytest.fixture(scope="module")
def threads(timeline: Timeline) -> Threads:
    return Threads(timeline.run, timeline.scene)


def test_the_most_active_threads_come_first_and_the_others_are_counted(threads: Threads) -> None:
    told = threads.of(0).told
    assert [one["name"] for one in told["threads"]] == [
        "python3",
        "helper-0",
        "helper-1",
        "helper-2",
    ]
    assert told["more"] == "and 2 more threads with 2 calls and 0 ranges"
    main = told["threads"][0]["lanes"]
    assert [(lane["kind"], lane["count"]) for lane in main] == [
        ("ranges", 1),
        ("ranges", 50),
        ("ranges", 50),
        ("calls", 2_002),
    ]
    assert [lane["lane"] for lane in main] == [0, 1, 2, 3]


def test_launch_bound_stretches_are_told_in_seconds(threads: Threads) -> None:
    told = threads.of(0).told
    # From the first kernel's end to the long one's start, 13 us of each 20 us.
    assert told["stretches"] == [[0.100011, 0.140006, 2_000, pytest.approx(0.026)]]
    assert told["launch"].startswith("launch-bound for 40 ms: idle for 26 ms of it")


def test_a_row_without_calls_says_why(threads: Threads) -> None:
    told = threads.of(1).told
    assert told["stretches"] is None
    assert told["absent"].startswith("No CUDA calls in its report")
    assert [lane["kind"] for lane in told["threads"][0]["lanes"]] == ["ranges"]
    assert told["threads"][0]["lanes"][0]["lane"] == LANES_A_ROW


def drawn(threads: Threads, start: float, end: float, *rows: int) -> dict[str, Any]:
    facts, columns = threads.answer(Window(start, end, 1_000, rows=frozenset(rows)))
    types = ("u1", "u1", "u1", "f8", "f8", "i4", "i4", "u1")
    keys = ("coverage", "color", "count", "left", "right", "lane", "name", "event_color")
    decoded = {k: np.frombuffer(c, t) for k, c, t in zip(keys, columns, types, strict=True)}
    return {**facts, **decoded}


def test_a_lane_with_many_calls_is_drawn_as_buckets_that_count_them(threads: Threads) -> None:
    found = drawn(threads, 0.09, 0.3, 0)
    ((lane, left, width, length),) = found["strips"]
    assert lane == 3
    assert left <= 0.09
    assert left + width * length >= 0.3
    # A bucket counts what begins in it and what reaches into it.
    assert 2_002 <= found["count"].sum() <= 2_002 + 2 * length
    assert set(found["lane"]) == {0, 1, 2, *range(4, 10)} & set(found["lane"])
    names = [found["names"][str(code)] for code in found["name"]]
    assert names.count("attention") == 50


def test_near_by_the_calls_themselves_are_drawn(threads: Threads) -> None:
    found = drawn(threads, 0.1001, 0.1005, 0)
    assert found["strips"] == []
    calls = found["lane"] == 3
    assert calls.sum() == 20
    np.testing.assert_allclose((found["right"] - found["left"])[calls], 4e-6, atol=1e-12)
    assert {found["names"][str(code)] for code in found["name"][calls]} == {
        "cudaLaunchKernel_v7000"
    }


def test_a_view_hears_how_far_the_reading_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_EVERY_S", -1.0)
    timeline = Timeline(rlviz.load(write_run(tmp_path), cache=False))
    widget = timeline._widget
    sent: list[dict[str, Any]] = []
    widget.send = lambda content, _buffers=None: sent.append(content)
    _received(widget, {"kind": "threads", "row": 0, "view": "v", "sequence": 7}, [])
    *before, last = sent
    assert last["kind"] == "answer"
    assert {(one["kind"], one["view"], one["sequence"]) for one in before} == {("progress", "v", 7)}
    assert before[-1]["calls"] == 2_007


def test_a_report_that_is_gone_is_told_to_the_view(tmp_path: Path) -> None:
    timeline = Timeline(rlviz.load(write_run(tmp_path), cache=False))
    widget = timeline._widget
    (tmp_path / "vllm_generation_worker_0.sqlite").unlink()
    sent: list[dict[str, Any]] = []
    widget.send = lambda content, _buffers=None: sent.append(content)
    _received(widget, {"kind": "threads", "row": 0, "view": "v", "sequence": 1}, [])
    assert sent[0]["kind"] == "refusal"
    assert "vllm_generation_worker_0.sqlite" in sent[0]["problem"]


def test_a_row_that_is_not_there_is_refused(threads: Threads) -> None:
    with pytest.raises(ValueError, match="no such row"):
        threads.of(7)


@pytest.mark.parametrize("events", [1, MARKS_A_LANE, 60_000])
def test_buckets_equal_a_count_of_every_nanosecond(events: int) -> None:
    rng = np.random.default_rng(events)
    start = np.sort(rng.integers(0, 1 << 20, events))
    end = start + rng.integers(0, 300, events)
    code = rng.integers(0, 3, events).astype(np.uint8)
    lane = LaneTrack(5, start, end, np.zeros(events, np.int32), code, 3)
    for pixel_ns in (1 << 10, 3 << 12):
        strip = lane.strip(40_000, 900_000, pixel_ns)
        assert strip.width_ns == 1 << (pixel_ns.bit_length() - 1)
        assert strip.start_ns % strip.width_ns == 0
        busy = np.zeros(1 << 21, np.bool_)
        for first, last in zip(start, end, strict=True):
            busy[first:last] = True
        edges = strip.start_ns + np.arange(len(strip) + 1) * strip.width_ns
        expected = [busy[a:b].sum() for a, b in pairwise(edges)]
        assert strip.busy_ns.tolist() == expected
        begun = [((start >= a) & (start < b)).sum() for a, b in pairwise(edges)]
        assert (strip.count >= begun).all()


def test_a_page_holds_the_threads_of_the_rows_that_it_is_asked_for(
    timeline: Timeline, tmp_path: Path
) -> None:
    text = timeline.save(tmp_path / "x.html", expand="generation").read_text("utf-8")
    found = re.search(r'id="rlviz-threads">(.*?)</script>', text)
    assert found is not None
    held = json.loads(found[1])
    assert [one["told"]["row"] for one in held["rows"]] == [0]
    assert "1 row of 2 can be expanded" in text
    assert 'id="rlviz-threads">' not in timeline.save(tmp_path / "y.html").read_text("utf-8")


def test_a_page_says_whose_threads_it_has_no_room_for(timeline: Timeline) -> None:
    alone = hold_threads(timeline.run, timeline.scene, [1], 1.0)
    assert alone is not None
    assert alone.json is not None
    held = hold_threads(timeline.run, timeline.scene, [0, 1], 1.3 * len(alone.json) / 1e6)
    assert held is not None
    assert [one["told"]["row"] for one in json.loads(held.json or "")["rows"]] == [1]
    assert "leaves out the threads of GPU 10:00  generation 0 (" in held.note


def test_a_page_shows_the_rows_that_are_expanded_in_the_notebook(
    timeline: Timeline, tmp_path: Path
) -> None:
    widget = timeline._widget
    for rows in ([0], "all", ["0"], None):
        _received(widget, {"kind": "expanded", "rows": rows}, [])
    text = timeline.save(tmp_path / "x.html").read_text("utf-8")
    widget.expanded = ()
    assert '"told":{"row":0' in text.replace("\\u003c", "<")


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_a_figure_shows_the_threads_of_the_rows_that_it_is_asked_for(
    timeline: Timeline, tmp_path: Path, theme: Theme
) -> None:
    folded = timeline.save(tmp_path / "x.svg", theme=theme).read_text("utf-8")
    text = timeline.save(tmp_path / "y.svg", theme=theme, expand=[0]).read_text("utf-8")
    for word in ("launch-bound", "python3 4711", "sync call", "and 2 more threads"):
        assert word in text
        assert word not in folded
    assert _height(text) > _height(folded) + 50
    assert "policy_worker/train" in text
    near = timeline.save(tmp_path / "z.svg", expand=[0], window=(0.1001, 0.1019))
    assert "decode token 1" in near.read_text("utf-8")


def _height(svg: str) -> float:
    found = re.search(r'height="([\d.]+)pt"', svg)
    assert found is not None
    return float(found[1])


def test_many_calls_that_are_narrower_than_a_pixel_are_buckets_however_few(
    timeline: Timeline,
) -> None:
    # 400 calls of 4 us in 8 ms: as wide as a pixel each, they would fill two thirds of it.
    found = drawn(Threads(timeline.run, timeline.scene), 0.1, 0.108, 0)
    assert [lane for lane, *_ in found["strips"]] == []
    window = Window(0.1, 0.108, 600, rows=frozenset([0]))
    facts, _ = Threads(timeline.run, timeline.scene).answer(window)
    assert [lane for lane, *_ in facts["strips"]] == [3]


def test_a_trace_takes_no_rows_to_expand(timeline: Timeline, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="takes no expand"):
        timeline.save(tmp_path / "x.pftrace", expand=[0])


def test_hostile_names_of_threads_and_calls_stay_text_and_no_secret_is_in_a_page(
    tmp_path: Path,
) -> None:
    hostile = '</script><img src=x onerror="alert(1)">\u202e$$'
    with Export(tmp_path / "w.sqlite") as export:
        export.gpu("gpu-1", "0000:19:00.0")
        export.thread(4711, hostile)
        export.push_pop(0, 900, hostile)
        export.runtime(100, 110, hostile, correlation=export.kernel(120, 200), tid=4711)
    text = Timeline(rlviz.load(tmp_path, cache=False)).save(tmp_path / "x.html", expand=[0])
    page = text.read_text("utf-8")
    assert "<img" not in page
    assert "\u202e" not in page
    assert SECRET not in page
    found = re.search(r'id="rlviz-threads">(.*?)</script>', page)
    assert found is not None
    told = json.loads(found[1])["rows"][0]["told"]["threads"][0]
    assert told["name"].startswith("</script><img src=x")

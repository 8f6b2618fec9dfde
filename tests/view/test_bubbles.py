"""The marks of bubbles: the run's own longest gaps, drawn where there is room and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

import rlviz
from rlviz.demo import write
from rlviz.levels.codec import pack, unpack
from rlviz.view.bubbles import longest_bubbles
from rlviz.view.compare_scene import compare_scene
from rlviz.view.compose import _CLASSES, compose
from rlviz.view.scene import Bubble
from rlviz.view.still import still
from rlviz.view.timeline import Timeline
from tests.shared import SIM, needs_shared
from tests.view.scenes import HOSTILE, scene
from tests.view.stills import svg_texts

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.levels.query import ZoomableRun
    from rlviz.view.scene import Scene

MARK = Bubble(1, 21.5, 28.9, ("bubble 7.40 s: training is active", "bubble 7.40 s", "7.40 s"), 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=1, policy_gpus=2, generation_gpus=2, steps=4, kernels_per_gpu=3_000)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> ZoomableRun:
    return rlviz.load(folder)


def test_each_whole_iteration_has_its_longest_gap_marked(run: ZoomableRun) -> None:
    marked = {bubble.iteration: bubble for bubble in longest_bubbles(run)}
    whole = run.summary(by="gpu").filter(~pl.col("partial"))
    assert marked.keys() == set(whole["iteration"]) != set()
    for number, bubble in marked.items():
        own = whole.filter(pl.col("iteration") == number)
        longest = own.filter(pl.col("row") == bubble.row).row(0, named=True)
        length = own["longest_gap_ns"].max()
        assert longest["longest_gap_ns"] == length
        assert round((bubble.right - bubble.left) * 1e9) == length
        assert round(bubble.left * 1e9) == longest["longest_gap_start_ns"]
        other = 2 * longest["longest_gap_other_active_ns"] > length
        assert bubble.texts[0].endswith("is active" if other else "is idle too")


def test_marks_are_pieces_of_the_runs_gaps_and_none_is_longer(run: ZoomableRun) -> None:
    gaps = run.gaps().with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("length_ns"))
    for bubble in longest_bubbles(run):
        own = gaps.filter(pl.col("iteration") == bubble.iteration)
        start, end = round(bubble.left * 1e9), round(bubble.right * 1e9)
        same = own.filter(
            (pl.col("row") == bubble.row)
            & (pl.col("start_ns") == start)
            & (pl.col("end_ns") == end)
        )
        assert len(same) == 1
        assert same["bubble"].item()
        assert own["length_ns"].max() == end - start


def test_texts_tell_the_length(run: ZoomableRun) -> None:
    for bubble in longest_bubbles(run):
        number, unit = bubble.texts[-1].split()
        assert float(number) * {"s": 1, "ms": 1e-3}[unit] == pytest.approx(
            bubble.right - bubble.left, rel=0.006
        )
        assert bubble.texts[1] == f"bubble {bubble.texts[-1]}"


@needs_shared
@pytest.mark.parametrize("name", ["nemo_async", "sync_colocated", "verl_async", "edge_rows"])
def test_bubbles_of_reports_with_known_answers_are_their_longest_gaps(name: str) -> None:
    run = rlviz.load(SIM / name)
    summary = run.summary(by="gpu")
    marked = longest_bubbles(run)
    whole = summary.filter(~pl.col("partial"))["iteration"].unique()
    assert {bubble.iteration for bubble in marked} == set(whole) != set()
    for bubble in marked:
        own = summary.filter(pl.col("iteration") == bubble.iteration)
        assert own["longest_gap_ns"].max() == round((bubble.right - bubble.left) * 1e9)


def test_a_scene_that_was_kept_has_its_bubbles(run: ZoomableRun) -> None:
    json, frames = pack(compose(run))
    kept: Scene = unpack(json, frames.__getitem__, _CLASSES)
    assert kept.bubbles == longest_bubbles(run) != ()


def test_compared_runs_keep_their_bubbles_where_they_are(folder: Path) -> None:
    comparison = rlviz.compare(before=folder, after=folder)
    drawn = compare_scene(comparison.run, comparison.iteration)  # type: ignore[arg-type]
    rows = {row.row: row for row in drawn.rows}
    alone = compose(rlviz.load(folder)).bubbles
    assert len(drawn.bubbles) == 2 * len(alone)
    first, second = drawn.bubbles[: len(alone)], drawn.bubbles[len(alone) :]
    for one, other, own in zip(first, second, alone, strict=True):
        assert rows[one.row].label == rows[other.row].label
        assert rows[one.row].group != rows[other.row].group
        assert one.left == pytest.approx(other.left)
        assert one.right - one.left == pytest.approx(own.right - own.left)


def test_a_still_says_as_much_as_fits_into_the_gap() -> None:
    drawn = replace(scene(8), bubbles=(MARK,))
    for window, wanted in (
        ((20.0, 30.0), MARK.texts[0]),
        ((0.0, 60.0), MARK.texts[1]),
        ((40.0, 60.0), None),
    ):
        found = [text for text in svg_texts(still(drawn, "svg", window=window)) if "7.40" in text]
        assert found == ([] if wanted is None else [wanted])
    assert not [t for t in svg_texts(still(drawn, "svg", width=3.35, rows=[0, 5])) if "7.40" in t]
    # A sliver says nothing, rather than half of it.
    narrow = replace(drawn, bubbles=(replace(MARK, left=28.8),))
    assert not [text for text in svg_texts(still(narrow, "svg")) if "7.40" in text]


@pytest.mark.parametrize("rows", [2, 8, 64])
def test_in_a_still_no_range_is_labelled_where_a_bubble_is(rows: int) -> None:
    row = rows - 1

    def written(bubble: Bubble) -> list[str]:
        shown = replace(scene(rows), bubbles=(replace(bubble, row=row),))
        texts = svg_texts(still(shown, "svg", window=(10.0, 30.0), rows=[row]))
        return [text.split()[0] for text in texts if "bubble" in text or "/train" in text]

    label = "dtensor_policy_worker_v2/train"  # it begins at the left edge of its range
    assert sorted(written(MARK)) == ["bubble", label]
    assert written(replace(MARK, left=11.2, right=28.0)) == ["bubble"]


def test_hostile_texts_are_text_in_a_still() -> None:
    drawn = replace(scene(8), bubbles=(replace(MARK, texts=(HOSTILE[1],)),))
    svg = still(drawn, "svg", window=(20.0, 30.0)).decode()
    assert "<img" not in svg


def test_a_timeline_tells_the_lens_of_its_bubbles(run: ZoomableRun) -> None:
    from rlviz.view.payload import payload

    timeline = Timeline(run)
    facts = payload(timeline.scene).facts
    assert all(bubble.texts[0] in facts for bubble in timeline.scene.bubbles)

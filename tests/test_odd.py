"""Runs of odd shapes: what is many is bounded in the chart, and none of it is lost or made up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rlviz
from benchmarks.odd import SHAPES, deep_nesting, kernel_names, many_threads, range_names
from rlviz.view import held
from rlviz.view.compose import compose
from rlviz.view.figure import draw
from rlviz.view.overlays import PlacedRanges, draw_overlays
from rlviz.view.payload import payload
from tests.exports import Export

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The run to which they are added has ranges of its own.
FEW = 50


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_opens_and_draws(tmp_path: Path, shape: str) -> None:
    SHAPES[shape](tmp_path / "run", 0.002)
    scene = compose(rlviz.load(tmp_path / "run"))
    assert scene.rows
    draw(scene)


@pytest.mark.parametrize(("add", "ranges"), [(many_threads, 2 * 2_000), (deep_nesting, 10 * 2_000)])
def test_ranges_for_which_a_row_has_no_room_are_drawn_as_few(
    tmp_path: Path, add: Callable[[Path, float], str], ranges: int
) -> None:
    add(tmp_path / "run", 0.02 if add is many_threads else 0.2)
    run = rlviz.load(tmp_path / "run")
    scene = compose(run)
    overlays = scene.overlays
    assert len(overlays.left) <= 6_000
    assert ranges <= overlays.count.sum() == len(run.ranges()) < ranges + FEW
    assert (overlays.bottom > overlays.top).all()
    placed = PlacedRanges.of(run, scene)
    first, last = int(run.ranges()["start_ns"].min()), int(run.ranges()["end_ns"].max())  # type: ignore[arg-type]
    drawn, _ = placed.within(first, last, 1_000)
    assert len(drawn.left) <= 2_000
    assert drawn.count.sum() == len(run.ranges().filter(run.ranges()["start_ns"] < last))


def test_the_threads_with_most_time_keep_a_place_of_their_own(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite", duration_ns=10**9) as export:
        export.gpu("gpu-a", "0000:19:00.0")
        export.kernel(100, 10**9 - 100)
        for thread in range(300):
            length = 900_000_000 if thread == 7 else 1_000 + thread
            export.push_pop(1_000, 1_000 + length, f"work {thread}", tid=5_000 + thread)
            export.push_pop(1_001, 1_000 + length // 2, "inner", tid=5_000 + thread)
    run = rlviz.load(tmp_path / "w.sqlite")
    drawn = draw_overlays(run, compose(run).rows, (0, 4_000))
    names = run.events.names
    (long,) = (i for i, code in enumerate(drawn.name) if names[int(code)] == "work 7")
    assert drawn.count[long] == 1
    # Nothing else is where it is.
    assert (drawn.top == drawn.top[long]).sum() == 1
    assert drawn.count.sum() == 600


def test_only_names_that_are_drawn_travel(tmp_path: Path) -> None:
    range_names(tmp_path / "run", 0.01)
    scene = compose(rlviz.load(tmp_path / "run"))
    assert len(scene.names) > 10_000
    names = json.loads(payload(scene).facts)["names"]
    assert len(names) < 5_000
    assert {scene.names[int(code)] for code in np.unique(scene.bars.name)} <= set(names.values())


def test_names_count_for_what_a_page_may_hold(tmp_path: Path) -> None:
    kernel_names(tmp_path / "run", 0.002)
    run = rlviz.load(tmp_path / "run")
    scene = compose(run)
    whole = held.hold(run, scene)
    assert whole.json is not None
    packed = len(json.loads(whole.json)["packed"])
    for budget in (packed + 100, packed + 17_000, len(whole.json) - 1):
        small = held.hold(run, scene, budget / 1e6)
        assert small.json is None
        assert "leaves out" in small.left_out
    assert held.hold(run, scene, (len(whole.json) + 1) / 1e6) == whole

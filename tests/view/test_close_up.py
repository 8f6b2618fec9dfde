"""A window of a run as a figure: its own detail and numbers, and files that hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from rlviz.view.close_up import close_up
from rlviz.view.still_skyline import columns_of
from tests.view.stills import svg_texts

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.view.timeline import Timeline


def test_busy_shares_are_those_of_the_window(timeline: Timeline) -> None:
    start, end = timeline.scene.iterations[1][1:3]
    near = close_up(timeline.run, timeline.scene, (start, end))
    for row in near.rows:
        rows: Any = {"row": row.row, "start_ns": round(start * 1e9), "end_ns": round(end * 1e9)}
        frames = (timeline.run.kernels(**rows), timeline.run.copies(**rows))
        found = sorted(span for f in frames for span in f.select("start_ns", "end_ns").rows())
        busy, reach = 0, rows["start_ns"]
        for one, other in found:
            busy += max(min(other, rows["end_ns"]) - max(one, reach), 0)
            reach = max(reach, other)
        assert row.busy_share == pytest.approx(busy / (rows["end_ns"] - rows["start_ns"]))
        # What is drawn is as busy, and lies in the window.
        share, _ = columns_of(near.bars, row.row, np.linspace(start, end, 1501))
        assert share.mean() == pytest.approx(row.busy_share, rel=1e-6)
        own = near.bars.row == row.row
        assert near.bars.left[own].min() >= start - 1e-6
        assert near.bars.right[own].max() <= end + 1e-6


def test_a_close_up_is_finer_than_the_run(timeline: Timeline) -> None:
    start, end = timeline.scene.iterations[1][1:3]
    near = close_up(timeline.run, timeline.scene, (start, start + (end - start) / 10))

    def width(bars: Any) -> float:
        return float(np.median(bars.right - bars.left))

    assert width(near.bars) < width(timeline.scene.bars) / 5


def test_an_iterations_figure_tells_the_numbers_of_the_summary(
    timeline: Timeline, tmp_path: Path
) -> None:
    texts = svg_texts(timeline.save(tmp_path / "4.svg", iteration=4).read_bytes())
    told = next(text for text in texts if text.startswith("iteration 4: "))
    ours = timeline.run.summary().filter(pl.col("iteration") == 4, pl.col("pool") == "generation")
    (numbers,) = ours.to_dicts()
    overlap = 100 * numbers["overlap_ns"] / numbers["active_ns"]
    assert f"iteration 4: {numbers['duration_ns'] / 1e9:.1f} s" in told
    assert f"overlap {overlap:.0f} % of generation" in told
    assert any(text.endswith("iteration 4") for text in texts)
    assert {"Gen 3", "Train 4"} <= set(texts)
    assert "Train 3" not in texts


def test_a_partial_iteration_is_called_so(timeline: Timeline, tmp_path: Path) -> None:
    texts = svg_texts(timeline.save(tmp_path / "3.svg", iteration=3).read_bytes())
    assert any(text.startswith("iteration 3 (partial): ") for text in texts)


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".SVG", b"<?xml"), (".pdf", b"%PDF")]
)
def test_save_writes_a_figure(
    timeline: Timeline, tmp_path: Path, suffix: str, start: bytes
) -> None:
    path = timeline.save(tmp_path / f"run{suffix}", width=85 / 25.4, theme="print")
    assert path.read_bytes().startswith(start)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_what_is_on_the_screen_can_be_saved(timeline: Timeline, tmp_path: Path) -> None:
    whole = timeline.save(tmp_path / "whole.svg").read_bytes()
    assert timeline.save(tmp_path / "now.svg", window=timeline.window).read_bytes() == whole
    timeline.zoom(start_s=40.0, end_s=40.5)
    now = svg_texts(timeline.save(tmp_path / "now.svg", window=timeline.window).read_bytes())
    timeline.zoom()
    assert any("500 ms from 40 s" in text for text in now)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"iteration": 99}, "no iteration 99: there are 3 to 5"),
        ({"iteration": 4, "window": (1.0, 2.0)}, "not both"),
        ({"window": (float("nan"), 2.0)}, "no width"),
        ({"rows": [99]}, "no rows"),
    ],
)
def test_what_cannot_be_saved_leaves_no_file(
    timeline: Timeline, tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        timeline.save(tmp_path / "run.png", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"iteration": 3}, {"window": (1.0, 2.0)}, {"theme": "dark"}, {"rows": "policy"}]
)
def test_a_page_takes_no_options_of_a_figure(
    timeline: Timeline, tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=f"takes no {next(iter(options))}"):
        timeline.save(tmp_path / "run.html", **options)
    assert list(tmp_path.iterdir()) == []

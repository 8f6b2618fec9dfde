"""What the chart of a run shows: nothing lost on the way from reports to scene."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import rlviz
from rlviz.demo import write
from rlviz.view.close_up import close_up
from rlviz.view.compose import compose
from rlviz.view.palette import COLORS
from tests.exports import Export
from tests.shared import REPORTS, SIM, needs_shared

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.levels.query import ZoomableRun
    from rlviz.view.scene import Scene

MS = 1_000_000


@cache
def composed(folder: Path) -> tuple[ZoomableRun, Scene]:
    run = rlviz.load(folder)
    return run, compose(run)


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> tuple[ZoomableRun, Scene]:
    """Make a run with more events than the chart has bars."""
    folder = tmp_path_factory.mktemp("dense")
    write(folder, steps=2, kernels_per_gpu=4_000)
    return composed(folder)


def test_merged_bars_keep_the_busy_time_of_every_row(dense: tuple[ZoomableRun, Scene]) -> None:
    run, scene = dense
    assert (scene.bars.count > 1).any()
    busy = run.busy(by="row").group_by("row").agg((pl.col("end_ns") - pl.col("start_ns")).sum())
    for row, busy_ns in busy.iter_rows():
        own = scene.bars.row == row
        assert scene.bars.busy_s[own].sum() == pytest.approx(busy_ns / 1e9, rel=1e-9)


def test_a_bar_is_as_high_as_its_busy_share(dense: tuple[ZoomableRun, Scene]) -> None:
    _, scene = dense
    bars = scene.bars
    bands = {row.row: row.bottom - row.top for row in scene.rows}
    share = (bars.bottom - bars.top) / np.array([bands[r] for r in bars.row])
    true = bars.busy_s / (bars.right - bars.left)
    assert (share <= 1 + 1e-9).all()
    assert np.allclose(share, np.maximum(true, share.min()), atol=1e-6)
    assert share.min() > 0


def test_a_chart_is_the_same_each_time_it_is_made(dense: tuple[ZoomableRun, Scene]) -> None:
    run, scene = dense
    again = compose(run)
    for name in ("bars", "overlays"):
        one, other = getattr(scene, name), getattr(again, name)
        for column in one.__dataclass_fields__:
            assert np.array_equal(
                getattr(one, column), getattr(other, column), equal_nan=column == "parent_share"
            )
    assert scene.brackets == again.brackets


def test_iterations_are_bracketed_over_their_pools(dense: tuple[ZoomableRun, Scene]) -> None:
    run, scene = dense
    texts = [(b.pool, b.text) for b in scene.brackets]
    numbers = [i.number for i in run.story.iterations]
    assert [t for p, t in texts if p == "training"] == [f"Train {n}" for n in numbers]
    assert {f"Gen {n - 1}" for n in numbers} <= {t for p, t in texts if p == "generation"}
    windows = {number: (start, end) for number, start, end, _ in scene.iterations}
    last = numbers[-1]
    for text in (f"Train {last}", f"Gen {last - 1}"):
        bracket = next(b for b in scene.brackets if b.text == text)
        assert windows[last][0] <= bracket.left < bracket.right <= windows[last][1]


def test_refits_are_lines_that_tell_how_long_they_took(dense: tuple[ZoomableRun, Scene]) -> None:
    run, scene = dense
    lines = [line for line in scene.lines if line.kind == "refit"]
    assert len(lines) == len(run.story.refits)
    for line, refit in zip(lines, run.story.refits, strict=True):
        assert refit.generation is not None
        assert line.at == refit.generation[1] / 1e9
        assert line.text.startswith("refit 0.")


@needs_shared
def test_ranges_count_once_however_many_are_merged() -> None:
    run, scene = composed(REPORTS / "rl-run-2023.4")
    assert (scene.overlays.count > 1).any()
    assert scene.overlays.count.sum() == run.ranges().height


@needs_shared
def test_a_range_that_was_open_at_the_stop_is_drawn_with_an_open_edge() -> None:
    run, scene = composed(SIM / "nemo_async")
    assert scene.overlays.truncated.sum() == run.ranges()["truncated"].sum() > 0


@needs_shared
def test_ranges_of_libraries_are_off_until_asked_for() -> None:
    _, scene = composed(SIM / "nemo_async")
    hidden = {scene.names[d] for d in scene.overlays.domain[~scene.overlays.shown]}
    assert hidden == {"NCCL"}


@needs_shared
def test_the_first_view_is_of_the_gpus_and_not_of_a_controller_that_started_early() -> None:
    run, scene = composed(SIM / "verl_async")
    busy = run.busy()
    assert scene.start_s == busy["start_ns"].min() / 1e9  # type: ignore[operator]
    assert scene.first_s == pytest.approx(-90.0)


@needs_shared
@pytest.mark.parametrize("folder", ["nemo_async", "sync_colocated", "verl_async"])
def test_generation_stands_above_training_and_rows_do_not_overlap(folder: str) -> None:
    _, scene = composed(SIM / folder)
    order = ["generation", "training", "colocated", "other"]
    places = [order.index(row.pool) for row in scene.rows]
    assert places == sorted(places)
    for one, other in zip(scene.rows, scene.rows[1:], strict=False):
        assert one.bottom <= other.top
    assert scene.rows[-1].bottom <= scene.height


def test_a_worker_without_gpu_rows_is_hatched_and_its_busy_share_unknown(tmp_path: Path) -> None:
    with Export(tmp_path / "vllm_generation_worker_1:2_7.sqlite") as export:
        export.push_pop(0, 100 * MS, "generate")
    scene = compose(rlviz.load(tmp_path))
    assert [row.busy_share for row in scene.rows] == [None]
    assert {shade.kind for shade in scene.shades} == {"no_gpu_data"}


def test_what_was_not_captured_is_shaded(tmp_path: Path) -> None:
    for pid, utc_ns in ((1, 0), (2, 400 * MS)):
        name = f"vllm_generation_worker_1:2_{pid}.sqlite"
        base = 1_790_000_000_000_000_000
        with Export(
            tmp_path / name, pid=pid, utc_ns=base + utc_ns, duration_ns=1_000 * MS
        ) as export:
            export.gpu(f"gpu-{pid}", f"0000:{pid:02x}:00.0")
            export.kernel(0, 900 * MS)
    scene = compose(rlviz.load(tmp_path))
    dark = [(s.row, s.left, s.right) for s in scene.shades if s.kind == "not_captured"]
    assert dark == [(0, 1.0, 1.4), (1, 0.0, 0.4)]


def test_a_report_without_anything_is_a_chart_that_says_so(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite"):
        pass
    scene = compose(rlviz.load(tmp_path))
    assert scene.rows == ()
    assert any(note.startswith("nothing-traced") for note in scene.notes)


def test_communication_copies_and_phases_have_their_colours(tmp_path: Path) -> None:
    with Export(tmp_path / "dtensor_policy_worker_1:2_7.sqlite") as export:
        export.push_pop(0, 50 * MS, "dtensor_policy_worker/train")
        export.kernel(1 * MS, 2 * MS, short="gemm")
        export.kernel(3 * MS, 4 * MS, short="ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
        export.copy(5 * MS, 6 * MS)
        export.kernel(60 * MS, 61 * MS, short="outside")
    scene = compose(rlviz.load(tmp_path))
    colors = [scene.colors[c] for c in scene.bars.color]
    assert colors == ["training", "communication", "copy", "compute"]
    assert tuple(COLORS) == scene.colors


@needs_shared
def test_a_close_up_names_its_domains_after_the_run_has_learnt_more_names() -> None:
    run = rlviz.load(SIM / "nemo_async")
    scene = compose(run)
    before = len(run.events.names)
    assert run.kernels().height
    assert len(run.events.names) > before
    close = close_up(run, scene, (8.0, 14.0))
    domains = {close.names[d] for d in close.overlays.domain}
    assert domains == {"default domain", "NCCL"}

"""Runs that are compared: a figure whose numbers equal the truth of both, and the differences."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import rlviz
from rlviz.demo import write
from rlviz.levels.coverage import Coverage
from rlviz.run.differences import DIFFERENCES
from rlviz.view.asked import Window
from rlviz.view.detail import Detail
from rlviz.view.still import still
from tests.view.stills import drawn, overlap, svg_texts

if TYPE_CHECKING:
    from rlviz.levels.query import ZoomableRun

_SIZES = ((12.0, "light"), (12.0, "dark"), (85 / 25.4, "print"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run with a long tail, `before`, and one without, `after`."""
    folder = tmp_path_factory.mktemp("compared")
    write(folder / "before", long_tail=True, kernels_per_gpu=4_000)
    write(folder / "after", kernels_per_gpu=4_000)
    return folder


@pytest.fixture(scope="module")
def runs(folders: Path) -> dict[str, ZoomableRun]:
    return {name: rlviz.load(folders / name) for name in ("before", "after")}


@pytest.fixture(scope="module")
def comparison(runs: dict[str, ZoomableRun]) -> rlviz.Comparison:
    return rlviz.Comparison(runs)


@pytest.fixture(scope="module")
def truths(folders: Path) -> dict[str, list[dict[str, Any]]]:
    """Complete iterations of each run's truth."""
    told = {}
    for name in ("before", "after"):
        truth = json.loads((folders / name / "truth.json").read_text("utf-8"))
        told[name] = [one for one in truth["iterations"] if one["complete"]]
    return told


def exposed_s(iteration: dict[str, Any]) -> float:
    return float(iteration["exposed_generation"]["ns"]) / 1e9


def overlap_s(iteration: dict[str, Any]) -> float:
    return float(iteration["overlap"]["ns"]) / 1e9


def tail_s(iteration: dict[str, Any]) -> float:
    return float(iteration["tail"]["ns"]) / 1e9


def duration_s(iteration: dict[str, Any]) -> float:
    start, end = iteration["window"]
    return float(end - start) / 1e9


def test_the_headline_tells_both_truths(
    comparison: rlviz.Comparison, truths: dict[str, list[dict[str, Any]]]
) -> None:
    before, after = (truths[name][0] for name in ("before", "after"))
    assert comparison.iteration == before["iteration"] == after["iteration"]
    change = duration_s(before) - duration_s(after)
    head, *parts = comparison.scene.subtitle.split(" · ")
    assert head == (
        f"Iteration {comparison.iteration} is {change:.2f} s shorter: "
        f"{duration_s(before):.1f} → {duration_s(after):.1f} s"
    )
    wanted = f"exposed generation {exposed_s(before):.2f} → {exposed_s(after):.2f} s"
    assert wanted in parts
    assert f"overlap {overlap_s(before):.1f} → {overlap_s(after):.1f} s" in parts
    assert f"tail {tail_s(before):.1f} → {tail_s(after):.1f} s" in parts


def test_differences_are_those_of_the_truths(
    comparison: rlviz.Comparison, truths: dict[str, list[dict[str, Any]]]
) -> None:
    frame = comparison.differences.filter(pl.col("pool") == "generation")
    for number, ask in (
        ("duration_ns", duration_s),
        ("exposed_generation_ns", exposed_s),
        ("overlap_ns", overlap_s),
        ("tail_ns", tail_s),
    ):
        rows = frame.filter(pl.col("number") == number).rows(named=True)
        expected = {name: [ask(one) for one in own] for name, own in truths.items()}
        for row in rows:
            told = expected[row["run"]]
            assert row["iterations"] == len(told)
            assert row["mean"] / 1e9 == pytest.approx(statistics.mean(told))
            assert row["deviation"] / 1e9 == pytest.approx(statistics.stdev(told))
            assert (row["least"] / 1e9, row["most"] / 1e9) == pytest.approx((min(told), max(told)))
        first, second = rows
        assert (first["difference"], first["apart"]) == (None, None)
        gap = statistics.mean(expected["after"]) - statistics.mean(expected["before"])
        assert second["difference"] / 1e9 == pytest.approx(gap)
        assert second["apart"] is True


def test_every_number_of_the_summary_is_compared(comparison: rlviz.Comparison) -> None:
    frame = comparison.differences
    assert dict(frame.schema) == {name: column.dtype for name, column in DIFFERENCES.items()}
    numbers = set(rlviz.run.columns.COLUMNS["summary"]) - {"iteration", "pool", "partial"}
    assert set(frame["number"]) == numbers - {"straggler_row"}


def test_every_column_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "compare.md").read_text("utf-8")
    for name in DIFFERENCES:
        assert f"| `{name}` |" in page, name


def test_what_a_run_cannot_tell_is_null_with_a_reason(
    runs: dict[str, ZoomableRun], tmp_path: Path
) -> None:
    write(tmp_path, colocated=True, first_step=3, kernels_per_gpu=2_000)
    frame = rlviz.Comparison({**runs, "shared": rlviz.load(tmp_path)}).differences
    mine = frame.filter(pl.col("run") == "shared")
    null = mine.filter(pl.col("mean").is_null())
    assert null["reason"].null_count() == 0
    reasons = dict(null.select(pl.col("pool") + " " + pl.col("number"), "reason").iter_rows())
    assert reasons["generation busy_ns"] == "no generation pool"
    assert "colocated" in reasons["colocated overlap_ns"]


def test_the_iteration_begins_at_second_0_in_every_run(comparison: rlviz.Comparison) -> None:
    scene = comparison.scene
    for name in comparison.runs:
        starts = [line.at for line in scene.lines if line.group == name]
        assert min(map(abs, starts)) == 0.0
    for name, run in comparison.runs.items():
        zero = next(i for i in run.story.iterations if i.number == comparison.iteration).start_ns
        train = next(b for b in scene.brackets if (b.group, b.text) == (name, "Train 4"))
        own = next(i for i in run.story.iterations if i.number == 4)
        assert own.train is not None
        assert train.right == pytest.approx((own.train[1] - zero) / 1e9)


def test_a_zoomed_view_shows_each_run_at_its_own_place(comparison: rlviz.Comparison) -> None:
    joined: Any = comparison.run
    for name, run in comparison.runs.items():
        place = joined.places[name]
        for number, track in run.tracks.items():
            moved = joined.tracks[number + place.row]
            assert np.array_equal(moved.start_ns, track.start_ns + place.shift_ns)
            names = joined.events.names
            codes = np.arange(0, len(track.name), 97)
            told = [names[int(code)] for code in moved.name[codes]]
            assert told == [run.events.names[int(code)] for code in track.name[codes]]
    facts, _ = Detail(comparison.run, comparison.scene).answer(Window(-1.0, 5.0, 900))
    rows = {row.row: row.group for row in comparison.scene.rows}
    assert {rows[int(strip[0])] for strip in facts["strips"]} <= {"before", "after"}


def test_buckets_stand_where_the_events_do(runs: dict[str, ZoomableRun]) -> None:
    joined: Any = rlviz.Comparison(runs, 6).run
    for track in joined.tracks.values():
        level = track.buckets(-2_000_000_000, 40_000_000_000, 40_000_000)
        edges = (level.first + np.arange(len(level) + 1)) * level.width_ns
        busy_ns = Coverage.of(*track.busy).between(edges)
        assert np.abs(level.busy_ns - busy_ns).max() <= 1
        held = np.unique(level.name[level.count > 0]).tolist()
        assert set(held) <= set(track.name.tolist())


def test_busy_time_of_a_row_is_that_of_its_run(comparison: rlviz.Comparison) -> None:
    joined: Any = comparison.run
    for name, run in comparison.runs.items():
        own = run.busy(by="row")
        place = joined.places[name]
        for number in run.rows["row"].unique():
            spans = [joined.busy(row=number + place.row, by="row"), own.filter(row=number)]
            lengths = [(part["end_ns"] - part["start_ns"]).sum() for part in spans]
            assert lengths[0] == lengths[1]


def test_the_area_of_a_mean_is_the_mean_busy_time_of_both_truths(
    runs: dict[str, ZoomableRun], truths: dict[str, list[dict[str, Any]]]
) -> None:
    scene = rlviz.Comparison(runs, "mean").scene
    for row in scene.rows:
        told = [
            gpu["busy_ns"]
            for iteration in truths[row.group]
            for gpu in iteration["gpus"].values()
            if gpu["pool"] == row.pool
        ]
        area_s = float(scene.bars.busy_s[scene.bars.row == row.row].sum())
        assert area_s == pytest.approx(statistics.mean(told) / 1e9)
        assert (scene.bars.count[scene.bars.row == row.row] > 1).all()
    assert scene.subtitle.startswith("Mean iteration is ")


def test_a_mean_is_drawn_in_all_ways(runs: dict[str, ZoomableRun], tmp_path: Path) -> None:
    mean = rlviz.Comparison(runs, "mean")
    for name in ("x.png", "x.svg", "x.pdf", "x.html"):
        assert mean.save(tmp_path / name).stat().st_size > 1_000
    with pytest.raises(ValueError, match="this is the mean iteration"):
        mean.zoom(iteration=4)
    assert mean._detail().levels() == (None, b"")
    assert not [part for part in mean._widget._parts.values() if not part()]
    mean.zoom(start_s=3, end_s=9)
    assert mean.window == (3.0, 9.0)


@pytest.mark.parametrize("iteration", [4, "mean"])
@pytest.mark.parametrize(("width", "theme"), _SIZES)
def test_nothing_overlaps_or_is_cut_off(
    runs: dict[str, ZoomableRun], width: float, theme: Any, iteration: Any
) -> None:
    figure = drawn(rlviz.Comparison(runs, iteration).scene, width=width, theme=theme)
    for i, (text, box) in enumerate(figure.texts):
        inside = min(box[:2]) >= 0 and box[2] <= figure.width and box[3] <= figure.height
        assert inside, text
        for other, its in figure.texts[i + 1 :]:
            assert not overlap(box, its, 1.2), (text, other)


def test_rows_can_be_chosen_by_their_run(comparison: rlviz.Comparison) -> None:
    texts = svg_texts(still(comparison.scene, "svg", rows="after"))
    assert any(text.startswith("after: ") for text in texts)
    assert not any(text.startswith("before: ") for text in texts)


def test_another_iteration_is_another_figure(comparison: rlviz.Comparison, tmp_path: Path) -> None:
    path = comparison.save(tmp_path / "x.svg", iteration=6)
    assert any(text.startswith("Iteration 6 is ") for text in svg_texts(path.read_bytes()))
    assert comparison.save(tmp_path / "y.svg", iteration=6).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("number", [3, 6])
def test_a_chart_can_be_moved_to_any_iteration_that_all_runs_have(
    runs: dict[str, ZoomableRun], comparison: rlviz.Comparison, number: int
) -> None:
    scene, other = comparison.scene, rlviz.Comparison(runs, number).scene
    assert [one.iteration[0] for one in scene.alignments] == [3, 4, 5, 6, 7]
    own = next(one for one in scene.alignments if one.iteration[0] == number)
    assert own.iteration == other.iterations[0]
    assert own.view == (other.start_s, other.end_s)
    assert own.limits == (other.first_s, other.last_s)
    assert (own.subtitle, own.headings) == (other.subtitle, tuple(h.text for h in other.headings))
    for name in ("brackets", "lines", "overview", "remarks"):
        pairs = zip(getattr(scene, name), getattr(other, name), strict=True)
        for one, moved in pairs:
            for key in ("left", "right", "at", "edges"):
                if getattr(one, key, None) is not None:
                    expected = getattr(one, key) + own.shifts_s[one.group]
                    assert getattr(moved, key) == pytest.approx(expected, abs=1e-8)


def test_another_iteration_of_a_comparison_is_shown(runs: dict[str, ZoomableRun]) -> None:
    comparison, other = rlviz.Comparison(runs, 4), rlviz.Comparison(runs, 6)
    widget = comparison._widget
    comparison.zoom(iteration=6)
    assert comparison.iteration == 6
    assert comparison.window == other.window
    assert widget._zoom[1:] == [*other.window, 6]
    assert comparison.scene.subtitle == other.scene.subtitle
    # A view that stayed is answered as it stands.
    asked = Window(-1.0, 5.0, 900)
    for number, alone in ((4, rlviz.Comparison(runs, 4)), (6, other)):
        assert comparison._detail(number).answer(asked) == alone._detail().answer(asked)
    comparison._moved(0.0, 2.0, 5)
    assert (comparison.iteration, comparison.window) == (5, (0.0, 2.0))


def test_the_picker_of_a_comparison_offers_all_iterations(runs: dict[str, ZoomableRun]) -> None:
    comparison = rlviz.Comparison(runs, 4)
    picker = comparison._panel.iteration
    assert [value for _, value in picker.options] == ["all", 3, 4, 5, 6, 7]
    assert picker.value == 4
    picker.value = 6
    assert comparison.iteration == 6
    assert comparison.window == rlviz.Comparison(runs, 6).window
    picker.value = "all"
    assert comparison.window == (comparison.scene.first_s, comparison.scene.last_s)
    assert (comparison.iteration, picker.value) == (6, "all")
    comparison._panel._step(1)
    assert (comparison.iteration, picker.value) == (6, 6)
    comparison._panel._step(1)
    assert (comparison.iteration, picker.value) == (7, 7)
    comparison._panel._step(1)
    assert (comparison.iteration, picker.value) == (7, 7)


def test_a_page_without_events_shows_the_iteration_that_it_draws(
    comparison: rlviz.Comparison, tmp_path: Path
) -> None:
    page = comparison.save(tmp_path / "x.html", detail=False).read_text("utf-8")
    text = page.split('id="rlviz-facts">')[1].split("</script>")[0]
    facts = json.loads(text)
    assert facts["limits"] == facts["window"]
    assert [one["iteration"][0] for one in facts["alignments"]] == [comparison.iteration]


def test_a_page_holds_the_events_of_both_runs(comparison: rlviz.Comparison, tmp_path: Path) -> None:
    page = comparison.save(tmp_path / "x.html").read_text("utf-8")
    assert 'id="rlviz-held"' in page
    assert "exposed generation" in page


def test_findings_name_their_run(comparison: rlviz.Comparison) -> None:
    assert set(comparison.findings["run"]) <= {"before", "after"}
    assert all(r.text.startswith(("before: ", "after: ")) for r in comparison.scene.remarks)


def test_what_cannot_be_compared_is_an_error(
    runs: dict[str, ZoomableRun], comparison: rlviz.Comparison, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="two runs or more"):
        rlviz.compare(before=runs["before"])
    with pytest.raises(ValueError, match="iteration 99 is not in every run: 'before' has 3 to 7"):
        rlviz.compare(**runs, iteration=99)
    with pytest.raises(ValueError, match="iteration 99 is not in every run"):
        comparison.zoom(iteration=99)
    write(tmp_path, first_step=30, kernels_per_gpu=1_000)
    with pytest.raises(ValueError, match="no iteration in common"):
        rlviz.compare(before=runs["before"], after=tmp_path)

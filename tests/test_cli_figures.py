"""Figures from the command line: every option of `save`, and errors without tracebacks."""

from __future__ import annotations

import inspect
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from rlviz import Comparison, Timeline
from rlviz.cli import figures
from rlviz.demo import write
from tests.commands import here
from tests.view.stills import svg_texts


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of two small runs, `before` with a long tail, and one that has other steps."""
    folder = tmp_path_factory.mktemp("runs")
    small: dict[str, Any] = {"hosts": 1, "policy_gpus": 2, "generation_gpus": 2}
    small |= {"steps": 3, "kernels_per_gpu": 900}
    write(folder / "before", long_tail=True, **small)
    write(folder / "after", **small)
    write(folder / "later", first_step=20, **small)
    return folder


@pytest.mark.parametrize("command", [figures.export, figures.compare])
def test_every_option_of_save_is_on_the_command_line(command: object) -> None:
    options = set(inspect.signature(command).parameters)  # type: ignore[arg-type]
    for kind in (Timeline, Comparison):
        assert set(inspect.signature(kind.save).parameters) - {"self", "path"} <= options


def test_timelines_and_comparisons_are_saved_by_the_same_options() -> None:
    one, other = (inspect.signature(kind.save).parameters for kind in (Timeline, Comparison))
    assert list(one) == list(other)
    # Only of several runs there is a mean.
    assert [name for name in one if one[name] != other[name]] == ["iteration"]
    assert one["iteration"].default is other["iteration"].default is None


def test_options_of_a_figure_reach_it(runs: Path, tmp_path: Path) -> None:
    figure = tmp_path / "x.svg"
    look = ["--rows", "policy", "--width", "85mm", "--title", "Mine", "--theme", "print"]
    told = here("export", runs / "after", "-o", figure, "--iteration", 4, "--no-caption", *look)
    assert (told.exit_code, told.stdout) == (0, f"{figure}\n"), told.output
    texts = svg_texts(figure.read_bytes())
    assert "Mine" in texts
    assert not any("generation 0" in text or "reports" in text for text in texts)
    assert b'width="240.9' in figure.read_bytes()


def test_a_page_and_a_figure_are_written_at_once(runs: Path, tmp_path: Path) -> None:
    page, figure = tmp_path / "x.html", tmp_path / "x.png"
    told = here("export", runs / "after", "-o", page, "-o", figure, "--iteration", 4)
    assert (told.exit_code, told.stdout) == (0, f"{page}\n{figure}\n"), told.output


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--iteration", 99], "no iteration 99: there are 3 to 5"),
        (["--window", "9,3"], "has no width"),
        (["--window", "later"], "is not START,END"),
        (["--rows", "nobody"], "no row has 'nobody'"),
        (["--width", "wide"], "is no size"),
        (["--theme", "pink"], "no theme 'pink'"),
        (["--detail", "much"], "neither a number of MB nor none"),
    ],
)
def test_what_a_figure_cannot_be_is_told_without_a_traceback(
    options: list[object], problem: str, runs: Path, tmp_path: Path
) -> None:
    told = here("export", runs / "after", "-o", tmp_path / "x.svg", *options)
    assert (told.exit_code, told.stdout) == (2, "")
    assert problem in " ".join(told.stderr.replace("│", "").split())
    assert "Traceback" not in told.output
    assert not list(tmp_path.iterdir())


def test_a_page_takes_no_options_of_figures(runs: Path, tmp_path: Path) -> None:
    told = here("export", runs / "after", "-o", tmp_path / "x.html", "--iteration", 4)
    assert told.exit_code == 2
    assert "takes no iteration" in told.stderr


def test_runs_are_compared_in_a_figure(runs: Path, tmp_path: Path) -> None:
    figure = tmp_path / "x.svg"
    named = [f"before={runs / 'before'}", f"after={runs / 'after'}"]
    told = here("compare", *named, "-o", figure, "--iteration", 5)
    assert (told.exit_code, told.stdout) == (0, f"{figure}\n"), told.output
    texts = svg_texts(figure.read_bytes())
    assert any(text.startswith("Iteration 5 is ") and "shorter" in text for text in texts)
    assert sum(text.startswith(("before: ", "after: ")) for text in texts) >= 2


def test_without_a_file_the_differences_are_printed(runs: Path) -> None:
    told = here("compare", f"before={runs / 'before'}", f"after={runs / 'after'}")
    assert told.exit_code == 0, told.output
    head, _, columns, *lines = told.stdout.splitlines()
    assert head.startswith("Iteration 4 is ")
    assert columns.split() == ["pool", "number", "run", "mean", "least", "most", "difference"]
    assert any(line.split()[:3] == ["generation", "tail", "after"] for line in lines)


def cells_until(mark: str, line: str) -> int:
    """How many cells of a terminal a line takes up to the end of what `mark` finds first."""
    found = re.search(mark, line)
    assert found is not None, line
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line[: found.end()])


def test_differences_stand_below_their_heads_whatever_a_run_is_called(runs: Path) -> None:
    told = here("compare", f"前の実行={runs / 'before'}", f"a\x1b[1mb={runs / 'after'}")
    assert told.exit_code == 0, told.output
    head, *lines = told.stdout.splitlines()[2:]
    assert "\x1b" not in told.stdout
    means = [cells_until(r"\d s\b", line) for line in lines if " duration " in line]
    assert means == [cells_until("mean", head)] * len(means)
    assert len(means) >= 2


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["before=before"], "two runs or more"),
        (["before=before", "after"], "is not NAME=REPORTS"),
        (["before=before", "later=later"], "no iteration in common"),
        (["before=before", "after=nowhere"], "nowhere: no such file"),
    ],
)
def test_what_cannot_be_compared_is_told(
    names: list[str], problem: str, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    told = here("compare", *names, "-o", "x.png")
    assert (told.exit_code, told.stdout) == (2, "")
    assert problem in " ".join(told.stderr.replace("│", "").split())
    assert "Traceback" not in told.output
    assert not Path("x.png").exists()

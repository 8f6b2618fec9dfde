"""The magic ``%rlviz``: what it gives, how it fails, and what it completes; in a real IPython."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from rlviz import Timeline
from rlviz.demo import write


@pytest.fixture(scope="module")
def shell() -> InteractiveShell:
    made = InteractiveShell()  # type: ignore[no-untyped-call]
    made.run_line_magic("load_ext", "rlviz")
    return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of two small runs; the name of one has a space."""
    folder = tmp_path_factory.mktemp("runs")
    small: dict[str, Any] = {"hosts": 1, "policy_gpus": 2, "generation_gpus": 2}
    small |= {"steps": 3, "kernels_per_gpu": 600}
    write(folder / "sync", colocated=True, **small)
    write(folder / "my run", **small)
    return folder


@pytest.fixture(autouse=True)
def _in_their_folder(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)


def run(shell: InteractiveShell, cell: str) -> BaseException | None:
    result: Any = shell.run_cell(cell)  # type: ignore[no-untyped-call]
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error


@pytest.mark.parametrize(
    "paths",
    ["'my run'", '"my run"', r"my\ run", "my*", "{folder}", "'my run/node-1'/*vllm* my*/*/dten*"],
)
def test_its_value_is_the_timeline(shell: InteractiveShell, paths: str) -> None:
    shell.user_ns["folder"] = r"my\ run"
    assert run(shell, f"shown = %rlviz {paths}") is None
    timeline = shell.user_ns["shown"]
    assert isinstance(timeline, Timeline)
    assert len(timeline.run.reports) == 4


def test_it_zooms_to_an_iteration_and_saves(shell: InteractiveShell, tmp_path: Path) -> None:
    page, figure = tmp_path / "x.html", tmp_path / "x.svg"
    options = f"--iteration 4 --rows policy --save {page} --save {figure}"
    assert run(shell, f"shown = %rlviz 'my run' {options}") is None
    timeline = shell.user_ns["shown"]
    (window,) = [one[1:3] for one in timeline.scene.iterations if one[0] == 4]
    assert timeline.window == pytest.approx(window)
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert "generation 0" not in figure.read_text("utf-8")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "name the reports"),
        ("nowhere", "nowhere: no such file or folder."),
        ("sync --iteration many", "invalid int value"),
        ("sync --iteration 99", "no iteration 99"),
        ("sync --bogus", "unrecognized arguments: --bogus"),
        ("sync --rows policy", "add --save FILE"),
        ("sync --rows nobody --save x.png", "no row has 'nobody'"),
        ("sync --rows policy --save x.html", "takes no rows"),
        ("sync --save x.docx", "cannot save as .docx"),
        ("sync --save no/such/folder/x.html", "cannot be written"),
        ("'my run", "a path with spaces takes quotes"),
        ("my run", "my: no such file"),
    ],
)
def test_what_it_cannot_do_is_one_error_and_no_traceback(
    shell: InteractiveShell, line: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = run(shell, f"%rlviz {line}")
    assert type(error).__name__ == "UsageError"
    assert problem in str(error)
    told = capsys.readouterr()
    assert f"UsageError: {str(error).splitlines()[0]}" in told.err
    assert "Traceback" not in told.out + told.err
    assert not list(Path().glob("x.*"))


def test_its_help_tells_every_option(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%rlviz?")
    told = capsys.readouterr().out
    for option in ("PATH", "--iteration N", "--rows", "--save FILE", "t = %rlviz PATH"):
        assert option in told


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%rlviz sync --", ["--iteration", "--rows", "--save"]),
        ("%rlviz sync --it", ["--iteration"]),
        ("%rlviz ", [r"my\ run/", "sync/"]),
        ("x = %rlviz s", ["sync/"]),
        ("%rlviz 'my r", ["'my run/"]),
        (r"%rlviz my\ r", [r"my\ run/"]),
        ("%rlviz sync --save s", ["saved.html", "sync/"]),
    ],
)
def test_options_and_paths_are_completed_and_nothing_else(
    shell: InteractiveShell, line: str, offered: list[str], runs: Path
) -> None:
    (runs / "saved.html").write_text("a page")
    (runs / "notes.txt").write_text("no report")
    (runs / ".hidden.sqlite").write_text("hidden")
    with provisionalcompleter():
        told = list(shell.Completer.completions(line, len(line)))
    assert [line[: one.start] + one.text for one in told] == [
        line[: len(line) - len(_last(line))] + one for one in offered
    ]


def test_names_with_colons_are_completed_whole(shell: InteractiveShell, runs: Path) -> None:
    report = min(runs.glob("sync/*/*:*.sqlite")).relative_to(runs)
    line = f"%rlviz {str(report)[: str(report).index(':') + 1]}"
    with provisionalcompleter():
        told = [
            line[: one.start] + one.text for one in shell.Completer.completions(line, len(line))
        ]
    assert f"%rlviz {report}" in told


def _last(line: str) -> str:
    return line[line.index("'") :] if "'" in line else line.replace(r"\ ", "__").split(" ")[-1]


def test_completion_elsewhere_is_as_before(shell: InteractiveShell) -> None:
    with provisionalcompleter():
        told = [one.text for one in shell.Completer.completions("impor", 5)]
    assert "import" in told


def test_loading_twice_and_unloading_leave_one_and_none(shell: InteractiveShell) -> None:
    shell.run_line_magic("reload_ext", "rlviz")
    known = len(shell.Completer.custom_matchers)
    shell.run_line_magic("unload_ext", "rlviz")
    assert len(shell.Completer.custom_matchers) == known - 1
    assert type(run(shell, "%rlviz sync")).__name__ == "UsageError"
    shell.run_line_magic("load_ext", "rlviz")
    assert len(shell.Completer.custom_matchers) == known


def executed(*cells: str) -> Any:
    nbformat = pytest.importorskip("nbformat", reason="the package nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="the package nbclient is not installed")
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    notebook: Any = nbformat.v4.new_notebook(cells=made)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


@pytest.mark.slow
def test_an_executed_notebook_shows_it_once_with_a_figure_for_readers(runs: Path) -> None:
    folder = json.dumps(str(runs / "my run"))
    notebook = executed("%load_ext rlviz", f"%rlviz {folder} --iteration 4", f"t = %rlviz {folder}")
    for cell in notebook.cells[1:]:
        chart, figure = cell.outputs
        assert "application/vnd.jupyter.widget-view+json" in chart.data
        assert set(figure.data) == {"text/html", "image/png"}


@pytest.mark.slow
def test_an_executed_notebook_fails_where_it_cannot_be_shown() -> None:
    exceptions = pytest.importorskip("nbclient.exceptions", reason="nbclient is not installed")
    with pytest.raises(exceptions.CellExecutionError) as caught:
        executed("%load_ext rlviz", "%rlviz nowhere")
    assert "no such file or folder" in str(caught.value)

"""The timeline object: windows, files, and when it displays itself."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import IPython
import IPython.display
import pytest

from rlviz.errors import RlvizError
from rlviz.view.timeline import Timeline
from tests.view.scenes import scene
from tests.view.stand_ins import timeline_of


@pytest.fixture
def timeline() -> Timeline:
    return timeline_of(scene(8))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A notebook in place of the real one; `shown.widgets` is what it displayed."""
    shell = SimpleNamespace(kernel=object(), execution_count=1, widgets=[], figures=[])
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr(IPython.display, "display", shell.widgets.append)
    monkeypatch.setattr(Timeline, "_display_rich", lambda self: shell.figures.append(self))
    return shell


def test_it_says_what_it_holds(timeline: Timeline) -> None:
    assert repr(timeline) == "Timeline(8 rows, 12 reports, 96.0 s)"


def test_it_begins_with_the_first_view(timeline: Timeline) -> None:
    assert timeline.window == (0.0, 96.0)


def test_zoom_moves_the_window_and_without_arguments_back(timeline: Timeline) -> None:
    timeline.zoom(start_s=30, end_s=45)
    assert timeline.window == (30.0, 45.0)
    timeline.zoom(end_s=40)
    assert timeline.window == (30.0, 40.0)
    timeline.zoom()
    assert timeline.window == (0.0, 96.0)


def test_zoom_stays_within_what_was_captured(timeline: Timeline) -> None:
    timeline.zoom(start_s=90, end_s=110)
    assert timeline.window == (78.0, 98.0)
    timeline.zoom(start_s=-1000, end_s=1000)
    assert timeline.window == (-12.0, 98.0)


def test_zoom_shows_an_iteration(timeline: Timeline) -> None:
    timeline.zoom(iteration=4)
    assert timeline.window == (31.0, 62.0)


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ({"start_s": 5, "end_s": 5}, "no width"),
        ({"start_s": 6, "end_s": 5}, "no width"),
        ({"start_s": float("nan"), "end_s": 5}, "no width"),
        ({"iteration": 99}, "no iteration 99: there are 3 to 5"),
        ({"iteration": 4, "start_s": 5}, "not both"),
    ],
)
def test_a_window_that_cannot_be_shown_is_an_error(
    timeline: Timeline, window: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        timeline.zoom(**window)
    assert timeline.window == (0.0, 96.0)


def test_a_run_without_iterations_says_so() -> None:
    bare = timeline_of(scene(2, brackets=(), iterations=0))
    with pytest.raises(ValueError, match="no iteration was recognised"):
        bare.zoom(iteration=1)


def test_save_writes_a_page(timeline: Timeline, tmp_path: Path) -> None:
    path = timeline.save(tmp_path / "run.html", detail=False)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [found.name for found in tmp_path.iterdir()] == ["run.html"]


@pytest.mark.parametrize("name", ["run.docx", "run"])
def test_an_unknown_suffix_is_an_error_that_says_what_is_supported(
    timeline: Timeline, tmp_path: Path, name: str
) -> None:
    with pytest.raises(RlvizError, match=r"Supported: \.html"):
        timeline.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_older_file_and_no_other(
    timeline: Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.html"
    path.write_text("older")

    monkeypatch.setattr(Path, "replace", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(RlvizError, match=r"run\.html: cannot be written: No space left"):
        timeline.save(path, detail=False)
    assert path.read_text() == "older"
    assert [found.name for found in tmp_path.iterdir()] == ["run.html"]


def test_a_folder_that_is_not_there_is_an_error_that_names_the_file(
    timeline: Timeline, tmp_path: Path
) -> None:
    with pytest.raises(RlvizError, match=r"run\.html: cannot be written"):
        timeline.save(tmp_path / "nowhere" / "run.html", detail=False)


def test_outside_a_notebook_show_prints_one_line(
    timeline: Timeline, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    timeline._show()
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert 'timeline.save("timeline.html")' in printed


def test_show_as_the_last_expression_displays_once(
    timeline: Timeline, shown: SimpleNamespace
) -> None:
    timeline._show()
    timeline._ipython_display_()
    assert len(shown.widgets) == 1


def test_static_displays_the_figure_only(timeline: Timeline, shown: SimpleNamespace) -> None:
    timeline._show(static=True)
    timeline._ipython_display_()
    assert (shown.widgets, shown.figures) == ([], [timeline])


def test_a_figure_that_cannot_be_made_leaves_the_chart_and_a_warning(
    timeline: Timeline, shown: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Timeline, "_display_rich", Mock(side_effect=MemoryError))
    with pytest.warns(UserWarning, match="no figure of this chart"):
        timeline._show()
    assert len(shown.widgets) == 1


def test_a_later_cell_displays_again(timeline: Timeline, shown: SimpleNamespace) -> None:
    timeline._show()
    shown.execution_count = 2
    timeline._ipython_display_()
    assert len(shown.widgets) == 2
    assert shown.widgets[0] is shown.widgets[1]


def test_a_timeline_made_without_show_displays_itself(
    timeline: Timeline, shown: SimpleNamespace
) -> None:
    timeline._ipython_display_()
    assert [repr(widget) for widget in shown.widgets] == [repr(timeline)]


def answers(widget: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    sent: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        widget, "send", lambda message, buffers=None: sent.append((message, buffers))
    )
    return sent


def test_a_view_gets_what_it_asks_for_and_nothing_else(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = timeline._widget
    sent = answers(widget, monkeypatch)
    ask = {"kind": "ask", "view": "v", "sequence": 7, "parts": ["lens", "facts"]}
    widget._handle_custom_msg(ask, [])
    widget._handle_custom_msg(ask | {"parts": ["__class__"]}, [])
    widget._handle_custom_msg(ask | {"parts": None}, [])
    (answer, buffers), (refusal, _), (other, _) = sent
    assert answer == {"kind": "answer", "view": "v", "sequence": 7}
    assert [bytes(one[:2]) for one in buffers] == [b"\x1f\x8b"] * 2
    assert refusal["kind"] == other["kind"] == "refusal"


def test_nothing_large_is_saved_with_the_notebook(timeline: Timeline) -> None:
    state = timeline._widget.get_state()
    assert sum(len(str(value)) for value in state.values()) < 20_000


def test_the_window_follows_the_view_that_a_person_moved(timeline: Timeline) -> None:
    move = {"kind": "window", "view": "v", "sequence": 1, "after": 0, "start": 3.0, "end": 4.0}
    timeline._widget._handle_custom_msg(move, [])
    assert timeline.window == (3.0, 4.0)


@pytest.mark.parametrize(
    "change", [{"start": None}, {"end": "4"}, {"start": 9.0}, {"start": float("nan")}]
)
def test_a_move_that_is_no_window_is_ignored(timeline: Timeline, change: dict[str, Any]) -> None:
    move = {"kind": "window", "view": "v", "after": 0, "start": 3.0, "end": 4.0}
    timeline._widget._handle_custom_msg(move | change, [])
    assert timeline.window == (0.0, 96.0)


def test_an_echo_of_an_older_zoom_does_not_undo_the_newer(timeline: Timeline) -> None:
    widget = timeline._widget
    timeline.zoom(10, 20)
    timeline.zoom(30, 40)
    move = {"kind": "window", "view": "v", "sequence": 1, "after": 1, "start": 10.0, "end": 20.0}
    widget._handle_custom_msg(move, [])
    assert timeline.window == (30.0, 40.0)


def test_a_zoom_before_the_first_display_reaches_it(timeline: Timeline) -> None:
    timeline.zoom(10, 20)
    assert timeline._widget._zoom[1:] == [10.0, 20.0]


def test_a_widget_keeps_no_run_alive(timeline: Timeline) -> None:
    # widgets live as long as the kernel; ten re-runs of a cell must not hold ten runs
    widget = timeline._widget
    assert widget._moved() is not None
    assert not any(value is timeline for value in vars(widget).values())

"""The notebook's controls, without a notebook."""

from __future__ import annotations

import gc
import json
import weakref
from typing import TYPE_CHECKING, Any

import ipywidgets
import pytest

from tests.view.scenes import HOSTILE, empty, hostile, scene
from tests.view.stand_ins import timeline_of

if TYPE_CHECKING:
    from rlviz.view.timeline import Timeline


@pytest.fixture
def timeline() -> Timeline:
    return timeline_of(scene(8), findings="the run's")


def press(timeline: Timeline, text: str) -> None:
    found = [w for w in every(timeline._panel) if getattr(w, "description", "") == text]
    if isinstance(found[0], ipywidgets.Button):
        found[0].click()
    else:
        found[0].value = not found[0].value


def every(widget: Any) -> list[Any]:
    return [widget, *(w for child in getattr(widget, "children", ()) for w in every(child))]


def moved(timeline: Timeline, start: float, end: float) -> None:
    """Let a person move a view."""
    after = (timeline._widget._zoom or [0])[0]
    message = {"kind": "window", "view": "v", "after": after, "start": start, "end": end}
    timeline._widget._handle_custom_msg(message, [])


def test_picking_an_iteration_zooms_to_it_and_all_goes_back(timeline: Timeline) -> None:
    picker = timeline._panel.iteration
    assert picker.label == "all iterations"
    picker.value = 4
    assert timeline.window == (31.0, 62.0)
    assert timeline._widget._zoom[1:] == [31.0, 62.0]
    picker.value = "all"
    assert timeline.window == (0.0, 96.0)


def test_the_picker_follows_zoom_and_a_persons_moves(timeline: Timeline) -> None:
    picker = timeline._panel.iteration
    timeline.zoom(iteration=5)
    assert picker.value == 5
    moved(timeline, 10, 20)
    assert picker.index is None
    assert timeline.window == (10.0, 20.0)
    moved(timeline, 31, 62)
    assert picker.value == 4
    timeline.zoom()
    assert picker.value == "all"


def test_following_moves_no_view(timeline: Timeline) -> None:
    # two views: a pan of one must not move the other
    assert timeline._panel.iteration.value == "all"
    moved(timeline, 31, 62)
    assert timeline._widget._zoom == []


def test_stepping_begins_with_the_iteration_in_the_middle_and_stops_at_the_last(
    timeline: Timeline,
) -> None:
    seen = []
    for text in "▶▶▶◀◀◀":
        press(timeline, text)
        seen.append(timeline._panel.iteration.value)
    assert seen == [4, 5, 5, 4, 3, 3]


def test_choices_reach_the_chart_as_one_small_trait(timeline: Timeline) -> None:
    panel = timeline._panel
    panel.search.value = "nccl"
    panel.color_by.value = "kernel"
    press(timeline, "policy")
    press(timeline, "NCCL")
    assert timeline._widget._controls == {
        "search": "nccl",
        "color_by": "kernel",
        "hidden_roles": ["policy"],
        "domains": [8, 9],
    }
    press(timeline, "›")
    press(timeline, "‹")
    assert timeline._widget._controls["step"] == [2, -1]
    timeline.zoom(3, 4)
    press(timeline, "reset")
    assert timeline.window == (0.0, 96.0)
    assert timeline._widget._controls == {
        "search": "",
        "color_by": "phase",
        "hidden_roles": [],
        "domains": [8],
        "step": [2, -1],
    }


@pytest.mark.parametrize(
    ("told", "shown"), [("3 of 17", "3 of 17"), ("none", "none"), ("<b>x</b>", ""), (None, "")]
)
def test_only_a_count_is_taken_for_a_count(timeline: Timeline, told: Any, shown: str) -> None:
    panel = timeline._panel
    timeline._widget._handle_custom_msg({"kind": "found", "view": "v", "text": told}, [])
    assert panel.count.value == shown


def test_a_run_without_iterations_or_rows_has_no_choices_of_them() -> None:
    bare = timeline_of(empty())
    texts = {getattr(widget, "description", "") for widget in every(bare._panel)}
    assert "NCCL" not in texts
    one = timeline_of(scene(2, iterations=0, brackets=(), lines=()))
    assert not hasattr(one._panel, "iteration")
    one.zoom(1, 2)


def test_hostile_names_are_cut_and_plain() -> None:
    panel = timeline_of(hostile())._panel
    assert len(panel.rows) == 4
    for chip in (*panel.rows, *panel.domains):
        assert len(chip.description) <= 24
        assert not set("\u202e\x00\x1b\u200b") & set(chip.description)
    assert HOSTILE[1] not in json.dumps(panel.get_state(), default=str)


def test_a_notebook_saves_little_of_it(timeline: Timeline) -> None:
    widgets = every(timeline._panel)
    models = {w.model_id: w for w in widgets}
    for widget in widgets:
        for name in ("layout", "style"):
            model = getattr(widget, name, None)
            if model is not None:
                models[model.model_id] = model
    assert len(models) < 40
    assert sum(len(json.dumps(m.get_state(), default=str)) for m in models.values()) < 45_000


def test_findings_are_the_runs(timeline: Timeline) -> None:
    assert timeline.findings is timeline.run.findings


def test_controls_keep_no_run_alive() -> None:
    made = timeline_of(scene(2))
    panel = made._panel
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None
    panel.iteration.value = 4  # a view may live on

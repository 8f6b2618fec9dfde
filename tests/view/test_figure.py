"""The figure's models, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from bokeh.embed import json_item
from bokeh.models import (
    Axis,
    PanTool,
    Plot,
    Quad,
    RangeTool,
    Segment,
    WheelZoomTool,
)
from bokeh.models.renderers import GlyphRenderer
from bokeh.models.text import PlainText

from rlviz.view.choices import legend
from rlviz.view.figure import draw
from rlviz.view.palette import COLORS, SURFACE
from rlviz.view.payload import payload
from rlviz.view.sizes import row_height_px
from rlviz.view.windows import limits, window
from tests.view.scenes import HOSTILE, empty, hatched, hostile, scene

if TYPE_CHECKING:
    from rlviz.view.scene import Scene

SCENES = {
    "2 rows": lambda: scene(2),
    "8 rows": lambda: scene(8),
    "64 rows": lambda: scene(64),
    "no rows": empty,
    "no GPU data": hatched,
    "hostile": hostile,
}


def models(drawn: Scene, kind: type) -> list[Any]:
    return list(draw(drawn).root.select({"type": kind}))


def plots(drawn: Scene) -> dict[str, Any]:
    return {plot.name: plot for plot in models(drawn, Plot)}


def named(drawn: Scene, name: str) -> Any:
    return drawers(drawn, name)[0]


def drawers(drawn: Scene, name: str) -> list[Any]:
    found = [one for plot in plots(drawn).values() for one in plot.renderers]
    return [one for one in found if isinstance(one, GlyphRenderer) and one.data_source.name == name]


@pytest.mark.parametrize("make", SCENES.values(), ids=SCENES)
def test_no_model_carries_code_that_a_strict_page_policy_forbids(make: Any) -> None:
    assert "CustomJS" not in json.dumps(json_item(draw(make()).root))


@pytest.mark.parametrize("make", SCENES.values(), ids=SCENES)
def test_the_figure_is_json_that_every_browser_reads(make: Any) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    drawn = payload(make())
    for text in (drawn.item, drawn.facts):
        json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("rows", [2, 8])
def test_no_name_travels_more_than_once(rows: int) -> None:
    name = "a_name_that_is_easily_found"
    drawn = payload(scene(rows, names=(name,) * 12))
    assert name not in drawn.item
    assert drawn.facts.count(name) <= 12


def test_only_names_that_marks_use_travel() -> None:
    base = scene(2)
    drawn = payload(scene(2, names=(*base.names, *(f"unused_{i}" for i in range(1000)))))
    assert "unused" not in drawn.facts


def test_canvas_never_thins_glyphs_out_while_one_pans() -> None:
    for plot in plots(scene(2)).values():
        assert plot.lod_threshold is None
        assert plot.output_backend == "canvas"


def test_pan_and_zoom_go_along_time_only_and_the_wheel_is_active() -> None:
    main = plots(scene(2))["main"]
    wheel, pan = main.tools
    assert isinstance(wheel, WheelZoomTool)
    assert isinstance(pan, PanTool)
    assert wheel.dimensions == pan.dimensions == "width"
    assert main.toolbar.active_scroll is wheel
    assert main.toolbar.active_drag is pan


def test_panning_ends_where_capturing_did() -> None:
    drawn = scene(2)
    main = plots(drawn)["main"]
    assert main.x_range.bounds == (drawn.first_s, drawn.last_s)
    assert (main.x_range.start, main.x_range.end) == (drawn.start_s, drawn.end_s)


def test_the_brush_of_the_overview_is_the_window_of_the_main_plot() -> None:
    found = plots(scene(2))
    (tool,) = found["overview"].tools
    assert isinstance(tool, RangeTool)
    assert tool.x_range is found["main"].x_range


def test_every_bar_is_drawn_where_the_scene_says() -> None:
    drawn = scene(4)
    columns = named(drawn, "bars").data_source.data
    for name in ("left", "right", "top", "bottom", "count", "busy_s", "name_share"):
        np.testing.assert_array_equal(columns[name], getattr(drawn.bars, name))


def test_ranges_that_are_off_are_there_but_not_drawn() -> None:
    drawn = scene(4)
    shown = named(drawn, "overlays")
    hidden = named(drawn, "hidden")
    assert len(shown.data_source.data["left"]) == drawn.overlays.shown.sum()
    assert len(hidden.data_source.data["left"]) == (~drawn.overlays.shown).sum() > 0
    assert shown.visible
    assert not hidden.visible


def test_a_range_that_did_not_end_has_an_open_edge_and_others_have_none() -> None:
    drawn = scene(4)
    cut = np.zeros(len(drawn.overlays.left), bool)
    cut[::3] = True
    overlays = replace(drawn.overlays, truncated=cut)
    outline, edge = drawers(replace(drawn, overlays=overlays), "overlays")
    assert isinstance(outline.glyph, Quad)  # the lens takes the first for the ranges
    assert isinstance(edge.glyph, Segment)
    # one source, so that ranges that are replaced on zoom keep their edges
    assert edge.data_source is outline.data_source
    assert (edge.glyph.x0, edge.glyph.x1) == ("right", "right")
    assert edge.glyph.line_alpha == "truncated"
    seen = edge.data_source.data["truncated"]
    np.testing.assert_array_equal(seen, cut[drawn.overlays.shown])


def test_bars_take_the_colours_of_the_palette() -> None:
    drawn = scene(4)
    color = named(drawn, "bars").glyph.fill_color
    assert color["transform"].palette == [COLORS[key] for key in drawn.colors]


def test_the_legend_names_only_what_is_drawn() -> None:
    labels = [entry["label"] for entry in legend(scene(4))]
    assert "generation" in labels
    assert "copy" not in labels
    assert "no GPU data" not in labels
    assert "no GPU data" in [entry["label"] for entry in legend(hatched())]
    assert legend(empty()) == []


def test_a_busy_share_that_is_unknown_is_not_a_number() -> None:
    texts = [
        text.text
        for axis in models(hatched(), Axis)
        for text in axis.major_label_overrides.values()
    ]
    assert "unknown" in texts
    assert not any("nan" in text.lower() for text in texts)


def test_no_label_is_taken_for_tex_that_has_to_be_fetched() -> None:
    for axis in models(hostile(), Axis):
        assert all(isinstance(text, PlainText) for text in axis.major_label_overrides.values())


def test_hostile_texts_arrive_cut_and_visible() -> None:
    facts = json.loads(payload(hostile()).facts)
    shown = json.dumps(facts, ensure_ascii=False)
    assert not re.search("[\u202e\u2066\u200b\ud800\x00\x1b]", shown)
    assert max(map(len, facts["names"].values())) < 400
    assert HOSTILE[0] in facts["names"].values()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_a_theme_can_be_changed_in_place(theme: Literal["light", "dark"]) -> None:
    drawing = draw(scene(4), theme)
    known = {str(model.id): model for model in drawing.root.references()}
    for id_, name, key in drawing.paint.done:
        assert name in known[id_].properties()
        assert {key} <= SURFACE["light"].keys() & SURFACE["dark"].keys()
    text = json.dumps(json_item(drawing.root))
    inks = {name: SURFACE[name]["ink"] in text for name in ("light", "dark")}
    assert inks == {name: name == theme for name in inks}


def test_a_window_always_has_a_width() -> None:
    assert window(1.0, 2.0) == (1.0, 2.0)
    start, end = window(3.0, 3.0)
    assert start < 3.0 < end
    first, last = limits(empty())
    assert first < last


def test_more_rows_are_lower_but_never_too_low_to_read() -> None:
    heights = [row_height_px(rows) for rows in (1, 2, 8, 16, 64, 128, 1000)]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] <= 54
    assert heights[-1] == 12

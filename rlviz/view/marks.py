"""The marks of a chart as Bokeh glyphs: bands, bars, overlays, shades, brackets, lines, labels."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from bokeh.core.properties import field, value
from bokeh.models import (
    ColumnDataSource,
    Grid,
    HStrip,
    LinearColorMapper,
    Quad,
    Segment,
    Text,
)
from bokeh.models.renderers import GlyphRenderer

from rlviz.view.legible import legible
from rlviz.view.palette import COLORS
from rlviz.view.sizes import FONT, font_px

if TYPE_CHECKING:
    from bokeh.core.property.vectorization import Field
    from bokeh.models import Plot
    from bokeh.models.glyph import Glyph

    from rlviz.view.paint import Paint
    from rlviz.view.scene import Bars, Overlays, Scene

__all__ = ["draw_marks"]

_Level = Literal["underlay", "glyph", "annotation"]


def draw_marks(plot: Plot, scene: Scene, paint: Paint, row_px: int) -> None:
    """Add everything that stands in the frame of the main plot, from the bottom up.

    Every source carries a name, by which the lens finds it: ``bars``, ``overlays``, ``hidden``,
    ``matches``, ``place``, ``bubbles`` and the texts (``overlay-labels``, ``bubble-labels``,
    ``line-labels``, ``bracket-labels-`` and a pool) it reads or rewrites; the others it moves.
    """
    _bands(plot, scene, paint)
    _shades(plot, scene, paint, "not_captured")
    _shades(plot, scene, paint, "no_gpu_data")
    _shades(plot, scene, paint, "reading")
    _lines(plot, scene, paint)
    _bars(plot, scene)
    _shades(plot, scene, paint, "edge")
    _overlays(plot, scene, paint)
    _outlines(plot, paint)
    _brackets(plot, scene, paint, row_px)
    _bubbles(plot, scene, paint, row_px)
    _labels(plot, scene, paint, row_px)


def _add(
    plot: Plot,
    name: str,
    columns: dict[str, Any],
    glyph: Glyph,
    *,
    level: _Level = "glyph",
    visible: bool = True,
) -> None:
    source = ColumnDataSource(columns, name=name)
    plot.renderers.append(_renderer(source, glyph, level=level, visible=visible))


def _renderer(
    source: ColumnDataSource, glyph: Glyph, *, level: _Level = "glyph", visible: bool = True
) -> GlyphRenderer[Any]:
    # Selections are of no use here: without these two, Bokeh keeps two more glyphs a renderer.
    return GlyphRenderer(
        data_source=source,
        glyph=glyph,
        nonselection_glyph=None,
        muted_glyph=None,
        level=level,
        visible=visible,
    )


def _bands(plot: Plot, scene: Scene, paint: Paint) -> None:
    glyph = HStrip(y0="top", y1="bottom", line_color=None)
    paint(glyph, fill_color="band")
    columns = {
        "top": np.array([row.top for row in scene.rows], float),
        "bottom": np.array([row.bottom for row in scene.rows], float),
    }
    _add(plot, "bands", columns, glyph, level="underlay")
    grid = Grid(dimension=0, axis=plot.xaxis[0], level="underlay", grid_line_alpha=0.6)
    paint(grid, grid_line_color="grid")
    plot.center.append(grid)


def _mapped(scene: Scene, darker: float = 0.0) -> Field:
    palette = [_darker(COLORS[key], darker) for key in scene.colors] or ["#000000"]
    mapper = LinearColorMapper(palette=palette, low=-0.5, high=len(palette) - 0.5)
    return field("color", transform=mapper)


def _darker(color: str, part: float) -> str:
    red, green, blue = (round(int(color[i : i + 2], 16) * (1 - part)) for i in (1, 3, 5))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _bars(plot: Plot, scene: Scene) -> None:
    color = _mapped(scene)
    # Without the lens, which paints bars its own way, the stroke closes the seams that antialiasing
    # leaves between neighbours, and keeps a bar narrower than a pixel visible.
    glyph = Quad(
        left="left",
        right="right",
        top="top",
        bottom="bottom",
        fill_color=color,
        line_color=color,
        line_width=0.6,
    )
    _add(plot, "bars", _columns(scene.bars), glyph)


def _overlays(plot: Plot, scene: Scene, paint: Paint) -> None:
    columns = _columns(scene.overlays)
    shown = columns.pop("shown").astype(bool)
    columns["truncated"] = columns["truncated"].astype(np.uint8)
    glyph = Quad(
        left="left",
        right="right",
        top="top",
        bottom="bottom",
        fill_color=_mapped(scene),
        fill_alpha=0.18,
        # Darker than the bars, on which most of the outline lies.
        line_color=_mapped(scene, darker=0.35),
        line_width=1,
    )
    drawn = {key: column[shown] for key, column in columns.items()}
    source = ColumnDataSource(drawn, name="overlays")
    plot.renderers += [_renderer(source, glyph), _renderer(source, _open_edge(paint))]
    # The ranges of domains that are off until asked for: here, so that asking needs no round trip.
    hidden = {key: column[~shown] for key, column in columns.items()}
    _add(plot, "hidden", hidden, glyph.clone(), visible=False)


def _open_edge(paint: Paint) -> Segment:
    """Break the outline where a range did not end: its capture did."""
    glyph = Segment(
        x0="right",
        x1="right",
        y0="top",
        y1="bottom",
        line_alpha="truncated",
        line_width=3,
        line_dash=[3, 3],
    )
    paint(glyph, line_color="band")
    return glyph


def _outlines(plot: Plot, paint: Paint) -> None:
    """Outline what the lens points at: ranges that a search found, and one place."""
    for name, key, width in (("matches", "ink", 1.5), ("place", "alert", 3.0)):
        glyph = Quad(
            left="left",
            right="right",
            top="top",
            bottom="bottom",
            fill_color=None,
            line_width=width,
        )
        paint(glyph, line_color=key)
        columns: dict[str, Any] = {"left": [], "right": [], "top": [], "bottom": []}
        _add(plot, name, columns, glyph)


def _columns(marks: Bars | Overlays) -> dict[str, Any]:
    return {one.name: getattr(marks, one.name) for one in fields(marks)}


_HATCH: dict[str, dict[str, Any]] = {
    "not_captured": {"fill_alpha": 0.55},
    "edge": {
        "fill_color": None,
        "hatch_pattern": "right_diagonal_line",
        "hatch_scale": 7,
        "hatch_weight": 1,
    },
    "no_gpu_data": {
        "fill_color": None,
        "hatch_pattern": "diagonal_cross",
        "hatch_scale": 9,
        "hatch_weight": 0.7,
    },
    "reading": {
        "fill_color": None,
        "hatch_pattern": "dot",
        "hatch_scale": 9,
        "hatch_weight": 0.7,
    },
}


def _shades(plot: Plot, scene: Scene, paint: Paint, kind: str) -> None:
    found = [shade for shade in scene.shades if shade.kind == kind]
    if not found:
        return
    columns = {
        edge: np.array([getattr(shade, edge) for shade in found], float)
        for edge in ("left", "right", "top", "bottom")
    }
    glyph = Quad(
        left="left", right="right", top="top", bottom="bottom", line_color=None, **_HATCH[kind]
    )
    if kind == "not_captured":
        paint(glyph, fill_color="shade")
    else:
        paint(glyph, hatch_color="boundary" if kind == "edge" else "shade")
    _add(plot, kind, columns, glyph)


def _lines(plot: Plot, scene: Scene, paint: Paint) -> None:
    for kind, key in (("boundary", "boundary"), ("refit", "refit")):
        own = [line for line in scene.lines if line.kind == kind]
        if not own:
            continue
        top, bottom = np.array([_crossed(scene, line.group) for line in own], float).T
        columns = {"x": np.array([line.at for line in own], float), "y0": top, "y1": bottom}
        glyph = Segment(x0="x", x1="x", y0="y0", y1="y1", line_dash=[4, 3], line_alpha=0.9)
        paint(glyph, line_color=key)
        _add(plot, f"lines-{kind}", columns, glyph)


def _crossed(scene: Scene, group: str) -> tuple[float, float]:
    """Give the heights that a line of a group crosses."""
    if not group:
        return 0.0, scene.height
    pools = [pool for pool in scene.pools if pool.group == group]
    return pools[0].top, pools[-1].bottom


def _brackets(plot: Plot, scene: Scene, paint: Paint, row_px: int) -> None:
    cap = 5 / row_px
    for partial in (False, True):
        found = [bracket for bracket in scene.brackets if bracket.partial == partial]
        if not found:
            continue
        left = np.array([bracket.left for bracket in found], float)
        right = np.array([bracket.right for bracket in found], float)
        y = np.array([bracket.y for bracket in found], float)
        bar = Segment(x0="x0", x1="x1", y0="y0", y1="y1", line_width=1.4)
        bar.line_dash = [5, 3] if partial else []
        caps = Segment(x0="x0", x1="x1", y0="y0", y1="y1", line_width=1.4)
        paint(bar, line_color="muted")
        paint(caps, line_color="muted")
        _add(plot, "brackets", {"x0": left, "x1": right, "y0": y, "y1": y}, bar)
        ends = np.concatenate((left, right))
        twice = np.concatenate((y, y))
        _add(plot, "caps", {"x0": ends, "x1": ends, "y0": twice - cap, "y1": twice + cap}, caps)


def _bubbles(plot: Plot, scene: Scene, paint: Paint, row_px: int) -> None:
    """Give the lens what it draws bubbles with, where they have room: lines, and their lengths."""
    if not scene.bubbles:
        return
    line = Segment(x0="x0", x1="x1", y0="y0", y1="y1", line_width=1.2)
    paint(line, line_color="alert")
    ends: dict[str, Any] = {"x0": [], "x1": [], "y0": [], "y1": []}
    _add(plot, "bubbles", ends, line, level="annotation")
    text = Text(
        x="x",
        y="y",
        text="text",
        text_font=value(FONT),
        text_font_size=f"{font_px(row_px, largest=10)}px",
        text_align="center",
        text_baseline="bottom",
    )
    paint(text, text_color="alert")
    _add(plot, "bubble-labels", {"x": [], "y": [], "text": []}, text, level="annotation")


def _labels(plot: Plot, scene: Scene, paint: Paint, row_px: int) -> None:
    _overlay_labels(plot, paint, row_px)
    for pool in ("generation", "training", "colocated", "other"):
        found = [bracket for bracket in scene.brackets if bracket.pool == pool]
        if not found:
            continue
        above = Text(
            x="x",
            y="y",
            text="text",
            y_offset=-5,
            text_font=value(FONT),
            text_font_size="12px",
            text_font_style="bold",
            text_align="center",
            text_baseline="bottom",
        )
        paint(above, text_color=pool if pool != "other" else "muted")
        columns = {
            "x": np.array([(bracket.left + bracket.right) / 2 for bracket in found], float),
            "y": np.array([bracket.y for bracket in found], float),
            "text": [legible(bracket.text) for bracket in found],
        }
        _add(plot, f"bracket-labels-{pool}", columns, above)

    if scene.lines:
        below = Text(
            x="x",
            y="y",
            text="text",
            x_offset=3,
            text_font=value(FONT),
            text_font_size="9px",
            text_baseline="bottom",
        )
        paint(below, text_color="refit")
        columns = {
            "x": np.array([line.at for line in scene.lines], float),
            "y": np.full(len(scene.lines), scene.height),
            "text": [legible(line.text) for line in scene.lines],
        }
        _add(plot, "line-labels", columns, below)


def _overlay_labels(plot: Plot, paint: Paint, row_px: int) -> None:
    # Bokeh strokes text after filling it, so a halo is the same text drawn before.
    source = ColumnDataSource({"x": [], "y": [], "text": [], "alpha": []}, name="overlay-labels")
    halo = Text(
        x="x",
        y="y",
        text="text",
        x_offset=4,
        y_offset=2,
        text_font=value(FONT),
        text_font_size=f"{font_px(row_px, largest=10)}px",
        text_baseline="top",
        text_alpha="alpha",
        text_outline_width=3 if row_px > 30 else 2,
    )
    text = halo.clone()
    paint(halo, text_color="page", text_outline_color="page")
    paint(text, text_color="ink")
    for glyph in (halo, text):
        plot.renderers.append(_renderer(source, glyph, level="annotation"))

"""The Bokeh figure: a Gantt chart of the run above a strip that shows all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from bokeh.layouts import column
from bokeh.models import (
    AllLabels,
    BasicTicker,
    ColumnDataSource,
    FixedTicker,
    LinearAxis,
    PanTool,
    PlainText,
    Plot,
    Range,
    Range1d,
    RangeTool,
    VArea,
    WheelZoomTool,
)
from bokeh.models.annotations import BoxAnnotation

from rlviz.view.legible import host_part, short
from rlviz.view.marks import draw_marks
from rlviz.view.paint import Paint
from rlviz.view.palette import COLORS
from rlviz.view.sizes import FONT, font_px, row_height_px, text_width_px
from rlviz.view.windows import SHORTEST_S, limits, window

if TYPE_CHECKING:
    from bokeh.models import Column

    from rlviz.view.palette import Theme
    from rlviz.view.scene import Scene

__all__ = ["Drawing", "draw"]

_POOL_COLUMN_PX = 26
_OVERVIEW_POOL_PX = 26
_LONGEST_LABEL = 36
_LONGEST_HOST = 16


@dataclass(frozen=True)
class Drawing:
    """A figure and what the lens must know of it.

    Parameters
    ----------
    root : Column
        The layout to embed.
    paint : Paint
        The colours to change with the theme.
    left_px : int
        Width of the labels left of the frame.
    right_px : int
        Width of the busy shares right of it.
    """

    root: Column
    paint: Paint
    left_px: int
    right_px: int


def draw(scene: Scene, theme: Theme = "light") -> Drawing:
    """Draw `scene` with Bokeh: the main plot, named ``main``, above the overview, ``overview``.

    Title, headings, legend, caption, tooltips and the labels of ranges are the lens's part: they
    are laid out anew at every width and zoom.

    Parameters
    ----------
    scene : Scene
        What to draw.
    theme : {"light", "dark", "print"}
        The colours to begin with; the lens changes them in place.
    """
    paint = Paint(theme)
    row_px = row_height_px(len(scene.rows))
    sides = _left_px(scene, row_px), 64 if any(r.busy_share is None for r in scene.rows) else 50
    main = _main_plot(scene, paint, row_px, sides)
    plots = [main]
    if scene.overview:
        plots.append(_overview_plot(scene, paint, main.x_range, sides))
    root = column(*plots, sizing_mode="stretch_width", spacing=4, name="rlviz")
    return Drawing(root, paint, *sides)


def _plot(
    name: str, frame_px: int, sides: tuple[int, int], x_range: Range1d, y_range: Range1d
) -> Plot:
    return Plot(
        name=name,
        title=None,
        x_range=x_range,
        y_range=y_range,
        frame_height=frame_px,
        sizing_mode="stretch_width",
        toolbar_location=None,
        min_border_left=sides[0],
        min_border_right=sides[1],
        min_border_top=4,
        min_border_bottom=26,
        outline_line_color=None,
        background_fill_color=None,
        border_fill_color=None,
        output_backend="canvas",
        lod_threshold=None,
        # Else Bokeh paints all once more, half a second after each move.
        lod_interval=0,
    )


def _main_plot(scene: Scene, paint: Paint, row_px: int, sides: tuple[int, int]) -> Plot:
    start, end = window(scene.start_s, scene.end_s)
    first, last = limits(scene)
    x_range = Range1d(
        start=start,
        end=end,
        bounds=(first, last),
        min_interval=SHORTEST_S,
        name="window",
    )
    height = scene.height or 1.0
    frame_px = max(round(height * row_px), 40)
    plot = _plot("main", frame_px, sides, x_range, Range1d(start=height, end=0.0))
    # Along time only; the wheel turns from the start, and turns the page beside the frame.
    wheel = WheelZoomTool(dimensions="width", maintain_focus=False, zoom_on_axis=False)
    pan = PanTool(dimensions="width")
    plot.add_tools(wheel, pan)
    plot.toolbar.active_scroll = wheel
    plot.toolbar.active_drag = pan
    _time_axis(plot, paint, 11)
    _row_axes(plot, scene, paint, row_px)
    draw_marks(plot, scene, paint, row_px)
    return plot


def _left_px(scene: Scene, row_px: int) -> int:
    size = font_px(row_px)
    labels = text_width_px((short(row.label, _LONGEST_LABEL) for row in scene.rows), size)
    strips = text_width_px((short(s.label, _LONGEST_LABEL) for s in scene.overview), 10)
    hosts = text_width_px(
        (short(host_part(row.host), _LONGEST_HOST) for row in scene.rows), size - 1
    )
    return max(_POOL_COLUMN_PX + labels + (hosts + 14 if hosts else 0) + 10, strips + 10, 90)


def _time_axis(plot: Plot, paint: Paint, size: int) -> None:
    axis = LinearAxis(
        ticker=BasicTicker(desired_num_ticks=9, num_minor_ticks=0),
        major_label_text_font=FONT,
        major_label_text_font_size=f"{size}px",
        major_label_policy=AllLabels(),
        major_tick_in=0,
        major_tick_out=5,
    )
    paint(
        axis,
        axis_line_color="muted",
        major_tick_line_color="muted",
        major_label_text_color="ink",
    )
    plot.add_layout(axis, "below")


def _row_axes(plot: Plot, scene: Scene, paint: Paint, row_px: int) -> None:
    if not scene.rows:
        return
    middles = [(row.top + row.bottom) / 2 for row in scene.rows]
    size = font_px(row_px)
    labels = [short(row.label, _LONGEST_LABEL) for row in scene.rows]
    _texts(plot, "left", middles, labels, size, "ink", paint)
    hosts = [short(host_part(row.host), _LONGEST_HOST) for row in scene.rows]
    if any(hosts):
        _texts(plot, "left", middles, hosts, size - 1, "muted", paint)
    shares = ["unknown" if r.busy_share is None else f"{r.busy_share:.0%}" for r in scene.rows]
    head = scene.rows[0].top - 0.55 * size / row_px - 0.1
    places, texts = [head, *middles], ["busy", *(s.replace("%", " %") for s in shares)]
    _texts(plot, "right", places, texts, size - 1, "muted", paint)


def _texts(
    plot: Plot,
    side: Literal["left", "right"],
    places: list[float],
    texts: list[str],
    size: int,
    color: str,
    paint: Paint,
) -> None:
    """Write a text at each place, in an axis of its own: Bokeh makes room for it."""
    ticker: Any = FixedTicker(ticks=places, minor_ticks=[])
    axis = LinearAxis(
        ticker=ticker,
        # PlainText: Bokeh would take "$$" in a bare string for TeX and fetch MathJax.
        major_label_overrides={
            at: PlainText(text=text or " ") for at, text in zip(places, texts, strict=True)
        },
        axis_line_color=None,
        major_tick_line_color=None,
        minor_tick_line_color=None,
        major_label_text_font=FONT,
        major_label_text_font_size=f"{size}px",
        major_label_standoff=6,
        major_tick_in=0,
        major_tick_out=0,
        # All of them: Bokeh leaves out a label that it thinks too close to the next.
        major_label_policy=AllLabels(),
    )
    paint(axis, major_label_text_color=color)
    plot.add_layout(axis, side)


def _overview_plot(scene: Scene, paint: Paint, x_range: Range, sides: tuple[int, int]) -> Plot:
    count = len(scene.overview)
    first, last = limits(scene)
    plot = _plot(
        "overview",
        _OVERVIEW_POOL_PX * count + 4,
        sides,
        Range1d(start=first, end=last),
        Range1d(start=float(count), end=0.0),
    )
    _time_axis(plot, paint, 10)
    _texts(
        plot,
        "left",
        [i + 0.6 for i in range(count)],
        [short(strip.label, _LONGEST_LABEL) for strip in scene.overview],
        10,
        "muted",
        paint,
    )
    for i, strip in enumerate(scene.overview):
        # Steps as an area of doubled edges: one path, without seams.
        x = np.repeat(strip.edges, 2)[1:-1]
        top = i + 1.0 - 0.85 * np.clip(np.repeat(strip.share, 2), 0.0, 1.0)
        color = COLORS.get(strip.pool, COLORS["compute" if strip.pool == "colocated" else "other"])
        source = ColumnDataSource({"x": x, "bottom": np.full(x.size, i + 1.0), "top": top})
        plot.add_glyph(source, VArea(x="x", y1="bottom", y2="top", fill_color=color))
    brush = BoxAnnotation(
        editable=True,
        propagate_hover=True,
        fill_alpha=0.12,
        line_alpha=0.9,
        line_width=1,
        level="overlay",
        syncable=False,
    )
    paint(brush, fill_color="muted", line_color="muted")
    tool = RangeTool(x_range=x_range, overlay=brush, start_gesture="pan")
    plot.add_tools(tool)
    return plot

"""The marks of a still figure: bands, activity, ranges, shades, lines, legend."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from rlviz.view.palette import COLORS
from rlviz.view.scene import Overlays
from rlviz.view.still_canvas import boxes
from rlviz.view.still_skyline import NOTHING, columns_of, joined, outlines
from rlviz.view.still_text import clean, width_pt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.view.scene import Bars, Line, Scene, Shade
    from rlviz.view.still_canvas import Canvas
    from rlviz.view.still_layout import Frame, Plot
    from rlviz.view.still_words import Entry, Words

    Float = NDArray[np.float64]
    Int64 = NDArray[np.int64]

__all__ = [
    "Columns",
    "Places",
    "columns_in",
    "draw_activity",
    "draw_bands",
    "draw_legend",
    "draw_lines",
    "draw_outlines",
    "draw_ranges",
    "draw_shades",
    "line_texts",
    "place_ranges",
    "ranges_in",
    "shades_in",
]

_COLUMNS = 1_500
_LEAST_PT = 0.6
_LEAST_RANGE = 0.25

Columns = dict[int, tuple["Float", "Int64"]]
"""Busy share and colour of each column, by row number."""

Places = tuple["Float", "Float", "Float", "Float"]
"""Left, top, right and bottom."""


def columns_in(
    bars: Bars, rows: Sequence[int], frame: Frame, pixel: float
) -> tuple[Float, Columns]:
    """Cut the frame into columns, and measure what each row has in them.

    Returns
    -------
    x : ndarray of float64, shape (n + 1,)
        Edges of the columns in points.
    columns : dict
        Of each row.
    """
    width = frame.right - frame.left
    # A pixel where there are pixels, else what a good printer resolves.
    count = round(width / pixel) if pixel > 0.1 else min(_COLUMNS, round(width / 72 * 300))
    x = np.linspace(frame.left, frame.right, count + 1)
    edges = np.linspace(*frame.window, count + 1)
    return x, {row: columns_of(bars, row, edges) for row in rows}


def ranges_in(overlays: Overlays, rows: Sequence[int], window: tuple[float, float]) -> Overlays:
    """Give the ranges that are shown in a window of some rows."""
    start, end = window
    kept = overlays.shown & (overlays.left < end) & (overlays.right > start)
    kept &= np.isin(overlays.row, np.asarray(rows, np.int32))
    return Overlays(**{f.name: getattr(overlays, f.name)[kept] for f in fields(Overlays)})


def shades_in(shades: Sequence[Shade], rows: Sequence[int], frame: Frame) -> tuple[Shade, ...]:
    """Give the shades of some rows that are wide enough to be seen."""
    known = set(rows)
    start, end = frame.window
    least = _LEAST_PT / (frame.right - frame.left) * (end - start)
    return tuple(
        shade
        for shade in shades
        if shade.row in known and min(shade.right, end) - max(shade.left, start) >= least
    )


def draw_bands(canvas: Canvas, frame: Frame, plot: Plot) -> None:
    """Draw where each row is."""
    top = np.array([placed.top for placed in plot.rows], float)
    bottom = np.array([placed.bottom for placed in plot.rows], float)
    left, right = np.full(len(top), frame.left), np.full(len(top), frame.right)
    canvas.area(boxes(left, top, right, bottom), "band")
    if canvas.surface["band"] == canvas.surface["page"]:  # print: a row that is idle has a floor
        canvas.lines((left, right), (bottom, bottom), "grid", 0.5)


def draw_shades(
    canvas: Canvas, frame: Frame, plot: Plot, shades: Sequence[Shade], kind: str
) -> None:
    """Draw the shades of a kind."""
    places = {placed.row.row: placed for placed in plot.rows}
    own = [shade for shade in shades if shade.kind == kind]
    start, end = frame.window
    rectangles = (
        np.array([frame.x(max(shade.left, start)) for shade in own], float),
        np.array([places[shade.row].top for shade in own], float),
        np.array([frame.x(min(shade.right, end)) for shade in own], float),
        np.array([places[shade.row].bottom for shade in own], float),
    )
    if kind == "not_captured":
        canvas.area(boxes(*rectangles), "shade", alpha=0.55)
    else:
        canvas.hatch(rectangles, kind, frame.letter)


def draw_activity(
    canvas: Canvas, scene: Scene, plot: Plot, x: Float, columns: Columns, pixel: float
) -> None:
    """Draw the GPU activity: an outline a colour, over all rows."""
    found: dict[int, list[Float]] = {}
    for placed in plot.rows:
        share, color = columns[placed.row.row]
        band = placed.bottom - placed.top
        least = max(_LEAST_PT, pixel)
        height = np.where(color == NOTHING, 0.0, np.maximum(share * band, least))
        height = np.minimum(np.round(height / pixel) * pixel, band)
        for code, own in outlines(x, height, color, placed.bottom):
            found.setdefault(code, []).extend(own)
    for code, own in sorted(found.items()):
        canvas.area(joined(own), COLORS[scene.colors[code]])


def place_ranges(frame: Frame, plot: Plot, overlays: Overlays) -> Places:
    """Give the places of ranges: left, top, right and bottom in points."""
    top, bottom = _heights(plot, overlays)
    left = frame.xs(np.maximum(overlays.left, frame.window[0]))
    right = np.minimum(np.maximum(frame.xs(overlays.right), left + _LEAST_RANGE), frame.right)
    return left, top, right, bottom


def draw_ranges(canvas: Canvas, scene: Scene, overlays: Overlays, places: Places) -> None:
    """Fill the ranges, translucent, below the activity: its colours are those of the legend."""
    for code in np.unique(overlays.color):
        for depth in np.unique(overlays.depth[overlays.color == code]):
            # Ranges of one depth lie side by side: one path, and still each is translucent.
            own = (overlays.color == code) & (overlays.depth == depth)
            path = boxes(*(edge[own] for edge in places))
            canvas.area(path, COLORS[scene.colors[code]], alpha=0.2)


def draw_outlines(
    canvas: Canvas, scene: Scene, frame: Frame, plot: Plot, overlays: Overlays, places: Places
) -> None:
    """Draw the outlines of ranges over the activity; a side that lies elsewhere stays open."""
    left, top, right, bottom = places
    start, end = frame.window
    width = 0.06 * frame.letter
    begins = overlays.left >= start
    closes = (overlays.right <= end) & ~overlays.truncated
    # Closer to each other, outlines would hide the activity; without GPU data there is none.
    bare = np.isin(overlays.row, [p.row.row for p in plot.rows if not p.row.gpu_data])
    roomy = (right - left > 6 * width) & (bottom - top > np.where(bare, 4, 12) * width)
    for code in np.unique(overlays.color):
        own = (overlays.color == code) & roomy
        first, last = own & begins, own & closes
        x0 = np.concatenate([left[own], left[own], left[first], right[last]])
        x1 = np.concatenate([right[own], right[own], left[first], right[last]])
        y0 = np.concatenate([top[own], bottom[own], top[first], top[last]])
        y1 = np.concatenate([top[own], bottom[own], bottom[first], bottom[last]])
        # Darker than the activity below it, or lighter where the page is dark.
        color = canvas.mixed(COLORS[scene.colors[code]], 0.3)
        canvas.lines((x0, x1), (y0, y1), color, width)


def _heights(plot: Plot, overlays: Overlays) -> tuple[Float, Float]:
    """Move ranges from the scene's rows to the figure's."""
    places = {placed.row.row: placed for placed in plot.rows}
    numbers = np.unique(overlays.row)
    which = np.searchsorted(numbers, overlays.row)
    rows = [places[int(number)] for number in numbers]
    scale = np.array([(p.bottom - p.top) / (p.row.bottom - p.row.top) for p in rows])
    scene_top = np.array([p.row.top for p in rows])
    top = np.array([p.top for p in rows])
    return (
        top[which] + (overlays.top - scene_top[which]) * scale[which],
        top[which] + (overlays.bottom - scene_top[which]) * scale[which],
    )


def draw_lines(canvas: Canvas, scene: Scene, frame: Frame, plot: Plot) -> None:
    """Draw the boundaries of iterations and refits through all rows, with their texts."""
    found = _lines_in(scene, frame)
    for kind in ("boundary", "refit"):
        own = [line for line in found if line.kind == kind]
        own = [line for line in own if _crossed(plot, line.group) is not None]
        x = np.array([frame.x(line.at) for line in own], float)
        crossed = [_crossed(plot, line.group) for line in own]
        top, bottom = np.array(crossed, float).reshape(-1, 2).T
        canvas.lines((x, x), (top, bottom), kind, 0.08 * frame.letter, dashes=(4.0, 3.0), alpha=0.9)
    for x0, text in line_texts(scene, frame):
        canvas.text(x0, plot.bottom - 0.3 * frame.letter, text, 0.8 * frame.letter, "refit")


def _crossed(plot: Plot, group: str) -> tuple[float, float] | None:
    """Give the heights that a line of a group crosses; None where none of its rows is drawn."""
    if not group:
        return plot.top, plot.bottom
    pools = [p for p in plot.pools if p.pool.group == group]
    if not pools:
        return None
    first = min([pools[0].top, *pools[0].brackets.values()])
    return first, pools[-1].bottom


def line_texts(scene: Scene, frame: Frame) -> list[tuple[float, str]]:
    """Give the texts of boundaries that fit before the next, with their left edges."""
    found = _lines_in(scene, frame)
    if not found:
        return []
    ends = [*(frame.x(line.at) for line in found[1:]), frame.right]
    air = 0.3 * frame.letter
    placed = []
    for line, end in zip(found, ends, strict=True):
        x, text = frame.x(line.at) + air, clean(line.text)
        if text and x + width_pt(text, 0.8 * frame.letter) + air <= end:
            placed.append((x, text))
    return placed


def _lines_in(scene: Scene, frame: Frame) -> list[Line]:
    start, end = frame.window
    return sorted((one for one in scene.lines if start <= one.at <= end), key=lambda one: one.at)


def draw_legend(canvas: Canvas, frame: Frame, words: Words) -> None:
    """Draw the legend's marks with their texts."""
    letter = frame.letter
    for x, y, entry in words.entries:
        _swatch(canvas, entry, x, y, letter)
        canvas.text(x + 2.1 * letter, y, entry.label, 0.95 * letter, "ink")


def _swatch(canvas: Canvas, entry: Entry, x: float, y: float, letter: float) -> None:
    left, right = np.array([x]), np.array([x + 1.5 * letter])
    top, bottom = np.array([y - 0.85 * letter]), np.array([y + 0.1 * letter])
    path = boxes(left, top, right, bottom)
    border = {"range": entry.color, "idle": "boundary", "edge": "grid", "no_gpu_data": "grid"}
    if entry.kind == "color":
        canvas.area(path, entry.color)
    elif entry.kind == "range":
        canvas.area(path, entry.color, alpha=0.18)
    elif entry.kind == "idle":
        canvas.area(path, "band")
    elif entry.kind == "not_captured":
        canvas.area(path, "shade", alpha=0.55)
    else:
        canvas.hatch((left, top, right, bottom), entry.kind, 0.8 * letter)
    if entry.kind in border:
        canvas.frame(left[0], top[0], right[0], bottom[0], border[entry.kind], 0.07 * letter)

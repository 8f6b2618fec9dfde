"""Time axes and the overview strip of a still figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.view.palette import COLORS
from rlviz.view.still_canvas import boxes
from rlviz.view.still_skyline import joined, outlines
from rlviz.view.still_text import HALF_LETTER, clean, fit, ticks

if TYPE_CHECKING:
    from rlviz.view.still_canvas import Canvas
    from rlviz.view.still_layout import Frame, Plot
    from rlviz.view.still_text import Ticks

__all__ = ["draw_axis", "draw_overview"]


def draw_axis(canvas: Canvas, frame: Frame, y: float) -> None:
    """Draw the time axis below the plot."""
    size = 0.95 * frame.letter
    _axis(canvas, frame, frame.ticks, frame.window, y, size)
    if frame.ticks.base:
        first = frame.x(frame.ticks.at[0])
        width = len(frame.ticks.texts[0]) * 0.32 * size
        x = min(frame.left, first - width) - 0.5 * size
        canvas.text(x, y + 1.45 * size, frame.ticks.base, size, "muted", align="right")


def _axis(
    canvas: Canvas,
    frame: Frame,
    marks: Ticks,
    limits: tuple[float, float],
    y: float,
    size: float,
) -> None:
    start, end = limits
    scale = (frame.right - frame.left) / (end - start)
    x = np.array([frame.left + (at - start) * scale for at in marks.at], float)
    ends = np.array([frame.left]), np.array([frame.right])
    canvas.lines(ends, (np.array([y]), np.array([y])), "muted", 0.08 * size)
    canvas.lines(
        (x, x), (np.full(len(x), y), np.full(len(x), y + 0.35 * size)), "muted", 0.08 * size
    )
    for at, text in zip(x, marks.texts, strict=True):
        canvas.text(float(at), y + 1.45 * size, text, size, "ink", align="center")


def draw_overview(canvas: Canvas, frame: Frame, plot: Plot, pixel: float) -> None:
    """Draw each pool's busy share over the whole run, and what part of it the plot shows."""
    if not plot.strips:
        return
    start, end = plot.whole
    scale = (frame.right - frame.left) / (end - start)
    size = 0.85 * frame.letter
    for strip, top, bottom in plot.strips:
        floor = np.array([bottom])
        canvas.area(
            boxes(np.array([frame.left]), np.array([top]), np.array([frame.right]), floor), "band"
        )
        x = np.clip(frame.left + (strip.edges - start) * scale, frame.left, frame.right)
        share = np.clip(strip.share, 0.0, 1.0)
        height = np.round(share * (bottom - top) / pixel) * pixel
        # Where nothing is busy there is nothing, not a line.
        color = np.where(height > 0, 0, -1)
        key = strip.pool if strip.pool in COLORS else "compute"
        for _, found in outlines(np.round(x / pixel) * pixel, height, color, bottom):
            canvas.area(joined(found), COLORS[key])
        middle = (top + bottom) / 2 + HALF_LETTER * size
        text = fit([clean(strip.label)], frame.left - frame.margin, size)
        canvas.text(frame.labels, middle, text, size, "muted", align="right")
    if plot.whole != frame.window:
        top, bottom = plot.strips[0][1], plot.strips[-1][2]
        _window(canvas, frame, plot.whole, (top, bottom))
        marks = ticks(*plot.whole, frame.right - frame.left, size)
        _axis(canvas, frame, marks, plot.whole, bottom, size)


def _window(
    canvas: Canvas, frame: Frame, limits: tuple[float, float], height: tuple[float, float]
) -> None:
    """Frame the plot's window and dim the rest."""
    start, end = limits
    scale = (frame.right - frame.left) / (end - start)
    left, right = (
        min(max(frame.left + (at - start) * scale, frame.left), frame.right) for at in frame.window
    )
    top, bottom = height
    outside = np.array([frame.left, right]), np.array([left, frame.right])
    path = boxes(outside[0], np.full(2, top), outside[1], np.full(2, bottom))
    canvas.area(path, "page", alpha=0.6)
    canvas.frame(left, top, right, bottom, "ink", 0.09 * frame.letter)

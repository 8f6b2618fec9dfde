"""Bubbles in a still figure: a line as long as they are, with their length in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.view.still_text import HALF_LETTER, band_letter, clean, width_pt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.view.scene import Bubble, Scene
    from rlviz.view.still_canvas import Canvas
    from rlviz.view.still_layout import Frame, PlacedRow, Plot

__all__ = ["PlacedBubble", "draw_bubbles", "place_bubbles"]

# Of the letters' size: an arrow beside the text, its head, and air between them.
_ARROW, _HEAD, _AIR = 1.0, 0.5, 0.35


@dataclass(frozen=True)
class PlacedBubble:
    """A bubble that has room: its row, left and right in points, height, text and its size."""

    row: int
    left: float
    right: float
    y: float
    text: str
    size: float


def place_bubbles(scene: Scene, frame: Frame, plot: Plot) -> list[PlacedBubble]:
    """Find those with room for their length inside of the gap that they mark."""
    rows = {placed.row.row: placed for placed in plot.rows}
    found = (_placed(bubble, frame, rows.get(bubble.row)) for bubble in scene.bubbles)
    return [one for one in found if one is not None]


def _placed(bubble: Bubble, frame: Frame, placed: PlacedRow | None) -> PlacedBubble | None:
    start, end = frame.window
    if placed is None or bubble.left >= end or bubble.right <= start:
        return None
    left, right = frame.x(max(bubble.left, start)), frame.x(min(bubble.right, end))
    size = band_letter(frame.letter, placed.bottom - placed.top)
    if size is None:
        return None
    room = right - left - 2 * (_ARROW + _AIR) * size
    text = next((t for t in map(clean, bubble.texts) if width_pt(t, size) <= room), None)
    if text is None:
        return None
    return PlacedBubble(bubble.row, left, right, (placed.top + placed.bottom) / 2, text, size)


def draw_bubbles(canvas: Canvas, bubbles: Sequence[PlacedBubble]) -> None:
    """Draw arrows from the text to both ends of each bubble."""
    for one in bubbles:
        half = width_pt(one.text, one.size) / 2 + _AIR * one.size
        middle, head = (one.left + one.right) / 2, _HEAD * one.size
        inner = np.array([middle - half, middle + half])
        outer = np.array([one.left, one.right])
        y = np.full(2, one.y)
        tips = np.repeat(outer, 2)
        barbs = tips + np.array([head, head, -head, -head])
        wings = one.y + np.array([-head, head, -head, head]) / 2
        x0, x1 = np.concatenate([inner, tips]), np.concatenate([outer, barbs])
        y0, y1 = np.concatenate([y, np.full(4, one.y)]), np.concatenate([y, wings])
        canvas.lines((x0, x1), (y0, y1), "alert", 0.09 * one.size)
        baseline = one.y + HALF_LETTER * one.size
        canvas.text(middle, baseline, one.text, one.size, "alert", align="center")

"""What is written above and below the chart of a still figure: title, numbers, legend, caption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rlviz.view.choices import SHADES
from rlviz.view.palette import COLORS, LABELS
from rlviz.view.still_text import clean, width_pt, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlviz.view.scene import Overlays, Scene, Shade
    from rlviz.view.still_canvas import Canvas
    from rlviz.view.still_layout import Frame

__all__ = ["Entry", "Words", "head", "legend", "tail"]

_TAG = "SIMULATED"
_MOST_NOTES = 4
# What is still being read is no figure yet.
_SHADES: tuple[Literal["not_captured", "edge", "no_gpu_data"], ...] = (
    "not_captured",
    "edge",
    "no_gpu_data",
)


@dataclass(frozen=True)
class Entry:
    """A mark that the legend explains: its kind, its colour if it has one, what it means."""

    kind: Literal["color", "range", "idle", "not_captured", "edge", "no_gpu_data", "launch"]
    color: str
    label: str


@dataclass(frozen=True)
class _Line:
    x: float
    y: float
    text: str
    size: float
    color: str
    align: Literal["left", "right"] = "left"
    bold: bool = False


@dataclass(frozen=True)
class Words:
    """Lines and legend in their places.

    Parameters
    ----------
    lines : tuple
        Lines of text.
    entries : tuple of (float, float, Entry)
        Left edge and baseline of the legend's entries.
    tag : (float, float, float) or None
        Right edge, baseline and size of the mark of a simulated run.
    end : float
        Lower edge.
    """

    lines: tuple[_Line, ...]
    entries: tuple[tuple[float, float, Entry], ...]
    tag: tuple[float, float, float] | None
    end: float

    def write(self, canvas: Canvas) -> None:
        """Write the lines and the tag; the legend's marks are drawn by who draws marks."""
        if self.tag is not None:
            right, y, size = self.tag
            left = right - size - width_pt(_TAG, size, bold=True)
            canvas.text((left + right) / 2, y, _TAG, size, "alert", align="center", bold=True)
            canvas.frame(left, y - 1.1 * size, right, y + 0.4 * size, "alert", 0.09 * size)
        for line in self.lines:
            canvas.text(
                line.x, line.y, line.text, line.size, line.color, align=line.align, bold=line.bold
            )


def legend(
    scene: Scene, colors: Iterable[int], overlays: Overlays, shades: Sequence[Shade], *, idle: bool
) -> tuple[Entry, ...]:
    """List what colours and patterns mean: only those that are drawn.

    Parameters
    ----------
    scene : Scene
        Where the colours' codes lead.
    colors : iterable of int
        Codes of the bars.
    overlays : Overlays
        The ranges that are drawn.
    shades : sequence of Shade
        The shades that are drawn.
    idle : bool
        Whether there is a row whose idle time is known.
    """
    solid = sorted(set(colors))
    bare = sorted(set(np.unique(overlays.color).tolist()) - set(solid))
    entries = [_colored("color", scene.colors[code]) for code in solid]
    ranges = [_colored("range", scene.colors[code]) for code in bare]
    entries += [entry for entry in ranges if entry.label != LABELS["range"]]
    if idle:
        entries.append(Entry("idle", "", "idle"))
    kinds = {shade.kind for shade in shades}
    entries += [Entry(kind, "", SHADES[kind]) for kind in _SHADES if kind in kinds]
    if len(overlays.left):
        entries.append(_colored("range", "range"))
    return tuple(entries)


def _colored(kind: Literal["color", "range"], key: str) -> Entry:
    return Entry(kind, COLORS[key], LABELS[key])


def head(
    frame: Frame, title: str, numbers: str, entries: Sequence[Entry], *, simulated: bool
) -> Words:
    """Place title, the line of numbers, and the legend."""
    letter = frame.letter
    left = frame.left if frame.wide else frame.margin
    right = frame.width - frame.margin
    lines: list[_Line] = []
    y = frame.margin
    tag = None
    room = right - left
    if simulated:
        size = 0.85 * letter
        tag = (right, y + 1.15 * letter, size)
        room -= width_pt(_TAG, size, bold=True) + 2.2 * letter
        if not title:
            y += 1.6 * letter
    for text in wrap(clean(title), room, 1.4 * letter, bold=True) if title else ():
        y += 1.7 * letter
        lines.append(_Line(left, y - 0.4 * letter, text, 1.4 * letter, "ink", bold=True))
    for text in wrap(clean(numbers), right - left, letter) if numbers else ():
        y += 1.4 * letter
        lines.append(_Line(left, y - 0.2 * letter, text, letter, "ink"))
    placed, y = _flow(entries, left, right, y + 0.35 * letter, letter)
    return Words(tuple(lines), placed, tag, y + 0.7 * letter)


def _flow(
    entries: Sequence[Entry], left: float, right: float, y: float, letter: float
) -> tuple[tuple[tuple[float, float, Entry], ...], float]:
    """Place legend entries in lines."""
    placed = []
    x, y = left, y + 1.2 * letter
    for entry in entries:
        width = 2.1 * letter + width_pt(entry.label, 0.95 * letter)
        if x > left and x + width > right:
            x, y = left, y + 1.6 * letter
        placed.append((x, y, entry))
        x += width + 1.6 * letter
    return tuple(placed), y if placed else y - 1.2 * letter


def tail(frame: Frame, scene: Scene, top: float, *, caption: bool) -> Words:
    """Place the caption and the notes on what is missing or wrong."""
    size = 0.85 * frame.letter
    left = frame.left if frame.wide else frame.margin
    right = frame.width - frame.margin
    told = [(clean(scene.caption), "caption")] if caption and scene.caption else []
    if scene.simulated:
        said = [text for text, _ in told] + ["simulated run, no measurement"]
        told = [(" · ".join(said), "caption")]
    if caption:
        notes = [clean(note) for note in scene.notes]
        told += [(note, "note") for note in notes[:_MOST_NOTES]]
        if len(notes) > _MOST_NOTES:
            told.append((f"and {len(notes) - _MOST_NOTES} more notes", "note"))
    lines: list[_Line] = []
    y = top
    for text, kind in told:
        ends = kind == "caption" and frame.wide
        for line in wrap(text, right - left, size):
            y += 1.4 * size
            lines.append(
                _Line(right if ends else left, y, line, size, "muted", "right" if ends else "left")
            )
    return Words(tuple(lines), (), None, y + frame.margin)

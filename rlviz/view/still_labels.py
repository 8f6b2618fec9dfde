"""Names in a still figure: pools, rows, iterations' brackets, and ranges where they fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.view.still_canvas import boxes
from rlviz.view.still_layout import brackets_in, small_letter
from rlviz.view.still_text import HALF_LETTER, band_letter, clean, fit, width_pt
from rlviz.view.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rlviz.view.scene import Bracket, Overlays, Scene
    from rlviz.view.still_bubbles import PlacedBubble
    from rlviz.view.still_canvas import Canvas
    from rlviz.view.still_layout import Frame, PlacedPool, PlacedRow, Plot

__all__ = ["draw_brackets", "draw_names", "draw_range_labels"]

_LINE = 1.25
_LEAST_ROOM = 2.5
_LEAST_LETTERS = 8
_LONGEST_NUMBER = 9


def draw_names(canvas: Canvas, frame: Frame, plot: Plot) -> None:
    """Write pools, labels, hosts and busy shares beside the rows."""
    size, small = frame.row, small_letter(frame.row)
    for i, (placed, (label, host, busy)) in enumerate(zip(plot.rows, frame.texts, strict=True)):
        if i % frame.every:
            continue
        middle = (placed.top + placed.bottom) / 2
        y = middle + HALF_LETTER * size
        canvas.text(frame.labels, y, label, size, "ink", align="right")
        if host:
            canvas.text(frame.hosts, y, host, small, "muted", align="right")
        canvas.text(frame.right + 0.6 * frame.letter, y, busy, small, "muted")
    for y, text in plot.headings:
        canvas.text(frame.heading, y, text, 1.05 * frame.letter, "ink", bold=True)
    if plot.rows:
        letter = min(small, 0.9 * frame.letter)
        y = plot.rows[0].top - 0.4 * frame.letter
        canvas.text(frame.right + 0.6 * frame.letter, y, "busy", letter, "muted")
    _pool_names(canvas, frame, plot)


def _pool_names(canvas: Canvas, frame: Frame, plot: Plot) -> None:
    """Write the pools' names upwards beside their rows, all in one size where they can be."""
    sizes = [share * frame.letter for share in (1.1, 0.95, 0.8)]
    fitting = [
        [size for size in sizes if width_pt(p.pool.name, size, bold=True) <= p.bottom - p.top]
        for p in plot.pools
    ]
    common = min((own[0] for own in fitting if own), default=0.0)
    for placed, own in zip(plot.pools, fitting, strict=True):
        name = placed.pool.name
        color = "muted" if name == "other" else name
        if own:
            middle = (placed.top + placed.bottom) / 2
            canvas.text(
                frame.pools, middle, name, common, color, align="center", bold=True, upwards=True
            )
        else:  # a pool of a row or two may be lower than its name is long
            y = placed.top - 0.4 * frame.letter
            canvas.text(frame.labels, y, name, sizes[-1], color, align="right", bold=True)


def draw_brackets(canvas: Canvas, scene: Scene, frame: Frame, plot: Plot) -> None:
    """Draw the brackets of iterations over their pools, dashed where one is partial."""
    for pool in plot.pools:
        own = brackets_in(scene, pool.pool, frame.window)
        for partial in (False, True):
            some = [bracket for bracket in own if bracket.partial == partial]
            _bracket_lines(canvas, frame, pool, some, partial=partial)
        for y, line in pool.brackets.items():
            _bracket_texts(canvas, frame, pool, line, [b for b in own if b.y == y])


def _bracket_lines(
    canvas: Canvas, frame: Frame, pool: PlacedPool, brackets: list[Bracket], *, partial: bool
) -> None:
    start, end = frame.window
    left = np.array([frame.x(max(b.left, start)) for b in brackets], float)
    right = np.array([frame.x(min(b.right, end)) for b in brackets], float)
    y = np.array([pool.brackets[b.y] for b in brackets], float)
    width = 0.11 * frame.letter
    dashes = (3.5, 2.0) if partial else None
    canvas.lines((left, right), (y, y), "muted", width, dashes=dashes)
    # Only an end that is in the window is an end.
    begins = np.array([b.left >= start for b in brackets], bool)
    closes = np.array([b.right <= end for b in brackets], bool)
    x = np.concatenate([left[begins], right[closes]])
    at = np.concatenate([y[begins], y[closes]])
    cap = 0.28 * frame.letter
    canvas.lines((x, x), (at - cap, at + cap), "muted", width)


def _bracket_texts(
    canvas: Canvas, frame: Frame, pool: PlacedPool, line: float, brackets: list[Bracket]
) -> None:
    """Write as much of their texts as fits over the brackets of a line; the same of each."""
    size = 1.05 * frame.letter
    start, end = frame.window
    color = "muted" if pool.pool.name == "other" else pool.pool.name
    spans = [(frame.x(max(b.left, start)), frame.x(min(b.right, end))) for b in brackets]
    # Where one pool does both, a number alone does not tell which of them it counts.
    both = pool.pool.name == "colocated"
    forms = [_bracket_forms(bracket.text, both=both) for bracket in brackets]
    rooms = [right - left - 0.3 * size for left, right in spans]
    fitting = [
        next((i for i, f in enumerate(own) if width_pt(f, size, bold=True) <= room), len(own))
        for own, room in zip(forms, rooms, strict=True)
    ]
    # One that a window or the capture cut short does not shorten the others' texts.
    whole = [r for b, r in zip(brackets, rooms, strict=True) if b.left >= start and b.right <= end]
    usual = max(float(np.median(whole or rooms)), 0.0)
    wide = [f for f, room in zip(fitting, rooms, strict=True) if room >= 0.6 * usual]
    common = max(wide, default=0)
    taken: list[tuple[float, float]] = []
    # Those that fit, then numbers beside them, where many iterations leave no room for each.
    for i in sorted(range(len(brackets)), key=lambda i: fitting[i] == len(forms[i])):
        text = forms[i][min(max(fitting[i], common), len(forms[i]) - 1)]
        if fitting[i] == len(forms[i]) and rooms[i] < 0.3 * usual:
            continue  # a sliver at the window's edge
        if len(text) > _LONGEST_NUMBER:
            text = fit([text], rooms[i], size, bold=True)
        half = width_pt(text, size, bold=True) / 2
        middle = sum(spans[i]) / 2
        middle = min(max(middle, frame.left + half), frame.right - half)
        place = middle - half - 0.25 * size, middle + half + 0.25 * size
        if text and not any(place[0] < right and left < place[1] for left, right in taken):
            taken.append(place)
            y = line - 0.5 * frame.letter
            canvas.text(middle, y, text, size, color, align="center", bold=True)


def _bracket_forms(text: str, *, both: bool) -> tuple[str, str, str]:
    """Give "Gen 3 (weights 3)", "Gen 3" and "3", or "G3" where there is a "T3" too."""
    head = clean(text.split("  ")[0])
    word, _, number = head.rpartition(" ")
    return clean(text), head, f"{word[:1]}{number}" if both else number


@dataclass(frozen=True)
class _Label:
    x: float
    y: float
    name: str
    text: str
    width: float

    def repeats(self, above: list[_Label]) -> bool:
        """Whether a label of the row above says the same in the same place."""
        return any(
            self.name == other.name
            and self.x < other.x + other.width
            and other.x < self.x + self.width
            for other in above
        )


def draw_range_labels(
    canvas: Canvas,
    scene: Scene,
    frame: Frame,
    plot: Plot,
    overlays: Overlays,
    bubbles: Sequence[PlacedBubble],
) -> None:
    """Write the names of ranges where they fit, on plates that set them off the activity."""
    band = min((placed.bottom - placed.top for placed in plot.rows), default=0.0)
    size = band_letter(frame.letter, band)
    if size is None:
        return
    labels: list[_Label] = []
    above: list[_Label] = []
    for placed in plot.rows:
        own = np.flatnonzero(overlays.row == placed.row.row)
        marked = [bubble for bubble in bubbles if bubble.row == placed.row.row]
        found = list(_labels_of_row(scene, frame, placed, overlays, own, size, marked))
        # In low rows a label hides the activity: once is enough for ranges below each other.
        low = placed.bottom - placed.top < 2 * _LINE * size
        labels += [label for label in found if not (low and label.repeats(above))]
        above = found
    x = np.array([label.x for label in labels], float)
    y = np.array([label.y for label in labels], float)
    width = np.array([label.width for label in labels], float)
    air = 0.2 * size
    canvas.area(
        boxes(x - air, y - 0.84 * size, x + width + air, y + 0.26 * size), "page", alpha=0.7
    )
    for label in labels:
        canvas.text(label.x, label.y, label.text, size, "ink")


def _labels_of_row(
    scene: Scene,
    frame: Frame,
    placed: PlacedRow,
    overlays: Overlays,
    own: NDArray[np.int64],
    size: float,
    bubbles: Sequence[PlacedBubble],
) -> Iterator[_Label]:
    """Give the labels of a row that fit into their range and beside each other."""
    band = placed.bottom - placed.top
    line = _LINE * size
    taken: list[list[tuple[float, float]]] = [[] for _ in range(max(int(band / line), 1))]
    for bubble in bubbles:
        middle = bubble.y - placed.top
        for slot, places in enumerate(taken):
            if len(taken) == 1 or abs((slot + 0.5) * line - middle) < line:
                places.append((bubble.left, bubble.right))
    start, end = frame.window
    for i in own:
        left = frame.x(max(float(overlays.left[i]), start)) + 0.35 * size
        right = frame.x(min(float(overlays.right[i]), end)) - 0.35 * size
        if right - left < _LEAST_ROOM * size:
            continue
        slot = min(int(overlays.depth[i]), len(taken) - 1)
        seconds = float(overlays.right[i] - overlays.left[i])
        told = f"> {duration(seconds)}" if overlays.truncated[i] else duration(seconds)
        if overlays.count[i] > 1:
            told = f"{overlays.count[i]:,} ranges"
        forms = _forms(scene.names[overlays.name[i]], told, low=len(taken) == 1)
        text = fit(forms, right - left, size, least=_LEAST_LETTERS)
        until = left + width_pt(text, size)
        if not text or any(left < b + size and a < until + size for a, b in taken[slot]):
            continue
        taken[slot].append((left, until))
        low = (band - line) / 2 if len(taken) == 1 else slot * line
        name = scene.names[overlays.name[i]]
        yield _Label(left, placed.top + low + 0.95 * size, name, text, until - left)


def _forms(name: str, told: str, *, low: bool) -> list[str]:
    """Give a range's texts, longest first: the end of a path tells more than its head.

    In a low row a label lies on the activity itself: there it is as short as can be.
    """
    name = clean(name)
    tail = name.rsplit("/", 1)[-1] or name
    short = [f"{tail} [{told}]", tail]
    return short if low else [f"{name} [{told}]", *short]

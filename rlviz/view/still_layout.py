"""Where everything of a still figure stands, in points, at any width and for any number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlviz.view.legible import host_part
from rlviz.view.sizes import BAND
from rlviz.view.still_text import SMALLEST_PT, Ticks, clean, fit, ticks, width_pt, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rlviz.view.scene import Bracket, Overview, PoolBand, Row, Scene

    Float = NDArray[np.float64]

__all__ = [
    "Frame",
    "PlacedPool",
    "PlacedRow",
    "Plot",
    "brackets_in",
    "frame_of",
    "letter_size",
    "natural_pitch",
    "pitch_for",
    "plot_of",
    "small_letter",
]

# A paper's column takes small letters, a figure that GitHub shrinks to half its width does not.
_COLUMN_IN, _WIDE_IN = 3.35, 12.0
_COLUMN_PT, _WIDE_PT = 6.5, 10.0
_SMALLEST_ROW = 1.5


def letter_size(width_in: float) -> float:
    """Give the size of the letters of a figure in points.

    Examples
    --------
    >>> [round(letter_size(w), 1) for w in (3.35, 6.0, 12.0, 20.0)]
    [6.5, 7.6, 10.0, 10.0]
    """
    share = (width_in - _COLUMN_IN) / (_WIDE_IN - _COLUMN_IN)
    return _COLUMN_PT + (_WIDE_PT - _COLUMN_PT) * min(max(share, -0.3), 1.0)


def small_letter(row: float) -> float:
    """Give the size of what stands beside a row's label: no smaller than can be read."""
    return max(0.9 * row, SMALLEST_PT)


@dataclass(frozen=True)
class Frame:
    """What stands beside each other: pool names, hosts, labels, the frame, busy shares.

    Parameters
    ----------
    width, letter : float
        Of the figure, and of its ordinary letters.
    row : float
        Letters of the rows' labels.
    pitch : float
        From the top of a row to the top of the next.
    left, right : float
        The frame of the plot.
    labels, hosts, pools : float
        Right edges of labels and hosts, middle of pool names.
    texts : tuple of (str, str, str)
        Label, host and busy share of each row.
    every : int
        Rows to a label: 1 unless rows are lower than letters.
    window : (float, float)
        Seconds at `left` and `right`.
    ticks : Ticks
        Of the time axis.
    """

    width: float
    letter: float
    row: float
    pitch: float
    left: float
    right: float
    labels: float
    hosts: float
    pools: float
    texts: tuple[tuple[str, str, str], ...]
    every: int
    window: tuple[float, float]
    ticks: Ticks

    def x(self, seconds: float) -> float:
        """Give the place of a moment on the time axis."""
        start, end = self.window
        return self.left + (seconds - start) / (end - start) * (self.right - self.left)

    def xs(self, seconds: Float) -> Float:
        """Give the places of moments."""
        start, end = self.window
        places: Float = self.left + (seconds - start) * ((self.right - self.left) / (end - start))
        return places

    @property
    def margin(self) -> float:
        """Air around the figure."""
        return 0.8 * self.letter

    @property
    def wide(self) -> bool:
        """Whether texts above and below begin where the frame does."""
        return self.width >= 7 * 72

    @property
    def heading(self) -> float:
        """Left edge of what stands above the rows of a run."""
        return self.left if self.wide else self.margin + 1.5 * self.letter


@dataclass(frozen=True)
class PlacedRow:
    """A row's band."""

    row: Row
    top: float
    bottom: float


@dataclass(frozen=True)
class PlacedPool:
    """The rows of a pool, and the heights of the bracket lines above them by ``Bracket.y``."""

    pool: PoolBand
    top: float
    bottom: float
    brackets: dict[float, float]


@dataclass(frozen=True)
class Plot:
    """What stands below each other in the plot.

    Parameters
    ----------
    rows, pools : tuple
        Rows and pools in their places.
    top, bottom : float
        The area that boundary lines cross; the time axis is its lower edge.
    strips : tuple of (Overview, float, float)
        Overview strips with their tops and bottoms.
    headings : tuple of (float, str)
        Baselines and lines of what stands above the rows of each run, where there are several.
    whole : (float, float)
        Seconds at the ends of the strips.
    end : float
        Lower edge of everything, the overview's time axis included.
    """

    rows: tuple[PlacedRow, ...]
    pools: tuple[PlacedPool, ...]
    top: float
    bottom: float
    strips: tuple[tuple[Overview, float, float], ...]
    headings: tuple[tuple[float, str], ...]
    whole: tuple[float, float]
    end: float


def natural_pitch(count: int, letter: float) -> float:
    """Give the height of a row: rows get lower as there are more of them.

    Examples
    --------
    >>> [round(natural_pitch(rows, 10.0)) for rows in (2, 8, 16, 64, 128)]
    [36, 33, 22, 9, 7]
    """
    wanted = letter * min(3.6, max(0.72, 3.3 * math.pow(8 / max(count, 1), 0.6)))
    return max(wanted, SMALLEST_PT + 0.6)


def frame_of(
    rows: Sequence[Row], window: tuple[float, float], width: float, pitch: float, pixel: float
) -> Frame:
    """Place what stands beside each other.

    Parameters
    ----------
    rows : sequence of Row
        The rows to show.
    window : (float, float)
        Seconds to show.
    width : float
        Of the figure, in points.
    pitch : float
        Height of a row, in points.
    pixel : float
        The frame's edges are multiples of it.
    """
    letter = letter_size(width / 72)
    size = max(min(letter, BAND * pitch - 0.4), SMALLEST_PT)
    margin, strip, gap = 0.8 * letter, 1.5 * letter, 0.8 * letter
    labels, hosts = _labels(rows, size, 0.3 * width - margin - strip - gap)
    label_width = _widest(labels, size)
    host_width = _widest(hosts, small_letter(size))
    right_texts = [_busy(row, narrow=width < 5 * 72) for row in rows]
    side = max(_widest([*right_texts, "busy"], small_letter(size)), 1.2 * letter) + 0.6 * letter
    right = width - margin - side
    left = margin + strip + label_width + gap + (host_width + gap if host_width else 0.0)
    marks = ticks(*window, right - left, 0.95 * letter)
    if marks.base:
        # It stands left of the first tick's text, which may hang over the frame's edge.
        needed = width_pt(marks.base, 0.95 * letter) + width_pt(marks.texts[0], letter) / 2
        left = max(left, margin + needed + gap)
        marks = ticks(*window, right - left, 0.95 * letter)
    left, right = (round(edge / pixel) * pixel for edge in (left, right))
    return Frame(
        width=width,
        letter=letter,
        row=size,
        pitch=pitch,
        left=left,
        right=right,
        labels=left - gap,
        hosts=left - gap - label_width - gap,
        pools=margin + 0.5 * letter,
        texts=tuple(zip(labels, hosts, right_texts, strict=True)),
        every=max(1, -int(-(size + 0.5) // pitch)),
        window=window,
        ticks=marks,
    )


def _widest(texts: Sequence[str], size: float) -> float:
    return max((width_pt(text, size) for text in texts), default=0.0)


def _busy(row: Row, *, narrow: bool) -> str:
    if row.busy_share is None:
        return "?" if narrow else "unknown"
    return f"{100 * row.busy_share:.0f} %"


def _labels(rows: Sequence[Row], size: float, room: float) -> tuple[list[str], list[str]]:
    """Write labels and hosts into `room`, or the part of them that tells the rows apart."""
    hosts = [clean(host_part(row.host)) for row in rows]
    nothing = [""] * len(rows)
    known = len({(row.label, row.host) for row in rows})
    for form in (_full, _worker, _device):
        for shown in (hosts, nothing):
            taken = _widest(shown, small_letter(size))
            left_over = room - (taken + size if taken else 0.0)
            labels = [form(row.label) for row in rows]
            apart = len(set(zip(labels, shown, strict=True))) == known
            if apart and _widest(labels, size) <= left_over:
                return labels, shown
    return [fit([_full(row.label)], room, size) for row in rows], nothing


def _full(label: str) -> str:
    # A space that stays: in an SVG two spaces are one.
    return "\u00a0 ".join(clean(part) for part in label.split("  "))


def _worker(label: str) -> str:
    return clean(label.split("  ")[-1])


def _device(label: str) -> str:
    return clean(label.split("  ")[0])


def plot_of(
    scene: Scene,
    rows: Sequence[Row],
    frame: Frame,
    top: float,
    pixel: float,
    *,
    whole: tuple[float, float],
    foot: bool,
    rooms: Mapping[int, float],
) -> Plot:
    """Place what stands below each other.

    Parameters
    ----------
    scene : Scene
        The scene.
    rows : sequence of Row
        The rows to show, in the scene's order.
    frame : Frame
        What stands beside each other.
    top : float
        Where the plot begins.
    pixel : float
        Edges of rows are multiples of it.
    whole : (float, float)
        Seconds that the overview shows.
    foot : bool
        Whether boundary lines have texts below the rows.
    rooms : mapping of int to float
        By the number of a row, what stands below it takes so much.
    """
    letter = frame.letter
    y = top
    placed: list[PlacedRow] = []
    pools: list[PlacedPool] = []
    headed: list[tuple[float, str]] = []
    room = frame.width - frame.margin - frame.heading
    headings = {
        heading.group: wrap(clean(heading.text), room, 1.05 * letter, bold=True)
        for heading in scene.headings
    }
    for pool in scene.pools:
        members = [row for row in rows if (row.pool, row.group) == (pool.name, pool.group)]
        if not members:
            continue
        lines = headings.pop(pool.group, ())
        for text in lines:
            y += 1.5 * letter
            headed.append((y, text))
        y += 0.3 * letter if lines else 0.0
        brackets = {}
        y += 0.3 * letter
        for at in sorted({bracket.y for bracket in brackets_in(scene, pool, frame.window)}):
            brackets[at] = y + 1.45 * letter
            y += 2.05 * letter
        y = y if brackets else y + (0.3 if pools else 1.2) * letter
        first = _snap(y, pixel)
        for row in members:
            y = _snap(y, pixel)
            placed.append(PlacedRow(row, y, _snap(y + BAND * frame.pitch, pixel)))
            y += frame.pitch + rooms.get(row.row, 0.0)
        last = placed[-1].bottom + rooms.get(members[-1].row, 0.0)
        pools.append(PlacedPool(pool, first, last, brackets))
    bottom = _snap(y + (1.0 if foot else 0.2) * letter, pixel)
    y = bottom + 1.9 * letter
    strips: list[tuple[Overview, float, float]] = []
    shown = {(pool.pool.name, pool.pool.group) for pool in pools}
    for strip in scene.overview:
        if (strip.pool, strip.group) in shown:
            y += 0.25 * letter if strips else 0.8 * letter
            strips.append((strip, _snap(y, pixel), _snap(y + 1.6 * letter, pixel)))
            y += 1.6 * letter
    return Plot(
        rows=tuple(placed),
        pools=tuple(pools),
        top=top,
        bottom=bottom,
        strips=tuple(strips),
        headings=tuple(headed),
        whole=whole,
        # The plot's own axis serves a strip that shows the same.
        end=y + (1.7 * letter if strips and whole != frame.window else 0.0),
    )


def brackets_in(scene: Scene, pool: PoolBand, window: tuple[float, float]) -> list[Bracket]:
    """Give the brackets of a pool that reach into a window."""
    start, end = window
    own = [b for b in scene.brackets if (b.pool, b.group) == (pool.name, pool.group)]
    return [b for b in own if b.left < end and b.right > start]


def _snap(y: float, pixel: float) -> float:
    return float(round(y / pixel)) * pixel


def pitch_for(height: float, natural: float, frame: Frame, rows: int) -> float:
    """Give the height of a row that makes a figure `height` high, where `natural` is its own.

    Raises
    ------
    ValueError
        There is no room for the rows.
    """
    pitch = frame.pitch + (height - natural) / max(rows, 1)
    if pitch < _SMALLEST_ROW:
        least = natural + rows * (_SMALLEST_ROW - frame.pitch)
        msg = f"a height of {height / 72:.4g} in is too low: {least / 72:.1f} in is the least here"
        raise ValueError(msg)
    return pitch

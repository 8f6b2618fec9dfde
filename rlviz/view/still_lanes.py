"""Rows of a still figure that are expanded into their threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.view.palette import CALLS, COLORS
from rlviz.view.still_canvas import boxes
from rlviz.view.still_skyline import NOTHING, joined, outlines
from rlviz.view.still_text import HALF_LETTER, clean, fit
from rlviz.view.still_words import Entry
from rlviz.view.threads import lane_palette

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.lanes import LaneTrack
    from rlviz.view.still_canvas import Canvas
    from rlviz.view.still_layout import Frame, PlacedRow, Plot
    from rlviz.view.threads import RowLanes

    Float = NDArray[np.float64]

__all__ = ["Block", "blocks_of", "draw_lanes", "legend_of"]

# In letters.
_STRIP, _NOTE, _RANGES, _CALLS = 0.6, 1.15, 1.15, 0.95
_BETWEEN, _APART, _SIZE = 0.1, 0.4, 0.85
_LEAST_PT, _LEAST_LABEL = 0.6, 2.6
# Of a range's colour, so that its label can be read on it.
_TINT = 0.55


@dataclass(frozen=True)
class Block:
    """Where what a row expands into stands, in points below its band.

    Parameters
    ----------
    height : float
        Of all of it.
    strip : (float, float) or None
        Top and bottom of the launch-bound stretches.
    lanes : tuple of (dict, float, float)
        What is told of each lane, its top and its bottom.
    names, notes : tuple of (float, str)
        Middles and texts, left of the frame and in it.
    """

    height: float
    strip: tuple[float, float] | None
    lanes: tuple[tuple[dict[str, Any], float, float], ...]
    names: tuple[tuple[float, str], ...]
    notes: tuple[tuple[float, str], ...]


def blocks_of(threads: Mapping[int, RowLanes], letter: float) -> dict[int, Block]:
    """Lay out what rows expand into, for letters of a size."""
    return {row: _block(own.told, letter) for row, own in threads.items()}


def legend_of(threads: Mapping[int, RowLanes]) -> list[Entry]:
    """List what the colours of lanes mean: only those that some lane has."""
    codes = {
        int(code)
        for own in threads.values()
        for track in own.tracks
        for code in np.unique(track.code)
    }
    entries = [
        Entry("color", color, f"{kind} call")
        for place, (kind, color) in enumerate(CALLS.items(), start=len(COLORS))
        if place in codes
    ]
    bound = any(own.told["stretches"] for own in threads.values())
    return [*entries, *([Entry("launch", "", "launch-bound")] if bound else [])]


def draw_lanes(
    canvas: Canvas,
    frame: Frame,
    plot: Plot,
    blocks: Mapping[int, Block],
    threads: Mapping[int, RowLanes],
) -> None:
    """Draw what rows expand into, below them."""
    for placed in plot.rows:
        block = blocks.get(placed.row.row)
        if block is None:
            continue
        own = threads[placed.row.row]
        if block.strip is not None:
            _draw_strip(canvas, frame, placed, block.strip, own.told["stretches"])
        tracks = {track.lane: track for track in own.tracks}
        for told, top, bottom in block.lanes:
            height = placed.bottom + top, placed.bottom + bottom
            _draw_lane(canvas, frame, tracks[told["lane"]], height, own, told["kind"])
        size = _SIZE * frame.letter
        for middle, text in block.names:
            y = placed.bottom + middle + HALF_LETTER * size
            room = frame.labels - frame.pools - frame.letter
            canvas.text(frame.labels, y, fit([text], room, size), size, "ink", align="right")
        for middle, text in block.notes:
            y, room = placed.bottom + middle + HALF_LETTER * size, frame.right - frame.left - size
            canvas.text(frame.left + 0.3 * size, y, fit([text], room, size), size, "muted")


def _block(told: Mapping[str, Any], letter: float) -> Block:
    at, strip = 0.15 * letter, None
    lanes: list[tuple[dict[str, Any], float, float]] = []
    names: list[tuple[float, str]] = []
    notes: list[tuple[float, str]] = []

    def note(text: str) -> None:
        nonlocal at
        if text:
            notes.append((at + _NOTE * letter / 2, clean(text)))
            at += _NOTE * letter

    if told["stretches"]:
        strip = at, at + _STRIP * letter
        names.append((sum(strip) / 2, "launch-bound"))
        at = strip[1] + _BETWEEN * letter
    note(told["launch"])
    for thread in told["threads"]:
        at += _APART * letter
        first = at
        for lane in thread["lanes"]:
            height = (_RANGES if lane["kind"] == "ranges" else _CALLS) * letter
            lanes.append((lane, at, at + height))
            at += height + _BETWEEN * letter
        names.append(((first + at) / 2, clean(f"{thread['name']} {thread['tid']}")))
        note(thread["deeper"])
    for text in (told["more"], told["absent"]):
        note(text)
    return Block(at + _APART * letter, strip, tuple(lanes), tuple(names), tuple(notes))


def _draw_strip(
    canvas: Canvas,
    frame: Frame,
    placed: PlacedRow,
    strip: tuple[float, float],
    stretches: Sequence[Sequence[float]],
) -> None:
    table = np.array(stretches, float)[:, :2]
    start, end = frame.window
    table = np.clip(table[(table[:, 1] > start) & (table[:, 0] < end)], start, end)
    left = frame.xs(table[:, 0])
    right = np.minimum(np.maximum(frame.xs(table[:, 1]), left + 1.5 * _LEAST_PT), frame.right)
    top, bottom = (np.full(len(left), placed.bottom + edge) for edge in strip)
    line = top + 0.25 * (bottom - top)
    canvas.area(boxes(left, top, right, line), "alert")
    canvas.hatch((left, line, right, bottom), "launch", frame.letter)


def _draw_lane(
    canvas: Canvas,
    frame: Frame,
    lane: LaneTrack,
    height: tuple[float, float],
    own: RowLanes,
    kind: str,
) -> None:
    start_ns, end_ns = (round(at * 1e9) for at in frame.window)
    inside = lane.inside(start_ns, end_ns)
    alpha = _TINT if kind == "ranges" else 1.0
    pixel_ns = round(_LEAST_PT * (end_ns - start_ns) / (frame.right - frame.left))
    if not lane.drawn_apart(inside, pixel_ns):
        _draw_buckets(canvas, frame, lane, height, alpha)
        return
    top, bottom = height
    left = frame.xs(np.maximum(lane.start_ns[inside] / 1e9, frame.window[0]))
    right = np.minimum(frame.xs(lane.end_ns[inside] / 1e9), frame.right)
    # Ranges that follow each other without a gap are still several.
    hair = np.where(right - left > 0.5 * frame.letter, 0.06 * frame.letter, 0.0)
    right = np.maximum(right - hair, left + _LEAST_PT)
    code = lane.code[inside]
    for one in np.unique(code):
        chosen = code == one
        edges = np.full(int(chosen.sum()), top), np.full(int(chosen.sum()), bottom)
        path = boxes(left[chosen], edges[0], right[chosen], edges[1])
        canvas.area(path, _PALETTE[int(one)], alpha=alpha)
    if kind != "ranges":
        return
    size = _SIZE * frame.letter
    for place in np.flatnonzero(right - left > _LEAST_LABEL * frame.letter).tolist():
        full = clean(own.name(int(lane.name[inside[place]])))
        room = right[place] - left[place] - 0.6 * size
        text = fit([full, full.rpartition("/")[2] or full], room, size)
        canvas.text(
            left[place] + 0.3 * size, (top + bottom) / 2 + HALF_LETTER * size, text, size, "ink"
        )


def _draw_buckets(
    canvas: Canvas, frame: Frame, lane: LaneTrack, height: tuple[float, float], alpha: float
) -> None:
    """Draw a lane of many events as the outline of how busy it is, as the activity of a row."""
    start_ns, end_ns = (round(at * 1e9) for at in frame.window)
    columns = max(round((frame.right - frame.left) / _LEAST_PT), 1)
    strip = lane.strip(start_ns, end_ns, max((end_ns - start_ns) // columns, 1))
    edges = (strip.start_ns + np.arange(len(strip) + 1) * strip.width_ns) / 1e9
    x = np.clip(frame.xs(edges), frame.left, frame.right)
    band = height[1] - height[0]
    step = band / 12
    grown = np.ceil(strip.coverage / 255 * band / step) * step
    drawn = strip.coverage > 0
    code = np.where(drawn, np.minimum(strip.code, len(_PALETTE) - 1).astype(np.int64), NOTHING)
    found: dict[int, list[Float]] = {}
    for one, own in outlines(x, np.where(drawn, grown, 0.0), code, height[1]):
        found.setdefault(one, []).extend(own)
    for one, own in sorted(found.items()):
        canvas.area(joined(own), _PALETTE[one], alpha=alpha)


_PALETTE = lane_palette()

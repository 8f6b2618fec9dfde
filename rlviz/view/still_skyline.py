"""Bars as skylines: the busy share of each column of a figure, one outline a colour.

Bars that touch have no seam between them, and a figure has no more corners than it can show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.path import Path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rlviz.view.scene import Bars

    Float = NDArray[np.float64]
    Int64 = NDArray[np.int64]

__all__ = ["NOTHING", "columns_of", "joined", "outlines"]

NOTHING = -1


def columns_of(bars: Bars, row: int, edges: Float) -> tuple[Float, Int64]:
    """Give the busy share and the dominating colour of each column of a row.

    Parameters
    ----------
    bars : Bars
        Bars of all rows.
    row : int
        The row's number.
    edges : ndarray of float64, shape (n + 1,)
        Seconds, ascending: where the columns begin and end.

    Returns
    -------
    share : ndarray of float64, shape (n,)
        Busy time over the column's width: 0 to 1.
    color : ndarray of int64, shape (n,)
        Code of the colour with the most busy time; -1 where there is nothing at all.
    """
    own = (bars.row == row) & (bars.right >= edges[0]) & (bars.left <= edges[-1])
    left, right, codes = bars.left[own], bars.right[own], bars.color[own].astype(np.int64)
    width = right - left
    slope = np.ones(len(width))
    np.divide(bars.busy_s[own], width, out=slope, where=width > 0)
    share = np.zeros(len(edges) - 1)
    color = np.full(len(share), NOTHING)
    most = np.zeros(len(share))
    for code in np.unique(codes):
        of_color = codes == code
        busy = _busy(left[of_color], right[of_color], slope[of_color], edges)
        color[busy > most] = code
        most = np.maximum(most, busy)
    if len(codes):
        share = _busy(left, right, slope, edges) / np.diff(edges)
        _mark_instants(left[width <= 0], codes[width <= 0], edges, color)
    return np.clip(share, 0.0, 1.0), color


def _mark_instants(at: Float, codes: Int64, edges: Float, color: Int64) -> None:
    """Let an event without length be seen where there is nothing else."""
    place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(color) - 1)
    free = color[place] == NOTHING
    color[place[free]] = codes[free]


def _busy(left: Float, right: Float, slope: Float, edges: Float) -> Float:
    """Give the busy seconds of each column: of bars that overlap, those of their union."""
    order = np.lexsort((right, left))
    left, right, slope = left[order], right[order], np.clip(slope[order], 0.0, 1.0)
    reach = np.maximum.accumulate(right)
    # Events may overlap, buckets only touch, and by less than a float can tell.
    if np.any(left[1:] < reach[:-1] - 1e-12 * np.abs(reach[:-1])):
        opens = np.concatenate(([True], left[1:] > reach[:-1]))
        closes = np.concatenate((opens[1:], [True]))
        left, right, slope = left[opens], reach[closes], np.ones(int(opens.sum()))
    at = np.maximum.accumulate(np.column_stack([left, right]).ravel())
    grown = np.cumsum((right - left) * slope)
    until = np.column_stack([np.concatenate(([0.0], grown[:-1])), grown]).ravel()
    return np.diff(np.interp(edges, at, until))


def outlines(
    x: Float, height: Float, color: Int64, bottom: float
) -> Iterator[tuple[int, list[Float]]]:
    """Give the outlines of neighbouring columns of one colour.

    Parameters
    ----------
    x : ndarray of float64, shape (n + 1,)
        Edges of the columns in points.
    height : ndarray of float64, shape (n,)
        Heights of the columns in points.
    color : ndarray of int64, shape (n,)
        Their colours; -1 is nothing.
    bottom : float
        Where they stand, `y` downwards.

    Yields
    ------
    color : int
    outlines : list of ndarray of float64, shape (m, 2)
        Closed polygons.
    """
    starts = np.flatnonzero(np.diff(color, prepend=NOTHING - 1))
    ends = np.append(starts[1:], len(color))
    found: dict[int, list[Float]] = {}
    for start, end in zip(starts, ends, strict=True):
        code = int(color[start])
        if code != NOTHING:
            found.setdefault(code, []).append(
                _outline(x[start : end + 1], height[start:end], bottom)
            )
    yield from sorted(found.items())


def _outline(x: Float, height: Float, bottom: float) -> Float:
    steps = np.flatnonzero(np.diff(height)) + 1
    level = bottom - height[np.concatenate(([0], steps))]
    edges = np.concatenate((x[:1], x[steps], x[-1:]))
    inner = np.column_stack([np.repeat(edges, 2)[1:-1], np.repeat(level, 2)])
    return np.concatenate(
        [[[x[0], bottom]], inner, [[x[-1], bottom]], [[x[0], bottom]]],
    )


def joined(outlines: list[Float]) -> Path:
    """Make one path of closed outlines."""
    codes = []
    for outline in outlines:
        one = np.full(len(outline), Path.LINETO, np.uint8)
        one[0], one[-1] = Path.MOVETO, Path.CLOSEPOLY
        codes.append(one)
    return Path(np.concatenate(outlines), np.concatenate(codes))

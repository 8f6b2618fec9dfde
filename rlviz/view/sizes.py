"""How high a row is and how wide its label: the pixels behind a scene's row units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BAND",
    "FONT",
    "FOOT_PX",
    "GROUP_HEAD_PX",
    "HEADING_AIR_PX",
    "POOL_HEAD_PX",
    "bracket_y",
    "font_px",
    "row_height_px",
    "text_width_px",
]

BAND = 0.82
"""The part of a row's height that its band takes; the rest is air between two rows."""

POOL_HEAD_PX = 40
"""Above the rows of a pool: room for brackets and their texts."""

GROUP_HEAD_PX = 40
"""Above the pools of a run, where there are several: what is said of it is two lines."""

HEADING_AIR_PX = 2
"""Between these lines and the pools."""

FOOT_PX = 16
"""Below all rows."""

FONT = "'Helvetica Neue', Helvetica, Arial, sans-serif"

# From the top of a pool down to its brackets.
_BRACKET_PX = 30

# The mean advance of the widest face that FONT falls back to (DejaVu Sans), in ems.
_EM_PER_CHARACTER = 0.6


def row_height_px(rows: int) -> int:
    """Give the height of one row unit in pixels: rows get lower as there are more of them.

    Parameters
    ----------
    rows : int
        Rows of the chart.

    Examples
    --------
    >>> [row_height_px(rows) for rows in (2, 8, 16, 64, 128)]
    [54, 50, 35, 18, 12]
    """
    return round(min(54.0, max(12.0, 141.0 / math.sqrt(max(rows, 1)))))


def bracket_y(pool_top: float, rows: int) -> float:
    """Give the height of the brackets above a pool's rows, in row units of a chart of `rows`."""
    return pool_top + _BRACKET_PX / row_height_px(rows)


def font_px(row_px: float, largest: int = 12) -> int:
    """Give the font size that still fits into a row `row_px` high."""
    return int(max(8, min(largest, row_px * BAND - 1)))


def text_width_px(texts: Iterable[str], size_px: float) -> int:
    """Give room enough for the longest of `texts`; 0 without any."""
    longest = max((len(text) for text in texts), default=0)
    return math.ceil(longest * size_px * _EM_PER_CHARACTER)

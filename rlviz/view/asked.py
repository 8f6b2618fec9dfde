"""What a chart may ask and tell the kernel, checked: any script of a page could have sent it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from rlviz.view.choices import COLOR_BY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlviz.view.choices import ColorBy

__all__ = [
    "Bucket",
    "Span",
    "Window",
    "bucket_asked",
    "expanded_told",
    "found_told",
    "place_told",
    "row_asked",
    "search_asked",
    "span_asked",
    "window_asked",
]

_WIDEST_PX = 20_000
_LONGEST_SEARCH = 500
_MOST_ROWS = 10_000
_COUNT = re.compile(r"(none|\d+( of \d+)?)?")


@dataclass(frozen=True)
class Window:
    """A window that a chart shows.

    Parameters
    ----------
    start_s, end_s : float
        Seconds since the run's start.
    width_px : int
        Pixels that it takes.
    color_by : {"phase", "kind", "kernel"}
        What its colours mean.
    search : str
        What names are searched for; "" for nothing.
    rows : frozenset of int, optional
        The rows that are to be seen; None for all.
    """

    start_s: float
    end_s: float
    width_px: int
    color_by: ColorBy = "phase"
    search: str = ""
    rows: frozenset[int] | None = None


@dataclass(frozen=True)
class Bucket:
    """One bucket of a strip: row, left edge and width in seconds."""

    row: int
    start_s: float
    width_s: float


@dataclass(frozen=True)
class Span:
    """A span of time and the rows that are meant, None for all; start and end in seconds."""

    start_s: float
    end_s: float
    rows: frozenset[int] | None = None


def window_asked(message: Mapping[str, Any]) -> Window:
    """Take a window from a message.

    Raises
    ------
    ValueError
        It is no window.

    Examples
    --------
    >>> window_asked({"start": 1, "end": 2.5, "width": 900}).end_s
    2.5
    """
    start_s, end_s = place_told(message)
    width = _number(message.get("width"))
    if not 1 <= width <= _WIDEST_PX:
        msg = "the window has no width"
        raise ValueError(msg)
    color_by, search = message.get("color_by", "phase"), search_asked(message)
    if color_by not in COLOR_BY:
        msg = f"the colours of a window are by one of {', '.join(COLOR_BY)}"
        raise ValueError(msg)
    return Window(
        start_s,
        end_s,
        int(width),
        cast("ColorBy", color_by),
        search,
        _rows(message.get("rows")),
    )


def bucket_asked(message: Mapping[str, Any]) -> Bucket:
    """Take a bucket from a message.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> bucket_asked({"row": 3, "start": 1.5, "width": 0.25})
    Bucket(row=3, start_s=1.5, width_s=0.25)
    """
    row, start_s, width_s = (_number(message.get(key)) for key in ("row", "start", "width"))
    if not (row.is_integer() and width_s > 0):
        msg = "a bucket has a row and a width"
        raise ValueError(msg)
    return Bucket(int(row), start_s, width_s)


def row_asked(message: Mapping[str, Any]) -> int:
    """Take a row from a message.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> row_asked({"row": 3})
    3
    """
    row = _number(message.get("row"))
    if not row.is_integer():
        msg = "a row is a whole number"
        raise ValueError(msg)
    return int(row)


def span_asked(message: Mapping[str, Any]) -> Span:
    """Take a span from a message.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> span_asked({"start": 1.5, "end": 2, "rows": [3]})
    Span(start_s=1.5, end_s=2.0, rows=frozenset({3}))
    """
    start_s, end_s = (_number(message.get(key)) for key in ("start", "end"))
    if start_s > end_s:
        msg = "the span of a window ends before it starts"
        raise ValueError(msg)
    return Span(start_s, end_s, _rows(message.get("rows")))


def search_asked(message: Mapping[str, Any]) -> str:
    """Take a text to look for from a message; "" where there is none.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> search_asked({"search": " flash "})
    'flash'
    """
    search = message.get("search", "")
    if not isinstance(search, str) or len(search) > _LONGEST_SEARCH:
        msg = f"a window is searched for a text of at most {_LONGEST_SEARCH} characters"
        raise ValueError(msg)
    return search.strip()


def place_told(message: Mapping[str, Any]) -> tuple[float, float]:
    """Take from a message what a view shows: start and end in seconds.

    Raises
    ------
    ValueError
        It is no window.

    Examples
    --------
    >>> place_told({"start": 1, "end": 2.5})
    (1.0, 2.5)
    """
    start_s, end_s = (_number(message.get(key)) for key in ("start", "end"))
    if not start_s < end_s:
        msg = "the window has no width"
        raise ValueError(msg)
    return start_s, end_s


def expanded_told(message: Mapping[str, Any]) -> tuple[int, ...]:
    """Take from a message which rows a view has expanded.

    Raises
    ------
    ValueError
        They are no rows.

    Examples
    --------
    >>> expanded_told({"rows": [3, 0]})
    (0, 3)
    """
    rows = _rows(message.get("rows"))
    if rows is None:
        msg = "rows that are expanded are told by their numbers"
        raise ValueError(msg)
    return tuple(sorted(rows))


def found_told(message: Mapping[str, Any]) -> str:
    """Take from a message what a search has found.

    Raises
    ------
    ValueError
        It is no count.

    Examples
    --------
    >>> found_told({"text": "3 of 17"})
    '3 of 17'
    """
    text = message.get("text")
    if not isinstance(text, str) or not _COUNT.fullmatch(text):
        msg = "what was found is a count"
        raise ValueError(msg)
    return text


def _number(given: object) -> float:
    # An int may be too large for a float, which a page's own numbers never are.
    if isinstance(given, int | float) and abs(given) < 1e15:
        return float(given)
    msg = "a window, a bucket or a span is numbers"
    raise ValueError(msg)


def _rows(given: object) -> frozenset[int] | None:
    if given is None:
        return None
    if isinstance(given, list) and len(given) <= _MOST_ROWS and all(type(r) is int for r in given):
        return frozenset(given)
    msg = "the rows of a window are whole numbers"
    raise ValueError(msg)

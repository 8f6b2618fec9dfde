"""Where in a run a searched name is: the places that a reader goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.view.matches import Matches
    from rlviz.view.overlays import PlacedRanges
    from rlviz.view.scene import Row

__all__ = ["PLACES", "places_of"]

PLACES = ("left", "right", "top", "bottom", "row", "domain", "shown")
"""Columns of places; the domain of GPU events is -1, and they are shown."""

_MOST_PLACES = 20_000
# A pixel of the first view: what is no further apart there is one place.
_PIXELS = 1_500


def places_of(
    matches: Matches,
    ranges: PlacedRanges,
    hit: NDArray[np.bool_],
    rows: Sequence[Row],
    span_ns: int,
) -> list[NDArray[Any]]:
    """Find all places of what was searched for.

    Parameters
    ----------
    matches : Matches
        GPU events that were found.
    ranges : PlacedRanges
        The ranges.
    hit : ndarray of bool
        By code of a name, whether ranges of this name were found.
    rows : sequence of Row
        The rows of the chart.
    span_ns : int
        Length of the chart: neighbours that share one of its pixels are one place.

    Returns
    -------
    list of ndarray, shape (n,)
        The columns of `PLACES`, times in seconds.
    """
    top, bottom = ({row.row: getattr(row, edge) for row in rows} for edge in ("top", "bottom"))
    apart_ns = max(span_ns // _PIXELS, 1)
    while True:
        row, start, end = matches.places(apart_ns)
        named = ranges.named(hit, apart_ns)
        if len(row) + len(named["row"]) <= _MOST_PLACES or apart_ns > span_ns:
            break
        apart_ns *= 2
    events = {
        "left": start / 1e9,
        "right": end / 1e9,
        "top": np.array([top[one] for one in row.tolist()], np.float64),
        "bottom": np.array([bottom[one] for one in row.tolist()], np.float64),
        "row": row,
        "domain": np.full(len(row), -1),
        "shown": np.ones(len(row), np.bool_),
    }
    return [np.concatenate((named[name], events[name])) for name in PLACES]

"""Search: which buckets hold a name that a reader looks for, and where in a run it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.view.legible import legible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.strip import Strip
    from rlviz.levels.track import Track
    from rlviz.view.overlays import PlacedRanges
    from rlviz.view.scene import Row

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["PLACES", "Matches", "hits", "places_of"]

PLACES = ("left", "right", "top", "bottom", "row", "domain", "shown")
"""Columns of places; the domain of GPU events is -1, and they are shown."""

_MOST_PLACES = 20_000
# A pixel of the first view: what is no further apart there is one place.
_PIXELS = 1_500
_NONE = np.empty(0, np.int64)


class Matches:
    """The GPU events of a run whose names hold one text.

    Parameters
    ----------
    tracks : mapping of int to Track
        Activity by row.
    names : sequence of str
        Texts by code of a name.
    text : str
        What to look for, in the names as a reader sees them; upper and lower case are the same.
    """

    def __init__(self, tracks: Mapping[int, Track], names: Sequence[str], text: str) -> None:
        self._tracks = tracks
        self._hit = hits([track.name for track in tracks.values()], names, text)
        self._moments: dict[int, tuple[Int64, Int64]] = {}

    def counts(self, strip: Strip) -> NDArray[np.int64]:
        """Count the events that reach into each bucket of a strip.

        An event without length reaches into the bucket that it starts in.
        """
        start, end = self._moments_of(strip.row)
        edges = strip.start_ns + np.arange(len(strip) + 1, dtype=np.int64) * strip.width_ns
        begun = np.searchsorted(start, edges[1:], side="left")
        return np.asarray(begun - np.searchsorted(end, edges[:-1], side="right"))

    def places(self, apart_ns: int) -> tuple[Int64, Int64, Int64]:
        """Give row, start and end of what was found; of a row what is no further apart is one."""
        parts = [(_NONE, _NONE, _NONE)]
        parts += [_joined(row, *self._moments_of(row), apart_ns) for row in self._tracks]
        row, start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
        return row, start, end

    def _moments_of(self, row: int) -> tuple[Int64, Int64]:
        """Give the starts and the ends of what was found in a row, each by themselves in order."""
        found = self._moments.get(row)
        if found is None:
            track = self._tracks[row]
            own = self._hit[track.name]
            start = track.start_ns[own]
            end = np.maximum(track.end_ns[own], start + 1)
            if (end[1:] < end[:-1]).any():
                end.sort()
            found = self._moments[row] = (start, end)
        return found


def hits(used: Sequence[NDArray[np.int32]], names: Sequence[str], text: str) -> Flags:
    """Tell of every code of a name whether it is used and the name holds a text."""
    wanted = text.strip().lower()
    known = np.zeros(len(names), np.bool_)
    for codes in used:
        known[codes] = True
    for code in np.flatnonzero(known).tolist():
        known[code] = wanted in legible(names[code]).lower()
    return known


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
        if len(row) + len(named.row) <= _MOST_PLACES or apart_ns > span_ns:
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
    return [np.concatenate((getattr(named, name), events[name])) for name in PLACES]


def _joined(row: int, start: Int64, end: Int64, apart_ns: int) -> tuple[Int64, Int64, Int64]:
    # Where the k-th start is behind the k-1 first ends, all that began before has ended.
    breaks = np.flatnonzero(start[1:] - end[:-1] > apart_ns)
    first = np.concatenate(([0], breaks + 1)) if len(start) else _NONE
    last = np.append(breaks, len(start) - 1) if len(start) else _NONE
    return np.full(len(first), row), start[first], end[last]

"""The tracks of a run: made of its events, or taken from where they are kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.levels.groups import Groups, groups_of
from rlviz.levels.pyramid import COLUMNS, Level, Pyramid
from rlviz.levels.track import Track
from rlviz.processors import processors
from rlviz.run.intervals import union
from rlviz.run.phases import activity_codes
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Part
    from rlviz.run.run import Run

    UInt8 = NDArray[np.uint8]

__all__ = ["tracks_of"]


def tracks_of(run: Run) -> dict[int, Track]:
    """Give the track of every row that has GPU data, with its levels."""
    parts: dict[int, list[Part]] = {}
    for part in run.events.parts:
        parts.setdefault(part.row, []).append(part)
    kept = run.remember("levels", (Groups,), lambda: _columns(_make(run, parts)))
    return dict(_kept(parts, kept))


def _make(run: Run, parts: Mapping[int, Sequence[Part]]) -> list[Track]:
    groups = groups_of(run)
    communicates = run.rules.communication.matches(run.events.names).to_numpy()
    tracks = []
    for row, own in sorted(parts.items()):
        codes = [activity_codes(p, run.lane_phases[p.lane], communicates) for p in own]
        busy = own[0].busy if len(own) == 1 else union(*joined([part.busy for part in own]))
        code = np.concatenate(codes) if len(own) > 1 else codes[0]
        order = _order(own)
        tracks.append(_track(row, own, order, code if order is None else code[order], groups, busy))
    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(lambda track: track.pyramid, tracks))
    return tracks


def _track(
    row: int,
    parts: Sequence[Part],
    order: NDArray[np.int64] | None,
    code: UInt8,
    groups: Groups,
    busy: tuple[NDArray[np.int64], NDArray[np.int64]],
    kept: Pyramid | None = None,
) -> Track:
    def whole(column: str) -> NDArray[Any]:
        own = [getattr(part, column) for part in parts]
        joint = np.concatenate(own) if len(own) > 1 else own[0]
        return joint if order is None else joint[order]

    return Track(row, whole("start_ns"), whole("end_ns"), whole("name"), code, groups, busy, kept)


def _order(parts: Sequence[Part]) -> NDArray[np.int64] | None:
    """Tell how to sort the events of several parts by start; None where they are."""
    if len(parts) == 1:
        return None
    start = np.concatenate([part.start_ns for part in parts])
    return np.argsort(start, kind="stable") if (start[1:] < start[:-1]).any() else None


def _columns(tracks: Sequence[Track]) -> dict[str, Any]:
    """Put the tracks' codes, unions and levels into few long columns, and say where each is."""
    pieces: dict[str, list[NDArray[Any]]] = {"code": [], "busy_start": [], "busy_end": []}
    index = []
    for track in tracks:
        pieces["code"].append(track.code)
        pieces["busy_start"].append(track.busy[0])
        pieces["busy_end"].append(track.busy[1])
        levels = track.pyramid.levels
        for level in levels:
            for name in COLUMNS:
                column = getattr(level, name)
                pieces.setdefault(f"{name} {column.dtype}", []).append(column)
        index.append(
            (
                track.row,
                len(track.code),
                len(track.busy[0]),
                [
                    (
                        level.width_ns,
                        level.first,
                        len(level),
                        [str(getattr(level, name).dtype) for name in COLUMNS],
                    )
                    for level in levels
                ],
            )
        )
    columns = {
        name: np.concatenate(own) if own else np.empty(0, np.int64) for name, own in pieces.items()
    }
    return {"groups": tracks[0].groups if tracks else None, "index": index, "columns": columns}


def _kept(parts: Mapping[int, Sequence[Part]], kept: dict[str, Any]) -> Iterator[tuple[int, Track]]:
    columns: dict[str, NDArray[Any]] = kept["columns"]
    read = dict.fromkeys(columns, 0)

    def take(name: str, count: int) -> NDArray[Any]:
        first = read[name]
        read[name] += count
        return columns[name][first : first + count]

    for row, events, merged, levels in kept["index"]:
        code = take("code", events)
        busy = take("busy_start", merged), take("busy_end", merged)
        pyramid = Pyramid(
            tuple(
                Level(
                    width_ns,
                    first,
                    *(take(f"{n} {d}", size) for n, d in zip(COLUMNS, dtypes, strict=True)),
                )
                for width_ns, first, size, dtypes in levels
            )
        )
        own = parts[row]
        yield row, _track(row, own, _order(own), code, kept["groups"], busy, pyramid)

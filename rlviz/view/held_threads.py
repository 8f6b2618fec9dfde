"""The lanes of rows inside a page, so that they expand there without a kernel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.run.words import counted
from rlviz.view.held import DEFAULT_MB
from rlviz.view.named_rows import named_rows
from rlviz.view.packed import TIME_BYTES, packed, planes
from rlviz.view.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.levels.lanes import LaneTrack
    from rlviz.levels.query import ZoomableRun
    from rlviz.view.scene import Scene

__all__ = ["HeldThreads", "hold_threads"]

_NAME_BYTES = 3


@dataclass(frozen=True)
class HeldThreads:
    """What a page holds of its rows' threads, and what it leaves out.

    Parameters
    ----------
    json : str or None
        For the lens; None where no row has any.
    note : str
        A line for the reader of the page.
    """

    json: str | None
    note: str


def hold_threads(
    run: ZoomableRun, scene: Scene, rows: Sequence[int] | str, detail: bool | float
) -> HeldThreads | None:
    """Pack the lanes of some rows, the first of them that the budget has room for.

    Parameters
    ----------
    run : ZoomableRun
        The run.
    scene : Scene
        Its chart.
    rows : sequence of int or str
        The rows, as of `rlviz.view.named_rows.named_rows`.
    detail : bool or float
        Size that the page may grow by, in MB of 10^6 bytes; True and False: the usual one.

    Returns
    -------
    HeldThreads or None
        None where no row is asked for.
    """
    if not len(rows):
        return None
    budget_mb = DEFAULT_MB if isinstance(detail, bool) else detail
    threads = Threads(run, scene)
    found: dict[str, Any] = {"rows": [], "names": {}}
    size = 0
    left_out = []
    for row in named_rows(scene, rows):
        own = threads.of(row.row)
        used = np.concatenate([np.empty(0, np.int32), *(track.name for track in own.tracks)])
        names = threads.names(used)
        lanes = [[track.lane, len(track), _first(track)] for track in own.tracks]
        entry = {"told": own.told, "lanes": lanes, "packed": packed(_columns(own.tracks))}
        grows = len(json.dumps([entry, names]))
        if size + grows > budget_mb * 1e6:
            left_out.append(f"{row.label} ({grows / 1e6:.1f} MB)")
            continue
        size += grows
        found["rows"].append(entry)
        found["names"] |= names
    text = json.dumps(found, separators=(",", ":")) if found["rows"] else None
    return HeldThreads(text, _note(len(found["rows"]), len(scene.rows), left_out, budget_mb))


def _note(held: int, rows: int, left_out: Sequence[str], budget_mb: float) -> str:
    said = []
    if 0 < held < rows:
        said.append(
            f"{counted(held, 'row')} of {rows} can be expanded into threads: those that were "
            "expanded when this page was saved."
        )
    if left_out:
        said.append(
            f"This page leaves out the threads of {', '.join(left_out)}: it was saved with "
            f"detail={budget_mb:g}."
        )
    return " ".join(said)


def _first(track: LaneTrack) -> int:
    return int(track.start_ns[0]) if len(track) else 0


def _columns(tracks: Sequence[LaneTrack]) -> bytes:
    """Put columns behind each other, first bytes first: starts as differences, then lengths."""
    parts = []
    for track in tracks:
        start, length = track.start_ns, track.end_ns - track.start_ns
        parts += [
            planes(np.diff(start, prepend=_first(track)), TIME_BYTES),
            planes(length, TIME_BYTES),
            planes(track.name, _NAME_BYTES),
            track.code.astype(np.uint8).tobytes(),
        ]
    return b"".join(parts)

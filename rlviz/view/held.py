"""The events and ranges of a run inside a page, so that it draws any window without a kernel."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.levels.groups import KINDS
from rlviz.levels.tally import NOTHING
from rlviz.view.choices import facet_of
from rlviz.view.legible import legible
from rlviz.view.overlays import PlacedRanges
from rlviz.view.packed import TIME_BYTES, packed, planes
from rlviz.view.scene import Overlays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun
    from rlviz.view.scene import Scene

__all__ = ["DEFAULT_MB", "Held", "hold"]

DEFAULT_MB = 6.0
"""A page grows by so much at most: about a million events."""

_NAME_BYTES = 4
_LEAST_A_NAME = len('"1":"",')


@dataclass(frozen=True)
class Held:
    """What a page holds, and what it leaves out.

    Parameters
    ----------
    json : str or None
        For the lens; None where the events are too many for the budget.
    left_out : str
        A line for the reader of the page; "" where all is there.
    """

    json: str | None
    left_out: str


def hold(run: ZoomableRun, scene: Scene, budget_mb: float = DEFAULT_MB) -> Held:
    """Pack all events and ranges of a run.

    Starts are differences, and every column is cut into planes of first bytes, second bytes and so
    on, which compress well.

    Parameters
    ----------
    run : ZoomableRun
        The run.
    scene : Scene
        Its chart.
    budget_mb : float
        Size that the page may grow by, in MB of 10^6 bytes.
    """
    tracks = list(run.tracks.values())
    ranges = PlacedRanges.of(run, scene).all()
    spans = [(int(t.start_ns[0]), int(t.end_ns.max())) for t in tracks if len(t.start_ns)]
    first_ns = min((start for start, _ in spans), default=0)
    events = sum(map(len, tracks))
    if any(end - first_ns >= 1 << 8 * TIME_BYTES for _, end in spans):
        return Held(None, _left_out(events, len(ranges.left), "they span more than three days"))
    _, colors = facet_of(scene, "phase")
    columns = [
        *(planes(np.diff(t.start_ns, prepend=first_ns), TIME_BYTES) for t in tracks),
        *(planes(t.end_ns - t.start_ns, TIME_BYTES) for t in tracks),
        *(planes(t.name, _NAME_BYTES) for t in tracks),
        *(colors[t.code].tobytes() for t in tracks),
        *(planes(getattr(ranges, f.name).astype(np.float64), 8) for f in fields(Overlays)),
    ]
    text = packed(b"".join(columns))
    worked = _unique([track.name for track in tracks])
    used = _unique([worked, ranges.name, ranges.domain, ranges.thread])
    least = len(text) + _LEAST_A_NAME * len(used)
    if least > budget_mb * 1e6:
        return Held(None, _too_large(events, len(ranges.left), least, budget_mb))
    kind = run.groups.kind_of_name[worked]
    facts: dict[str, Any] = {
        "first": first_ns,
        "rows": [[track.row, len(track)] for track in tracks],
        "ranges": len(ranges.left),
        "names": {str(code): legible(scene.names[code]) for code in used},
        "none": int(colors[NOTHING]),
        "kernels": list(run.groups.kernels),
        "kinds": [worked[kind == own].tolist() for own in range(len(KINDS))],
        "packed": text,
    }
    written = json.dumps(facts, separators=(",", ":"))
    if len(written) > budget_mb * 1e6:
        return Held(None, _too_large(events, len(ranges.left), len(written), budget_mb))
    return Held(written, "")


def _unique(codes: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.unique(np.concatenate([np.empty(0, np.int32), *codes]))


def _too_large(events: int, ranges: int, size: int, budget_mb: float) -> str:
    why = f"they need {size / 1e6:.1f} MB, and it was saved with detail={budget_mb:g}"
    return _left_out(events, ranges, why)


def _left_out(events: int, ranges: int, why: str) -> str:
    return (
        f"This page leaves out its {events:,} single GPU events and {ranges:,} exact ranges: {why}."
    )

"""What a row expands into: lanes of its threads' ranges and CUDA calls, and launch-bound time."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rlviz.levels.lanes import LaneTrack, lanes_within
from rlviz.run.findings.finding import spoken
from rlviz.run.words import counted
from rlviz.view.legible import legible
from rlviz.view.leveled_ranges import colors_of_ranges
from rlviz.view.named_rows import named_rows
from rlviz.view.palette import CALLS, COLORS
from rlviz.view.strips import counts_told, strip_facts
from rlviz.view.windows import inside_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun
    from rlviz.run.cpu import Level, Row, Thread
    from rlviz.run.launch import Stretches
    from rlviz.view.asked import Window
    from rlviz.view.scene import Scene

    UInt8 = NDArray[np.uint8]
    Int32 = NDArray[np.int32]

__all__ = ["LANES_A_ROW", "RowLanes", "Threads", "lane_palette", "lanes_of"]

LANES_A_ROW = 1_000
"""Lane i of a row has the number ``row * LANES_A_ROW + i``."""

_MOST_THREADS = 4
_MOST_DEPTH = 8
_MOST_STRETCHES = 2_000
_EVERY_S = 0.4
# Ranges and calls of the rows that are kept ready.
_READY = 10_000_000


@dataclass(frozen=True, eq=False)
class RowLanes:
    """The lanes of one row.

    Parameters
    ----------
    told : dict
        For the lens: ``threads`` with their ``lanes``, what is left out (``more``), why there are
        no calls (``absent``), and ``stretches`` of launch-bound time, null where it is unknown.
    tracks : tuple of LaneTrack
        By their number.
    name : callable
        Gives the text of a name's code.
    """

    told: dict[str, Any]
    tracks: tuple[LaneTrack, ...]
    name: Callable[[int], str]

    def __len__(self) -> int:
        return sum(map(len, self.tracks))


class Threads:
    """Gives the lanes of rows, and what to draw of them in a window.

    Parameters
    ----------
    run : ZoomableRun
        The run.
    scene : Scene
        Its chart.
    """

    def __init__(self, run: ZoomableRun, scene: Scene) -> None:
        self._run = run
        self._scene = scene
        self._codes: dict[str, int] = {}
        self._ready: OrderedDict[int, RowLanes] = OrderedDict()

    def of(self, row: int, tell: Callable[[int], None] | None = None) -> RowLanes:
        """Give the lanes of a row; its reports are read for it if they are not yet.

        `tell` is called now and then with the number of calls that were read.

        Raises
        ------
        ValueError
            There is no such row.
        """
        if row not in {one.row for one in self._scene.rows}:
            msg = "there is no such row"
            raise ValueError(msg)
        if row not in self._ready:
            self._ready[row] = self._made(row, _summing(tell))
            while len(self._ready) > 1 and sum(map(len, self._ready.values())) > _READY:
                self._ready.popitem(last=False)
        self._ready.move_to_end(row)
        return self._ready[row]

    def names(self, codes: Int32) -> dict[str, str]:
        """Give the texts of codes."""
        texts = list(self._codes)
        return {str(code): legible(texts[code]) for code in np.unique(codes).tolist()}

    def answer(self, asked: Window) -> tuple[dict[str, Any], list[bytes]]:
        """Give what to draw of the lanes of some rows in a window.

        Parameters
        ----------
        asked : Window
            The window, and the rows.

        Returns
        -------
        facts : dict
            ``start``, ``end`` in seconds; ``strips``, a list of lane, left edge, bucket width (both
            in seconds) and number of buckets each; ``names``, texts by code.
        columns : list of bytes
            Coverage, colour and count (255 or more as 255) of all strips, one behind the other
            (uint8); start, end (float64 seconds), lane, name (int32) and colour (uint8) of events.
        """
        start_s, end_s, start_ns, end_ns = inside_of(self._scene, asked.start_s, asked.end_s)
        lanes = [track for row in sorted(asked.rows or ()) for track in self.of(row).tracks]
        strips, events = lanes_within(lanes, start_ns, end_ns, asked.width_px)
        name = _joined([lane.name[own] for lane, own in events], np.int32)
        facts = {
            "start": start_s,
            "end": end_s,
            "strips": strip_facts(strips),
            "names": self.names(name),
        }
        counts = [counts_told(strip.count) for strip in strips]
        numbers = [np.full(len(own), lane.lane) for lane, own in events]
        return facts, [
            _joined([strip.coverage for strip in strips], np.uint8).tobytes(),
            # What takes no time at all is drawn as a call is that is nothing else.
            np.minimum(_joined([s.code for s in strips], np.uint8), _LAST).tobytes(),
            _joined(counts, np.uint8).tobytes(),
            (_joined([lane.start_ns[own] for lane, own in events], np.int64) / 1e9).tobytes(),
            (_joined([lane.end_ns[own] for lane, own in events], np.int64) / 1e9).tobytes(),
            _joined(numbers, np.int32).tobytes(),
            name.tobytes(),
            _joined([lane.code[own] for lane, own in events], np.uint8).tobytes(),
        ]

    def _made(self, row: int, tell: Callable[[int], None]) -> RowLanes:
        found = self._run.cpu.row(row, tell)
        shown, others = found.threads[:_MOST_THREADS], found.threads[_MOST_THREADS:]
        tracks: list[LaneTrack] = []
        told = [self._thread(row, one, found, tracks) for one in shown]
        facts = {
            "row": row,
            "threads": told,
            "more": _more(others),
            "absent": legible(found.absent[:1].upper() + found.absent[1:]),
            "stretches": None if found.stretches is None else _stretches(found.stretches),
            "launch": _launch(found.stretches),
            "palette": lane_palette(),
            "calls": [f"{kind} call" for kind in CALLS],
        }
        return RowLanes(facts, tuple(tracks), lambda code: list(self._codes)[code])

    def _thread(
        self, row: int, thread: Thread, found: Row, tracks: list[LaneTrack]
    ) -> dict[str, Any]:
        """Tell of a thread, and add its lanes to `tracks`."""
        levels = thread.levels[:_MOST_DEPTH]
        lanes: list[dict[str, Any]] = []

        def add(kind: str, level: Level, names: Sequence[str] | pl.Series, color: UInt8) -> None:
            number = row * LANES_A_ROW + len(tracks)
            used, place = np.unique(level.name, return_inverse=True)
            texts = [names[code] for code in used.tolist()]
            codes = [self._codes.setdefault(text, len(self._codes)) for text in texts]
            name = np.array(codes, np.int32)[place]
            tracks.append(LaneTrack(number, level.start_ns, level.end_ns, name, color, _LAST + 1))
            lanes.append({"lane": number, "kind": kind, "count": len(level)})

        for level in levels:
            # A run may have a million names, a level seldom more than some thousand.
            used, place = np.unique(level.name, return_inverse=True)
            names = self._run.events.texts(pl.Series(used))
            colors = colors_of_ranges(self._run, names).to_numpy().astype(np.uint8)
            add("ranges", replace(level, name=place.astype(np.int32)), names, colors[place])
        if len(thread.calls):
            kinds = thread.calls.kind
            assert kinds is not None
            add("calls", thread.calls, found.names, kinds + np.uint8(len(COLORS)))
        deeper = sum(map(len, thread.levels[_MOST_DEPTH:]))
        return {
            "name": legible(thread.name or "unnamed thread"),
            "tid": thread.tid,
            "pid": thread.pid,
            "lanes": lanes,
            "deeper": f"{counted(deeper, 'deeper range')} not drawn" if deeper else "",
        }


def _summing(tell: Callable[[int], None] | None) -> Callable[[int], None]:
    """Tell sums of what is told piece by piece, some times a second."""
    calls, told_at = 0, time.monotonic()

    def more(read: int) -> None:
        nonlocal calls, told_at
        calls += read
        if tell is not None and time.monotonic() - told_at > _EVERY_S:
            told_at = time.monotonic()
            tell(calls)

    return more


def lanes_of(run: ZoomableRun, scene: Scene, rows: Sequence[int] | str) -> dict[int, RowLanes]:
    """Give the lanes of the rows that a caller names, as of `rlviz.view.named_rows.named_rows`."""
    if not len(rows):
        return {}
    threads = Threads(run, scene)
    return {row.row: threads.of(row.row) for row in named_rows(scene, rows)}


_LAST = len(COLORS) + len(CALLS) - 1


def lane_palette() -> list[str]:
    """Give the colours that lanes are drawn by: those of the chart, then those of calls."""
    return [*COLORS.values(), *CALLS.values()]


def _launch(found: Stretches | None) -> str:
    if found is None:
        return ""
    if not len(found.start):
        return "never launch-bound"
    length, waited = int((found.end - found.start).sum()), int(found.wait_ns.sum())
    return f"launch-bound for {spoken(length)}: idle for {spoken(waited)} of it until a launch came"


def _more(others: Sequence[Thread]) -> str:
    """Say what is not drawn."""
    if not others:
        return ""
    calls = sum(len(one.calls) for one in others)
    ranges = sum(len(level) for one in others for level in one.levels)
    return (
        f"and {counted(len(others), 'more thread')} with {counted(calls, 'call')} and "
        f"{counted(ranges, 'range')}"
    )


def _stretches(found: Stretches) -> list[list[float]]:
    """Give start, end (s), waits and waited seconds of stretches: the longest, if too many."""
    kept = np.sort(np.argsort(found.start - found.end, kind="stable")[:_MOST_STRETCHES])
    columns = (found.start[kept] / 1e9, found.end[kept] / 1e9, found.waits[kept])
    told: list[list[float]] = np.column_stack((*columns, found.wait_ns[kept] / 1e9)).tolist()
    return told


def _joined(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)

"""What a zoomed chart asks for: the activity and the ranges of a window, as binary columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.run.phases import ACTIVITY
from rlviz.view.figure import limits
from rlviz.view.legible import legible
from rlviz.view.overlays import UNNAMED, PlacedRanges
from rlviz.view.palette import color_code
from rlviz.view.scene import Overlays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rlviz.levels.query import View, ZoomableRun
    from rlviz.view.scene import Scene

__all__ = ["COLOR_OF_CODE", "Detail", "Window", "window_asked"]

WIDEST_PX = 20_000

# By the byte that stands for an activity; what takes no time has no activity of its own.
COLOR_OF_CODE = np.full(256, color_code("other"), np.uint8)
COLOR_OF_CODE[: len(ACTIVITY)] = [color_code(key) for key in ACTIVITY]


@dataclass(frozen=True)
class Window:
    """A window that a chart shows: seconds since the run's start, and pixels."""

    start_s: float
    end_s: float
    width_px: int


def window_asked(message: Mapping[str, Any]) -> Window:
    """Take a window from what a page sent: any script of the page could have sent it.

    Raises
    ------
    ValueError
        It is no window.

    Examples
    --------
    >>> window_asked({"start": 1, "end": 2.5, "width": 900})
    Window(start_s=1.0, end_s=2.5, width_px=900)
    """
    start_s, end_s, width = (_number(message.get(key)) for key in ("start", "end", "width"))
    if not (start_s < end_s and 1 <= width <= WIDEST_PX):
        msg = "the window has no width"
        raise ValueError(msg)
    return Window(start_s, end_s, int(width))


def _number(given: object) -> float:
    # An int may be too large for a float, which a page's own numbers never are.
    if isinstance(given, int | float) and abs(given) < 1e15:
        return float(given)
    msg = "a window is three numbers"
    raise ValueError(msg)


class Detail:
    """The detail of a run, a window at a time.

    Parameters
    ----------
    run : ZoomableRun
        The run.
    scene : Scene
        Its chart: rows, names and the limits of what can be asked.
    """

    def __init__(self, run: ZoomableRun, scene: Scene) -> None:
        self._run = run
        self._scene = scene

    def answer(self, asked: Window) -> tuple[dict[str, Any], list[bytes]]:
        """Give what to draw of a window.

        Parameters
        ----------
        asked : Window
            The window; it is cut to what the run holds.

        Returns
        -------
        facts : dict
            ``start``, ``end`` in seconds; ``strips``, a list of row, left edge, bucket width (both
            in seconds) and number of buckets each; ``names``, texts by code; ``merged``, seconds
            below which ranges were merged, 0 where none was.
        columns : list of bytes
            Coverage (uint8), colour (uint8), count (int32) of all strips, one behind the other;
            start, end (float64 seconds), row, name (int32), colour (uint8) of events; and the
            columns of `Overlays` (float64), in their order, in one.

        Raises
        ------
        ValueError
            The window lies outside of the run.
        """
        first, last = limits(self._scene)
        start_s, end_s = max(asked.start_s, first), min(asked.end_s, last)
        if not start_s < end_s:
            msg = "the window lies outside of the run"
            raise ValueError(msg)
        start_ns = math.floor(start_s * 1e9)
        end_ns = max(math.ceil(end_s * 1e9), start_ns + 1)
        view = self._run.view(start_ns, end_ns, asked.width_px)
        ranges, merged_ns = self._ranges.within(start_ns, end_ns, asked.width_px)
        facts = {
            "start": start_s,
            "end": end_s,
            "strips": [
                [strip.row, strip.start_ns / 1e9, strip.width_ns / 1e9, len(strip)]
                for strip in view.strips
            ],
            "names": self._names(view, ranges),
            "merged": merged_ns / 1e9,
        }
        return facts, [*_strips(view), *_events(view), _columns(ranges)]

    @cached_property
    def _ranges(self) -> PlacedRanges:
        return PlacedRanges.of(self._run, self._scene.rows, len(self._scene.names) - UNNAMED)

    def _names(self, view: View, ranges: Overlays) -> dict[str, str]:
        used = np.concatenate((view.name, ranges.name, ranges.domain, ranges.thread))
        return {str(code): legible(self._scene.names[code]) for code in np.unique(used)}


def _strips(view: View) -> list[bytes]:
    return [
        b"".join(strip.coverage.tobytes() for strip in view.strips),
        b"".join(COLOR_OF_CODE[strip.code].tobytes() for strip in view.strips),
        b"".join(strip.count.tobytes() for strip in view.strips),
    ]


def _events(view: View) -> list[bytes]:
    return [
        (view.event_start_ns / 1e9).tobytes(),
        (view.event_end_ns / 1e9).tobytes(),
        view.row.astype(np.int32).tobytes(),
        view.name.astype(np.int32).tobytes(),
        COLOR_OF_CODE[view.code].tobytes(),
    ]


def _columns(ranges: Overlays) -> bytes:
    columns: list[NDArray[Any]] = [getattr(ranges, one.name) for one in fields(Overlays)]
    return np.concatenate([column.astype(np.float64) for column in columns]).tobytes()

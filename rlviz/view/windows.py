"""Windows of time: none without width, none outside of what can be seen, in seconds and in ns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlviz.view.scene import Scene

__all__ = ["SHORTEST_S", "inside_of", "limits", "window", "window_ns"]

SHORTEST_S = 1e-7
"""Nothing that nsys records is shorter than some tens of nanoseconds."""


def window(start_s: float, end_s: float) -> tuple[float, float]:
    """Give a window that has a width, whatever the scene's is."""
    if end_s - start_s >= SHORTEST_S:
        return start_s, end_s
    return start_s - 0.5, start_s + 0.5


def limits(scene: Scene) -> tuple[float, float]:
    """Give the limits of panning: all that was captured, and the first view in any case."""
    start, end = window(scene.start_s, scene.end_s)
    return min(scene.first_s, start), max(scene.last_s, end)


def window_ns(start_s: float, end_s: float) -> tuple[int, int]:
    """Give a window in nanoseconds; one without length is a window all the same.

    Examples
    --------
    >>> window_ns(1.5, 2.0), window_ns(1.5, 1.5)
    ((1500000000, 2000000000), (1500000000, 1500000001))
    """
    start_ns = round(start_s * 1e9)
    return start_ns, max(round(end_s * 1e9), start_ns + 1)


def inside_of(scene: Scene, start_s: float, end_s: float) -> tuple[float, float, int, int]:
    """Cut a window to the limits of a scene.

    Returns
    -------
    start_s, end_s : float
        In seconds.
    start_ns, end_ns : int
        Whole nanoseconds around it.

    Raises
    ------
    ValueError
        It lies outside of them.
    """
    first, last = limits(scene)
    start_s, end_s = max(start_s, first), min(end_s, last)
    if not start_s < end_s:
        msg = "the window lies outside of the run"
        raise ValueError(msg)
    start_ns = math.floor(start_s * 1e9)
    return start_s, end_s, start_ns, max(math.ceil(end_s * 1e9), start_ns + 1)

"""A part of a run seen from near: its own detail, busy shares and numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rlviz.run.capture import captured_by_row
from rlviz.run.intervals import clip
from rlviz.view.activity import draw_activity
from rlviz.view.compose import names_of
from rlviz.view.headline import busy_of, subtitle_of
from rlviz.view.layout import place_rows
from rlviz.view.overlays import draw_overlays
from rlviz.view.windows import window_ns

if TYPE_CHECKING:
    from rlviz.levels.query import ZoomableRun
    from rlviz.view.scene import Scene

__all__ = ["close_up"]


def close_up(
    run: ZoomableRun, scene: Scene, window: tuple[float, float], iteration: int | None = None
) -> Scene:
    """Compose the scene of a run anew for a window.

    Bars and ranges are as fine as the window's pixels, and reach no further; busy shares and the
    line of numbers are the window's. All else is the run's.

    Parameters
    ----------
    run : ZoomableRun
        The run.
    scene : Scene
        The scene of all of it.
    window : (float, float)
        Start and end in seconds since the run's start.
    iteration : int, optional
        The iteration that the window shows: the numbers are those of ``run.summary()``.
    """
    start_ns, end_ns = span = window_ns(*window)
    busy = run.busy_by_row(start_ns, end_ns)
    captured = {
        row: clip(*spans, start_ns, end_ns)
        for row, spans in captured_by_row(run.rows, run.reports).items()
    }
    rows, _, _ = place_rows(run, busy, captured)
    numbers = busy_of(rows, span) if iteration is None else subtitle_of(run, rows, span, iteration)
    return replace(
        scene,
        subtitle=numbers,
        # A run learns more names when its kernels are asked for, and codes of overlays count them.
        names=names_of(run),
        rows=rows,
        bars=draw_activity(run, rows, span),
        overlays=draw_overlays(run, rows, span, within=True),
    )

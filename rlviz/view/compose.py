"""From a run to a scene: what is drawn, and what is said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.levels.coverage import Coverage
from rlviz.run.capture import captured_by_row
from rlviz.run.edges import edges_by_row
from rlviz.run.rules import SUMMED_POOLS
from rlviz.run.trust import ReportLine, Trouble
from rlviz.view.activity import colors_at_any_zoom, draw_activity
from rlviz.view.bubbles import longest_bubbles
from rlviz.view.headline import caption_of, notes_of, subtitle_of, title_of
from rlviz.view.layout import place_rows, shade_rows
from rlviz.view.numbers import Numbers, numbers_of
from rlviz.view.overlays import UNNAMED, draw_overlays
from rlviz.view.palette import COLORS
from rlviz.view.scene import (
    Bars,
    Bracket,
    Bubble,
    Heading,
    Line,
    Overlays,
    Overview,
    PoolBand,
    Remark,
    Row,
    Scene,
    Shade,
)
from rlviz.view.story import draw_brackets, draw_lines, iteration_windows, remarks_of
from rlviz.view.trust import Trust, trust_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["compose", "names_of"]

_SHAPES = (Row, PoolBand, Bars, Overlays, Shade, Bracket, Heading, Line, Overview, Bubble)
_CLASSES = (Scene, *_SHAPES, Remark, Trust, ReportLine, Trouble, Numbers)

_OVERVIEW_STEPS = 600


def compose(run: ZoomableRun) -> Scene:
    """Decide what the chart of a run shows.

    Parameters
    ----------
    run : ZoomableRun
        The run.

    Returns
    -------
    Scene
        Rows, bars, ranges, shades and texts; colours are codes of ``rlviz.view.palette``.
    """
    return run.remember("scene", _CLASSES, lambda: _composed(run))


def _composed(run: ZoomableRun) -> Scene:
    captured = captured_by_row(run.rows, run.reports)
    busy = run.busy_by_row()
    edges = edges_by_row(run.rows, run.reports)
    rows, pools, height = place_rows(run, busy, captured)
    view_ns = _first_view(run, busy, captured)
    first_ns, last_ns = _limits(captured, view_ns)
    subtitle, remarks, trust = subtitle_of(run, rows, view_ns), remarks_of(run), trust_of(run)
    bubbles, numbers = longest_bubbles(run), numbers_of(run)
    # Numbers and levels are made of all events each: one after the other, to spare memory.
    run.release()
    return Scene(
        title=title_of(run),
        subtitle=subtitle,
        caption=caption_of(run),
        simulated=run.simulated,
        start_s=view_ns[0] / 1e9,
        end_s=view_ns[1] / 1e9,
        first_s=first_ns / 1e9,
        last_s=last_ns / 1e9,
        height=height,
        run_start_utc_ns=run.start_utc_ns,
        names=names_of(run),
        colors=tuple(COLORS),
        rows=rows,
        pools=pools,
        bars=draw_activity(run, rows, view_ns),
        overlays=draw_overlays(run, rows, view_ns),
        shades=tuple(shade_rows(rows, captured, edges, (first_ns, last_ns))),
        brackets=draw_brackets(run, pools),
        lines=draw_lines(run),
        overview=_overview(rows, busy, view_ns),
        iterations=iteration_windows(run),
        notes=notes_of(run),
        kernels=run.groups.kernels,
        activity=colors_at_any_zoom(run),
        remarks=remarks,
        trust=trust,
        bubbles=bubbles,
        numbers=numbers,
    )


def names_of(run: ZoomableRun) -> tuple[str, ...]:
    """Give the texts that codes of bars and overlays point to."""
    return (*run.events.names, *UNNAMED)


def _first_view(
    run: ZoomableRun, busy: Mapping[int, Spans], captured: Mapping[int, Spans]
) -> tuple[int, int]:
    """Hull of the GPU activity, else of the ranges, else of what was captured."""
    ranges = run.events.ranges
    annotated = {0: (ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy())}
    for spans in (busy, annotated, captured):
        filled = [(start.min(), end.max()) for start, end in spans.values() if len(start)]
        if filled:
            first, last = min(s for s, _ in filled), max(e for _, e in filled)
            return int(first), int(max(last, first + 1))
    return 0, 1


def _limits(captured: Mapping[int, Spans], view_ns: tuple[int, int]) -> tuple[int, int]:
    filled = [(int(start[0]), int(end[-1])) for start, end in captured.values() if len(start)]
    first = min((s for s, _ in filled), default=view_ns[0])
    last = max((e for _, e in filled), default=view_ns[1])
    return min(first, view_ns[0]), max(last, view_ns[1])


def _overview(
    rows: Sequence[Row], busy: Mapping[int, Spans], view_ns: tuple[int, int]
) -> tuple[Overview, ...]:
    """Mean busy share of each pool's GPUs over the whole run."""
    edges = np.linspace(view_ns[0], view_ns[1], _OVERVIEW_STEPS + 1).astype(np.int64)
    widths = np.maximum(np.diff(edges), 1)
    found = []
    for pool in SUMMED_POOLS:
        members = [row.row for row in rows if row.pool == pool and row.gpu_data]
        if members:
            none = np.empty(0, np.int64)
            shares = [Coverage.of(*busy.get(r, (none, none))).between(edges) for r in members]
            share = np.mean(shares, axis=0) / widths
            found.append(Overview(pool, edges / 1e9, share))  # type: ignore[arg-type]
    return tuple(found)

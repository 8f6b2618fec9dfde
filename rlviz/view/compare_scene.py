"""Several runs in one scene: below each other, a chosen iteration of each begins at second 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rlviz.run.capture import captured_by_row
from rlviz.run.edges import edges_by_row
from rlviz.run.intervals import clip
from rlviz.view.activity import draw_activity
from rlviz.view.compare_words import heading_of, headline_of
from rlviz.view.compose import compose, names_of
from rlviz.view.layout import place_rows, shade_rows
from rlviz.view.overlays import draw_overlays
from rlviz.view.palette import COLORS
from rlviz.view.scene import Alignment, Heading, Scene
from rlviz.view.sizes import HEADING_AIR_PX, bracket_y, row_height_px
from rlviz.view.trust import Trust, trust_of
from rlviz.view.windows import window_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun
    from rlviz.levels.side_by_side import SideBySide
    from rlviz.view.scene import Bracket, Bubble, Line, Overview, PoolBand, Remark

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["compare_close_up", "compare_scene", "shared_iterations"]

_AIR = 0.03


def compare_scene(joined: SideBySide, iteration: int) -> Scene:
    """Compose the scene of runs that are compared.

    Parameters
    ----------
    joined : SideBySide
        The runs; second 0 is where the iteration begins in each.
    iteration : int
        The iteration: the first view shows it whole in every run.

    Returns
    -------
    Scene
        As of `rlviz.view.compose.compose`, with a group of rows for each run.
    """
    scenes = {name: compose(run) for name, run in joined.runs.items()}
    shifts_s = {name: place.shift_ns / 1e9 for name, place in joined.places.items()}
    captured, edges = _of_rows(joined, captured_by_row), _of_rows(joined, edges_by_row)
    rows, pools, height = place_rows(joined, joined.busy_by_row(), captured)
    alignments = {
        number: _aligned(joined, scenes, number) for number in shared_iterations(joined.runs)
    }
    own = alignments[iteration]
    view_ns = window_ns(*own.view)
    return Scene(
        title=" against ".join(reversed(joined.runs)),
        subtitle=own.subtitle,
        caption=" · ".join(
            [own.told, *(f"{name}: {scene.title}" for name, scene in scenes.items())]
        ),
        simulated=joined.simulated,
        start_s=own.view[0],
        end_s=own.view[1],
        first_s=own.limits[0],
        last_s=own.limits[1],
        height=height,
        run_start_utc_ns=None,
        names=names_of(joined),
        colors=tuple(COLORS),
        rows=rows,
        pools=pools,
        bars=draw_activity(joined, rows, view_ns),
        overlays=draw_overlays(joined, rows, view_ns, within=True),
        shades=tuple(shade_rows(rows, captured, edges, _reach(alignments.values()))),
        brackets=tuple(
            _moved_bracket(bracket, name, shifts_s[name], pools, len(rows))
            for name, scene in scenes.items()
            for bracket in scene.brackets
        ),
        lines=tuple(
            _moved_line(line, name, shifts_s[name])
            for name, scene in scenes.items()
            for line in scene.lines
        ),
        overview=tuple(
            _moved_strip(strip, name, shifts_s[name])
            for name, scene in scenes.items()
            for strip in scene.overview
        ),
        iterations=(own.iteration,),
        notes=tuple(f"{name}: {note}" for name, scene in scenes.items() for note in scene.notes),
        kernels=joined.groups.kernels,
        remarks=_remarks(joined, scenes),
        trust=_trust(joined),
        headings=_headings(own, joined, pools, len(rows)),
        alignments=tuple(alignments.values()),
        bubbles=tuple(
            _moved_bubble(bubble, joined.places[name].row, shifts_s[name])
            for name, scene in scenes.items()
            for bubble in scene.bubbles
        ),
    )


def shared_iterations(runs: Mapping[str, ZoomableRun]) -> list[int]:
    """Give the numbers of the iterations that are in all runs."""
    numbers = [{iteration.number for iteration in run.story.iterations} for run in runs.values()]
    return sorted(set.intersection(*numbers))


def _aligned(joined: SideBySide, scenes: Mapping[str, Scene], number: int) -> Alignment:
    """Align the runs at an iteration that all of them have."""
    zeros_ns = {
        name: next(i.start_ns for i in run.story.iterations if i.number == number)
        for name, run in joined.runs.items()
    }
    windows = [
        (start - zeros_ns[name] / 1e9, end - zeros_ns[name] / 1e9, partial)
        for name, scene in scenes.items()
        for known, start, end, partial in scene.iterations
        if known == number
    ]
    start_s, end_s = min(s for s, _, _ in windows), max(e for _, e, _ in windows)
    air = _AIR * (end_s - start_s)
    first_s = min(scene.first_s - zeros_ns[name] / 1e9 for name, scene in scenes.items())
    last_s = max(scene.last_s - zeros_ns[name] / 1e9 for name, scene in scenes.items())
    limits = min(first_s, start_s - air), max(last_s, end_s + air)
    return Alignment(
        iteration=(number, start_s, end_s, any(partial for *_, partial in windows)),
        view=(max(limits[0], start_s - air), min(limits[1], end_s + air)),
        limits=limits,
        shifts_s={
            name: (-zeros_ns[name] - place.shift_ns) / 1e9 for name, place in joined.places.items()
        },
        subtitle=headline_of(joined.runs, number),
        headings=tuple(heading_of(name, run, number) for name, run in joined.runs.items()),
    )


def compare_close_up(joined: SideBySide, scene: Scene, window: tuple[float, float]) -> Scene:
    """Compose a part of the scene anew: bars, ranges and busy shares are the window's."""
    start_ns, end_ns = span = window_ns(*window)
    captured = {
        row: clip(*spans, start_ns, end_ns)
        for row, spans in _of_rows(joined, captured_by_row).items()
    }
    rows, _, _ = place_rows(joined, joined.busy_by_row(start_ns, end_ns), captured)
    return replace(
        scene,
        rows=rows,
        bars=draw_activity(joined, rows, span),
        overlays=draw_overlays(joined, rows, span, within=True),
    )


def _reach(alignments: Collection[Alignment]) -> tuple[int, int]:
    """Give the limits of a row wherever it is moved to, as it stands in the scene.

    What was not captured is shaded up to the limits of each alignment.
    """
    pairs = [(one, shift_s) for one in alignments for shift_s in one.shifts_s.values()]
    first = min(one.limits[0] - shift_s for one, shift_s in pairs)
    return window_ns(first, max(one.limits[1] - shift_s for one, shift_s in pairs))


def _of_rows(
    joined: SideBySide, ask: Callable[[pl.DataFrame, pl.DataFrame], dict[int, Spans]]
) -> dict[int, Spans]:
    """Ask each run for spans of its rows: reports of two runs may have one name."""
    found = {}
    for name, run in joined.runs.items():
        place = joined.places[name]
        for row, (start, end) in ask(run.rows, run.reports).items():
            found[row + place.row] = start + place.shift_ns, end + place.shift_ns
    return found


def _headings(
    own: Alignment, joined: SideBySide, pools: tuple[PoolBand, ...], rows: int
) -> tuple[Heading, ...]:
    tops = {pool.group: pool.top for pool in reversed(pools)}
    air = HEADING_AIR_PX / row_height_px(rows)
    return tuple(
        Heading(name, tops[name] - air, text)
        for name, text in zip(joined.runs, own.headings, strict=True)
    )


def _moved_bracket(
    bracket: Bracket, name: str, shift_s: float, pools: tuple[PoolBand, ...], rows: int
) -> Bracket:
    top = next(p.top for p in pools if (p.group, p.name) == (name, bracket.pool))
    return replace(
        bracket,
        left=bracket.left + shift_s,
        right=bracket.right + shift_s,
        y=bracket_y(top, rows),
        group=name,
    )


def _moved_bubble(bubble: Bubble, first_row: int, shift_s: float) -> Bubble:
    left, right = bubble.left + shift_s, bubble.right + shift_s
    return replace(bubble, row=bubble.row + first_row, left=left, right=right)


def _moved_line(line: Line, name: str, shift_s: float) -> Line:
    # Its text stands below all rows, where it would be of the last run.
    return replace(line, at=line.at + shift_s, text="", group=name)


def _moved_strip(strip: Overview, name: str, shift_s: float) -> Overview:
    return replace(strip, edges=strip.edges + shift_s, group=name)


def _remarks(joined: SideBySide, scenes: Mapping[str, Scene]) -> tuple[Remark, ...]:
    """Give the findings of all runs, each with the run's name, those that cost most first."""
    found = []
    for name, scene in scenes.items():
        place = joined.places[name]
        for remark in scene.remarks:
            left, right = (
                None if at is None else at + place.shift_ns / 1e9
                for at in (remark.left, remark.right)
            )
            row = None if remark.row is None else remark.row + place.row
            text = f"{name}: {remark.text}"
            found.append(replace(remark, text=text, left=left, right=right, row=row, group=name))
    return tuple(sorted(found, key=lambda remark: -(remark.lost_s or 0.0)))


def _trust(joined: SideBySide) -> Trust:
    parts = {name: trust_of(run) for name, run in joined.runs.items()}
    return Trust(
        " · ".join(f"{name}: {trust.line}" for name, trust in parts.items()),
        tuple(
            one._replace(report=f"{name}: {one.report}")
            for name, trust in parts.items()
            for one in trust.reports
        ),
        tuple(
            one._replace(reports=f"{name}: {one.reports}")
            for name, trust in parts.items()
            for one in trust.troubles
        ),
    )

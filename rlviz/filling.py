"""A chart that comes up before the GPU rows are read, and fills in as reports arrive."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rlviz.errors import RlvizError
from rlviz.levels.elsewhere import make_rows_in
from rlviz.levels.kept import kept_report, kept_sketch
from rlviz.levels.store import Store
from rlviz.loading import outcomes_of, waiting_bytes
from rlviz.pool import Processes
from rlviz.processors import processors
from rlviz.selection import sketch
from rlviz.view.compose import compose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rlviz.levels.query import ZoomableRun
    from rlviz.opening import Opening
    from rlviz.reports.report import Report
    from rlviz.run.part import Part
    from rlviz.view.scene import Scene, Shade
    from rlviz.view.timeline import Timeline

    Outcome = Report | RlvizError

__all__ = ["fill", "look_at", "worth_filling"]

# So much is read in about a second: a chart that would change at once is better shown once.
_WORTH_FILLING = 60 << 20
_EVERY_S = 1.0
# Pictures on the way may take so much of the time, and no more.
_SHARE = 0.25


def worth_filling(opening: Opening) -> bool:
    """Tell whether reading takes so long that somebody would wait for it."""
    return waiting_bytes(opening.found, opening.store) >= _WORTH_FILLING


def fill(opening: Opening) -> Timeline:
    """Display a chart of phases, then read the reports and fill it; for a running cell only.

    Parameters
    ----------
    opening : Opening
        What to open.

    Returns
    -------
    Timeline
        Displayed, and whole.

    Raises
    ------
    RlvizError
        No report can be read.
    """
    # The page that draws may be on this machine.
    with Processes(gentle=True) as processes:
        with _sketching(opening, processes) as sketched:
            # Meanwhile, for it takes as long: a page makes BokehJS ready, and Bokeh is imported.
            from rlviz.view.libraries import send_ahead

            send_ahead()
            from rlviz.view.timeline import Timeline

            outcomes = sketched()
        run = _run_of(opening, outcomes)
        timeline = Timeline(run)
        timeline._renew(run, _underway(compose(run), run, outcomes, "reading"))
        part = opening.wishes.part
        placed = look_at(timeline, part)
        timeline._begin()
        try:
            _read(opening, processes, timeline, outcomes)
            if not placed:
                look_at(timeline, part)
            timeline._display_kept()
        except KeyboardInterrupt:
            scene = _underway(timeline.scene, timeline.run, outcomes, "stopped reading")
            timeline._renew(timeline.run, scene)
            raise
    return timeline


@contextmanager
def _sketching(opening: Opening, processes: Processes) -> Iterator[Callable[[], list[Outcome]]]:
    """Begin to sketch reports elsewhere; what it gives waits for all of them."""
    with tempfile.TemporaryDirectory(prefix="rlviz-", ignore_cleanup_errors=True) as folder:
        passing = Store(Path(folder))
        found = dict(enumerate(opening.found))
        elsewhere = {
            number: one.path
            for number, one in found.items()
            # A share of them is for this process, as soon as it has time.
            if opening.wishes.executor is None and not one.is_capture and number % processors()
        }
        told = processes.sketch(elsewhere, passing.folder)

        def sketched() -> list[Outcome]:
            here = {n: _sketch(opening, n, None) for n in found if n not in elsewhere}
            # An error of theirs is met again here, and told of where others are.
            made = {number for number, error in told if error is None}
            others = {n: _sketch(opening, n, passing if n in made else None) for n in elsewhere}
            return [(here | others)[number] for number in found]

        yield sketched


def _sketch(opening: Opening, number: int, passing: Store | None) -> Outcome:
    one = opening.found[number]
    try:
        if passing is None:
            return sketch(one, opening.store)
        kept = opening.store and kept_report(opening.store, one.path, one.key, one.role)
        return kept or kept_sketch(passing, one.path, one.key, one.role)
    except RlvizError as error:
        return error


def look_at(timeline: Timeline, part: Part) -> bool:
    """Let the first view show the steps that were asked for, where the run holds others as well."""
    steps = part.steps
    iterations = timeline.scene.iterations if steps is not None else ()
    asked = [
        (start, end) for number, start, end, _ in iterations if part.holds_steps(number, number + 1)
    ]
    if not asked:
        return steps is None
    if len(asked) < len(iterations):
        timeline.zoom(min(start for start, _ in asked), max(end for _, end in asked))
    return True


def _read(
    opening: Opening, processes: Processes, timeline: Timeline, outcomes: list[Outcome]
) -> None:
    due = time.monotonic() + _EVERY_S
    executor, store = opening.wishes.executor, opening.store
    for number, outcome in outcomes_of(opening.found, processes, executor, store):
        outcomes[number] = outcome
        began = time.monotonic()
        if began >= due and any(map(_waits, outcomes)):
            run = _run_of(opening, outcomes)
            timeline._renew(run, _underway(compose(run), run, outcomes, "reading"))
            took = time.monotonic() - began
            due = began + max(_EVERY_S, took / _SHARE)
    whole = _run_of(opening, outcomes, kept=True)
    make_rows_in(processes, whole)
    timeline._renew(whole)


def _waits(outcome: Outcome) -> bool:
    return not isinstance(outcome, RlvizError) and outcome.unread


def _run_of(opening: Opening, outcomes: Sequence[Outcome], *, kept: bool = False) -> ZoomableRun:
    pairs = list(zip(opening.found, outcomes, strict=True))
    read = [outcome for _, outcome in pairs if not isinstance(outcome, RlvizError)]
    failures = [(one.key, outcome) for one, outcome in pairs if isinstance(outcome, RlvizError)]
    return opening.run_of(read, failures, kept=kept)


def _underway(scene: Scene, run: ZoomableRun, outcomes: Sequence[Outcome], what: str) -> Scene:
    """Say in a scene that it is not all: no number is told that will be another."""
    waiting = sum(map(_waits, outcomes))
    unread = _unread_rows(run) if what == "reading" else set()
    return replace(
        scene,
        title=scene.title.replace(" without GPU rows", ""),
        subtitle=f"{what} GPU rows: {len(outcomes) - waiting} of {len(outcomes)} reports",
        shades=tuple(_shade(shade, unread) for shade in scene.shades),
        remarks=(),
        bubbles=(),
        numbers=None,
        notes=(),
        trust=None,
    )


def _unread_rows(run: ZoomableRun) -> set[int]:
    unread = set(run.reports.filter(pl.col("status") == "unread")["report"])
    return {
        row
        for row, reports in run.rows.select("row", "report").iter_rows()
        if unread & set(reports)
    }


def _shade(shade: Shade, unread: set[int]) -> Shade:
    if shade.row in unread and shade.kind in ("no_gpu_data", "reading"):
        return replace(shade, kind="reading")
    return replace(shade, kind="no_gpu_data") if shade.kind == "reading" else shade

"""Runs that are compared: one chart in a notebook or a file, and the differences as numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rlviz.levels.side_by_side import SideBySide
from rlviz.run.differences import differences
from rlviz.view.compare_mean import MeanDetail, mean_scene
from rlviz.view.compare_scene import compare_close_up, compare_scene, shared_iterations
from rlviz.view.detail import Detail
from rlviz.view.timeline import Timeline
from rlviz.view.windows import window

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlviz.levels.query import ZoomableRun
    from rlviz.run.iteration import Iteration
    from rlviz.view.held import Held
    from rlviz.view.palette import Theme
    from rlviz.view.scene import Scene
    from rlviz.view.still_canvas import Format

__all__ = ["Comparison"]

# Each has the tracks of all runs in another place: two views that differ need two.
_MOST_DETAILS = 2


class Comparison(Timeline):
    """Two or more runs below each other on one time axis.

    As a cell's last expression it shows itself; `save` works without a notebook.

    Parameters
    ----------
    runs : mapping of str to ZoomableRun
        What `rlviz.load` gives, by name; the first is what the others are compared with.
    iteration : int or "mean", optional
        Begins at second 0 in every run. Default: the first that is complete in all of them, else
        the first that is in all of them. "mean": a row per pool, its busy share averaged over the
        complete iterations of each run.

    Attributes
    ----------
    runs : dict of str to ZoomableRun
        The runs.
    iteration : int or "mean"
        The iteration that they are aligned at, by the view that moved last.
    window : (float, float)
        Start and end of what is shown, in seconds since that iteration's start.

    Raises
    ------
    ValueError
        There is one run only, or no such iteration in all of them.

    Examples
    --------
    >>> runs = {"before": rlviz.load("old/nsight"), "after": rlviz.load("new/nsight")}
    >>> comparison = rlviz.Comparison(runs)
    >>> comparison.differences.columns[:4]
    ['pool', 'number', 'unit', 'run']
    >>> comparison.save("before-after.png", iteration=5).name
    'before-after.png'
    """

    _suffixes = (".html", ".png", ".svg", ".pdf")

    def __init__(
        self, runs: Mapping[str, ZoomableRun], iteration: int | Literal["mean"] | None = None
    ) -> None:
        if len(runs) < 2:
            msg = "a comparison takes two runs or more, each with a name: before=..., after=..."
            raise ValueError(msg)
        self.runs: dict[str, ZoomableRun] = dict(runs)
        self.iteration: int | Literal["mean"]
        if iteration == "mean":
            self.iteration = "mean"
            zeros_ns = {name: _first_complete(name, run) for name, run in self.runs.items()}
            self._joined = SideBySide(self.runs, zeros_ns)
        else:
            self.iteration = _common(self.runs, iteration)
            self._joined = _joined_at(self.runs, self.iteration)
        # Of several alignments at once, as views have them.
        self._details: dict[int, Detail] = {}
        super().__init__(self._joined)

    @cached_property
    def scene(self) -> Scene:
        """What is drawn, as numbers."""
        if self.iteration == "mean":
            return mean_scene(self.runs)
        return compare_scene(self._joined, self.iteration)

    @cached_property
    def differences(self) -> pl.DataFrame:
        """Every number of the runs' summaries, columns as ``rlviz.run.differences.DIFFERENCES``.

        A row per pool, number and run: mean and spread over the run's complete iterations, and the
        difference from the first run. Null with a reason where a run cannot tell.
        """
        return differences(self.runs)

    @property
    def findings(self) -> pl.DataFrame:
        """What costs each run time: the findings of all, with the name of the run in front."""
        return pl.concat(
            [
                run.findings.select(pl.lit(name).alias("run"), pl.all())
                for name, run in self.runs.items()
            ]
        )

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        iteration: int | Literal["mean"] | None = None,
        window: tuple[float, float] | None = None,
        rows: Sequence[int] | str | None = None,
        width: float | None = None,
        height: float | None = None,
        theme: Theme = "light",
        title: str | None = None,
        caption: bool = True,
        detail: bool | float = True,
        expand: Sequence[int] | str | None = None,
    ) -> Path:
        """Write the comparison to a file, as `Timeline.save` does.

        Parameters
        ----------
        path : str or Path
            ``x.html``, ``x.png``, ``x.svg`` or ``x.pdf``.
        iteration : int or "mean", optional
            The iteration to align the runs at, and to draw; default the comparison's. A page takes
            it too: it is the one that it begins with.
        window : (float, float), optional
            The part to draw, in seconds since the iteration's start. Default: the iteration.
        rows : sequence of int or str, optional
            Numbers of rows, from the top, or a text that the label, host, pool or run of the rows
            contains.
        width, height : float, optional
            As for a timeline.
        theme, title : str, optional
            As for a timeline.
        caption : bool
            As for a timeline.
        detail : bool or float
            As for a timeline.
        expand
            Not for a comparison: rows expand into threads in the timeline of one run.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        RlvizError
            As for a timeline.
        ValueError
            There is no such iteration in all runs, or no such window, row or size.
        """
        if expand is not None:
            msg = "rows of compared runs do not expand into threads: save the timeline of one run"
            raise ValueError(msg)
        if iteration not in (None, self.iteration):
            other = Comparison(self.runs, iteration)
        else:
            other = self
        # The iteration is what the first view shows already.
        return super(Comparison, other).save(
            path,
            window=window,
            rows=rows,
            width=width,
            height=height,
            theme=theme,
            title=title,
            caption=caption,
            detail=detail,
        )

    def _still(
        self,
        kind: Format,
        window: tuple[float, float] | None,
        iteration: int | None,  # noqa: ARG002 - `save` has turned it into another comparison
        look: dict[str, Any],
    ) -> bytes:
        from rlviz.view.still import checked_window, still  # only a figure needs matplotlib

        scene = self.scene
        if self.iteration == "mean":
            return still(scene, kind, window=window, **look)
        part = checked_window(scene, window)
        drawn = compare_close_up(self._joined, scene, part)
        # The strips show all of the runs, and where in them the part is.
        drawn = replace(drawn, start_s=scene.first_s, end_s=scene.last_s)
        if look["title"] is None:
            look = {**look, "title": scene.title}
        return still(drawn, kind, window=part, **look)

    def _held(self, detail: bool | float) -> Held | None:
        return None if self.iteration == "mean" else super()._held(detail)

    @property
    def _aligned(self) -> int | None:
        return None if self.iteration == "mean" else self.iteration

    def _align(self, number: int) -> None:
        """Have another iteration begin at second 0."""
        if number == self.iteration:
            return
        self.iteration = number
        self.run = self._joined = _joined_at(self.runs, number)
        self.__dict__.pop("scene", None)

    def _detail(self, iteration: int | None = None) -> Detail:
        if self.iteration == "mean":
            return MeanDetail(self.run, self.scene)
        number = self.iteration if iteration is None else iteration
        if number not in self._details:
            while len(self._details) >= _MOST_DETAILS:
                self._details.pop(next(iter(self._details)))
            own = number == self.iteration
            joined = self._joined if own else _joined_at(self.runs, number)
            scene = self.scene if own else compare_scene(joined, number)
            self._details[number] = Detail(joined, scene)
        return self._details[number]

    def _moved(self, start_s: float, end_s: float, iteration: int | None = None) -> None:
        if iteration is not None:
            self._align(iteration)
        super()._moved(start_s, end_s)

    def _display_rich(self) -> None:
        if self.iteration != "mean":
            super()._display_rich()
            return
        from IPython import display

        from rlviz.view.rich import rich_output
        from rlviz.view.still import still  # only a figure needs matplotlib

        show: Callable[..., None] = display.display
        show(rich_output(None, self.scene, still(self.scene, "png"), self._key), raw=True)

    def _iteration(self, number: int) -> tuple[float, float]:
        if self.iteration == "mean":
            msg = f"this is the mean iteration: rlviz.compare(..., iteration={number}) shows one"
            raise ValueError(msg)
        self._align(_common(self.runs, number))
        return window(self.scene.start_s, self.scene.end_s)

    def __repr__(self) -> str:
        names = ", ".join(self.runs)
        return f"Comparison({names}; iteration {self.iteration}, {len(self.scene.rows)} rows)"


def _joined_at(runs: Mapping[str, ZoomableRun], number: int) -> SideBySide:
    """Lay runs below each other, an iteration of each at second 0."""
    return SideBySide(runs, {name: _by_number(run)[number].start_ns for name, run in runs.items()})


def _by_number(run: ZoomableRun) -> dict[int, Iteration]:
    return {iteration.number: iteration for iteration in run.story.iterations}


def _first_complete(name: str, run: ZoomableRun) -> int:
    for iteration in run.story.iterations:
        if iteration.complete:
            return iteration.start_ns
    msg = f"no complete iteration in {name!r}, so it has no mean"
    raise ValueError(msg)


def _common(runs: Mapping[str, ZoomableRun], wanted: int | None) -> int:
    """Give the iteration to align runs at."""
    found = {name: _by_number(run) for name, run in runs.items()}
    for name, own in found.items():
        if not own:
            msg = f"no iteration was recognised in {name!r}, so nothing can be aligned with it"
            raise ValueError(msg)
    common = shared_iterations(runs)
    held = "; ".join(f"{name!r} has {min(own)} to {max(own)}" for name, own in found.items())
    if not common:
        msg = f"the runs have no iteration in common: {held}"
        raise ValueError(msg)
    if wanted is None:
        complete = [n for n in common if all(own[n].complete for own in found.values())]
        return (complete or common)[0]
    if wanted not in common:
        msg = f"iteration {wanted} is not in every run: {held}"
        raise ValueError(msg)
    return wanted

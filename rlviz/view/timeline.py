"""The timeline of a run: in a notebook, or as a file."""

from __future__ import annotations

import math
import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlviz.errors import RlvizError
from rlviz.view.compose import compose
from rlviz.view.figure import limits, window
from rlviz.view.page import page

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlviz.run.run import Run
    from rlviz.view.scene import Scene
    from rlviz.view.widget import ChartWidget

__all__ = ["Timeline"]

_WRITERS = {".html": page}


class Timeline:
    """One timeline of a run.

    As a cell's last expression it shows itself; `save` works without a notebook.

    Parameters
    ----------
    run : Run
        What `rlviz.load` gives.

    Attributes
    ----------
    run : Run
        The run.
    window : (float, float)
        Start and end in seconds since the run's start of what is shown, by the view that moved
        last.

    Examples
    --------
    >>> timeline = rlviz.Timeline(rlviz.load("reports"))  # doctest: +SKIP
    >>> timeline.zoom(start_s=30, end_s=45)  # doctest: +SKIP
    >>> timeline.save("run.html")  # doctest: +SKIP
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._window: tuple[float, float] | None = None
        self._shown_in: int | None = None

    @cached_property
    def scene(self) -> Scene:
        """What is drawn, as numbers."""
        return compose(self.run)

    @property
    def window(self) -> tuple[float, float]:
        """Start and end of what is shown, in seconds since the run's start."""
        return self._window or window(self.scene.start_s, self.scene.end_s)

    def zoom(
        self,
        start_s: float | None = None,
        end_s: float | None = None,
        *,
        iteration: int | None = None,
    ) -> None:
        """Move every view to a window; without arguments, to the first view.

        Parameters
        ----------
        start_s, end_s : float, optional
            Seconds since the run's start; one that is left out stays as it is.
        iteration : int, optional
            The iteration to show instead.

        Raises
        ------
        ValueError
            The window has no width, or there is no such iteration.
        """
        if iteration is not None:
            if start_s is not None or end_s is not None:
                msg = "zoom takes an iteration, or start_s and end_s, not both"
                raise ValueError(msg)
            start, end = self._iteration(iteration)
        elif start_s is None and end_s is None:
            start, end = window(self.scene.start_s, self.scene.end_s)
        else:
            start = self.window[0] if start_s is None else float(start_s)
            end = self.window[1] if end_s is None else float(end_s)
        if not (math.isfinite(start) and math.isfinite(end) and start < end):
            msg = f"the window from {start:g} s to {end:g} s has no width"
            raise ValueError(msg)
        self._window = _inside(start, end, *limits(self.scene))
        if "_widget" in self.__dict__:
            self._widget.move(*self._window)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the timeline to a file; its suffix says what kind.

        Parameters
        ----------
        path : str or Path
            ``x.html``: the whole run as one page that opens offline and zooms without a kernel.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        RlvizError
            The suffix is not supported, or the folder cannot be written to; a file that was there
            is then as it was.
        """
        path = Path(path).expanduser()
        write = _WRITERS.get(path.suffix.lower())
        if write is None:
            raise RlvizError(
                path,
                f"cannot save as {path.suffix or 'a file without a suffix'!s}.",
                f"Supported: {', '.join(_WRITERS)}.",
            )
        _replace(path, write(self.scene))
        return path

    def _show(self) -> None:
        """Display the timeline now, once in this cell; outside a notebook, say what to do."""
        cell = _running_cell()
        if cell is None:
            print(
                f"{self!r}: charts are shown in a notebook; "
                'timeline.save("timeline.html") writes one that opens in any browser.'
            )
            return
        self._display()
        self._shown_in = cell

    def _ipython_display_(self) -> None:
        cell = _running_cell()
        if cell is None:
            print(repr(self))  # what a terminal shows of an object
        elif cell != self._shown_in:
            self._display()

    def _display(self) -> None:
        from IPython import display

        show: Callable[..., None] = display.display
        show(self._widget)

    @cached_property
    def _widget(self) -> ChartWidget:
        from rlviz.view.widget import ChartWidget  # only a notebook needs ipywidgets

        widget = ChartWidget(self.scene, self._moved, repr(self))
        if self._window is not None:
            widget.move(*self._window)
        return widget

    def _moved(self, start_s: float, end_s: float) -> None:
        self._window = start_s, end_s

    def _iteration(self, number: int) -> tuple[float, float]:
        known = {found: (start, end) for found, start, end, _ in self.scene.iterations}
        if number in known:
            return known[number]
        if not known:
            msg = "no iteration was recognised in this run"
        else:
            msg = f"no iteration {number}: there are {min(known)} to {max(known)}"
        raise ValueError(msg)

    def __repr__(self) -> str:
        scene = self.scene
        reports = len(self.run.reports)
        length = scene.end_s - scene.start_s
        return (
            f"Timeline({_count(len(scene.rows), 'row')}, {_count(reports, 'report')}, "
            f"{length:.1f} s)"
        )


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _inside(start: float, end: float, first: float, last: float) -> tuple[float, float]:
    """Move a window into the limits of panning, and cut it where it is wider than they are."""
    span = min(end - start, last - first)
    start = min(max(start, first), last - span)
    return start, start + span


def _running_cell() -> int | None:
    """Give the number of the running cell; None where no notebook can display a widget."""
    ipython: Any = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    count: int = shell.execution_count
    return count


def _replace(path: Path, text: str) -> None:
    """Write `text` to `path` whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RlvizError(path, f"cannot be written: {reason}.") from error
    finally:
        beside.unlink(missing_ok=True)

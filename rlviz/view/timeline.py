"""The timeline of a run: in a notebook, or as a file."""

from __future__ import annotations

import math
import secrets
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlviz.errors import RlvizError
from rlviz.out.perfetto import write_trace
from rlviz.run.words import counted
from rlviz.view import cells
from rlviz.view.compose import compose
from rlviz.view.detail import Detail
from rlviz.view.held import DEFAULT_MB, hold
from rlviz.view.held_threads import hold_threads
from rlviz.view.page import page
from rlviz.view.payload import notebook_payload
from rlviz.view.threads import lanes_of
from rlviz.view.windows import limits, window
from rlviz.whole import whole_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import polars as pl

    from rlviz.levels.query import ZoomableRun
    from rlviz.view.controls import Panel
    from rlviz.view.held import Held
    from rlviz.view.palette import Theme
    from rlviz.view.scene import Scene
    from rlviz.view.still_canvas import Format
    from rlviz.view.widget import ChartWidget

__all__ = ["Timeline"]

_FIGURES: dict[str, Format] = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
_TRACE = ".pftrace"
# What `save` is given for a page: it holds the whole run, and its reader chooses the rest.
_PAGE = {"theme": "light", "caption": True}


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
    >>> timeline = rlviz.Timeline(rlviz.load("demo-reports"))
    >>> timeline.zoom(start_s=30, end_s=45)
    >>> timeline.save("run.html").name
    'run.html'
    """

    run: ZoomableRun
    _suffixes: tuple[str, ...] = (".html", *_FIGURES, _TRACE)

    def __init__(self, run: ZoomableRun) -> None:
        self.run = run
        self._window: tuple[float, float] | None = None
        self._shown_in: int | None = None
        self._detail_made: Detail | None = None

    @property
    def _aligned(self) -> int | None:
        """The iteration that begins at second 0, where it could be another one."""
        return None

    @cached_property
    def scene(self) -> Scene:
        """What is drawn, as numbers."""
        return compose(self.run)

    @property
    def window(self) -> tuple[float, float]:
        """Start and end of what is shown, in seconds since the run's start."""
        return self._window or window(self.scene.start_s, self.scene.end_s)

    @property
    def findings(self) -> pl.DataFrame:
        """What costs the run time, worst first: ``timeline.run.findings``."""
        return self.run.findings

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
            self._widget.move(*self._window, self._aligned)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        iteration: int | None = None,
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
        """Write the timeline to a file; its suffix says what kind.

        Parameters
        ----------
        path : str or Path
            ``x.html``: the whole run as one page that opens offline and zooms without a kernel;
            of the options it takes `detail` and `expand`. ``x.png``, ``.svg``, ``.pdf``: a figure.
            ``x.pftrace``: the whole run for Perfetto, every event; it takes no options.
        iteration : int, optional
            The iteration to draw, with its numbers.
        window : (float, float), optional
            The part to draw instead, in seconds since the run's start: `timeline.window` is what
            is on the screen now. Default: the whole run.
        rows : sequence of int or str, optional
            Numbers of the rows to draw, as in ``run.rows``, or a text that their label, host or
            pool contains. Default: all.
        width, height : float, optional
            Inches. Default: 12, which a pull request shows well, and as high as the rows need. A
            paper's column is 85 mm, ``85 / 25.4``: letters and labels adapt.
        theme : {"light", "dark", "print"}
            Colours of surfaces and letters.
        title : str, optional
            Instead of the run's; "" for none.
        caption : bool
            Whether to tell numbers, alignment and notes.
        detail : bool or float
            What a page holds beside its first view: every event and range, up to 6 MB of them
            (True), up to so many MB, or none (False). Where they are more, the page says so.
        expand : sequence of int or str, optional
            Rows to show with their threads, named as for `rows`; in a page they can be closed and
            opened again, others cannot. Default: those that are open in the view.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        RlvizError
            The suffix is not supported, or the folder cannot be written to; a file that was there
            is then as it was.
        ValueError
            There is no such iteration, window, row or size.

        Examples
        --------
        >>> rlviz.Timeline(rlviz.load("demo-reports")).save("step-4.svg", iteration=4).name
        'step-4.svg'
        """
        path = Path(path).expanduser()
        suffix = path.suffix.lower()
        if suffix not in self._suffixes:
            raise RlvizError(
                path,
                f"cannot save as {path.suffix or 'a file without a suffix'!s}.",
                f"Supported: {', '.join(self._suffixes)}.",
            )
        look: dict[str, Any] = {"rows": rows, "width": width, "height": height, "title": title}
        look |= {"theme": theme, "caption": caption}
        if suffix in (".html", _TRACE):
            given = {**look, "iteration": iteration, "window": window}
            given |= {"expand": expand} if suffix == _TRACE else {}
            _refuse(path, [name for name, one in given.items() if one != _PAGE.get(name)])
        if suffix != ".html" and detail is not True:
            msg = f"{path.name}: only a page takes detail"
            raise ValueError(msg)
        with whole_file(path) as file:
            if suffix == _TRACE:
                write_trace(self.run, file.write)
            elif suffix == ".html":
                threads = hold_threads(self.run, self.scene, self._expanded(expand), detail)
                file.write(page(self.scene, held=self._held(detail), threads=threads).encode())
            else:
                look["threads"] = lanes_of(self.run, self.scene, self._expanded(expand))
                file.write(self._still(_FIGURES[suffix], window, iteration, look))
        return path

    def _held(self, detail: bool | float) -> Held | None:
        if detail is False:
            return None
        return hold(self.run, self.scene, DEFAULT_MB if detail is True else detail)

    def _expanded(self, expand: Sequence[int] | str | None) -> Sequence[int] | str:
        """Give the rows to show with their threads: those asked for, else those of the view."""
        if expand is not None:
            return expand
        return self._widget.expanded if "_widget" in self.__dict__ else ()

    def _still(
        self,
        kind: Format,
        window: tuple[float, float] | None,
        iteration: int | None,
        look: dict[str, Any],
    ) -> bytes:
        from rlviz.view.close_up import close_up
        from rlviz.view.still import checked_window, still  # only a figure needs matplotlib

        if iteration is not None:
            if window is not None:
                msg = "save takes an iteration or a window, not both"
                raise ValueError(msg)
            window = self._iteration(iteration)
        scene = self.scene
        whole = checked_window(scene, None)
        part = checked_window(scene, window)
        if part == whole and iteration is None:
            return still(scene, kind, **look)
        return still(close_up(self.run, scene, part, iteration), kind, window=part, **look)

    def _renew(self, run: ZoomableRun, scene: Scene | None = None) -> None:
        """Show another state of the run in every view; `scene` is what its chart shows, if known.

        A view that was moved stays where it is.
        """
        self.run = run
        self._detail_made = None
        self.__dict__.pop("scene", None)
        if scene is not None:
            self.__dict__["scene"] = scene
        if "_widget" in self.__dict__:
            self._widget.renew(self.scene, notebook_payload(self.run, self.scene))
        if "_panel" in self.__dict__:
            self._panel.renew(self.scene)

    def _begin(self) -> None:
        """Display the chart of a run that is still being read; `_display_kept` is for its end."""
        self._shown_in = cells.running_cell()
        self._display_chart()

    def _show(self, *, static: bool = False) -> None:
        """Display the timeline now, once in this cell; outside a notebook, say what to do."""
        cell = cells.running_cell()
        if cell is None:
            print(
                f"{self!r}: charts are shown in a notebook; "
                'timeline.save("timeline.html") writes one that opens in any browser.'
            )
            return
        if static:
            self._display_rich()
        else:
            self._display()
        self._shown_in = cell

    def _ipython_display_(self) -> None:
        cell = cells.running_cell()
        if cell is None:
            print(repr(self))  # what a terminal shows of an object
        elif cell != self._shown_in:
            self._display()

    def _display(self) -> None:
        self._display_chart()
        # After the chart is on its way: this one takes a while, and is for later readers.
        self._display_kept()

    def _display_chart(self) -> None:
        from IPython import display

        show: Callable[..., None] = display.display
        with self._widget.showing():
            show(self._panel)

    def _display_kept(self) -> None:
        """Display what stands in for the chart in a saved notebook; say so where it fails."""
        try:
            self._display_rich()
        except Exception as error:
            warnings.warn(
                f"the saved notebook will hold no figure of this chart: {error!r}", stacklevel=2
            )

    def _display_rich(self) -> None:
        from IPython import display

        from rlviz.view.rich import rich_output

        look: dict[str, Any] = {"rows": None, "width": None, "height": None, "title": None}
        still = self._still("png", None, None, look | _PAGE)
        show: Callable[..., None] = display.display
        show(rich_output(self.run, self.scene, still, self._key), raw=True)

    @cached_property
    def _key(self) -> str:
        return secrets.token_hex(8)

    @cached_property
    def _widget(self) -> ChartWidget:
        from rlviz.view.widget import ChartWidget  # only a notebook needs ipywidgets

        drawn = notebook_payload(self.run, self.scene)
        widget = ChartWidget(self.scene, self._moved, self._detail, repr(self), self._key, drawn)
        if self._window is not None:
            widget.move(*self._window, self._aligned)
        return widget

    @cached_property
    def _panel(self) -> Panel:
        from rlviz.view.controls import Panel  # only a notebook needs ipywidgets

        return Panel(self.scene, self._widget)

    def _detail(self) -> Detail:
        """Give the detail of the run, made when a view first asks for it."""
        if self._detail_made is None:
            self._detail_made = Detail(self.run, self.scene)
        return self._detail_made

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
            f"Timeline({counted(len(scene.rows), 'row')}, {counted(reports, 'report')}, "
            f"{length:.1f} s)"
        )


def _inside(start: float, end: float, first: float, last: float) -> tuple[float, float]:
    """Move a window into the limits of panning, and cut it where it is wider than they are."""
    span = min(end - start, last - first)
    start = min(max(start, first), last - span)
    return start, start + span


def _refuse(path: Path, names: list[str]) -> None:
    if names:
        kind = "trace" if path.suffix.lower() == _TRACE else "page"
        msg = f"{path.name}: a {kind} shows the whole run and takes no {', '.join(names)}"
        raise ValueError(msg)

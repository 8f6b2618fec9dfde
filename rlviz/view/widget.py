"""The bridge between a chart in a notebook and the kernel."""

from __future__ import annotations

import gzip
import json
import weakref
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from rlviz.errors import RlvizError
from rlviz.view.asked import (
    bucket_asked,
    expanded_told,
    found_told,
    place_told,
    row_asked,
    search_asked,
    span_asked,
    window_asked,
)
from rlviz.view.lens import lens_style, loader_js
from rlviz.view.libraries import LIBRARIES, claim_sending, packed_libraries, versions
from rlviz.view.payload import payload
from rlviz.view.ready import ready_soon
from rlviz.view.windows import window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rlviz.view.detail import Detail
    from rlviz.view.payload import Payload
    from rlviz.view.scene import Scene

__all__ = ["ChartWidget"]

# What draws a chart.
FIGURE = ("item", "facts", "levels", "buckets")


class ChartWidget(anywidget.AnyWidget):
    """A scene in a notebook: answers what its views ask for, and tells where they went.

    Nothing large is a trait: traits are copied into every saved notebook.

    Parameters
    ----------
    scene : Scene
        What to draw.
    moved : callable
        Called with start and end in seconds when a person has moved a view; held weakly, so that a
        widget, which lives as long as the kernel, keeps no run alive. Where the scene has
        alignments, a third argument is the iteration that begins at second 0.
    detail : callable
        Gives the `Detail` of the scene's run; held weakly, as `moved`. Where the scene has
        alignments it takes the iteration.
    text : str
        What stands where the chart cannot be drawn.
    key : str
        Of the outputs that stand in for the chart: its views hide them while they are live.
    drawn : Payload, optional
        The scene as it travels, if it is there already.
    """

    _esm = loader_js()
    _css = lens_style()
    _versions: Any = traitlets.Dict().tag(sync=True)
    # Number of the move, start and end in seconds, and of runs that are compared the iteration that
    # begins at second 0: state, so that a view that opens later follows.
    _zoom: Any = traitlets.List().tag(sync=True)
    # Whether the chart is on its way unasked: a view then waits for it instead of asking.
    _coming: Any = traitlets.Bool(default_value=False).tag(sync=True)
    _still: Any = traitlets.Unicode().tag(sync=True)
    # What was chosen: colours, search, rows, domains, and a step to another match.
    _controls: Any = traitlets.Dict().tag(sync=True)
    # What became of it, for the controls: the window of the view that moved last, and matches.
    _shown: Any = traitlets.Tuple()
    _aligned: Any = traitlets.Int(allow_none=True, default_value=None)
    _found: Any = traitlets.Unicode()

    def __init__(
        self,
        scene: Scene,
        moved: Callable[..., None],
        detail: Callable[..., Detail],
        text: str,
        key: str = "",
        drawn: Payload | None = None,
    ) -> None:
        self._text = text
        self._moved = weakref.WeakMethod(moved)
        self._detail = weakref.WeakMethod(detail)
        self._pushed = False
        # Rows that are expanded into threads, by the view that changed last.
        self.expanded: tuple[int, ...] = ()
        self._parts: dict[str, Callable[[], bytes]] = packed_libraries()
        self._draw(scene, drawn)
        super().__init__(_versions=versions(), _zoom=[], _still=key)
        self._home = self._shown = window(scene.start_s, scene.end_s)
        self._aligned = _aligned_of(scene)
        self.on_msg(_received)

    def _draw(self, scene: Scene, drawn: Payload | None) -> None:
        drawn = drawn or payload(scene, toolbar=False)
        levels = _Levels(self._detail, _aligned_of(scene))
        self._numbers = {alignment.iteration[0] for alignment in scene.alignments}
        self._parts |= {
            "item": _constant(gzip.compress(drawn.item.encode(), mtime=0)),
            "facts": _constant(gzip.compress(drawn.facts.encode(), mtime=0)),
            "levels": lambda: levels.packed[0],
            "buckets": lambda: levels.packed[1],
        }

    def __repr__(self) -> str:
        return self._text

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Send the chart along with what displays it: its cell may keep the kernel busy for long.

        Only a view that was displayed outside of this, or after the page was loaded anew, asks.
        """
        if self._pushed:
            yield
            return
        self._pushed = self._coming = True
        try:
            yield
            self._push((*LIBRARIES, *FIGURE) if claim_sending() else FIGURE)
            ready_soon(self._detail)
        finally:
            self._coming = False

    def renew(self, scene: Scene, drawn: Payload | None = None) -> None:
        """Draw another scene of the same run in all views; each keeps its window and its choices.

        Parameters
        ----------
        scene : Scene
            What to draw from now on. The `Detail` that ``detail`` gives must be of it.
        drawn : Payload, optional
            The scene as it travels, if it is there already.
        """
        self._draw(scene, drawn)
        if self._shown == self._home:
            self._shown = window(scene.start_s, scene.end_s)
        self._home = window(scene.start_s, scene.end_s)
        self._push(FIGURE)

    def _push(self, parts: Sequence[str]) -> None:
        self.send({"kind": "chart", "parts": list(parts)}, [self._parts[part]() for part in parts])

    def move(self, start_s: float, end_s: float, iteration: int | None = None) -> None:
        """Move every view of this widget, those that come later included.

        Parameters
        ----------
        start_s, end_s : float
            What to show.
        iteration : int, optional
            What is to begin at second 0 then, where the scene has alignments.
        """
        number = self._zoom[0] + 1 if self._zoom else 1
        self._zoom = [number, start_s, end_s, *([] if iteration is None else [iteration])]
        self._follow(start_s, end_s, iteration)

    def _follow(self, start_s: float, end_s: float, iteration: int | None) -> None:
        self._aligned = iteration
        self._shown = start_s, end_s


class _Levels:
    """The levels that come with a chart, packed when they are first sent."""

    def __init__(
        self, detail: weakref.WeakMethod[Callable[..., Detail]], iteration: int | None
    ) -> None:
        self._detail = detail
        self._iteration = iteration

    @cached_property
    def packed(self) -> tuple[bytes, bytes]:
        made = _given(self._detail, self._iteration)
        facts, buckets = made.levels() if made is not None else (None, b"")
        return gzip.compress(json.dumps(facts).encode(), mtime=0), gzip.compress(
            buckets, 1, mtime=0
        )


def _constant(packed: bytes) -> Callable[[], bytes]:
    return lambda: packed


def _received(widget: ChartWidget, message: dict[str, Any], _buffers: list[bytes]) -> None:
    """Answer a view; what it sends is checked, since any script of the page could have sent it."""
    kind = message.get("kind")
    answer = {"view": message.get("view"), "sequence": message.get("sequence")}
    if kind == "ask":
        parts = message.get("parts")
        if not isinstance(parts, list) or not all(part in list(widget._parts) for part in parts):
            widget.send({**answer, "kind": "refusal", "problem": "unknown part"})
            return
        widget.send({**answer, "kind": "answer"}, [widget._parts[part]() for part in parts])
    elif kind in ("detail", "bucket", "places", "kernels", "busy", "threads", "lanes"):
        try:
            # A row's reports may take a while to be read.
            progress = {**answer, "kind": "progress"}
            facts, columns = _asked(
                _detail_of(widget, message),
                message,
                lambda calls: widget.send({**progress, "calls": calls}),
            )
        except Exception as error:
            # A view that is not answered waits for ever.
            known = isinstance(error, ValueError | RlvizError)
            problem = str(error) if known else type(error).__name__
            widget.send({**answer, "kind": "refusal", "problem": problem})
            if not known:
                raise
        else:
            widget.send({**answer, "kind": "answer", **facts}, columns)
    else:
        _told(widget, kind, message)


def _told(widget: ChartWidget, kind: object, message: dict[str, Any]) -> None:
    """Note what a view tells of itself; what makes no sense is passed over."""
    place = None
    with suppress(ValueError):
        if kind == "window":
            place = place_told(message)
        elif kind == "expanded":
            widget.expanded = expanded_told(message)
        elif kind == "found":
            widget._found = found_told(message)
    if place is not None:
        _went(widget, message, place)


def _went(widget: ChartWidget, message: dict[str, Any], place: tuple[float, float]) -> None:
    """Note where a person has moved a view, unless the kernel has moved it since."""
    current = not widget._zoom or message.get("after") == widget._zoom[0]
    moved = widget._moved()
    if moved is not None and current:
        iteration = _iteration(widget, message)
        moved(*place, *(() if iteration is None else (iteration,)))
        widget._follow(*place, iteration)


def _asked(
    detail: Detail, message: dict[str, Any], tell: Callable[[int], None]
) -> tuple[dict[str, Any], list[bytes]]:
    if message["kind"] == "bucket":
        return detail.bucket(bucket_asked(message)), []
    if message["kind"] == "places":
        return detail.places(search_asked(message))
    if message["kind"] == "kernels":
        return detail.kernels(span_asked(message)), []
    if message["kind"] == "busy":
        return detail.busy(span_asked(message)), []
    if message["kind"] == "threads":
        return {"told": detail.threads.of(row_asked(message), tell).told}, []
    if message["kind"] == "lanes":
        return detail.threads.answer(window_asked(message))
    return detail.answer(window_asked(message))


def _detail_of(widget: ChartWidget, message: dict[str, Any]) -> Detail:
    made = _given(widget._detail, _iteration(widget, message))
    if made is None:
        msg = "its timeline is gone"
        raise ValueError(msg)
    return made


def _given(
    detail: weakref.WeakMethod[Callable[..., Detail]], iteration: int | None
) -> Detail | None:
    give = detail()
    if give is None:
        return None
    return give() if iteration is None else give(iteration)


def _aligned_of(scene: Scene) -> int | None:
    """Give the iteration that begins at second 0, where it could be another one."""
    return scene.iterations[0][0] if scene.alignments else None


def _iteration(widget: ChartWidget, message: dict[str, Any]) -> int | None:
    """Give the iteration that a view is aligned at, if there are such."""
    number = message.get("iteration")
    known = type(number) is int and number in widget._numbers
    return number if known else widget._aligned

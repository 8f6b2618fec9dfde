"""The bridge between a chart in a notebook and the kernel."""

from __future__ import annotations

import gzip
import re
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from rlviz.view.bokehjs import bokeh_js, bokeh_version
from rlviz.view.detail import window_asked
from rlviz.view.figure import window
from rlviz.view.lens import lens_js, lens_style, loader_js, version
from rlviz.view.payload import payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlviz.view.detail import Detail
    from rlviz.view.scene import Scene

__all__ = ["ChartWidget"]


_COUNT = re.compile(r"(none|\d+( of \d+)?)?")


@cache
def _packed_bokeh() -> bytes:
    return gzip.compress(bokeh_js().encode(), mtime=0)


@cache
def _packed_lens() -> bytes:
    return gzip.compress(lens_js().encode(), mtime=0)


class ChartWidget(anywidget.AnyWidget):
    """A scene in a notebook: answers what its views ask for, and tells where they went.

    Nothing large is a trait: traits are copied into every saved notebook.

    Parameters
    ----------
    scene : Scene
        What to draw.
    moved : callable
        Called with start and end in seconds when a person has moved a view; held weakly, so that a
        widget, which lives as long as the kernel, keeps no run alive.
    detail : callable
        Gives the `Detail` of the scene's run; held weakly, as `moved`.
    text : str
        What stands where the chart cannot be drawn.
    key : str
        Of the outputs that stand in for the chart: its views hide them while they are live.
    """

    _esm = loader_js()
    _css = lens_style()
    _versions: Any = traitlets.Dict().tag(sync=True)
    # Number of the move, start and end in seconds: state, so that a view that opens later follows.
    _zoom: Any = traitlets.List().tag(sync=True)
    _still: Any = traitlets.Unicode().tag(sync=True)
    # What was chosen: colours, search, rows, domains, and a step to another match.
    _controls: Any = traitlets.Dict().tag(sync=True)
    # What became of it, for the controls: the window of the view that moved last, and matches.
    _shown: Any = traitlets.Tuple()
    _found: Any = traitlets.Unicode()

    def __init__(
        self,
        scene: Scene,
        moved: Callable[[float, float], None],
        detail: Callable[[], Detail],
        text: str,
        key: str = "",
    ) -> None:
        self._text = text
        self._moved = weakref.WeakMethod(moved)
        self._detail = weakref.WeakMethod(detail)
        drawn = payload(scene, toolbar=False)
        self._parts: dict[str, Callable[[], bytes]] = {
            "bokeh": _packed_bokeh,
            "lens": _packed_lens,
            "item": _constant(gzip.compress(drawn.item.encode(), mtime=0)),
            "facts": _constant(gzip.compress(drawn.facts.encode(), mtime=0)),
        }
        versions = {"bokeh": bokeh_version(), "lens": version(lens_js())}
        super().__init__(_versions=versions, _zoom=[], _still=key)
        self._shown = window(scene.start_s, scene.end_s)
        self.on_msg(_received)

    def __repr__(self) -> str:
        return self._text

    def move(self, start_s: float, end_s: float) -> None:
        """Move every view of this widget, those that come later included."""
        number = self._zoom[0] + 1 if self._zoom else 1
        self._zoom = [number, start_s, end_s]
        self._shown = start_s, end_s


def _constant(packed: bytes) -> Callable[[], bytes]:
    return lambda: packed


def _received(widget: ChartWidget, message: dict[str, Any], _buffers: list[bytes]) -> None:
    """Answer a view; what it sends is checked, since any script of the page could have sent it."""
    kind = message.get("kind")
    answer = {"view": message.get("view"), "sequence": message.get("sequence")}
    if kind == "ask":
        parts = message.get("parts")
        if not isinstance(parts, list) or not all(part in widget._parts for part in parts):
            widget.send({**answer, "kind": "refusal", "problem": "unknown part"})
            return
        widget.send({**answer, "kind": "answer"}, [widget._parts[part]() for part in parts])
    elif kind == "detail":
        try:
            facts, columns = _detail_of(widget).answer(window_asked(message))
        except Exception as error:
            # A view that is not answered waits for ever.
            problem = str(error) if isinstance(error, ValueError) else type(error).__name__
            widget.send({**answer, "kind": "refusal", "problem": problem})
            if not isinstance(error, ValueError):
                raise
        else:
            widget.send({**answer, "kind": "answer", **facts}, columns)
    elif kind == "window":
        current = not widget._zoom or message.get("after") == widget._zoom[0]
        place = _window(message)
        moved = widget._moved()
        if moved is not None and current and place is not None:
            moved(*place)
            widget._shown = place
    elif kind == "found" and _COUNT.fullmatch(str(message.get("text"))):
        widget._found = message["text"]


def _detail_of(widget: ChartWidget) -> Detail:
    give = widget._detail()
    if give is None:
        msg = "its timeline is gone"
        raise ValueError(msg)
    return give()


def _window(message: dict[str, Any]) -> tuple[float, float] | None:
    start, end = message.get("start"), message.get("end")
    if isinstance(start, int | float) and isinstance(end, int | float) and start < end:
        return float(start), float(end)
    return None

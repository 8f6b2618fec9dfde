"""The controls of a chart in a notebook: ipywidgets above it, linked to its lens both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import ipywidgets

from rlviz.view.choices import COLOR_BY, domains, roles
from rlviz.view.legible import legible, short
from rlviz.view.windows import window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from traitlets import Bunch

    from rlviz.view.scene import Scene
    from rlviz.view.widget import ChartWidget

__all__ = ["Panel"]

_Made = TypeVar("_Made", bound=ipywidgets.Widget)

_LONGEST_CHIP = 24
_LONGEST_TIP = 200
_COLORS = {"phase": "phase", "kind": "kind of work", "kernel": "kernel"}
_KEYS = (
    "In the chart: W A S D zoom and move, [ ] iterations, n N matches, 0 first view, "
    "Shift and drag measures, click a range for its kernels, k for those of the window"
)
_ALL = "all"
# Two windows that differ by less than this part of their width show the same.
_SLACK = 1e-6


class Panel(ipywidgets.VBox):  # type: ignore[misc]
    """A chart below its controls: what a notebook shows of a timeline.

    Parameters
    ----------
    scene : Scene
        What the chart draws.
    chart : ChartWidget
        The chart. The panel keeps it alive, and no run.
    """

    def __init__(self, scene: Scene, chart: ChartWidget) -> None:
        self._chart = chart
        self._quiet = False
        self._layouts: dict[str, ipywidgets.Layout] = {}
        self._wrapped = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        self._styles: dict[type, ipywidgets.Widget] = {}
        self._above = self._group(self._controls(scene))
        super().__init__([self._above, chart])
        chart.observe(self._moved, ["_shown", "_aligned"])
        chart.observe(self._counted, "_found")
        self._moved(None)

    def __repr__(self) -> str:
        return repr(self._chart)

    def renew(self, scene: Scene) -> None:
        """Make the controls fit another scene of the same run; what was chosen stays."""
        if self._fits(scene):
            self._know(scene)
            return
        chosen = self._choices()
        before = [*_below(self._above)]
        made = self._controls(scene)
        self._quiet = True
        self.color_by.value, self.search.value = chosen["color_by"], chosen["search"]
        for role, chip in zip(self._roles, self.rows, strict=True):
            chip.value = role not in chosen["hidden_roles"]
        self._quiet = False
        self.count.value = self._chart._found
        # Not the panel's own children: JupyterLab would make a new view of the chart behind them.
        self._above.children = made
        for one in before:
            one.close()
        self._moved(None)

    def _controls(self, scene: Scene) -> list[ipywidgets.Widget]:
        """Make all controls of a scene, as they are at first."""
        self._know(scene)
        made = self._made_of(scene)
        self._forget()
        return made

    def _know(self, scene: Scene) -> None:
        self._windows: dict[int | str, tuple[float, float]] = {
            _ALL: window(scene.start_s, scene.end_s)
        }
        self._iterations = _iterations(scene)
        self._windows |= {number: (start, end) for number, start, end, _ in scene.iterations}
        # Of runs that are compared, each iteration can be the one that begins at second 0.
        self._alignments = {one.iteration[0]: one for one in scene.alignments}
        self._windows |= {number: one.view for number, one in self._alignments.items()}
        self._domains = domains(scene)
        self._roles = roles(scene)
        self._offered = self._offer(scene)

    def _fits(self, scene: Scene) -> bool:
        """Tell whether there is the same to choose from: it can stay then, focus and all."""
        return self._offered == self._offer(scene)

    @staticmethod
    def _offer(scene: Scene) -> tuple[object, ...]:
        return (
            _iterations(scene),
            roles(scene),
            domains(scene),
            [scene.names[code] for code, _ in domains(scene)],
        )

    def _made_of(self, scene: Scene) -> list[ipywidgets.Widget]:
        found: list[ipywidgets.Widget] = []
        if self._iterations:
            names: list[tuple[str, int | str]] = [("all iterations", _ALL)]
            names += [
                (f"iteration {n}{' (partial)' if cut else ''}", n) for n, cut in self._iterations
            ]
            self.iteration = self._made(
                ipywidgets.Dropdown, "160px", options=names, tooltip="iteration"
            )
            self.iteration.observe(self._picked, "value")
            back = self._button("◀", "previous iteration  [", lambda: self._step(-1))
            ahead = self._button("▶", "next iteration  ]", lambda: self._step(1))
            found += [back, self.iteration, ahead]
        self.search = self._made(
            ipywidgets.Text,
            "170px",
            placeholder="search names",
            tooltip="names of ranges and kernels",
        )
        self.count = self._label("", "64px")
        self.color_by = self._made(
            ipywidgets.Dropdown,
            "120px",
            options=[(_COLORS[key], key) for key in COLOR_BY],
            tooltip="colour by",
        )
        self.rows = [self._chip(role, f"rows of {role}") for role in self._roles]
        self.domains = [
            self._chip(name := legible(scene.names[code]), f"ranges of {name}")
            for code, _ in self._domains
        ]
        for control in (self.search, self.color_by, *self.rows, *self.domains):
            control.observe(self._chosen, "value")
        found += [
            self.search,
            self._button("‹", "previous match  N", lambda: self._match(-1)),
            self._button("›", "next match  n", lambda: self._match(1)),
            self.count,
            self._group([self._label("colour by"), self.color_by]),
        ]
        if len(self.rows) > 1:
            found.append(self._group([self._label("rows of"), *self.rows]))
        if self.domains:
            found.append(self._group([self._label("ranges of"), *self.domains]))
        return [*found, self._button("reset", f"All as at first. {_KEYS}", self._reset, "64px")]

    def _made(self, kind: type[_Made], width: str, **traits: object) -> _Made:
        """Make a widget; it shares what models it can, for a notebook saves each of them."""
        if width not in self._layouts:
            self._layouts[width] = ipywidgets.Layout(width=width)
        if kind in self._styles:
            traits["style"] = self._styles[kind]
        made: Any = kind(layout=self._layouts[width], **traits)
        self._styles[kind] = made.style
        return cast("_Made", made)

    def _button(
        self, text: str, tooltip: str, pressed: Callable[[], None], width: str = "34px"
    ) -> ipywidgets.Button:
        made: ipywidgets.Button = self._made(
            ipywidgets.Button, width, description=text, tooltip=tooltip
        )
        made.on_click(lambda _: pressed())
        return made

    def _chip(self, text: str, tooltip: str) -> ipywidgets.ToggleButton:
        return self._made(
            ipywidgets.ToggleButton,
            "auto",
            value=True,
            description=short(text, _LONGEST_CHIP),
            tooltip=short(tooltip, _LONGEST_TIP),
        )

    def _group(self, members: Sequence[ipywidgets.Widget]) -> ipywidgets.Box:
        return ipywidgets.Box(members, layout=self._wrapped)

    def _label(self, text: str, width: str = "auto") -> ipywidgets.Label:
        return self._made(ipywidgets.Label, width, value=text)

    def _picked(self, change: Bunch) -> None:
        if not self._quiet and change["new"] in self._windows:
            self._show(change["new"])

    def _show(self, chosen: int | str) -> None:
        """Show an iteration or all; of runs that are compared, it begins at second 0 then."""
        aligned = chosen if chosen in self._alignments else self._chart._aligned
        self._zoom(self._whole if chosen == _ALL else self._windows[chosen], aligned)

    @property
    def _whole(self) -> tuple[float, float]:
        own = self._alignments.get(self._chart._aligned)
        return self._windows[_ALL] if own is None else own.limits

    def _step(self, by: int) -> None:
        """Show the next iteration or the one before; else the one in the middle."""
        known = [number for number in self._windows if number != _ALL]
        start, end = self._chart._shown
        shown = self._showing()
        if shown is not None:
            place = known.index(shown) + by
        elif self._alignments:
            place = known.index(self._chart._aligned)
        else:
            middle = (start + end) / 2
            inside = [i for i, n in enumerate(known) if _holds(self._windows[n], middle)]
            place = inside[0] if inside else 0 if by > 0 else len(known) - 1
        self._show(known[min(max(place, 0), len(known) - 1)])

    def _zoom(self, part: tuple[float, float], aligned: int | None) -> None:
        self._chart.move(*part, aligned)
        moved = self._chart._moved()
        if moved is not None:
            moved(*part, *(() if aligned is None else (aligned,)))

    def _match(self, by: int) -> None:
        number = self._chart._controls.get("step", [0])[0]
        self._chart._controls = {**self._chart._controls, "step": [number + 1, by]}

    def _chosen(self, _change: Bunch | None) -> None:
        if not self._quiet:
            step = self._chart._controls.get("step")
            self._chart._controls = self._choices() | ({} if step is None else {"step": step})

    def _choices(self) -> dict[str, Any]:
        pairs = zip(self._roles, self.rows, strict=True)
        shown = zip(self._domains, self.domains, strict=True)
        return {
            "color_by": self.color_by.value,
            "search": self.search.value,
            "hidden_roles": [role for role, chip in pairs if not chip.value],
            "domains": [code for (code, _), chip in shown if chip.value],
        }

    def _reset(self) -> None:
        self._forget()
        self._chosen(None)
        self._show(self._chart._aligned if self._alignments else _ALL)

    def _forget(self) -> None:
        """Take back all choices, and tell the chart once."""
        self._quiet = True
        self.color_by.value, self.search.value = COLOR_BY[0], ""
        for chip in self.rows:
            chip.value = True
        for chip, (_, shown) in zip(self.domains, self._domains, strict=True):
            chip.value = shown
        self._quiet = False

    def _moved(self, _change: Bunch | None) -> None:
        """Let the picker follow what is shown: an iteration, all, or another part."""
        if len(self._windows) == 1:
            return
        whole = _same(self._whole, self._chart._shown)
        shown = self._showing()
        self._quiet = True
        # Without a choice the list stands blank.
        self.iteration.index = 0 if whole else None
        if shown is not None:
            self.iteration.value = shown
        self._quiet = False

    def _showing(self) -> int | str | None:
        shown, aligned = self._chart._shown, self._chart._aligned
        own = [aligned] if self._alignments else [n for n in self._windows if n != _ALL]
        return next((n for n in own if _same(self._windows[n], shown)), None)

    def _counted(self, change: Bunch) -> None:
        self.count.value = change["new"]


def _iterations(scene: Scene) -> list[tuple[int, bool]]:
    """List the iterations to choose from, and whether each is partial."""
    known = [one.iteration for one in scene.alignments] or scene.iterations
    return [(number, partial) for number, _, _, partial in known]


def _below(box: ipywidgets.Box) -> Iterator[ipywidgets.Widget]:
    for one in box.children:
        if isinstance(one, ipywidgets.Box):
            yield from _below(one)
        yield one


def _same(part: tuple[float, float], other: Sequence[float]) -> bool:
    slack = (part[1] - part[0]) * _SLACK
    return abs(part[0] - other[0]) <= slack and abs(part[1] - other[1]) <= slack


def _holds(part: tuple[float, float], at: float) -> bool:
    return part[0] <= at < part[1]

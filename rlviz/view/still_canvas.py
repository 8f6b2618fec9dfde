"""Where a still figure is drawn: matplotlib in points from the top left, with a theme's colours."""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from rlviz.view.palette import SURFACE
from rlviz.view.still_text import FAMILY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rlviz.view.palette import Theme

    Float = NDArray[np.float64]
    Rectangles = tuple[Float, Float, Float, Float]

__all__ = ["Canvas", "Format", "boxes", "pixel_pt", "settings"]

Format = Literal["png", "svg", "pdf"]

# A PNG is never narrower than this: a paper's column would else be printed in coarse pixels.
_PNG_PX = 1_800
_PNG_DPI = 150
_VECTOR_PT = 0.05
# Colour, directions (1 rises to the right), and space between lines for letters of a point.
_HATCH: dict[str, tuple[str, tuple[int, ...], float]] = {
    "edge": ("boundary", (1,), 0.75),
    "no_gpu_data": ("shade", (1, -1), 1.1),
    "launch": ("alert", (1,), 0.35),
}
_SVG_FONT = f"font-family: '{FAMILY}'"

_NOT_OURS = {"backend", "backend_fallback"}
# The figure is the same whatever the reader's own matplotlib is set to.
_SETTINGS: dict[Any, Any] = {
    **{key: value for key, value in mpl.rcParamsDefault.items() if key not in _NOT_OURS},
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,
    "svg.hashsalt": "rlviz",
    "path.simplify": False,
    "text.hinting": "no_hinting",  # letters as wide as they were measured
    "font.family": [FAMILY],
}


@contextmanager
def settings() -> Iterator[None]:
    """Draw with matplotlib's own settings and ours, and leave the reader's as they are."""
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # A name may have characters that the font has not: they are drawn as boxes.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        yield


def _dots_per_inch(width_in: float, kind: Format) -> float:
    """Give the resolution of a figure; vectors have points for pixels."""
    return max(_PNG_DPI, _PNG_PX / width_in) if kind == "png" else 72.0


def pixel_pt(width_in: float, kind: Format) -> float:
    """Give the grid in points that edges lie on: a pixel's, or one too fine to be seen."""
    return 72.0 / _dots_per_inch(width_in, kind) if kind == "png" else _VECTOR_PT


def boxes(left: Float, top: Float, right: Float, bottom: Float) -> Path:
    """Make one path of many rectangles, each closed."""
    corners = np.stack(
        [
            np.column_stack([left, top]),
            np.column_stack([right, top]),
            np.column_stack([right, bottom]),
            np.column_stack([left, bottom]),
            np.column_stack([left, top]),
        ],
        axis=1,
    )
    one = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(corners.reshape(-1, 2), np.tile(np.array(one, np.uint8), len(corners)))


def _diagonals(
    left: Float, top: Float, right: Float, bottom: Float, spacing: float, direction: int
) -> Float:
    """Give the ends of the diagonals of a sheet that lie in rectangles, two points a line."""
    # A line is where y + direction * x = c; c is counted for the whole sheet, so that the lines
    # of neighbours meet.
    sides = (
        np.minimum(direction * left, direction * right),
        np.maximum(direction * left, direction * right),
    )
    first = np.ceil((top + sides[0]) / spacing).astype(np.int64)
    last = np.floor((bottom + sides[1]) / spacing).astype(np.int64)
    count = np.maximum(last - first + 1, 0)
    which = np.repeat(np.arange(len(left)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    c = (first[which] + within) * spacing
    at_top, at_bottom = (c - top[which]) * direction, (c - bottom[which]) * direction
    x0 = np.maximum(left[which], np.minimum(at_top, at_bottom))
    x1 = np.minimum(right[which], np.maximum(at_top, at_bottom))
    return np.column_stack([x0, c - direction * x0, x1, c - direction * x1]).reshape(-1, 2)


class Canvas:
    """A figure that is drawn upon in points, y downwards.

    What is drawn later lies over what was drawn before.

    Parameters
    ----------
    width, height : float
        Points.
    kind : {"png", "svg", "pdf"}
        What it becomes.
    theme : {"light", "dark", "print"}
        Colours of surfaces and ink; colours of marks are the same in all.
    """

    def __init__(self, width: float, height: float, kind: Format, theme: Theme) -> None:
        self.kind = kind
        self.surface = SURFACE[theme]
        self.figure = Figure(
            figsize=(width / 72, height / 72),
            dpi=_dots_per_inch(width / 72, kind),
            facecolor=self.surface["page"],
            edgecolor="none",
        )
        FigureCanvasAgg(self.figure)
        to_inches = Affine2D().scale(1 / 72, -1 / 72).translate(0, height / 72)
        self._transform = to_inches + self.figure.dpi_scale_trans
        self._drawn = 0

    def area(self, path: Path, color: str, *, alpha: float = 1.0) -> None:
        """Fill a path with a colour or the name of one of the theme's."""
        # Edges lie on pixels where there are any: smoothing would only leave seams.
        smooth = self.kind != "png"
        self._add(path, facecolor=self._color(color), alpha=alpha, antialiased=smooth, snap=False)

    def hatch(self, rectangles: Rectangles, kind: str, letter: float) -> None:
        """Fill rectangles with the lines of a kind of shade; closer where letters are smaller."""
        # Not matplotlib's hatches: those are a tile of one size, and some viewers of PDF lack them.
        color, directions, spacing = _HATCH[kind]
        parts = [_diagonals(*rectangles, spacing * letter, d) for d in directions]
        ends = np.concatenate(parts)
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO], np.uint8), len(ends) // 2)
        self._add(
            Path(ends, codes),
            facecolor="none",
            edgecolor=self._color(color),
            linewidth=0.06 * letter,
            capstyle="butt",
            snap=False,
        )

    def lines(
        self,
        x: tuple[Float, Float],
        y: tuple[Float, Float],
        color: str,
        width: float,
        *,
        dashes: tuple[float, float] | None = None,
        alpha: float = 1.0,
    ) -> None:
        """Draw straight lines from ``x[0], y[0]`` to ``x[1], y[1]``."""
        ends = np.column_stack([x[0], y[0], x[1], y[1]]).reshape(-1, 2)
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO], np.uint8), len(ends) // 2)
        self._add(
            Path(ends, codes),
            facecolor="none",
            edgecolor=self._color(color),
            linewidth=width,
            linestyle=(0, dashes) if dashes else "solid",
            capstyle="butt" if dashes else "projecting",
            alpha=alpha,
            snap=True,
        )

    def frame(
        self, left: float, top: float, right: float, bottom: float, color: str, width: float
    ) -> None:
        """Draw the outline of a rectangle."""
        x = np.array([left, left, left, right]), np.array([right, right, left, right])
        y = np.array([top, bottom, top, top]), np.array([top, bottom, bottom, bottom])
        self.lines(x, y, color, width)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        color: str,
        *,
        align: Literal["left", "center", "right"] = "left",
        bold: bool = False,
        upwards: bool = False,
    ) -> None:
        """Write one line; `y` is its baseline, or the middle of one that is written upwards."""
        if not text:
            return
        made = Text(
            x,
            y,
            text,
            color=self._color(color),
            fontproperties=FontProperties(
                family=FAMILY, size=size, weight="bold" if bold else "normal"
            ),
            horizontalalignment=align,
            verticalalignment="center" if upwards else "baseline",
            rotation=90 if upwards else 0,
            parse_math=False,  # a name may hold "$"
            transform=self._transform,
            zorder=self._next(),
        )
        self.figure.add_artist(made)

    def written(self, title: str, description: str) -> bytes:
        """Give the file: no dates, no random identifiers."""
        file = io.BytesIO()
        facts: dict[str, str | None] = {"Title": title}
        if self.kind == "png":
            facts |= {"Description": description, "Software": "rlviz"}
        elif self.kind == "svg":
            facts |= {"Description": description, "Creator": "rlviz", "Date": None}
        else:
            facts |= {"Subject": description, "Creator": "rlviz", "CreationDate": None}
        self.figure.savefig(file, format=self.kind, dpi=self.figure.dpi, metadata=_known(facts))
        data = file.getvalue()
        if self.kind == "svg":
            # Who has not the font gets another one without serifs, and no narrower line.
            others = f"{_SVG_FONT}, Verdana, Arial, sans-serif"
            data = data.replace(_SVG_FONT.encode(), others.encode())
        return data

    def _add(self, path: Path, **style: Any) -> None:  # noqa: ANN401 - matplotlib's own
        if np.size(path.vertices) == 0:
            return
        if self.kind != "png":  # more digits would only make the file larger
            path = Path(np.round(np.asarray(path.vertices, float), 2), path.codes)
        look = {"edgecolor": "none", "linewidth": 0.0, **style}
        made = PathPatch(path, transform=self._transform, zorder=self._next(), **look)
        self.figure.add_artist(made)

    def mixed(self, color: str, ink: float) -> str:
        """Give a colour with a share of the theme's ink in it."""
        one, other = to_rgb(color), to_rgb(self.surface["ink"])
        red, green, blue = ((1 - ink) * a + ink * b for a, b in zip(one, other, strict=True))
        return to_hex((red, green, blue))

    def _next(self) -> int:
        self._drawn += 1
        return self._drawn

    def _color(self, name: str) -> str:
        return self.surface.get(name, name)


def _known(facts: Mapping[str, str | None]) -> dict[str, str | None]:
    """Leave out what is empty, but not what is None: that says that it must not be written."""
    return {key: value for key, value in facts.items() if value != ""}

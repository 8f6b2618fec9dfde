"""What to draw, in no library's words.

A `Scene` is the whole chart as numbers: Bokeh, matplotlib and the page only draw it. Times are
float64 seconds from the run's start. Heights are in row units, downwards from 0 at the top; a
row's band is about 0.8 high. Names and colours are codes into tables, so that columns stay small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rlviz.view.numbers import Numbers
    from rlviz.view.trust import Trust

    Float = NDArray[np.float64]
    Code = NDArray[np.int32]
    Flag = NDArray[np.bool_]

__all__ = [
    "Alignment",
    "Bars",
    "Bracket",
    "Bubble",
    "Heading",
    "Line",
    "Overlays",
    "Overview",
    "PoolBand",
    "Remark",
    "Row",
    "Scene",
    "Shade",
]

PoolName = Literal["generation", "training", "colocated", "other"]


@dataclass(frozen=True)
class Row:
    """A row of the chart: a GPU, or a worker that has no GPU data.

    Parameters
    ----------
    row : int
        The row's number, as in ``run.rows``.
    top, bottom : float
        The band, in row units; ``top < bottom``.
    label, host : str
        "GPU 4 vllm 0"; host name, or "" when unknown.
    pool : str
        The pool it stands in.
    gpu_data : bool
        False: the row is hatched, its busy time is unknown.
    busy_share : float or None
        Busy time over captured time, whole run; None when unknown.
    details : dict of str to str
        What hover tells of the row: its run, GPU, bus, workers and ranks.
    role : str
        What its workers are for, "policy, generation" where several share a GPU; "" when not told.
    group : str
        Name of its run where there are several; "" in a chart of one run.
    """

    row: int
    top: float
    bottom: float
    label: str
    host: str
    pool: PoolName
    gpu_data: bool
    busy_share: float | None
    details: dict[str, str] = field(default_factory=dict)
    role: str = ""
    group: str = ""


@dataclass(frozen=True)
class PoolBand:
    """The rows of one pool, `top` to `bottom` in row units, brackets included."""

    name: PoolName
    top: float
    bottom: float
    group: str = ""


@dataclass(frozen=True)
class Bars:
    """GPU activity: one bar a bucket or an event; all arrays have shape (n,).

    Parameters
    ----------
    left, right : ndarray of float64
        Seconds; ascending within a row.
    top, bottom : ndarray of float64
        Row units; the height is the busy share of the bar's time.
    row, name, color, kind : ndarray of int32
        Row number; code into ``Scene.names``; code into ``Scene.colors``; index into
        ``rlviz.levels.groups.KINDS``: each what takes most of the bar's event time.
    count : ndarray of int32
        Events the bar stands for; 1 is an event, more is an aggregate and must say so.
    busy_s : ndarray of float64
        Union busy seconds inside the bar.
    name_share : ndarray of float64
        Share of the bar's event time that `name` has.
    """

    left: Float
    right: Float
    top: Float
    bottom: Float
    row: Code
    name: Code
    color: Code
    kind: Code
    count: Code
    busy_s: Float
    name_share: Float


@dataclass(frozen=True)
class Overlays:
    """NVTX ranges on the rows; all arrays have shape (n,).

    Parameters
    ----------
    left, right, top, bottom : ndarray of float64
        As in `Bars`; nested ranges are inset.
    row, name, domain, thread, color, depth : ndarray of int32
        Row number; codes into ``Scene.names`` (name, domain, thread) and ``Scene.colors``;
        nesting depth from 0.
    count : ndarray of int32
        Ranges it stands for: more than 1 where slivers were merged.
    truncated : ndarray of bool
        True: the capture ended first, so the right edge is open.
    parent_share : ndarray of float64
        Duration over the parent's duration; NaN at depth 0.
    shown : ndarray of bool
        False: off until asked for (domains such as NCCL).
    """

    left: Float
    right: Float
    top: Float
    bottom: Float
    row: Code
    name: Code
    domain: Code
    thread: Code
    color: Code
    depth: Code
    count: Code
    truncated: Flag
    parent_share: Float
    shown: Flag


@dataclass(frozen=True)
class Shade:
    """A part of a row where idle is not idle: not captured, an edge, or no GPU data (yet)."""

    row: int
    left: float
    right: float
    top: float
    bottom: float
    kind: Literal["not_captured", "edge", "no_gpu_data", "reading"]


@dataclass(frozen=True)
class Bracket:
    """An iteration's bracket above a pool: "Train 4" from `left` to `right`, at height `y`."""

    pool: PoolName
    left: float
    right: float
    y: float
    text: str
    partial: bool
    iteration: int | None
    group: str = ""


@dataclass(frozen=True)
class Bubble:
    """A long idle time on a row, `left` to `right`; `texts` say so, the longest first."""

    row: int
    left: float
    right: float
    texts: tuple[str, ...]
    iteration: int


@dataclass(frozen=True)
class Heading:
    """A line of text above the rows of one run, its lower edge at height `y`."""

    group: str
    y: float
    text: str


@dataclass(frozen=True)
class Line:
    """A vertical line at `at` seconds through all rows of its group: a boundary or a refit."""

    at: float
    kind: Literal["boundary", "refit"]
    text: str
    group: str = ""


@dataclass(frozen=True)
class Overview:
    """A pool's busy share over the whole run: `share[i]` between `edges[i]` and `edges[i + 1]`."""

    pool: PoolName
    edges: Float
    share: Float
    group: str = ""

    @property
    def label(self) -> str:
        """What stands beside it."""
        return f"{self.group} {self.pool}".lstrip()


@dataclass(frozen=True)
class Remark:
    """A finding: what it says, seconds lost, and its place; None where it has none."""

    text: str
    lost_s: float | None
    left: float | None
    right: float | None
    row: int | None
    group: str = ""


@dataclass(frozen=True)
class Alignment:
    """One of the ways to lay runs below each other: an iteration of each begins at second 0.

    Parameters
    ----------
    iteration : (int, float, float, bool)
        Number; hull of it over all runs in seconds; whether it is partial in one of them.
    view, limits : (float, float)
        What is shown first, and the limits of panning.
    shifts_s : dict of str to float
        What is added to the times of each group, as they stand in the scene.
    subtitle : str
        What became of the iteration.
    headings : tuple of str
        Texts of ``Scene.headings``.
    """

    iteration: tuple[int, float, float, bool]
    view: tuple[float, float]
    limits: tuple[float, float]
    shifts_s: dict[str, float]
    subtitle: str
    headings: tuple[str, ...]

    @property
    def told(self) -> str:
        """What second 0 is."""
        return f"second 0 is the start of iteration {self.iteration[0]} in each run"


@dataclass(frozen=True)
class Scene:
    """Everything that a drawing of the chart needs.

    Parameters
    ----------
    title, subtitle, caption : str
        Above and below the chart: the run; its numbers; alignment and completeness.
    simulated : bool
        Drawn as such wherever the chart is shown.
    start_s, end_s : float
        The first view: the hull of GPU activity, else of all ranges.
    first_s, last_s : float
        The limits of panning: the hull of all capture windows.
    height : float
        Row units of the whole drawing area.
    run_start_utc_ns : int or None
        UTC of second 0, for absolute time on hover; None when no report has one.
    names : tuple of str
        Texts that the codes of `bars` and `overlays` point to. Hostile: never into HTML unescaped.
    colors : tuple of str
        Colour keys of ``rlviz.view.palette``.
    iterations : tuple of (int, float, float, bool)
        Number, start and end in seconds, partial; empty when none is known.
    notes : tuple of str
        Diagnostics worth a line below the chart.
    kernels : tuple of int
        Name codes of the kernels that take most time: each has a colour of its own.
    activity : tuple of int
        Colours, as codes, that activity has at any zoom; empty where that is not known.
    remarks : tuple of Remark
        Findings, worst first.
    trust : Trust or None
        How the reports were aligned, and what is wrong with them.
    headings : tuple of Heading
        Of the runs, where there are several.
    alignments : tuple of Alignment
        Of the runs, the one that is drawn among them; empty where there is nothing to align.
    bubbles : tuple of Bubble
        The longest of each iteration.
    numbers : Numbers or None
        What ``run.summary()`` says; None without iterations.
    """

    title: str
    subtitle: str
    caption: str
    simulated: bool
    start_s: float
    end_s: float
    first_s: float
    last_s: float
    height: float
    run_start_utc_ns: int | None
    names: tuple[str, ...]
    colors: tuple[str, ...]
    rows: tuple[Row, ...]
    pools: tuple[PoolBand, ...]
    bars: Bars
    overlays: Overlays
    shades: tuple[Shade, ...]
    brackets: tuple[Bracket, ...]
    lines: tuple[Line, ...]
    overview: tuple[Overview, ...]
    iterations: tuple[tuple[int, float, float, bool], ...] = ()
    notes: tuple[str, ...] = ()
    kernels: tuple[int, ...] = ()
    activity: tuple[int, ...] = ()
    remarks: tuple[Remark, ...] = ()
    trust: Trust | None = None
    headings: tuple[Heading, ...] = ()
    alignments: tuple[Alignment, ...] = ()
    bubbles: tuple[Bubble, ...] = ()
    numbers: Numbers | None = None

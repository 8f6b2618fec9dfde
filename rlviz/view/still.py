"""Still figures of a run: PNG, SVG and PDF, drawn by matplotlib from the notebook's scene."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlviz.view import still_axes as axes
from rlviz.view import still_layout as layout
from rlviz.view import still_marks as marks
from rlviz.view import still_words as words
from rlviz.view.named_rows import named_rows
from rlviz.view.palette import SURFACE
from rlviz.view.still_bubbles import draw_bubbles, place_bubbles
from rlviz.view.still_canvas import Canvas, pixel_pt, settings
from rlviz.view.still_labels import draw_brackets, draw_names, draw_range_labels
from rlviz.view.still_lanes import blocks_of, draw_lanes, legend_of
from rlviz.view.still_text import clean
from rlviz.view.units import duration
from rlviz.view.windows import SHORTEST_S, limits
from rlviz.view.windows import window as first_view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlviz.view.palette import Theme
    from rlviz.view.scene import Row, Scene
    from rlviz.view.still_canvas import Format
    from rlviz.view.threads import RowLanes

__all__ = ["checked_window", "still"]

_FORMATS = ("png", "svg", "pdf")
_WIDTH_IN = 12.0
_LEAST_IN, _MOST_IN = 2.0, 100.0


def still(
    scene: Scene,
    format: Format,  # noqa: A002 - as matplotlib calls it
    *,
    window: tuple[float, float] | None = None,
    rows: Sequence[int] | str | None = None,
    width: float | None = None,
    height: float | None = None,
    theme: Theme = "light",
    title: str | None = None,
    caption: bool = True,
    threads: Mapping[int, RowLanes] | None = None,
) -> bytes:
    """Draw a scene as a file: the same input gives the same bytes.

    Parameters
    ----------
    scene : Scene
        What to draw.
    format : {"png", "svg", "pdf"}
        The kind of file. In SVG and PDF text is text.
    window : (float, float), optional
        Start and end in seconds since the run's start; default the first view of the scene.
    rows : sequence of int or str, optional
        Numbers of the rows to draw, as in ``run.rows``, or a text that their label, host or pool
        contains; default all.
    width : float, optional
        Inches; default 12, which a pull request shows well. A paper's column is 85 mm: 3.35. Text
        gets smaller with the width, 10 pt to 6.5 pt, and there is less of it. A PNG has 150 pixels
        an inch, and never fewer than 1,800 in its width.
    height : float, optional
        Inches; rows become higher or lower. Default: what the rows need to be read.
    theme : {"light", "dark", "print"}
        Colours of surfaces and text.
    title : str, optional
        Instead of the scene's; "" for none.
    caption : bool
        Whether to tell numbers above the chart, and alignment and notes below it. A simulated run
        is called so in any case.
    threads : mapping of int to RowLanes, optional
        What rows expand into, by their number.

    Returns
    -------
    bytes
        The file.

    Raises
    ------
    ValueError
        A window without width or outside the run, rows that are not there, a size that the figure
        cannot have, or an unknown format or theme.

    Examples
    --------
    >>> still(scene, "svg", width=85 / 25.4, theme="print")  # doctest: +SKIP
    """
    _check(format, theme, width, height)
    with settings():
        canvas = _draw(
            scene,
            format,
            window=checked_window(scene, window),
            rows=named_rows(scene, rows),
            width=72 * (width or _WIDTH_IN),
            height=None if height is None else 72 * height,
            theme=theme,
            title=_title(scene, window) if title is None else title,
            caption=caption,
            threads=threads or {},
        )
        told = " · ".join(filter(None, (scene.subtitle, scene.caption)))
        if scene.simulated:
            told += " · simulated run, no measurement"
        return canvas.written(clean(scene.title), clean(told))


def _draw(
    scene: Scene,
    format: Format,  # noqa: A002
    *,
    window: tuple[float, float],
    rows: tuple[Row, ...],
    width: float,
    height: float | None,
    theme: Theme,
    title: str,
    caption: bool,
    threads: Mapping[int, RowLanes],
) -> Canvas:
    pixel = pixel_pt(width / 72, format)
    pitch = layout.natural_pitch(len(rows), layout.letter_size(width / 72))
    numbers = [row.row for row in rows]
    threads = {row: own for row, own in threads.items() if row in numbers}
    first = first_view(scene.start_s, scene.end_s)
    whole = min(first[0], window[0]), max(first[1], window[1])
    overlays = marks.ranges_in(scene.overlays, numbers, window)
    # A height that is asked for changes the rows, these their labels, and those the frame.
    for last in (False, True):
        frame = layout.frame_of(rows, window, width, pitch, pixel)
        shades = marks.shades_in(scene.shades, numbers, frame)
        x, columns = marks.columns_in(scene.bars, numbers, frame, pixel)
        drawn = {int(code) for _, color in columns.values() for code in color if code >= 0}
        entries = words.legend(
            scene, drawn, overlays, shades, idle=any(row.gpu_data for row in rows)
        )
        blocks = blocks_of(threads, frame.letter)
        entries = *entries, *legend_of(threads)
        rooms = {row: block.height for row, block in blocks.items()}
        above = words.head(
            frame, title, scene.subtitle if caption else "", entries, simulated=scene.simulated
        )
        foot = bool(marks.line_texts(scene, frame))
        plot = layout.plot_of(
            scene, rows, frame, above.end, pixel, whole=whole, foot=foot, rooms=rooms
        )
        below = words.tail(frame, scene, plot.end, caption=caption)
        if last or height is None:
            break
        pitch = layout.pitch_for(height, below.end, frame, len(rows))
    canvas = Canvas(width, height or math.ceil(below.end), format, theme)
    marks.draw_bands(canvas, frame, plot)
    for kind in ("not_captured", "no_gpu_data"):
        marks.draw_shades(canvas, frame, plot, shades, kind)
    places = marks.place_ranges(frame, plot, overlays)
    marks.draw_ranges(canvas, scene, overlays, places)
    marks.draw_activity(canvas, scene, plot, x, columns, pixel)
    marks.draw_outlines(canvas, scene, frame, plot, overlays, places)
    marks.draw_shades(canvas, frame, plot, shades, "edge")
    marks.draw_lines(canvas, scene, frame, plot)
    draw_lanes(canvas, frame, plot, blocks, threads)
    bubbles = place_bubbles(scene, frame, plot)
    draw_range_labels(canvas, scene, frame, plot, overlays, bubbles)
    draw_bubbles(canvas, bubbles)
    draw_brackets(canvas, scene, frame, plot)
    draw_names(canvas, frame, plot)
    if rows:
        axes.draw_axis(canvas, frame, plot.bottom)
    axes.draw_overview(canvas, frame, plot, pixel)
    marks.draw_legend(canvas, frame, above)
    for part in (above, below):
        part.write(canvas)
    return canvas


def _check(format: str, theme: str, width: float | None, height: float | None) -> None:  # noqa: A002
    if format not in _FORMATS:
        msg = f"no format {format!r}: there are {', '.join(_FORMATS)}"
        raise ValueError(msg)
    if theme not in SURFACE:
        msg = f"no theme {theme!r}: there are {', '.join(SURFACE)}"
        raise ValueError(msg)
    for name, inches in (("width", width), ("height", height)):
        if inches is not None and not _LEAST_IN <= inches <= _MOST_IN:
            msg = f"a {name} of {inches:g} in: it is in inches, {_LEAST_IN:g} to {_MOST_IN:g}"
            raise ValueError(msg)


def checked_window(scene: Scene, window: tuple[float, float] | None) -> tuple[float, float]:
    """Give the window to draw: the first view, or what was asked for where there is such."""
    if window is None:
        return first_view(scene.start_s, scene.end_s)
    start, end = map(float, window)
    if not (math.isfinite(start) and math.isfinite(end) and end - start >= SHORTEST_S):
        msg = f"the window from {start:g} s to {end:g} s has no width"
        raise ValueError(msg)
    first, last = limits(scene)
    if end <= first or start >= last:
        msg = f"the window from {start:g} s to {end:g} s is not within {first:g} to {last:g} s"
        raise ValueError(msg)
    return start, end


def _title(scene: Scene, window: tuple[float, float] | None) -> str:
    """Give the scene's title, and which part of it a window shows."""
    if window is None:
        return scene.title
    for number, start, end, _ in scene.iterations:
        if tuple(window) == (start, end):
            return f"{scene.title} · iteration {number}"
    return f"{scene.title} · {duration(window[1] - window[0])} from {window[0]:.6g} s"

"""A still figure before it is a file, and an SVG as a list that does not depend on who wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.text import Text

from rlviz.view.still import still
from rlviz.view.still_canvas import Canvas, settings

if TYPE_CHECKING:
    from rlviz.view.scene import Scene

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


@dataclass
class Drawn:
    """What stands in a figure, in points from its top left corner."""

    width: float
    height: float
    texts: list[tuple[str, Box]]
    paths: list[Box]


def drawn(scene: Scene, **options: Any) -> Drawn:
    """Draw a scene, and measure with matplotlib what was drawn where."""
    made: list[Canvas] = []

    def keep(canvas: Canvas, *_texts: str) -> bytes:
        made.append(canvas)
        return b""

    with patch.object(Canvas, "written", keep):
        still(scene, "png", **options)
    (canvas,) = made
    figure: Any = canvas.figure
    scale = 72 / figure.dpi
    width, height = figure.get_size_inches() * 72
    texts, paths = [], []
    with settings():
        renderer = figure.canvas.get_renderer()
        for artist in figure.get_children():
            if isinstance(artist, Text):
                x0, y0, x1, y1 = artist.get_window_extent(renderer).extents * scale
                texts.append((artist.get_text(), (x0, height - y1, x1, height - y0)))
            elif isinstance(artist, PathPatch):
                vertices = np.asarray(artist.get_path().vertices)
                paths.append((*vertices.min(0), *vertices.max(0)))
    return Drawn(width, height, texts, paths)


def overlap(one: Box, other: Box, tolerance: float = 0.3) -> bool:
    return (
        one[0] < other[2] - tolerance
        and other[0] < one[2] - tolerance
        and one[1] < other[3] - tolerance
        and other[1] < one[3] - tolerance
    )


def svg_texts(svg: bytes) -> list[str]:
    """Give all texts of an SVG, in the order of drawing."""
    root = ElementTree.fromstring(svg)
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def outline(svg: bytes) -> str:
    """Describe an SVG: texts and paths with their places, colours and sizes; one a line."""
    root = ElementTree.fromstring(svg)
    lines = [f"figure {root.get('width')} x {root.get('height')}"]
    for element in root.iter():
        style = dict(
            part.strip().split(": ", 1)
            for part in element.get("style", "").split(";")
            if ": " in part
        )
        if element.tag == f"{SVG}text":
            at = _place(element)
            weight = " bold" if style.get("font-weight") in ("bold", "700") else ""
            size, fill = style["font-size"], style.get("fill", "#000000")
            lines.append(f"text {at} {size}{weight} {fill} {''.join(element.itertext())!r}")
        elif element.tag == f"{SVG}path":
            lines.append(_path(element.get("d", ""), style))
    return "\n".join(lines) + "\n"


def _place(element: ElementTree.Element) -> str:
    numbers = [element.get("x"), element.get("y")]
    if numbers[0] is None:
        numbers = list(re.findall(r"-?[\d.]+", element.get("transform", "")))[:2]
    return ",".join(f"{float(n or 0):.0f}" for n in numbers)


def _path(commands: str, style: dict[str, str]) -> str:
    points = np.array(re.findall(r"-?[\d.]+", commands), float).reshape(-1, 2)
    (x0, y0), (x1, y1) = points.min(0), points.max(0)
    look = [f"{k} {style[k]}" for k in ("fill", "stroke", "opacity") if k in style]
    if "stroke-dasharray" in style:
        look.append("dashed")
    parts = commands.count("M")
    return f"path {x0:.0f},{y0:.0f} to {x1:.0f},{y1:.0f} {parts} parts, {', '.join(look)}"

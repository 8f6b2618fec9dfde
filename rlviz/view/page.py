"""One HTML file that holds the whole chart: it opens offline and asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import html
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import rlviz
from rlviz.view.bokehjs import bokeh_js
from rlviz.view.description import description_of
from rlviz.view.legible import legible
from rlviz.view.lens import lens_style, page_js
from rlviz.view.payload import LONGEST_TEXT, payload
from rlviz.view.sizes import row_height_px

if TYPE_CHECKING:
    from rlviz.view.held import Held
    from rlviz.view.held_threads import HeldThreads
    from rlviz.view.scene import Scene

__all__ = ["page"]

_STYLE = """
html { color-scheme: light dark; }
body { margin: 12px 16px; background: var(--rlviz-page); color: var(--rlviz-ink); }
"""

# A chart higher than this is larger on an upright page.
_HIGH_PX = 750

_PRINT = """
@page { size: PAPER; margin: 12mm; }
@media print {
  html { color-scheme: light; }
  body { margin: 0; }
  .rlviz { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .rlviz-controls, .rlviz-status, .rlviz-tip { display: none; }
  .rlviz-kernels, .rlviz-measure, .rlviz-measure-words { display: none; }
  .rlviz-plot, .rlviz tr, .rlviz li { break-inside: avoid; }
  .rlviz .rlviz-numbers caption, .rlviz summary { break-after: avoid; }
  .rlviz-numbers, .rlviz-trust { padding: 2px 4px; }
  .rlviz :is(.rlviz-numbers, .rlviz-trust) table { font-size: 9.5px; }
  .rlviz .rlviz-numbers :is(th, td) { padding-left: 9px; }
  .rlviz .rlviz-trust td { white-space: normal; }
  .rlviz[data-paper=portrait] :is(.rlviz-numbers, .rlviz-trust) table { font-size: 8px; }
  .rlviz[data-paper=portrait] .rlviz-numbers :is(th, td) { padding-left: 5px; }
  .rlviz-swatch-edge, .rlviz-swatch-no_gpu_data { border: 1px solid var(--rlviz-boundary); }
  .rlviz-numbers-scroll, .rlviz-trust-scroll { max-height: none; overflow: clip; }
}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<meta name="description" content="{description}">
<meta name="generator" content="rlviz {version}">
<style>{style}</style>
</head>
<body>
<main>
<div id="rlviz-chart" data-asked="{theme}" data-paper="{paper}"></div>
</main>
<noscript>This page draws a timeline with the JavaScript that it contains: please allow it to run.\
</noscript>
<script type="application/json" id="rlviz-facts">{facts}</script>
<script type="application/json" id="rlviz-item">{item}</script>
{held}<script>{bokeh}</script>
<script type="module">{lens}</script>
</body>
</html>
"""


_THREADS = '<script type="application/json" id="rlviz-threads">{json}</script>\n'
_HELD = '<script type="application/json" id="rlviz-held">{json}</script>\n'


def page(
    scene: Scene,
    theme: Literal["auto", "light", "dark"] = "auto",
    held: Held | None = None,
    threads: HeldThreads | None = None,
) -> str:
    """Write `scene` as one HTML page.

    Parameters
    ----------
    scene : Scene
        What to draw.
    theme : {"auto", "light", "dark"}
        "auto" follows the reader's system.
    held : Held, optional
        Events and ranges of the run, as `rlviz.view.held.hold` packs them.
    threads : HeldThreads, optional
        Threads of rows, as `rlviz.view.held_threads.hold_threads` packs them.

    Returns
    -------
    str
        The page. Only the two scripts that it names by their hash run in it, whatever the strings
        of a report say.
    """
    scripts = (bokeh_js(), page_js())
    for script in scripts:
        # Hashed as they stand: a script cannot be escaped, so it must not need it.
        if "</script" in script.lower() or "<!--" in script:
            msg = "a script of the page holds text that ends a script element"
            raise ValueError(msg)
    if held is not None and held.left_out:
        scene = replace(scene, notes=(*scene.notes, held.left_out))
    if held is None or held.json is None:
        scene = _without_others(scene)
    if threads is not None and threads.note:
        scene = replace(scene, notes=(*scene.notes, threads.note))
    inside = "" if held is None or held.json is None else _HELD.format(json=_inert(held.json))
    if threads is not None and threads.json is not None:
        inside += _THREADS.format(json=_inert(threads.json))
    paper = "landscape" if scene.height * row_height_px(len(scene.rows)) < _HIGH_PX else "portrait"
    drawn = payload(scene, "dark" if theme == "dark" else "light")
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return _PAGE.format(
        policy=(
            f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
            "img-src data: blob:"
        ),
        title=html.escape(legible(scene.title) or "rlviz"),
        description=html.escape(legible(description_of(scene), LONGEST_TEXT)),
        version=html.escape(rlviz.__version__),
        style=_STYLE + lens_style() + _PRINT.replace("PAPER", paper),
        paper=paper,
        theme=theme,
        facts=_inert(drawn.facts),
        item=_inert(drawn.item),
        held=inside,
        bokeh=scripts[0],
        lens=scripts[1],
    )


def _without_others(scene: Scene) -> Scene:
    """Of runs that are compared, leave only the iteration that the marks of the scene show."""
    if not scene.alignments:
        return scene
    numbers = {number for number, *_ in scene.iterations}
    own = tuple(a for a in scene.alignments if a.iteration[0] in numbers)
    return replace(scene, alignments=own, first_s=scene.start_s, last_s=scene.end_s)


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _inert(text: str) -> str:
    """Escape JSON so that no parser of HTML sees a tag in it."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

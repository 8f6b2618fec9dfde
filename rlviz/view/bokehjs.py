"""BokehJS of the installed bokeh: nothing is fetched, and no other version can slip in."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import bokeh
from bokeh.settings import settings

__all__ = ["bokeh_js", "bokeh_version"]


def bokeh_version() -> str:
    """Give the version of BokehJS: that of the installed bokeh."""
    return bokeh.__version__


@cache
def bokeh_js() -> str:
    """Give ``bokeh.min.js``: glyphs, annotations and tools, without widgets, tables or WebGL."""
    path = Path(settings.bokehjs_path()) / "js" / "bokeh.min.js"
    return path.read_text(encoding="utf-8")

"""The lens's JavaScript, assembled: one module for the widget and the page."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

__all__ = ["lens_js", "lens_style", "loader_js", "page_js", "version"]

# In an order in which each knows only earlier ones.
_MODULES = (
    "units",
    "element",
    "gzip",
    "theme",
    "keys",
    "raster",
    "colors",
    "canvas",
    "bars",
    "marks",
    "bubbles",
    "labels",
    "hover",
    "remarks",
    "trust",
    "numbers",
    "explain",
    "search",
    "controls",
    "link",
    "chrome",
    "measure",
    "kernels",
    "toolbar",
    "describe",
    "picture",
    "detail",
    "room",
    "lanerows",
    "lanes",
    "threads",
    "align",
    "lens",
    "chart",
)
_OF_PAGES = ("spansums", "planes", "held", "heldthreads", "print", "page")

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const)\b)", re.MULTILINE)


def _source(name: str) -> str:
    return (files("rlviz.view") / "js" / f"{name}.js").read_text(encoding="utf-8")


def _module(name: str) -> str:
    return f"// {name}.js\n{_EXPORT.sub('', _IMPORT.sub('', _source(name)))}"


@cache
def lens_style() -> str:
    """Give the style sheet of all that is HTML in a chart."""
    return (files("rlviz.view") / "style.css").read_text(encoding="utf-8")


@cache
def lens_js() -> str:
    """Give the lens as one module that exports ``Chart`` and ``openLens``.

    The modules import each other by name only, so that leaving out the imports and setting them one
    after the other is all that a bundler would do.
    """
    return "\n".join([*map(_module, _MODULES), "export { Chart, openLens };\n"])


@cache
def page_js() -> str:
    """Give the module of a static page: the lens, and what starts it there."""
    return "\n".join(map(_module, (*_MODULES, *_OF_PAGES)))


@cache
def loader_js() -> str:
    """Give the widget's module: it fetches BokehJS, lens and figure from the kernel."""
    return _source("widget")


def version(text: str) -> str:
    """Give a short name that changes with `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]

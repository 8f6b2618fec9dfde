"""BokehJS and the lens: a page of a notebook needs them once, however many charts it has."""

from __future__ import annotations

import gzip
from functools import cache
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from rlviz.view.bokehjs import bokeh_js, bokeh_version
from rlviz.view.lens import lens_js, loader_js, version

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LIBRARIES", "claim_sending", "packed_libraries", "send_ahead", "versions"]

LIBRARIES = ("bokeh", "lens")

# Not gzip's best: a reader waits for it, and it is seldom sent far.
_LEVEL = 3

# Whether this kernel has sent them unasked: the page keeps them, so that once is enough.
_sent: set[bool] = set()


def versions() -> dict[str, str]:
    """Give the versions by which a page tells whether it has them already."""
    return {"bokeh": bokeh_version(), "lens": version(lens_js())}


def packed_libraries() -> dict[str, Callable[[], bytes]]:
    """Give what makes each of `LIBRARIES` as gzipped JavaScript."""
    return {"bokeh": _packed_bokeh, "lens": _packed_lens}


def claim_sending() -> bool:
    """Take it on to send them unasked; False where somebody of this kernel did before."""
    first = not _sent
    _sent.add(True)
    return first


def send_ahead() -> None:
    """Send them to the page of the running cell, which makes them ready before the chart comes."""
    if not claim_sending():
        return
    messenger = _Messenger(_versions=versions())
    parts = [packed_libraries()[part]() for part in LIBRARIES]
    messenger.send({"kind": "chart", "parts": list(LIBRARIES)}, parts)


@cache
def _packed_bokeh() -> bytes:
    return gzip.compress(bokeh_js().encode(), _LEVEL, mtime=0)


@cache
def _packed_lens() -> bytes:
    return gzip.compress(lens_js().encode(), _LEVEL, mtime=0)


class _Messenger(anywidget.AnyWidget):
    """A widget that is never displayed: the module of a chart hears what it is sent."""

    _esm = loader_js()
    _versions: Any = traitlets.Dict().tag(sync=True)

"""Save a timeline to several files at once, each with the options that are for its kind."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rlviz.view.timeline import Timeline

__all__ = ["is_figure", "save_all"]

_PAGE, _TRACE = ".html", ".pftrace"


def save_all(
    timeline: Timeline,
    outputs: Sequence[Path],
    look: Mapping[str, Any],
    of_pages: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Path]:
    """Save a timeline to files.

    Parameters
    ----------
    timeline : Timeline
        What to save.
    outputs : sequence of Path
        The files.
    look : mapping
        Options of `Timeline.save` that only figures take: for the figures among the files; where
        there is none, `save` tells that they are for figures.
    of_pages : mapping
        What only a page takes, likewise.

    Yields
    ------
    Path
        Each file, when it is written.
    """
    figures = any(is_figure(path) for path in outputs)
    pages = any(path.suffix.lower() == _PAGE for path in outputs)
    for path in outputs:
        given = dict(look) if is_figure(path) or not figures else {}
        if path.suffix.lower() == _PAGE or not pages:
            given |= of_pages
        yield timeline.save(path, **given)


def is_figure(path: Path) -> bool:
    """Tell whether a file is to be a figure, by its suffix."""
    return path.suffix.lower() not in (_PAGE, _TRACE)

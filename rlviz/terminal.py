"""What all commands share: what they read, what they print, and how they fail."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlviz.levels.query import ZoomableRun

__all__ = ["FAILED", "LONGEST", "Reports", "count", "errors_told", "load_run", "tell"]

FAILED = 2
"""Exit status of a command that could not do what it was asked."""

LONGEST = 2_000
"""Longest text of a report that is printed."""

Reports = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS...",
        help="Folders (searched recursively), globs or files: .sqlite or .nsys-rep.",
        show_default=False,
    ),
]


def load_run(reports: Sequence[Path], *, anonymize: bool = False) -> ZoomableRun:
    """Load a run from what the command line names."""
    from rlviz.api import load

    # A single file that is no export has an error of its own, a list has not.
    return load(reports[0] if len(reports) == 1 else list(reports), anonymize=anonymize)


@contextmanager
def errors_told() -> Iterator[None]:
    """Turn what can go wrong with files into text on standard error and an exit status."""
    import sqlite3

    from rlviz.errors import RlvizError

    try:
        yield
    except RlvizError as error:
        tell(str(error), err=True)
        raise typer.Exit(FAILED) from None
    except OSError as error:
        where = f"{Path(os.fsdecode(error.filename)).name}: " if error.filename else ""
        tell(f"{where}{error.strerror or type(error).__name__}", err=True)
        raise typer.Exit(FAILED) from None
    except sqlite3.Error as error:  # the disk is full
        tell(str(error), err=True)
        raise typer.Exit(FAILED) from None


def tell(text: str, *, err: bool = False) -> None:
    """Print text that may hold names from a report: nothing in it steers the terminal."""
    from rlviz.view.legible import legible

    lines = text.split("\n")
    typer.echo("\n".join(legible(line, LONGEST) for line in lines), err=err)


def count(number: int, word: str) -> str:
    """Write a number of things."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"

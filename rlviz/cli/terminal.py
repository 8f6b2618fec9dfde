"""What all commands share: what they read, what they print, and how they fail."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlviz.run.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rlviz.levels.query import ZoomableRun
    from rlviz.run.run import Run

__all__ = [
    "FAILED",
    "LONGEST",
    "Ranks",
    "Reports",
    "Roles",
    "Steps",
    "errors_told",
    "load_run",
    "on_terminal",
    "put",
    "tell",
    "tell_troubles",
]

FAILED = 2
"""Exit status of a command that could not do what it was asked."""

LONGEST = 2_000
"""Longest text of a report that is printed."""

# No step and no rank is longer, and a range of longer ones would fill the memory.
_MOST_DIGITS = 6

Reports = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS",
        help="Folders (searched recursively), globs or files: .sqlite or .nsys-rep.",
        show_default=False,
    ),
]


Steps = Annotated[
    str | None,
    typer.Option(
        metavar="N,N-N", help="Read only reports of these train steps.", show_default=False
    ),
]
Ranks = Annotated[
    str | None,
    typer.Option(metavar="N,N-N", help="Read only workers of these ranks.", show_default=False),
]
Roles = Annotated[
    str | None,
    typer.Option(metavar="ROLE,ROLE", help="Read only workers of these roles.", show_default=False),
]


def load_run(
    reports: Sequence[Path],
    *,
    anonymize: bool = False,
    steps: str | None = None,
    ranks: str | None = None,
    roles: str | None = None,
) -> ZoomableRun:
    """Load a run, or a part of it, from what the command line names."""
    from rlviz.api import load
    from rlviz.run.part import part_of

    asked: dict[str, Any] = {
        "steps": _numbers("--steps", steps),
        "ranks": _numbers("--ranks", ranks),
        "roles": None if roles is None else [role.strip() for role in roles.split(",")],
    }
    try:
        part_of(**asked)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    # A single file that is no export has an error of its own, a list has not.
    return load(reports[0] if len(reports) == 1 else list(reports), anonymize=anonymize, **asked)


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


def _numbers(name: str, text: str | None) -> list[int] | None:
    """Read ``3,5-7``: 3, 5, 6 and 7."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = (one.strip() for one in part.partition("-"))
        known = [one for one in (first, last) if one.isdecimal() and len(one) <= _MOST_DIGITS]
        if len(known) != (2 if dash else 1):
            message = f"{name}: {part!r} is neither a number nor N-N."
            raise typer.BadParameter(message)
        found += range(int(first), int(last if dash else first) + 1)
    return found


def tell(text: str, *, err: bool = False) -> None:
    """Print text that may hold names from a report: nothing in it steers the terminal."""
    from rlviz.view.legible import legible

    lines = text.split("\n")
    put("\n".join(legible(line, LONGEST) for line in lines), err=err)


def put(text: str, *, err: bool = False) -> None:
    """Print text as it is; whoever has read enough of it ends the command."""
    try:
        typer.echo(text, err=err)
    except BrokenPipeError:
        # What is still to be flushed would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
        raise typer.Exit from None


def on_terminal() -> bool:
    """Tell whether a person reads what is told beside the result."""
    return sys.stderr.isatty()


def tell_troubles(runs: Mapping[str, Run]) -> None:
    """Count what is wrong with runs, on standard error; in a log only errors are told."""
    kinds = ("error", "warning") if on_terminal() else ("error",)
    for name, run in runs.items():
        troubles = run.diagnostics["severity"].to_list()
        counts = [counted(troubles.count(kind), kind) for kind in kinds]
        told = ", ".join(one for one in counts if not one.startswith("0 "))
        if told:
            of_run = f"{name}: " if name else ""
            tell(f"{of_run}{told}: rlviz check tells which.", err=True)

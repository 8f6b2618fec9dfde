"""The command ``rlviz to-sqlite``: export captures with nsys, and keep the exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlviz.cli.terminal import FAILED, errors_told, on_terminal, tell
from rlviz.run.words import counted

if TYPE_CHECKING:
    from rlviz.reports.find import Found

__all__ = ["to_sqlite"]

Captures = Annotated[
    list[Path],
    typer.Argument(
        metavar="CAPTURES",
        help="Folders (searched recursively), globs or files: .nsys-rep or .qdrep.",
        show_default=False,
    ),
]


def to_sqlite(
    captures: Captures,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where exports go, in the folders that captures are in; nothing there is "
            "overwritten. Default: the cache folder, where rlviz finds them by itself.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Export captures (.nsys-rep) to SQLite with the nsys that is installed; print the exports.

    Captures are exported by themselves when they are loaded; this does it ahead, or for others. A
    capture with a newer export beside it is left out. An export holds the whole environment of the
    profiled process, as the capture does.

    Exit status: 0 all are exported; 2 one is not, which standard error tells, or the command is
    wrong.
    """
    with errors_told():
        from rlviz.reports.find import find

        found, errors = find(captures)
    for error in errors:
        tell(str(error), err=True)
    pending = [one for one in found if one.is_capture]
    if not found and not errors:
        tell("There is no capture (.nsys-rep) in there.", err=True)
        raise typer.Exit(FAILED)
    if not pending and on_terminal():
        tell(f"Nothing to export; SQLite already: {counted(len(found), 'report')}.", err=True)
    exported = [_exported(one, output) for one in pending]
    if errors or not all(exported):
        raise typer.Exit(FAILED)


def _exported(capture: Found, output: Path | None) -> bool:
    """Export one, and print where to; its trouble does not keep others from it."""
    from rlviz.errors import RlvizError
    from rlviz.reports.export import export_capture, export_to

    try:
        if output is None:
            target = export_capture(capture.path)
        else:
            target = (output.expanduser() / capture.key).with_suffix(".sqlite")
            export_to(capture.path, target)
    except RlvizError as error:
        tell(str(error), err=True)
        return False
    tell(str(target))
    return True

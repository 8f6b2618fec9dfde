"""All commands together, and the entry point."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from rlviz.cli.cache import cache
from rlviz.cli.check import check
from rlviz.cli.demo import demo
from rlviz.cli.figures import compare, export
from rlviz.cli.summary import summary
from rlviz.cli.terminal import put
from rlviz.cli.to_sqlite import to_sqlite

__all__ = ["app", "main"]

app: typer.Typer = typer.Typer(
    help="One timeline of a whole RL run, from the nsys reports of every worker.",
    no_args_is_help=True,
    add_completion=False,
    # A traceback with local variables would print what stands in a report.
    pretty_exceptions_show_locals=False,
    epilog="Exit status of all commands: 0 done, 2 not done or a wrong command; check has 1 for "
    "warnings. Standard output has the result and nothing else.",
)


def main() -> None:
    """Run the command line; the entry point of ``rlviz``."""
    if not sys.stderr.isatty():
        # tqdm reads it when it is imported: a log wants no progress bar.
        os.environ.setdefault("TQDM_DISABLE", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal cannot show is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    app()


@app.callback(invoke_without_command=True)
def _start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from rlviz import __version__

        put(__version__)
        raise typer.Exit


for command in (demo, check, summary, export, compare, to_sqlite):
    app.command()(command)
app.add_typer(cache, name="cache")

"""The commands that make figures: ``rlviz export`` and ``rlviz compare``."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rlviz.cli.look import Look, with_look
from rlviz.cli.tables import cell, print_table, table
from rlviz.cli.terminal import (
    FAILED,
    Ranks,
    Reports,
    Roles,
    Steps,
    errors_told,
    load_run,
    tell,
    tell_troubles,
)
from rlviz.saving import save_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl
    from rich.table import Table

__all__ = ["compare", "export"]

# Numbers of a comparison, and whether their sign is told.
_SIGNS = {"mean": "", "least": "", "most": "", "difference": "+"}

Named = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME=REPORTS",
        help="Runs to compare, the one to start from first: a folder, glob or file each.",
        show_default=False,
    ),
]
_FILES = ".html is a page, .png, .svg and .pdf are figures"
Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=f"File to write: {_FILES}, .pftrace is a trace for Perfetto. Can be repeated.",
        show_default=False,
    ),
]
ComparedOutput = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=f"File to write: {_FILES}. Can be repeated.",
        show_default=False,
    ),
]


@with_look
def export(
    reports: Reports,
    output: Output = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write all frames of the run to this folder too, a Parquet file each.",
            show_default=False,
        ),
    ] = None,
    iteration: Annotated[
        int | None, typer.Option(help="Iteration to draw, with its numbers (figures).")
    ] = None,
    *,
    look: Look,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace names of hosts, users, GPUs and files.")
    ] = False,
    steps: Steps = None,
    ranks: Ranks = None,
    roles: Roles = None,
) -> None:
    """Write the timeline of a run: a page that opens offline in any browser, a figure, a trace.

    Each file that is written is named on standard output.

    Exit status: 0 all is written, even where some reports could not be read, which standard error
    tells then; 2 it is not, or the command is wrong.
    """
    if not output and parquet is None:
        message = "name a file to write: --output timeline.html"
        raise typer.BadParameter(message)
    figures = look.figures | {"iteration": iteration}
    with errors_told(), _values_told():
        run = load_run(reports, anonymize=anonymize, steps=steps, ranks=ranks, roles=roles)
        from rlviz.view.timeline import Timeline  # only drawing needs Bokeh

        written = list(save_all(Timeline(run), output or (), figures, look.pages))
        written += run.to_parquet(parquet) if parquet is not None else []
    tell_troubles({"": run})
    for path in written:
        tell(str(path))


@with_look
def compare(
    runs: Named,
    output: ComparedOutput = None,
    iteration: Annotated[
        str | None,
        typer.Option(
            metavar="N|mean",
            help="Iteration that begins at second 0 in every run; default the first complete one. "
            "mean: busy shares of pools, averaged over complete iterations.",
        ),
    ] = None,
    *,
    look: Look,
) -> None:
    """Compare runs: rlviz compare before=DIR after=DIR -o figure.png.

    Without a file to write, the differences of all numbers are printed.

    Exit status: 0 the runs are compared, even where some reports could not be read, which standard
    error tells then; 2 they are not, or the command is wrong.
    """
    named, chosen = _named(runs), _chosen(iteration)
    with errors_told(), _values_told():
        loaded = {name: load_run(reports) for name, reports in named.items()}
        from rlviz.view.comparison import Comparison  # only drawing needs Bokeh

        comparison = Comparison(loaded, chosen)
        written = list(save_all(comparison, output or (), look.figures, look.pages))
        told = comparison.scene.subtitle
    tell_troubles(loaded)
    if not written:
        tell(told)
        tell("")
        print_table(_differences_table(comparison.differences))
    for path in written:
        tell(str(path))


def _chosen(iteration: str | None) -> int | Literal["mean"] | None:
    if iteration is None:
        return None
    if iteration == "mean":
        return "mean"
    try:
        return int(iteration)
    except ValueError:
        message = f"--iteration: {iteration!r} is neither a number nor mean"
        raise typer.BadParameter(message) from None


def _named(runs: Iterable[str]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for text in runs:
        name, equals, reports = text.partition("=")
        if not (name and equals and reports):
            message = f"{text!r} is not NAME=REPORTS, as before=old/nsight"
            raise typer.BadParameter(message)
        found.setdefault(name, []).append(Path(reports))
    return found


@contextmanager
def _values_told() -> Iterator[None]:
    """Turn what a figure cannot be into text on standard error and an exit status."""
    try:
        yield
    except ValueError as error:
        tell(str(error), err=True)
        raise typer.Exit(FAILED) from None


def _differences_table(differences: pl.DataFrame) -> Table:
    """Give the differences as a table: a line per pool, number and run."""
    made = table("pool", "number", "run", *_SIGNS, "", numbers=_SIGNS)
    for one in differences.iter_rows(named=True):
        scale, unit = (1e9, " s") if one["unit"] == "ns" else (1.0, f" {one['unit']}".rstrip())
        numbers = (
            "-" if one[key] is None else f"{one[key] / scale:{sign},.3f}{unit}"
            for key, sign in _SIGNS.items()
        )
        names = (one["pool"], one["number"].removesuffix("_ns"), one["run"])
        made.add_row(*map(cell, names), *numbers, cell(one["reason"] or ""))
    return made

"""The commands that make figures: ``rlviz export`` and ``rlviz compare``."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

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
    from collections.abc import Callable, Iterable, Iterator

    import polars as pl
    from rich.table import Table

__all__ = ["compare", "export"]

# Numbers of a comparison, and whether their sign is told.
_SIGNS = {"mean": "", "least": "", "most": "", "difference": "+"}
_INCHES = {"mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0, "": 1.0}

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


class Look(NamedTuple):
    """What figures look like, and what pages hold."""

    figures: dict[str, Any]
    pages: dict[str, Any]


def look_of(
    window: Annotated[
        str | None,
        typer.Option(
            metavar="START,END", help="Part to draw, in seconds of the time axis (figures)."
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|N,N",
            help="Rows to draw: a text of their label, host or pool, or numbers (figures).",
        ),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="As 12, 12in or 85mm; default 12in (figures)."),
    ] = None,
    height: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Default: what the rows need (figures).")
    ] = None,
    theme: Annotated[
        str, typer.Option(metavar="light|dark|print", help="Colours (figures).")
    ] = "light",
    title: Annotated[
        str | None, typer.Option(help='In place of the run\'s; "" for none (figures).')
    ] = None,
    caption: Annotated[
        bool,
        typer.Option("--caption/--no-caption", help="Tell numbers, alignment, notes (figures)."),
    ] = True,
    detail: Annotated[
        str | None,
        typer.Option(
            metavar="MB|none", help="How much detail a page holds, at most; default 6 MB (pages)."
        ),
    ] = None,
    expand: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|N,N",
            help="Rows that a page of one run shows with their threads, as --rows (pages).",
        ),
    ] = None,
) -> Look:
    """Read the options of figures and pages."""
    from rlviz.view.named_rows import rows_from_text

    figures = {
        "window": None if window is None else _two_numbers(window),
        "rows": None if rows is None else rows_from_text(rows),
        "width": None if width is None else _inches("--width", width),
        "height": None if height is None else _inches("--height", height),
        "theme": theme,
        "title": title,
        "caption": caption,
    }
    expanded = None if expand is None else rows_from_text(expand)
    return Look(figures, {"detail": _detail(detail), "expand": expanded})


def with_look(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `look_of` in place of its parameter `look`."""
    shared = inspect.signature(look_of, eval_str=True).parameters

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 - what the command line says
        look = look_of(**{name: given.pop(name) for name in shared})
        command(**given, look=look)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        parameters += shared.values() if name == "look" else [parameter]
    # Typer reads both.
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    # Who unwraps it would find the parameters of the command.
    del run.__wrapped__
    return run


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


def _two_numbers(text: str) -> tuple[float, float]:
    try:
        start, end = map(float, text.split(","))
    except ValueError:
        message = f"--window: {text!r} is not START,END in seconds, as 30,45.5"
        raise typer.BadParameter(message) from None
    return start, end


def _inches(option: str, text: str) -> float:
    number = text.strip().rstrip("cimn")
    unit = text.strip()[len(number) :]
    try:
        return float(number) * _INCHES[unit]
    except (ValueError, KeyError):
        message = f"{option}: {text!r} is no size: 12, 12in, 30cm or 85mm"
        raise typer.BadParameter(message) from None


def _detail(text: str | None) -> bool | float:
    if text is None:
        return True
    if text == "none":
        return False
    try:
        return float(text)
    except ValueError:
        message = f"--detail: {text!r} is neither a number of MB nor none"
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

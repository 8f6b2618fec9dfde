"""The command line: ``rlviz demo``, ``rlviz check``, and the commands of the modules beside it."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlviz.cli_cache import cache
from rlviz.cli_figures import compare, export
from rlviz.cli_sqlite import to_sqlite
from rlviz.cli_summary import summary
from rlviz.run.words import counted
from rlviz.tables import cell, print_table, table
from rlviz.terminal import (
    FAILED,
    Ranks,
    Reports,
    Roles,
    Steps,
    errors_told,
    load_run,
    on_terminal,
    put,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl
    from rich.table import Table

    from rlviz.run.run import Run

__all__ = ["app", "main"]

_REPORT = {
    "report": "report",
    "role": "role",
    "host": "host",
    "clock": "clock",
    "residual": "residual",
    "anchors": "anchors",
    "window_s": "window, s",
    "kernels": "kernels",
    "ranges": "ranges",
    "status": "status",
}
_NUMBERS = ("anchors", "window, s", "kernels", "ranges")

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


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder to write to.")] = Path(
        "demo-reports"
    ),
    framework: Annotated[str, typer.Option(help="nemo_rl, verl or rlinf.")] = "nemo_rl",
    colocated: Annotated[
        bool, typer.Option("--colocated", help="Synchronous, both roles on the same GPUs.")
    ] = False,
    hosts: Annotated[int, typer.Option(help="Hosts.")] = 2,
    policy_gpus: Annotated[int, typer.Option(help="GPUs of the policy, over all hosts.")] = 4,
    generation_gpus: Annotated[int, typer.Option(help="GPUs of generation, over all hosts.")] = 4,
    steps: Annotated[int, typer.Option(help="Training steps inside the capture.")] = 5,
    first_step: Annotated[
        int | None,
        typer.Option(help="Number of the first of them; by default the framework's.", min=1),
    ] = None,
    captures: Annotated[int, typer.Option(help="Reports a worker, one after the other.")] = 1,
    kernels_per_gpu: Annotated[int, typer.Option(help="No GPU has more kernels.")] = 48_000,
    graphs: Annotated[
        str | None,
        typer.Option(help="CUDA graphs: traced by node, by graph, or lost; default by framework."),
    ] = None,
    nsys: Annotated[str, typer.Option(help="Schema of nsys 2025.3 or 2026.2.")] = "2025.3",
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows.")] = 0,
    identical_steps: Annotated[
        bool, typer.Option("--identical-steps", help="All steps take equally long.")
    ] = False,
    slow_training_rank: Annotated[
        int | None, typer.Option(help="Policy rank that is slower than its siblings.")
    ] = None,
    slow_generation_gpu: Annotated[
        int | None, typer.Option(help="Generation GPU that is slower than its siblings.")
    ] = None,
    long_tail: Annotated[
        bool, typer.Option("--long-tail", help="A few very long requests in every segment.")
    ] = False,
    slow_refit: Annotated[
        bool, typer.Option("--slow-refit", help="Weights take eight times as long to arrive.")
    ] = False,
    exposed_communication: Annotated[
        bool, typer.Option("--exposed-communication", help="Collectives without compute under.")
    ] = False,
    missing_rank: Annotated[
        int | None, typer.Option(help="Policy rank that left no report.")
    ] = None,
    clock_skew_ms: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MS|HOST=MS",
            help="UTC error of all hosts but the first, or of one host; can be repeated.",
        ),
    ] = None,
    utc_step_ms: Annotated[
        float, typer.Option(help="UTC steps by this between two reports of a host.")
    ] = 0.0,
) -> None:
    """Write the reports of a simulated run, and truth.json: what is to be found in them.

    A simulated run that lies in DIR is replaced; anything else in it is left as it is.
    """
    options: dict[str, Any] = {**locals(), "clock_skew_ms": _skew(clock_skew_ms or [])}
    del options["folder"]
    with errors_told():
        from rlviz.demo import write

        try:
            written = write(folder, **options)
        except ValueError as error:  # options that make no run
            raise typer.BadParameter(str(error)) from None
    size = sum(path.stat().st_size for path in written)
    tell(f"{counted(len(written), 'simulated report')}, {size / 1e6:.0f} MB: {folder}")
    if on_terminal():
        tell(f"Next: rlviz check {folder}; rlviz export {folder} -o timeline.html", err=True)


@app.command()
def check(reports: Reports, steps: Steps = None, ranks: Ranks = None, roles: Roles = None) -> None:
    """Tell what is in reports: roles, capture windows, and what is missing or wrong.

    Exit status: 0 all is well, 1 there are warnings, 2 a report cannot be read, or none.
    """
    with errors_told():
        run = load_run(reports, steps=steps, ranks=ranks, roles=roles)
    from rlviz.run.trust import trust_line

    tell(_summary(run))
    tell(trust_line(run))
    print_table(_reports_table(run.reports))
    severities = run.diagnostics["severity"].to_list()
    if severities:
        tell("")
        print_table(_diagnostics_table(run.diagnostics))
    if "error" in severities:
        raise typer.Exit(FAILED)
    if "warning" in severities:
        raise typer.Exit(1)


app.command()(summary)
app.command()(export)
app.command()(compare)
app.command()(to_sqlite)
app.add_typer(cache, name="cache")


def _skew(given: Iterable[str]) -> float | dict[str, float]:
    """Read ``40`` (all hosts but the first) or ``node-2=40`` (that host)."""
    of_all, of_host = 0.0, {}
    for text in given:
        host, equals, number = text.rpartition("=")
        try:
            milliseconds = float(number)
        except ValueError:
            message = f"--clock-skew-ms: {text!r} is neither a number nor HOST=NUMBER."
            raise typer.BadParameter(message) from None
        if equals:
            of_host[host] = milliseconds
        else:
            of_all = milliseconds
    return of_host or of_all


def _summary(run: Run) -> str:
    from datetime import UTC, datetime

    parts = [
        counted(len(run.reports), "report"),
        counted(run.rows["row"].n_unique(), "row"),
        *(["simulated"] if run.simulated else []),
    ]
    if run.start_utc_ns is not None:
        start = datetime.fromtimestamp(run.start_utc_ns // 10**9, tz=UTC)
        parts.append(f"second 0 is {start:%Y-%m-%d %H:%M:%S} UTC")
    return ", ".join(parts)


def _reports_table(reports: pl.DataFrame) -> Table:
    from rlviz.run.trust import report_lines

    lines = report_lines(reports)
    # A column that says nothing takes the room of those that do.
    checked = any(line.residual for line in lines)
    kept = [name for name in _REPORT if checked or name not in ("residual", "anchors")]
    made = table(*(_REPORT[name] for name in kept), numbers=_NUMBERS)
    for line in lines:
        made.add_row(*(cell(getattr(line, name)) for name in kept))
    return made


def _diagnostics_table(diagnostics: pl.DataFrame) -> Table:
    from rlviz.run.trust import troubles

    made = table("severity", "report", "kind", "message")
    styles = {"error": "red", "warning": "yellow"}
    for trouble in troubles(diagnostics):
        made.add_row(*map(cell, trouble), style=styles.get(trouble.severity))
    return made

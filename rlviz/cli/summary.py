"""The command ``rlviz summary``: the numbers of each iteration, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rlviz.cli.tables import cell, print_table, table
from rlviz.cli.terminal import (
    Ranks,
    Reports,
    Roles,
    Steps,
    errors_told,
    load_run,
    put,
    tell,
    tell_troubles,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["summary"]

_WHO = ("iteration", "row", "label", "pool", "gpus")
_SHOWN = (
    "duration_ns",
    "busy_ns",
    "bubble_ns",
    "longest_gap_ns",
    "overlap_ns",
    "exposed_generation_ns",
    "refit_ns",
    "stall_ns",
    "straggler_ns",
    "tail_ns",
)
_SHORT = {"exposed_generation": "exposed", "longest_gap": "longest gap"}


def summary(
    reports: Reports,
    by: Annotated[
        str, typer.Option(metavar="pool|gpu", help="A line per iteration and pool, or GPU.")
    ] = "pool",
    as_json: Annotated[
        bool, typer.Option("--json", help="All columns as JSON, unknown numbers as null.")
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="All columns as CSV, unknown numbers left empty.")
    ] = False,
    steps: Steps = None,
    ranks: Ranks = None,
    roles: Roles = None,
) -> None:
    """Sum up each iteration: busy and idle time, overlap, refit, stragglers.

    The numbers are those of run.summary() in Python; --json and --csv have all of them, in
    nanoseconds. Their names and units are in the documentation under Columns.

    Exit status: 0 done, even where some reports could not be read, which standard error tells
    then; 2 nothing could be read, or the command is wrong.
    """
    if by not in ("pool", "gpu"):
        message = f"--by: {by!r} is neither pool nor gpu"
        raise typer.BadParameter(message)
    if as_json and as_csv:
        message = "--json or --csv, not both"
        raise typer.BadParameter(message)
    with errors_told():
        run = load_run(reports, steps=steps, ranks=ranks, roles=roles)
        frame = run.summary(by="gpu" if by == "gpu" else "pool")
    tell_troubles({"": run})
    if as_json:
        put(_json(frame))
    elif as_csv:
        tell(frame.write_csv().rstrip("\n"))
    elif not len(frame):
        tell("No iteration was recognised: there is nothing to sum up.")
    else:
        _print_summary(frame)


def _json(frame: pl.DataFrame) -> str:
    import json

    # Only ASCII: names in a report must not steer the terminal.
    lines = ",\n".join(json.dumps(one) for one in frame.iter_rows(named=True))
    return f"[\n{lines}\n]" if lines else "[]"


def _print_summary(frame: pl.DataFrame) -> None:
    who = [name for name in _WHO if name in frame.columns]
    times = [name for name in _SHOWN if name in frame.columns]
    heads = [_SHORT.get(name.removesuffix("_ns"), name.removesuffix("_ns")) for name in times]
    numbers = {"iteration", "row", "gpus", *heads}
    made = table(*who, *heads, "", numbers=numbers)
    for one in frame.iter_rows(named=True):
        partial = "partial" if one["partial"] else ""
        seconds = ["-" if one[name] is None else f"{one[name] / 1e9:,.3f}" for name in times]
        made.add_row(*(cell(one[name]) for name in who), *seconds, partial)
    summed = "busy, bubble and stall are sums over GPUs; " if "gpus" in who else ""
    tell(f"Seconds; {summed}- is unknown, and rlviz check tells why.")
    print_table(made)

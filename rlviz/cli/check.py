"""The command ``rlviz check``: what is in reports, and what is missing or wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rlviz.cli.tables import cell, print_table, table
from rlviz.cli.terminal import FAILED, Ranks, Reports, Roles, Steps, errors_told, load_run, tell
from rlviz.run.words import counted

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from rlviz.run.run import Run

__all__ = ["check"]

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

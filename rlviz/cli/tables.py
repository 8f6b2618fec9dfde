"""Tables on standard output: aligned, coloured on a terminal only, and of legible text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlviz.cli.terminal import LONGEST, put

if TYPE_CHECKING:
    from collections.abc import Collection

    from rich.table import Table

__all__ = ["cell", "print_table", "table"]

_WIDE = 100_000


def table(*columns: str, numbers: Collection[str] = ()) -> Table:
    """Begin a table; the columns of `numbers` are aligned at their ends."""
    from rich.table import Table

    made = Table(*columns, box=None, pad_edge=False, header_style="bold")
    # Only a terminal has a width to keep to; there, the last column gives way.
    for column in made.columns[:-1]:
        column.no_wrap = column.header != "report"
    for column in made.columns:
        column.justify = "right" if column.header in numbers else "left"
    return made


def cell(value: object) -> str:
    """Write a value as a cell: a number with separators, what is unknown as a dash."""
    from rich.markup import escape

    from rlviz.view.legible import legible

    text = "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return escape(legible(text, LONGEST))


def print_table(made: Table) -> None:
    """Print a table; where it is no terminal that reads it, as wide as it is."""
    from rich.console import Console

    console = Console(emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    with console.capture() as printed:
        console.print(made)
    put("\n".join(line.rstrip() for line in printed.get().splitlines()))

"""The command line for the store: ``rlviz cache info`` and ``rlviz cache clear``."""

from __future__ import annotations

import typer

from rlviz.cli.terminal import tell

__all__ = ["cache"]

cache: typer.Typer = typer.Typer(
    help="What rlviz keeps of reports that it read.", no_args_is_help=True
)

_MIB = 1 << 20


@cache.command()
def info() -> None:
    """Tell where the store is, and how much it holds."""
    from rlviz.errors import written
    from rlviz.levels.store import Store

    told = Store().info()
    tell(written(told.folder))
    size, most = told.size_bytes / _MIB, told.most_bytes / _MIB
    # A report has an entry, and so have the rows and numbers that were worked out of a run.
    tell(f"entries: {told.entries:,}; {size:.1f} MiB of at most {most:.0f} MiB")


@cache.command()
def clear() -> None:
    """Remove all that is kept; reports are read again when they are needed."""
    from rlviz.levels.store import Store

    tell(f"{Store().clear() / _MIB:.1f} MiB freed")

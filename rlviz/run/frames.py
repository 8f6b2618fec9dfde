"""The frames of a run as Parquet files, for other tools."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl
from polars.io.plugins import register_io_source

from rlviz import __version__
from rlviz.errors import RlvizError
from rlviz.run.columns import COLUMNS, schema
from rlviz.whole import whole_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rlviz.reports.read import Detail
    from rlviz.run.run import Run

__all__ = ["FRAMES", "write_frames"]

_DETAILS: tuple[Detail, ...] = ("kernels", "copies", "graphs")
_MADE: dict[str, Callable[[Run], pl.DataFrame]] = {
    # Where the files lay is of no use to whoever is given the frames, and private.
    "reports": lambda run: run.reports.drop("path"),
    "rows": lambda run: run.rows,
    "ranges": lambda run: run.ranges(),
    "marks": lambda run: run.marks(),
    "phases": lambda run: run.phases(),
    "iterations": lambda run: run.iterations,
    "summary": lambda run: run.summary(),
    "summary_by_gpu": lambda run: run.summary(by="gpu"),
    "gaps": lambda run: run.gaps(),
    "findings": lambda run: run.findings,
    "diagnostics": lambda run: run.diagnostics,
}
FRAMES = (*_MADE, *_DETAILS)
"""Frames that are written, each to a file of its name."""


def write_frames(run: Run, folder: Path) -> list[Path]:
    """Write the frames of a run, each to a Parquet file, all of them or none.

    Parameters
    ----------
    run : Run
        The run. Its kernels, copies and graphs are read anew, the reports one after the other, so
        that they are never in memory together.
    folder : Path
        Where to. It may hold an earlier export, which is replaced, and nothing else.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    RlvizError
        The folder cannot be written, or it holds something else.
    UnreadableReport
        The file of a report is not there any more, or it is not the one that was read.
    """
    names = [f"{frame}.parquet" for frame in FRAMES]
    with whole_folder(folder, names) as unfinished:
        for frame, make in _MADE.items():
            made, target = make(run), unfinished / f"{frame}.parquet"
            made.write_parquet(target, metadata=_about(run, frame, made.columns))
        for kind in _DETAILS:
            target, about = unfinished / f"{kind}.parquet", _about(run, kind, schema(kind))
            with _error_of_ours() as errors:
                _details(run, kind, errors).sink_parquet(target, metadata=about)
    return [folder / name for name in names]


@contextmanager
def _error_of_ours() -> Iterator[list[RlvizError]]:
    """Raise the error that a source has noted: polars may raise one of its own instead."""
    noted: list[RlvizError] = []
    try:
        yield noted
    except pl.exceptions.ComputeError:
        if noted:
            raise noted[0] from None
        raise


def _details(run: Run, kind: Detail, errors: list[RlvizError]) -> pl.LazyFrame:
    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        # All of it is written, whatever a query of it could ask for.
        del with_columns, predicate, n_rows, batch_size
        try:
            for frame in run.events.details(kind):
                yield run._named(kind, frame.rename({"short": "short_name"}, strict=False))
        except RlvizError as error:
            errors.append(error)
            raise

    return register_io_source(source, schema=schema(kind))


def _about(run: Run, frame: str, columns: Iterable[str]) -> dict[str, str]:
    """Tell what is in a file: what its columns mean, and what its second 0 is."""
    told = {
        name: {"unit": COLUMNS[frame][name].unit, "meaning": COLUMNS[frame][name].meaning}
        for name in columns
    }
    about = {
        "frame": frame,
        "rlviz": __version__,
        "start_utc_ns": run.start_utc_ns,
        "simulated": run.simulated,
        "columns": told,
    }
    return {"rlviz": json.dumps(about)}

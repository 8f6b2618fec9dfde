"""The frames of a run as Parquet files, for other tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
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

# A writer spells all texts of a row group out, those that are the same too.
_ROWS_A_GROUP = 1 << 18
_TEXT_A_GROUP = 64 << 20


class _TooMuchText(NamedTuple):
    """The rows of a report are too much text for one row group, which may have so many."""

    rows: int


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
            about, rows = _about(run, frame, made.columns), _rows_a_group(made)
            made.write_parquet(target, metadata=about, row_group_size=rows)
        for kind in _DETAILS:
            _write_details(run, kind, unfinished / f"{kind}.parquet")
    return [folder / name for name in names]


def _rows_a_group(frame: pl.DataFrame, rows: int = _ROWS_A_GROUP) -> int:
    """Give how many rows a row group may have, `rows` or fewer, for its text to be bounded."""
    sizes = pl.col(pl.String).str.len_bytes().cast(pl.Int64)
    size = frame.select(pl.sum_horizontal(pl.repeat(0, pl.len(), dtype=pl.Int64), sizes))
    text = size.to_series().to_numpy()
    while rows > 1 and len(text):
        if np.add.reduceat(text, np.arange(0, len(text), rows)).max() <= _TEXT_A_GROUP:
            break
        rows //= 2
    return rows


def _write_details(run: Run, kind: Detail, target: Path) -> None:
    about, rows = _about(run, kind, schema(kind)), _ROWS_A_GROUP
    while True:
        stopped: list[RlvizError | _TooMuchText] = []
        frames = _details(run, kind, rows, stopped)
        frames.sink_parquet(target, metadata=about, row_group_size=rows)
        match stopped:
            case []:
                return
            case [_TooMuchText() as text]:
                rows = text.rows
            case [RlvizError() as error]:
                raise error


def _details(
    run: Run, kind: Detail, rows: int, stopped: list[RlvizError | _TooMuchText]
) -> pl.LazyFrame:
    """Read events one report after the other, until something stops it, which is noted.

    A source must not raise it: polars may raise an error of its own instead, and write on after it.
    """

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
                named = run._named(kind, frame.rename({"short": "short_name"}, strict=False))
                if (fewer := _rows_a_group(named, rows)) < rows:
                    stopped.append(_TooMuchText(fewer))
                    return
                yield named
        except RlvizError as error:
            stopped.append(error)

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

"""What runs differ in: every number of their summaries, with its spread over iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rlviz.run.columns import COLUMNS, Column
from rlviz.run.rules import SUMMED_POOLS
from rlviz.run.unknown import reasons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlviz.run.run import Run

__all__ = ["DIFFERENCES", "differences"]

_TEXT, _INT, _REAL, _FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()

DIFFERENCES: dict[str, Column] = {
    "pool": Column(_TEXT, "", "generation, training or colocated"),
    "number": Column(_TEXT, "", "a column of run.summary()"),
    "unit": Column(_TEXT, "", "of mean, deviation, least, most and difference"),
    "run": Column(_TEXT, "", "name that the run was given; the first is what others differ from"),
    "iterations": Column(_INT, "", "complete iterations that tell the number"),
    "mean": Column(_REAL, "unit", "mean over these iterations; null where none tells it"),
    "deviation": Column(_REAL, "unit", "standard deviation (n - 1) over them; null under two"),
    "least": Column(_REAL, "unit", "the least of them"),
    "most": Column(_REAL, "unit", "the most of them"),
    "difference": Column(_REAL, "unit", "mean less the first run's mean; null for the first run"),
    "relative": Column(_REAL, "", "difference over the first run's mean; null where that is 0"),
    "apart": Column(
        _FLAG, "", "True: least to most of the run and of the first run do not overlap"
    ),
    "reason": Column(_TEXT, "", "why mean is null, or told by fewer iterations than are complete"),
}
"""Columns of `differences`."""

_NO_NUMBERS = ("iteration", "pool", "straggler_row", "partial")
# Of generation by definition, so training has none to compare.
_NOT_OF_TRAINING = ("stall_ns", "tail_ns")
_NO_ITERATION = "no complete iteration"


def differences(runs: Mapping[str, Run]) -> pl.DataFrame:
    """Compare every number of the runs' summaries.

    Parameters
    ----------
    runs : mapping of str to Run
        Runs by name; the first is what the others are compared with.

    Returns
    -------
    polars.DataFrame
        Columns as `DIFFERENCES`; a row per pool, number and run. Partial iterations are left out.
        A number that a run cannot give is null, with a reason.
    """
    complete = {name: run.summary().filter(~pl.col("partial")) for name, run in runs.items()}
    why = {name: _why(run) for name, run in runs.items()}
    has = {name: set(run.rows["pool"]) for name, run in runs.items()}
    records = []
    for pool in SUMMED_POOLS:
        if not any(pool in own for own in has.values()):
            continue
        own = {name: frame.filter(pl.col("pool") == pool) for name, frame in complete.items()}
        for number, column in COLUMNS["summary"].items():
            if number in _NO_NUMBERS or (pool == "training" and number in _NOT_OF_TRAINING):
                continue
            found = {
                name: _spread(
                    frame[number],
                    f"no {pool} pool" if pool not in has[name] else why[name],
                )
                for name, frame in own.items()
            }
            first = next(iter(found.values()))
            records += [
                {"pool": pool, "number": number, "unit": column.unit, "run": name, **one}
                | ({} if one is first else _against(first, one))
                for name, one in found.items()
            ]
    schema = {name: column.dtype for name, column in DIFFERENCES.items()}
    return pl.DataFrame(records, schema=schema, orient="row")


def _spread(numbers: pl.Series, why: str) -> dict[str, Any]:
    known = numbers.drop_nulls().cast(pl.Float64)
    if numbers.is_empty():
        reason: str | None = why if why.startswith("no ") else _NO_ITERATION
    elif len(known) == len(numbers):
        reason = None
    else:
        reason = why or "the reports do not tell it for this pool"
    return {
        "iterations": len(known),
        "mean": known.mean(),
        "deviation": known.std() if len(known) > 1 else None,
        "least": known.min(),
        "most": known.max(),
        "reason": reason,
    }


def _against(first: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    if first["mean"] is None or one["mean"] is None:
        return {}
    difference = one["mean"] - first["mean"]
    return {
        "difference": difference,
        "relative": difference / first["mean"] if first["mean"] else None,
        "apart": one["least"] > first["most"] or one["most"] < first["least"],
    }


def _why(run: Run) -> str:
    """Give the kinds of the run's diagnostics that make numbers null."""
    return ", ".join(dict.fromkeys(reason.kind for reason in reasons(run.metrics)))

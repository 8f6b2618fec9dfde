"""The foldable tables below a chart: the numbers of `run.summary()`, as people read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rlviz.run.columns import COLUMNS
from rlviz.run.gpu_time import LOST_GRAPHS
from rlviz.run.overlap import COLOCATED, NO_GPUS, NOT_CAPTURED
from rlviz.run.unread import UNREAD
from rlviz.run.words import counted
from rlviz.view.headline import looked_at_ns
from rlviz.view.legible import legible
from rlviz.view.units import seconds_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlviz.run.run import Run

__all__ = ["Numbers", "number_facts", "numbers_of"]

# Two pools: a hundred iterations. Nobody reads more of them here.
_MOST_LINES = 200
_LONGEST_REASON = 600

_GENERATION_ONLY = ("stall_ns", "tail_ns")
_NOT_ITS_OWN = "a number of generation"
_NO_REASON = "the reports do not say"
_POOLS = (COLOCATED, *NO_GPUS.values(), NOT_CAPTURED, UNREAD, LOST_GRAPHS, "unknown-busy")
_GPUS = ("no-gpu-rows", LOST_GRAPHS, "unknown-busy", NOT_CAPTURED, UNREAD)

# What makes a number unknown, by kinds of diagnostics.
_WHY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("overlap_ns", "overlap_gpu_s", "exposed_generation_ns", "active_ns"), _POOLS),
    "stall_ns": ("unknown-stall", *_GPUS),
    "straggler_ns": ("unknown-straggler", *_GPUS),
    "tail_ns": _GPUS,
}
_REFIT = "no refit follows its training, or the capture ended in it"


class _Shown(NamedTuple):
    """A column of a table: what stands above it, and whether it is a share of GPU time."""

    name: str
    text: str
    share: bool = False


_SHARES = (
    ("busy_ns", "busy"),
    ("compute_ns", "compute"),
    ("comm_exposed_ns", "exposed communication"),
    ("copy_only_ns", "only copies"),
    ("idle_launch_ns", "idle under 100 us"),
    ("idle_short_ns", "idle under 10 ms"),
    ("idle_wait_ns", "idle of 10 ms and more"),
    ("bubble_ns", "bubbles"),
)
_PHASES = ("generation", "logprobs", "training", "refit_busy", "reward", "other")

_TABLES: tuple[tuple[str, tuple[_Shown, ...]], ...] = (
    (
        "Iterations",
        (
            _Shown("gpus", "GPUs"),
            _Shown("duration_ns", "length"),
            _Shown("active_ns", "active"),
            _Shown("overlap_ns", "overlap"),
            _Shown("overlap_gpu_s", "overlap of shares"),
            _Shown("exposed_generation_ns", "exposed generation"),
            _Shown("refit_ns", "refit"),
            _Shown("stall_ns", "stall, GPU time"),
            _Shown("tail_ns", "tail"),
            _Shown("straggler_ns", "straggler"),
            _Shown("straggler_row", "which"),
        ),
    ),
    (
        "GPU time, in % of what was captured, without edges",
        (
            *(_Shown(name, text, share=True) for name, text in _SHARES),
            _Shown("edge_ns", "edges, GPU time"),
            _Shown("longest_gap_ns", "longest gap"),
        ),
    ),
    (
        "Busy by phase, in % of the same GPU time",
        tuple(_Shown(f"{phase}_ns", phase.removesuffix("_busy"), share=True) for phase in _PHASES),
    ),
)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a run.

    Parameters
    ----------
    summary : polars.DataFrame
        As ``run.summary()``.
    reasons : dict of str to str
        By column: why a number in it is null.
    labels : dict of int to str
        Names of the chart's rows.
    """

    summary: pl.DataFrame
    reasons: dict[str, str] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)


def numbers_of(run: Run) -> Numbers | None:
    """Gather the numbers of a run, and why some are unknown; None without iterations."""
    summary = run.summary()
    if summary.is_empty():
        return None
    said = _said(run.diagnostics)
    empty = [name for name in summary.columns if summary[name].null_count()]
    reasons = {name: _reason(name, said) for name in empty}
    labels = dict(
        run.rows.select("row", "label").unique("row", keep="first", maintain_order=True).iter_rows()
    )
    return Numbers(summary, reasons, labels)


def number_facts(numbers: Numbers | None) -> dict[str, Any] | None:
    """Write `numbers` down for the browser: texts only, and no more than one can read.

    A cell is a text and its hint: a text too, or the place of one in ``reasons``.
    """
    if numbers is None:
        return None
    summary = numbers.summary.with_columns(looked_at_ns().alias("looked_at_ns"))
    reasons = list(dict.fromkeys([_NOT_ITS_OWN, *numbers.reasons.values()]))
    lines = [*_means(summary), *summary.to_dicts()]
    # A pool's iterations below each other: these are compared.
    pools = list(dict.fromkeys(summary["pool"]))
    lines.sort(key=lambda line: pools.index(line["pool"]))
    shown = lines[:_MOST_LINES]
    of_run = counted(summary["iteration"].n_unique(), "iteration")
    meanings = COLUMNS["summary"]
    return {
        "line": f"Numbers: {of_run}, {' and '.join(pools)}",
        "lines": [{"iteration": _name(one), "pool": one["pool"]} for one in shown],
        "tables": [
            {
                "caption": caption,
                "heads": [{"text": c.text, "hint": meanings[c.name].meaning} for c in columns],
                "cells": [[_cell(one, c, numbers, reasons) for c in columns] for one in shown],
            }
            for caption, columns in _TABLES
        ],
        "reasons": [legible(one, _LONGEST_REASON) for one in reasons],
        "more": len(lines) - len(shown),
    }


def _said(diagnostics: pl.DataFrame) -> dict[str, str]:
    """Give the first message of each kind."""
    first = diagnostics.unique("kind", keep="first", maintain_order=True)
    return dict(first.select("kind", "message").iter_rows())


def _reason(name: str, said: Mapping[str, str]) -> str:
    found = [said[kind] for kind in _WHY.get(name, _GPUS) if kind in said]
    if name == "refit_ns":
        found = [_REFIT]
    return " ".join(dict.fromkeys(found)) or _NO_REASON


def _means(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """Give the mean of the complete iterations, by pool; null where one of them is."""
    complete = summary.filter(~pl.col("partial"))
    if complete["iteration"].n_unique() < 2:
        return []
    kept = {"pool", "iteration", "partial", "straggler_row"}
    each = [name for name in complete.columns if name not in kept]
    # Not every iteration has a refit.
    known = {
        name: pl.when((pl.col(name).null_count() == 0) | (name == "refit_ns")).then(
            pl.col(name).mean()
        )
        for name in each
    }
    means = complete.group_by("pool", maintain_order=True).agg(pl.len().alias("mean_of"), **known)
    return means.to_dicts()


def _name(line: Mapping[str, Any]) -> str:
    if "mean_of" in line:
        return f"mean of {line['mean_of']}"
    return f"{line['iteration']} (partial)" if line["partial"] else str(line["iteration"])


def _cell(
    line: Mapping[str, Any], column: _Shown, numbers: Numbers, reasons: list[str]
) -> tuple[str, str | int]:
    name = column.name
    if name == "straggler_row":
        return _straggler(line, numbers)
    value = line[name]
    if value is None and name in _GENERATION_ONLY and line["pool"] == "training":
        return "–", 0
    if value is None:
        return "unknown", reasons.index(numbers.reasons[name])
    if name == "gpus":
        return f"{round(value, 1):g}", ""
    if name == "overlap_gpu_s":
        return seconds_text(value * 1e9), ""
    if column.share and line["looked_at_ns"]:
        return _percent(value / line["looked_at_ns"]), f"{seconds_text(value)} of GPU time"
    return seconds_text(value), ""


def _straggler(line: Mapping[str, Any], numbers: Numbers) -> tuple[str, str | int]:
    row = line.get("straggler_row")
    return ("–", "") if row is None else (legible(numbers.labels.get(row, str(row))), "")


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %" if share else "0 %"

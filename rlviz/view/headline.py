"""What is said above and below the chart: the run, its numbers, what to trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rlviz.run.rules import SUMMED_POOLS
from rlviz.run.words import counted
from rlviz.view.units import seconds_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.run.run import Run
    from rlviz.view.scene import Row

__all__ = [
    "bubble_shares",
    "busy_of",
    "caption_of",
    "looked_at_ns",
    "notes_of",
    "spoken_of",
    "subtitle_of",
    "title_of",
]

_LOOKED_AT = ("busy_ns", "idle_launch_ns", "idle_short_ns", "idle_wait_ns")


def title_of(run: Run) -> str:
    """Name the run: who made it, how large it is, which steps it holds."""
    framework = run.framework
    parts = ["RL run" if framework in (None, "plain") else f"{framework} run"]
    if hosts := run.rows["host"].drop_nulls().n_unique():
        parts.append(counted(hosts, "host"))
    gpus = run.rows.filter(pl.col("gpu_data"))["row"].n_unique()
    rows = run.rows["row"].n_unique()
    parts.append(counted(gpus, "GPU") if gpus else counted(rows, "worker") + " without GPU rows")
    numbers = [i.number for i in run.story.iterations]
    if numbers:
        first, last = min(numbers), max(numbers)
        parts.append(f"step {first}" if first == last else f"steps {first} to {last}")
    return " · ".join(parts)


def subtitle_of(
    run: Run, rows: Sequence[Row], view_ns: tuple[int, int], iteration: int | None = None
) -> str:
    """Sum the run up: means over its complete iterations, else how busy its GPUs were.

    With `iteration`, the numbers of that one, which may be partial.
    """
    chosen = spoken_of(run, iteration)
    if chosen.is_empty():
        return busy_of(rows, view_ns)
    numbers = sorted(set(chosen["iteration"]))
    mean = _mean_s(chosen.unique("iteration", maintain_order=True)["duration_ns"])
    which = f"iteration {numbers[0]}" if len(numbers) == 1 else f"mean of {len(numbers)} iterations"
    which += " (partial)" if chosen["partial"].any() else ""
    parts = [f"{which}: {mean}"]
    generation = chosen.filter(pl.col("pool") == "generation")
    if len(generation) and not generation["overlap_ns"].null_count():
        share = _sum(generation["overlap_ns"]) / max(_sum(generation["active_ns"]), 1)
        parts.append(f"overlap {100 * share:.0f} % of generation")
        parts.append(f"exposed generation {_mean_s(generation['exposed_generation_ns'])}")
    if bubbles := bubble_shares(chosen):
        parts.append(bubbles)
    refits = (generation if len(generation) else chosen)["refit_ns"].drop_nulls()
    if len(refits):
        parts.append(f"refit {_mean_s(refits)}")
    return " · ".join(parts)


def spoken_of(run: Run, iteration: int | None) -> pl.DataFrame:
    """Give the rows of ``run.summary()`` that are of an iteration; None: of all complete ones."""
    wanted = ~pl.col("partial") if iteration is None else pl.col("iteration") == iteration
    return run.summary().filter(wanted)


def caption_of(run: Run) -> str:
    """Say how times were aligned, and how many reports were read."""
    read = run.reports.filter(pl.col("status") != "unreadable")
    versions = sorted(set(read["nsys_version"].drop_nulls()))
    nsys = f" · nsys {', '.join(versions)}" if versions else ""
    return f"{run.clock} · {len(read)} of {len(run.reports)} reports{nsys}"


def notes_of(run: Run) -> tuple[str, ...]:
    """Say what is wrong: errors and warnings, one line a kind, with the reports it concerns."""
    serious = run.diagnostics.filter(pl.col("severity") != "info")
    notes = []
    for (kind,), part in serious.partition_by("kind", as_dict=True).items():
        of_run = part["report"].null_count() == len(part)
        reports = part["report"].n_unique()
        where = f" ({part['report'][0]})" if reports == 1 else f" ({reports} reports)"
        notes.append(f"{kind}{'' if of_run else where}: {part['message'][0]}")
    return tuple(notes)


def busy_of(rows: Sequence[Row], view_ns: tuple[int, int]) -> str:
    """Say how long a view is, and how busy the GPUs of each pool were."""
    parts = [seconds_text(view_ns[1] - view_ns[0])]
    for pool in SUMMED_POOLS:
        shares = [r.busy_share for r in rows if r.pool == pool and r.busy_share is not None]
        if shares:
            parts.append(f"{pool} GPUs busy {100 * sum(shares) / len(shares):.0f} % of the capture")
    return " · ".join(parts)


def bubble_shares(summary: pl.DataFrame) -> str:
    """Say what share bubbles have in the time of each pool that was looked at; "" if unknown.

    Parameters
    ----------
    summary : polars.DataFrame
        The rows of ``run.summary()`` that are spoken of.
    """
    told = []
    for pool in SUMMED_POOLS:
        own = summary.filter(pl.col("pool") == pool)
        looked_at = own.select(looked_at_ns()).to_series()
        if not (own.is_empty() or looked_at.null_count() or own["bubble_ns"].null_count()):
            share = _sum(own["bubble_ns"]) / max(_sum(looked_at), 1)
            told.append(f"{pool} {100 * share:.0f} %")
    return "bubbles: " + ", ".join(told) if told else ""


def looked_at_ns() -> pl.Expr:
    """Give the GPU time of a summary that shares are of: busy and idle, edges left out."""
    return pl.sum_horizontal(*_LOOKED_AT, ignore_nulls=False)


def _sum(times_ns: pl.Series) -> int:
    return int(times_ns.sum())


def _mean_s(times_ns: pl.Series) -> str:
    return seconds_text(_sum(times_ns) / len(times_ns))

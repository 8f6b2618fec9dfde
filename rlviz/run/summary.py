"""The numbers of a run as frames: a row per iteration and pool, or per iteration and GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rlviz.run.columns import PHASE_COLUMNS, schema
from rlviz.run.gpu_time import NUMBERS
from rlviz.run.phase_time import phase_busy
from rlviz.run.rules import SUMMED_POOLS
from rlviz.run.stragglers import TrainingStraggler
from rlviz.run.within import within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlviz.run.gpu_time import GpuTime
    from rlviz.run.iteration import Iteration, Span
    from rlviz.run.metrics import Metrics

__all__ = ["summary", "summary_by_gpu"]


_Number: TypeAlias = "int | None"
_Record: TypeAlias = "dict[str, int | float | str | bool | None]"


def summary(metrics: Metrics) -> pl.DataFrame:
    """Sum up each iteration and pool.

    Parameters
    ----------
    metrics : Metrics
        Of the run.

    Returns
    -------
    polars.DataFrame
        Columns as ``COLUMNS["summary"]``; by iteration and pool. What is null has its reason in
        `rlviz.run.unknown.reasons`.
    """
    by_gpu = _gpu_records(metrics)
    records = [
        _pool_record(metrics, place, pool, by_gpu[place])
        for place in range(len(metrics.iterations))
        for pool in SUMMED_POOLS
        if any(gpu.pool == pool for gpu in metrics.gpus)
    ]
    return pl.DataFrame(records, schema=schema("summary"), orient="row")


def summary_by_gpu(metrics: Metrics) -> pl.DataFrame:
    """Sum up each iteration and GPU.

    Parameters
    ----------
    metrics : Metrics
        Of the run.

    Returns
    -------
    polars.DataFrame
        Columns as ``COLUMNS["summary_by_gpu"]``; by iteration and row of the chart. Workers without
        GPU data that belong to a pool have a row with nulls.
    """
    records = [record for of_iteration in _gpu_records(metrics) for record in of_iteration]
    return pl.DataFrame(records, schema=schema("summary_by_gpu"), orient="row")


def _gpu_records(metrics: Metrics) -> list[list[_Record]]:
    """Numbers of each row of the chart, by iteration."""
    shown = [gpu for gpu in metrics.gpus if gpu.is_gpu or gpu.pool in SUMMED_POOLS]
    of_rows = [_records_of(metrics, gpu) for gpu in shown]
    return [[records[i] for records in of_rows] for i in range(len(metrics.iterations))]


def _records_of(metrics: Metrics, gpu: GpuTime) -> list[_Record]:
    """Numbers of one row of the chart in each iteration."""
    windows = metrics.windows
    captured = gpu.captured_in(*windows).tolist()
    numbers = {name: column.tolist() for name, column in gpu.numbers_in(*windows).items()}
    for phase, spans in phase_busy(gpu, metrics.phases).items():
        numbers[PHASE_COLUMNS[phase]] = within(spans, *windows).tolist()
    records = []
    for place, iteration in enumerate(metrics.iterations):
        known = gpu.unknown is None and captured[place] > 0
        record: _Record = {
            "iteration": iteration.number,
            "row": gpu.row,
            "label": gpu.label,
            "pool": gpu.pool,
            "duration_ns": iteration.end_ns - iteration.start_ns,
            "captured_ns": captured[place] if gpu.is_gpu else None,
            **{name: column[place] if known else None for name, column in numbers.items()},
            **(_longest(metrics, gpu, iteration) if known else {}),
            "refit_ns": _refit_of_row(metrics, iteration, gpu.row),
            "stall_ns": metrics.stalls_ns[place].get(gpu.row),
            "straggler_ns": _lateness(metrics, place, gpu),
            "partial": not iteration.complete,
        }
        records.append(record)
    return records


def _longest(metrics: Metrics, gpu: GpuTime, iteration: Iteration) -> _Record:
    found = gpu.gaps.longest_in(iteration.start_ns, iteration.end_ns)
    if found is None:
        return {"longest_gap_ns": 0}
    other = metrics.pools.other_active_ns(gpu.pool, *np.array(found).reshape(2, 1))
    return {
        "longest_gap_ns": found[1] - found[0],
        "longest_gap_start_ns": found[0],
        "longest_gap_other_active_ns": None if other is None else int(other[0]),
    }


def _refit_of_row(metrics: Metrics, iteration: Iteration, row: int) -> _Number:
    """Time from the first start to the last end of a GPU's own part in the refit."""
    if iteration.refit is None:
        return None
    own = {
        lane: span
        for lane, span in (iteration.refit.updates | iteration.refit.sends).items()
        if metrics.row_of_lane[lane] == row
    }
    if iteration.refit.unended & own.keys():
        return None
    parts = own.values()
    return max(e for _, e in parts) - min(s for s, _ in parts) if parts else None


def _lateness(metrics: Metrics, place: int, gpu: GpuTime) -> _Number:
    if gpu.pool == "training":
        training = metrics.training_stragglers[place]
        if not isinstance(training, TrainingStraggler):
            return None
        return training.charged_by_row_ns.get(gpu.row)
    generation = metrics.generation_stragglers[place]
    return generation.late_ns.get(gpu.row) if generation is not None else None


def _pool_record(metrics: Metrics, place: int, pool: str, of_rows: Sequence[_Record]) -> _Record:
    iteration, overlap = metrics.iterations[place], metrics.overlaps[place]
    members = [r for r in of_rows if r["pool"] == pool and r["captured_ns"]]
    generates = pool != "training"
    straggler_ns, straggler_row = _straggler(metrics, place, pool)
    summed = (*NUMBERS, *PHASE_COLUMNS.values())
    return {
        "iteration": iteration.number,
        "pool": pool,
        "gpus": len(members),
        "duration_ns": iteration.end_ns - iteration.start_ns,
        **{name: _sum(r[name] for r in members) for name in summed},
        "longest_gap_ns": _most(r.get("longest_gap_ns") for r in members),
        "active_ns": overlap.active_ns.get(pool),
        "overlap_ns": overlap.overlap_ns,
        "overlap_gpu_s": overlap.twin_gpu_s,
        "exposed_generation_ns": overlap.exposed_generation_ns,
        "refit_ns": _refit_of_pool(iteration, pool),
        "stall_ns": _sum(metrics.stalls_ns[place].values()) if generates else None,
        "straggler_ns": straggler_ns,
        "straggler_row": straggler_row,
        "tail_ns": metrics.tails_ns[place] if generates else None,
        "partial": not iteration.complete,
    }


def _straggler(metrics: Metrics, place: int, pool: str) -> tuple[_Number, _Number]:
    """Lost time and row of the straggler; on shared GPUs that of generation."""
    if pool == "training":
        training = metrics.training_stragglers[place]
        if not isinstance(training, TrainingStraggler):
            return None, None
        return training.charged_ns, training.row
    generation = metrics.generation_stragglers[place]
    return (None, None) if generation is None else (generation.spread_ns, generation.row)


def _refit_of_pool(iteration: Iteration, pool: str) -> _Number:
    refit = iteration.refit
    if refit is None or refit.unended:
        return None
    spans: dict[str, Span | None] = {"generation": refit.generation, "training": refit.training}
    span = spans.get(pool, refit.span)
    return None if span is None else span[1] - span[0]


def _known(numbers: Iterable[object]) -> list[int]:
    """Give the numbers; none at all when one of them is unknown."""
    listed = list(numbers)
    known = [n for n in listed if isinstance(n, int)]
    return known if len(known) == len(listed) else []


def _sum(numbers: Iterable[object]) -> _Number:
    known = _known(numbers)
    return sum(known) if known else None


def _most(numbers: Iterable[object]) -> _Number:
    return max(_known(numbers), default=None)

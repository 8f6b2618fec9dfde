"""What the run was doing: the phase of each range and of each GPU event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.gpu_rows import MEMCPY, MEMSET
from rlviz.run.events import lookup
from rlviz.run.intervals import union
from rlviz.run.iterations import iteration_at
from rlviz.run.rules import PHASES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.gpu_part import GpuPart
    from rlviz.run.iteration import Span
    from rlviz.run.rules import Rules
    from rlviz.run.story import Story

    Int64 = NDArray[np.int64]
    UInt8 = NDArray[np.uint8]
    Flags = NDArray[np.bool_]
    Spans = tuple[Int64, Int64]

__all__ = [
    "ACTIVITY",
    "activity_codes",
    "all_phases",
    "marked_ranges",
    "phase_at",
    "phase_spans",
]

_NO_PHASE = -1

ACTIVITY = (*PHASES, "communication", "copy", "compute")
"""What a GPU event was for: its phase, but what only moves data by its kind."""

_NEVER = np.empty(0, np.int64), np.empty(0, np.int64)

# Where ranges of several phases are open at once, the one that interrupts the others tells: weights
# arrive while requests are in flight, and what only prepares gives way to what it prepares.
_PRECEDENCE = ("refit", "training", "logprobs", "reward", "generation", "other")


def marked_ranges(events: Events, rules: Rules) -> pl.DataFrame:
    """Find the ranges that mark a phase.

    Parameters
    ----------
    events : Events
        Events of the run.
    rules : Rules
        What range names mean.

    Returns
    -------
    polars.DataFrame
        row, lane, start_ns, end_ns, truncated, phase (text); in the order of the events.
    """
    phase = lookup(rules.phases_of(events.names), events.ranges["name"])
    columns = ["row", "lane", "start_ns", "end_ns", "truncated", "phase"]
    return events.ranges.with_columns(phase.alias("phase")).drop_nulls("phase").select(columns)


def all_phases(ranges: pl.DataFrame, story: Story, rows: pl.DataFrame) -> pl.DataFrame:
    """Add to the ranges that mark phases what only kernels tell.

    Async generation has no range of its own, so its segments are its generation phase; a policy
    that sends its weights without one does so in the collective kernels after training.

    Parameters
    ----------
    ranges : polars.DataFrame
        As of `marked_ranges`.
    story : Story
        Refits and segments.
    rows : polars.DataFrame
        Lanes of the run.

    Returns
    -------
    polars.DataFrame
        Columns as ``COLUMNS["phases"]``; in the order of rows and time.
    """
    marked = {
        (lane, phase): (part["start_ns"].to_numpy(), part["end_ns"].to_numpy())
        for (lane, phase), part in ranges.partition_by(["lane", "phase"], as_dict=True).items()
    }
    work = [
        *(("generation", lane, span) for _, s in story.segments for lane, span in s.items()),
        *(("refit", lane, span) for refit in story.refits for lane, span in refit.sends.items()),
    ]
    # Also one range of many can be missing: what was open when the capture began is in no report.
    told = [
        (lane, *span, phase)
        for phase, lane, span in work
        if not _meets(marked.get((lane, phase), _NEVER), span)
    ]
    columns = {"lane": pl.Int32, "start_ns": pl.Int64, "end_ns": pl.Int64, "phase": pl.String}
    by_kernels = pl.DataFrame(told, schema=columns, orient="row").with_columns(
        lookup(rows["row"], pl.Series([lane for lane, *_ in told], dtype=pl.Int32)).alias("row"),
        pl.lit(value=False).alias("truncated"),
        pl.lit("kernels").alias("source"),
    )
    by_range = ranges.with_columns(pl.lit("range").alias("source"))
    both = pl.concat([by_range, by_kernels.select(by_range.columns)])
    return both.with_columns(iteration_at(both["start_ns"].to_numpy(), story.iterations)).sort(
        "row", "lane", "start_ns"
    )


def _meets(spans: Spans, span: Span) -> bool:
    return bool(((spans[0] < span[1]) & (spans[1] > span[0])).any())


def phase_spans(phases: pl.DataFrame, workers: tuple[int, ...]) -> dict[int, dict[str, Spans]]:
    """Find when each lane was in which phase.

    Parameters
    ----------
    phases : polars.DataFrame
        lane, start_ns, end_ns, phase: of ranges, and of what kernels tell.
    workers : tuple of int
        Worker of each lane.

    Returns
    -------
    dict of int to dict of str to (ndarray, ndarray)
        By lane and phase: disjoint ascending spans on the run's clock. Lanes of one worker have
        the same, for a range is of its process and not of its thread: autograd launches backward
        kernels from a thread of its own.
    """
    of_worker: dict[int, dict[str, Spans]] = {}
    numbered = phases.with_columns(
        pl.Series("worker", workers, dtype=pl.Int64).gather(phases["lane"])
        if len(workers)
        else pl.lit(0).alias("worker")
    )
    for key, part in numbered.partition_by(["worker", "phase"], as_dict=True).items():
        worker, phase = key
        spans = union(part["start_ns"].to_numpy(), part["end_ns"].to_numpy())
        of_worker.setdefault(worker, {})[phase] = spans
    return {lane: of_worker.get(worker, {}) for lane, worker in enumerate(workers)}


def phase_at(spans: Mapping[str, Spans], at: Int64) -> NDArray[np.int16]:
    """Tell the phase of a lane at each moment.

    Parameters
    ----------
    spans : mapping of str to (ndarray, ndarray)
        Of one lane, as `phase_spans` gives them.
    at : ndarray of int64, shape (n,)
        Moments on the run's clock, ascending.

    Returns
    -------
    ndarray of int16, shape (n,)
        Index into ``rlviz.run.rules.PHASES``, -1 outside of all.
    """
    result = np.full(len(at), _NO_PHASE, np.int16)
    for phase in reversed(_PRECEDENCE):
        first, last = (np.searchsorted(at, limits) for limits in spans.get(phase, _NEVER))
        for inside in zip(first.tolist(), last.tolist(), strict=True):
            result[slice(*inside)] = PHASES.index(phase)
    return result


def activity_codes(part: GpuPart, spans: Mapping[str, Spans], communicates: Flags) -> UInt8:
    """Tell what the GPU events of a lane were for.

    Parameters
    ----------
    part : GpuPart
        Events of one lane in one report.
    spans : mapping of str to (ndarray, ndarray)
        Phases of the lane, as `phase_spans` gives them.
    communicates : ndarray of bool
        By code of a name: it moves data between GPUs.

    Returns
    -------
    ndarray of uint8, shape (n,)
        Index into `ACTIVITY`: the phase, but communication and copies by their kind, and by kind
        alone what is in no phase.
    """
    phase = phase_at(spans, part.start_ns)
    is_copy = (part.kind == MEMCPY) | (part.kind == MEMSET)
    code = np.where(phase == _NO_PHASE, ACTIVITY.index("compute"), phase).astype(np.uint8)
    # A refit is communication as such: its kernels say nothing that the phase does not.
    by_kind = phase != PHASES.index("refit")
    code[by_kind & communicates[part.name]] = _COMMUNICATION
    code[by_kind & is_copy] = _COPY
    return code


_COPY, _COMMUNICATION = ACTIVITY.index("copy"), ACTIVITY.index("communication")

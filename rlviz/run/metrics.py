"""What the numbers of a run are made of, each computed once and only when asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.capture import captured_by_lane
from rlviz.run.columns import empty, schema
from rlviz.run.gaps import CLASSES
from rlviz.run.gpu_time import GpuTime, gpu_times
from rlviz.run.intervals import spans_of
from rlviz.run.iterations import iteration_at
from rlviz.run.overlap import Overlap, Pools, half_busy
from rlviz.run.stragglers import (
    GenerationStraggler,
    Stalls,
    TrainingStraggler,
    TrainingStragglers,
    generation_straggler,
)
from rlviz.run.unread import UNREAD, unread_pools
from rlviz.run.within import within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.activity import Activity
    from rlviz.run.events import Events
    from rlviz.run.iteration import Iteration, Refit
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["Metrics"]


class Metrics:
    """Measures a run.

    Parameters
    ----------
    events, rows, reports, diagnostics : Events, polars.DataFrame
        Of the run.
    activity : callable
        Gives what each lane did.
    rules : Rules
        Which kernels communicate.
    iterations : sequence of Iteration
        In their order; windows do not overlap.
    refits : sequence of Refit
        All refits, also those that end no iteration.
    phases : mapping of int to mapping of str to (ndarray, ndarray)
        By lane and phase, as of `rlviz.run.phases.phase_spans`.
    """

    def __init__(
        self,
        *,
        events: Events,
        activity: Callable[[], Mapping[int, Activity]],
        rows: pl.DataFrame,
        reports: pl.DataFrame,
        diagnostics: pl.DataFrame,
        rules: Rules,
        iterations: Sequence[Iteration],
        refits: Sequence[Refit],
        phases: Mapping[int, Mapping[str, Spans]],
    ) -> None:
        self.iterations: tuple[Iteration, ...] = tuple(iterations)
        self.phases = phases
        self.row_of_lane: list[int] = rows["row"].to_list()
        self._events = events
        self._activity = activity
        self._rows = rows
        self._reports = reports
        self._diagnostics = diagnostics
        self._rules = rules
        self._refits = refits

    @cached_property
    def gpus(self) -> tuple[GpuTime, ...]:
        """How each row of the chart spent its time, by row."""
        return gpu_times(self._activity(), self._rows, self._reports, self._diagnostics)

    @cached_property
    def pools(self) -> Pools:
        """Activity of both pools."""
        return Pools(self.gpus, self._refits, self.unread)

    @cached_property
    def unread(self) -> dict[str, int]:
        """How many reports of each pool are there and could not be read."""
        return unread_pools(self._reports, self._rules)

    @cached_property
    def overlaps(self) -> tuple[Overlap, ...]:
        """How both pools worked together, by iteration."""
        return self.pools.overlaps(self.iterations)

    @cached_property
    def generation_stragglers(self) -> tuple[GenerationStraggler | None, ...]:
        """Generation GPU that ends the segment last, by iteration; None: unknown."""
        if "generation" in self.unread or any(gpu.unknown for gpu in self.generation_gpus):
            return (None,) * len(self.iterations)
        return tuple(generation_straggler(i, self.row_of_lane) for i in self.iterations)

    @cached_property
    def training_stragglers(self) -> tuple[TrainingStraggler | str, ...]:
        """Training GPU that the others wait for, by iteration, or why there is none."""
        if "training" in self.unread:
            return (UNREAD,) * len(self.iterations)
        found = TrainingStragglers(self._events, self._rows, self.phases, self._rules)
        return tuple(found.of(iteration) for iteration in self.iterations)

    @cached_property
    def tails_ns(self) -> tuple[int | None, ...]:
        """Time in the segment with fewer than half of the generation GPUs busy; None: unknown."""
        gpus = self.generation_gpus
        segments = [iteration.segment_span for iteration in self.iterations]
        if not gpus or "generation" in self.unread or any(gpu.unknown for gpu in gpus):
            return (None,) * len(segments)
        busy = half_busy(gpus)
        return tuple(
            None if span is None else span[1] - span[0] - int(_measure(busy, *span))
            for span in segments
        )

    @cached_property
    def stalls_ns(self) -> tuple[dict[int, int | None], ...]:
        """Stall of the refit on each generation GPU that it updated, by iteration and row."""
        stalls = Stalls(self._events, captured_by_lane(self._rows, self._reports))
        unknown = {gpu.row for gpu in self.gpus if gpu.unknown}
        found: list[dict[int, int | None]] = []
        for iteration in self.iterations:
            updates = iteration.refit.updates if iteration.refit is not None else {}
            own: dict[int, int | None] = {}
            for lane, update in updates.items():
                row = self.row_of_lane[lane]
                own[row] = None if row in unknown else stalls.of(lane, update)
            found.append(own)
        return tuple(found)

    @cached_property
    def generation_gpus(self) -> tuple[GpuTime, ...]:
        """GPUs that a generation worker works on."""
        return tuple(g for g in self.gpus if g.is_gpu and "generation" in g.roles.values())

    @cached_property
    def windows(self) -> tuple[Int64, Int64]:
        """Starts and ends of the iterations."""
        return spans_of((one.start_ns, one.end_ns) for one in self.iterations)

    def gaps(self) -> pl.DataFrame:
        """List idle time: pieces of gaps, which edges and limits of iterations cut.

        Returns
        -------
        polars.DataFrame
            Columns as ``COLUMNS["gaps"]``, sorted by row and start. Rows whose idle time is unknown
            have none here.
        """
        known = [gpu for gpu in self.gpus if gpu.unknown is None]
        return pl.concat([empty("gaps"), *(self._gaps_of(gpu) for gpu in known)])

    def _gaps_of(self, gpu: GpuTime) -> pl.DataFrame:
        pieces = gpu.gaps.cut_at(np.union1d(*self.windows))
        other = self.pools.other_active_ns(gpu.pool, *pieces.spans)
        frame = pl.DataFrame(
            {
                "start_ns": pieces.start,
                "end_ns": pieces.end,
                "gap_ns": pieces.whole_ns,
                "class": pl.Series(CLASSES).gather(pieces.classes),
                "bubble": pieces.bubble,
                "iteration": iteration_at(pieces.start, self.iterations),
                "other_active_ns": pl.Series(other, dtype=pl.Int64) if other is not None else None,
            }
        ).with_columns(pl.lit(gpu.row).alias("row"))
        return frame.select(pl.col(n).cast(dtype) for n, dtype in schema("gaps").items())


def _measure(spans: Spans, start: int, end: int) -> int:
    return int(within(spans, np.array([start]), np.array([end]))[0])

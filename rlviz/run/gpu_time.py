"""How each GPU spent its time: captured = busy + edge + idle, to the nanosecond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rlviz.run.activity import Activity
from rlviz.run.capture import captured_by_row
from rlviz.run.edges import edges_by_row
from rlviz.run.gaps import CLASSES, Gaps, idle_gaps
from rlviz.run.intervals import intersection, subtraction
from rlviz.run.within import within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["LOST_GRAPHS", "NO_GPU_DATA", "NUMBERS", "GpuTime", "gpu_times"]

NO_GPU_DATA = "no-gpu-rows"
LOST_GRAPHS = "graph-launches-without-rows"

NUMBERS = (
    "busy_ns",
    "compute_ns",
    "comm_exposed_ns",
    "copy_only_ns",
    *(f"idle_{name}_ns" for name in CLASSES),
    "bubble_ns",
    "edge_ns",
)


@dataclass(frozen=True)
class GpuTime:
    """What one row of the chart did, as far as its reports tell.

    Parameters
    ----------
    row, pool, label : int, str, str
        As in ``run.rows``.
    lanes : dict of int to Activity
        Activity of each of its lanes inside the captured spans.
    roles : dict of int to str
        What each lane's worker is for.
    unknown : str or None
        Kind of the diagnostic that says why busy and idle are unknown; None where they are known.
    captured, edges : (ndarray, ndarray)
        Spans in which all its workers were captured, and the edges in them.
    activity : Activity
        What all its workers did together, inside the captured spans.
    """

    row: int
    pool: str
    label: str
    lanes: dict[int, Activity]
    roles: dict[int, str]
    unknown: str | None
    captured: Spans
    edges: Spans
    activity: Activity
    busy: Spans
    gaps: Gaps

    @property
    def is_gpu(self) -> bool:
        """False for a worker without GPU data: no GPU is known that could count."""
        return self.unknown != NO_GPU_DATA

    def captured_in(self, start: Int64, end: Int64) -> Int64:
        """Measure how much of each window was captured."""
        return within(self.captured, start, end)

    def numbers_in(self, start: Int64, end: Int64) -> dict[str, Int64]:
        """Measure windows: each of `NUMBERS`, shape (n,). Says nothing where `unknown`.

        Parameters
        ----------
        start, end : ndarray of int64, shape (n,)
            The windows.
        """
        spans = {
            "busy_ns": self.busy,
            "comm_exposed_ns": self.activity.comm_exposed,
            "copy_only_ns": self.activity.copy_only,
            "edge_ns": subtraction(*intersection(*self.captured, *self.edges), *self.busy),
        }
        measured = {name: within(own, start, end) for name, own in spans.items()}
        measured["compute_ns"] = self.activity.compute_in(start, end)
        by_class, measured["bubble_ns"] = self.gaps.sums_in(start, end)
        measured |= {f"idle_{n}_ns": own for n, own in zip(CLASSES, by_class, strict=True)}
        return {name: measured[name] for name in NUMBERS}


def gpu_times(
    activity: Mapping[int, Activity],
    rows: pl.DataFrame,
    reports: pl.DataFrame,
    diagnostics: pl.DataFrame,
) -> tuple[GpuTime, ...]:
    """Find how each row of the chart spent its time.

    Parameters
    ----------
    activity : mapping of int to Activity
        What each lane did.
    rows, reports, diagnostics : polars.DataFrame
        Of the run.

    Returns
    -------
    tuple of GpuTime
        By row.
    """
    blind, lost = (_reports_with(diagnostics, kind) for kind in (NO_GPU_DATA, LOST_GRAPHS))
    # A window in which nothing of the GPU was recorded is not captured: idle there is unknown.
    seen = rows.with_columns(pl.col("report").list.set_difference(blind))
    captured, edges = captured_by_row(seen, reports), edges_by_row(seen, reports)
    return tuple(
        _gpu_time(own, captured[row], edges[row], activity, set(lost))
        for (row,), own in sorted(rows.partition_by("row", as_dict=True).items())
    )


def _gpu_time(
    own: pl.DataFrame,
    captured: Spans,
    edges: Spans,
    activity: Mapping[int, Activity],
    lost: set[str],
) -> GpuTime:
    lanes = {n: activity[n].cut_to(captured) for n in own["lane"] if n in activity}
    together = Activity.together(list(lanes.values()))
    busy = together.busy
    unknown = None if own["gpu_data"].any() else NO_GPU_DATA
    if unknown is None and lost & set(own["report"].explode()):
        unknown = LOST_GRAPHS
    return GpuTime(
        row=own["row"][0],
        pool=own["pool"][0],
        label=own["label"][0],
        lanes=lanes,
        roles=dict(own.select("lane", "role").iter_rows()),
        unknown=unknown,
        captured=captured,
        edges=edges,
        activity=together,
        busy=busy,
        gaps=idle_gaps(busy, captured, edges),
    )


def _reports_with(diagnostics: pl.DataFrame, kind: str) -> Sequence[str]:
    """Find the reports that a diagnostic of this kind is about."""
    return diagnostics.filter(pl.col("kind") == kind)["report"].drop_nulls().to_list()

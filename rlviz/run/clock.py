"""One clock for all reports: UTC at the start of each collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlviz.reports.report import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.reports.report import Report

__all__ = ["Clock", "align"]


@dataclass(frozen=True)
class Clock:
    """The run's clock.

    Parameters
    ----------
    start_utc_ns : int or None
        UTC of its 0; None when no report has a start time.
    offsets_ns : tuple of int
        Per report, what turns a time of the report into one of the run.
    diagnostics : tuple of Diagnostic
        Reports that could not be aligned.
    """

    start_utc_ns: int | None
    offsets_ns: tuple[int, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def align(reports: Sequence[Report]) -> Clock:
    """Put all reports on one clock, whose 0 is the start of the earliest report with GPU rows.

    Where no report has GPU rows, the earliest of all gives the 0. A report without a start time
    (nsys before 2021.3) is put at 0 and named, unless it is the only one.

    Notes
    -----
    ``ANALYSIS_DETAILS.startTime`` is no common clock: up to nsys 2025.5 it counts from each
    session's own launch.
    """
    known = [r for r in reports if r.start.utc_ns is not None]
    with_gpu = [r for r in known if r.gpu_rows]
    starts = [r.start.utc_ns for r in with_gpu or known if r.start.utc_ns is not None]
    zero = min(starts, default=None)
    offsets = tuple(
        0 if zero is None or r.start.utc_ns is None else r.start.utc_ns - zero for r in reports
    )
    lost = [r for r in reports if r.start.utc_ns is None] if len(reports) > 1 else []
    diagnostics = tuple(
        Diagnostic(
            "warning",
            "not-aligned",
            "It has no session start time, so its place on the time axis is unknown: it is drawn "
            "from second 0 on. Export the capture again with nsys 2021.3 or later.",
            r.key,
        )
        for r in lost
    )
    return Clock(zero, offsets, diagnostics)

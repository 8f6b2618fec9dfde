"""Where what is told of a lane comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlviz.reports.report import Report

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """What of a report belongs to a lane.

    Parameters
    ----------
    report : Report
        The report.
    offset_ns : int
        What turns its times into those of the run.
    pid, device : int or None
        The lane's process and its device; None where the export names none.
    lane : int
        The lane.
    """

    report: Report
    offset_ns: int
    pid: int | None
    device: int | None
    lane: int

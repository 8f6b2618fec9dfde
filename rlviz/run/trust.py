"""What to trust of a run, in a minute's reading: a line, its reports, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rlviz.run.clock_words import length_text, span_text
from rlviz.run.words import counted, listed

if TYPE_CHECKING:
    from rlviz.run.run import Run

__all__ = ["ReportLine", "Trouble", "report_lines", "troubles", "trust_line"]

_ALIKE = 3
# A name is there to find the report; of errors, each has to be found.
_NAMED = {"error": 8, "warning": 2, "info": 2}


class ReportLine(NamedTuple):
    """A report: what it is, and how well its times can be trusted; None is unknown."""

    report: str
    role: str | None
    host: str | None
    clock: str | None
    residual: str | None
    anchors: int
    window_s: str | None
    kernels: int | None
    ranges: int | None
    status: str


class Trouble(NamedTuple):
    """Something that is wrong or missing, said once for all reports that it concerns."""

    severity: str
    reports: str
    kind: str
    message: str


def trust_line(run: Run) -> str:
    """Say in a line how many reports there are, how they were aligned, and what is wrong.

    Examples
    --------
    >>> trust_line(run)  # doctest: +SKIP
    'Trust: 8 reports, UTC, hosts agree to 7 us (median), 25 us (worst), 2 warnings, 1 note'
    """
    status = run.reports["status"].to_list()
    read = len(status) - status.count("unreadable")
    apart = status.count("apart")
    found = run.diagnostics["severity"].to_list()
    words = {"error": "error", "warning": "warning", "info": "note"}
    counts = [counted(found.count(one), word) for one, word in words.items() if one in found]
    if not {"error", "warning"} & set(found):
        counts.insert(0, "no warnings")
    parts = [
        counted(read, "report") if read == len(status) else f"{read} of {len(status)} reports",
        *([f"{apart} set apart"] if apart else []),
        run.clock.removeprefix("Clock: "),
        *counts,
    ]
    return "Trust: " + ", ".join(parts)


def report_lines(reports: pl.DataFrame) -> list[ReportLine]:
    """Tell of each report what it holds and how it came to its place.

    Parameters
    ----------
    reports : polars.DataFrame
        As ``run.reports``.
    """
    return [
        ReportLine(
            one["report"],
            one["role"],
            one["host"],
            _clock(one),
            _residual(one),
            one["anchors"] or 0,
            _window(one),
            one["kernels"],
            one["ranges"],
            one["status"],
        )
        for one in reports.to_dicts()
    ]


def troubles(diagnostics: pl.DataFrame) -> list[Trouble]:
    """List what is wrong, the worst first; what many reports have in common once.

    Of many different messages of one kind the first three stand for all.

    Parameters
    ----------
    diagnostics : polars.DataFrame
        As ``run.diagnostics``.
    """
    found: list[Trouble] = []
    for severity in ("error", "warning", "info"):
        of_severity = diagnostics.filter(pl.col("severity") == severity)
        for (kind,), alike in of_severity.partition_by(
            "kind", as_dict=True, maintain_order=True
        ).items():
            told = alike.group_by("message", maintain_order=True).agg("report").rows()
            all_fit = severity == "error" or len(told) <= _ALIKE + 1
            shown = list(told) if all_fit else told[:_ALIKE]
            if rest := told[len(shown) :]:
                others = [report for _, reports in rest for report in reports]
                shown.append((f"{len(rest)} more of this kind; run.diagnostics has all.", others))
            for text, who in shown:
                found.append(Trouble(severity, _which(severity, who), str(kind), text))
    return found


def _which(severity: str, reports: list[str | None]) -> str:
    named = list(dict.fromkeys(report for report in reports if report is not None))
    if not named:
        return "all"
    most = _NAMED[severity]
    return listed(named, most if len(named) <= most else most - 1)


def _clock(report: dict[str, Any]) -> str | None:
    """Say what put a report on the clock, and what that added to its UTC."""
    offset = report["offset_ns"]
    moved = f" {span_text(offset)}" if offset else ""
    return f"{report['alignment']}{moved}" if report["alignment"] else None


def _residual(report: dict[str, Any]) -> str | None:
    median, worst = report["residual_median_ns"], report["residual_worst_ns"]
    return None if median is None else f"{length_text(median)}, worst {length_text(worst)}"


def _window(report: dict[str, Any]) -> str | None:
    start, end = report["window_start_ns"], report["window_end_ns"]
    return None if start is None else f"{start / 1e9:.3f} to {end / 1e9:.3f}"

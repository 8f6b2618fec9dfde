"""What to say about the clocks of a run: a line for the chart's corner, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.reports.report import Diagnostic
from rlviz.run.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rlviz.reports.report import Report
    from rlviz.run.base_clocks import BaseClock
    from rlviz.run.clock import Alignment
    from rlviz.run.consensus import Verdict
    from rlviz.run.drift import Drift

__all__ = [
    "describe",
    "length_text",
    "span_text",
    "tell",
    "tell_drifts",
    "tell_pauses",
]

# NTP keeps hosts within some ten ms of each other: a clock that is further off is wrong.
_FLAGGED_NS = 50_000_000

_LISTED = 8

_PAUSE_NS = 86_400_000_000_000
# Steps of one run are captured hours apart at most; after more, it may be another run.


def span_text(ns: int) -> str:
    """Write a length of time with its sign, in the unit that suits it.

    Examples
    --------
    >>> span_text(-37_200_000), span_text(7_200_000_000_000), span_text(21_300)
    ('-37.200 ms', '+7200.000 s (2.00 h)', '+21 us')
    """
    size = abs(ns)
    if size < 1_000_000:
        return f"{ns / 1e3:+.0f} us"
    if size < 1_000_000_000:
        return f"{ns / 1e6:+.3f} ms"
    hours = f" ({size / 3.6e12:.2f} h)" if size >= 3_600_000_000_000 else ""
    return f"{ns / 1e9:+.3f} s{hours}"


def length_text(ns: int) -> str:
    """Write a length of time without its sign."""
    return span_text(abs(ns)).removeprefix("+")


def describe(
    bases: Sequence[BaseClock],
    verdicts: Sequence[Verdict] | None,
    alignments: Mapping[int, Alignment],
) -> str:
    """Say in a line how the reports came to one clock."""
    methods = {one.method for one in alignments.values()}
    plain = {"utc": "UTC", "system_clock": "system clock", "user": "offsets by hand"}
    parts = [words for method, words in plain.items() if method in methods]
    if verdicts is None:
        return "Clock: " + (" and ".join(parts) or "unknown")
    for base, verdict in zip(bases, verdicts, strict=True):
        method = alignments[base.reports[0]].method
        if method in ("collectives", "broadcasts"):
            parts.append(f"{base.label} {span_text(verdict.offset_ns)} by {_told_by(verdict)}")
        elif method in ("ambiguous", "far", "none"):
            words = {"far": "far from all others", "none": "without start time"}
            parts.append(f"{base.label} {words.get(method, method)}")
    residuals = np.abs(np.concatenate([np.empty(0), *(v.residuals_ns for v in verdicts)]))
    if len(residuals):
        median, worst = round(float(np.median(residuals))), round(float(residuals.max()))
        parts.append(f"hosts agree to {length_text(median)} (median), {length_text(worst)} (worst)")
    elif sum(not alignments[base.reports[0]].apart for base in bases) > 1:
        parts.append("nothing tells how well hosts agree")
    return "Clock: " + ", ".join(parts)


def tell(
    reports: Sequence[Report],
    bases: Sequence[BaseClock],
    verdicts: Sequence[Verdict] | None,
    alignments: Mapping[int, Alignment],
) -> Iterator[Diagnostic]:
    """Say which clocks are wrong, were corrected, or could not be."""
    for number, base in enumerate(bases):
        if abs(base.stepped_ns) > _FLAGGED_NS:
            yield _stepped(base)
        method = alignments[base.reports[0]].method
        if method == "user":
            message = f"The times of {base.label} have the offset that was asked for."
            yield Diagnostic("info", "clock-by-hand", message)
        elif method == "none" and len(reports) > 1:
            yield _without_start(reports[base.reports[0]].key)
        elif verdicts is not None:
            yield from _of_verdict(base, verdicts[number], method, reports)
    if verdicts is not None:
        yield from _unconfirmed(bases, verdicts, alignments)


def tell_drifts(bases: Sequence[BaseClock], drifts: Sequence[Drift | None]) -> Iterator[Diagnostic]:
    """Say which clocks run fast or slow."""
    for base, drift in zip(bases, drifts, strict=True):
        if drift is None:
            continue
        if drift.change_ns:
            most = max(drift.change_ns.values(), key=abs)
            message = (
                f"The clock of {base.label} drifts: its offset changes by {length_text(most)} from "
                "one capture to another. Each of its captures has the offset that its own "
                "collectives tell."
            )
            yield Diagnostic("info", "clock-drift", message, count=len(drift.change_ns))
        if drift.ppm is not None:
            message = (
                f"The clock of {base.label} runs {abs(drift.ppm):.2f} ppm "
                f"{'fast' if drift.ppm > 0 else 'slow'} against the other hosts: at the ends of "
                f"its longest capture its times are {length_text(drift.within_ns)} off. That is "
                "not corrected; a shorter capture drifts less."
            )
            yield Diagnostic("info", "clock-drift", message)


def tell_pauses(
    reports: Sequence[Report], windows_ns: Mapping[int, tuple[int, int]]
) -> Iterator[Diagnostic]:
    """Say where so long nothing was captured that the reports may be of several runs."""
    ordered = sorted(windows_ns, key=lambda index: windows_ns[index])
    reach, last = None, ""
    for index in ordered:
        start, end = windows_ns[index]
        key = reports[index].key
        if reach is not None and start - reach > _PAUSE_NS:
            days = (start - reach) / 86_400e9
            message = (
                f"{key} was captured {days:,.1f} days after {last}, and nothing in between: the "
                "chart is as wide. If they are of different runs, load each alone."
            )
            yield Diagnostic("warning", "long-pause", message, key)
        if reach is None or end > reach:
            reach, last = end, key


def _of_verdict(
    base: BaseClock, verdict: Verdict, method: str, reports: Sequence[Report]
) -> Iterator[Diagnostic]:
    if method in ("collectives", "broadcasts"):
        yield _corrected(base, verdict)
    elif method == "ambiguous":
        yield from _ambiguous(base, verdict, reports)
    elif method == "far":
        yield from _far(base, reports)


def _stepped(base: BaseClock) -> Diagnostic:
    message = (
        f"UTC of {base.label} was set by {span_text(base.stepped_ns)} between two of its reports: "
        "they go by its system clock, which was not."
    )
    return Diagnostic("info", "utc-stepped", message)


def _without_start(key: str) -> Diagnostic:
    message = (
        "It has no session start time, so its place on the time axis is unknown: it is drawn "
        "from second 0 on. Export the capture again with nsys 2021.3 or later, or give its start "
        "in seconds after the run's: offsets={report: seconds}."
    )
    return Diagnostic("warning", "not-aligned", message, key)


def _corrected(base: BaseClock, verdict: Verdict) -> Diagnostic:
    residuals = np.abs(verdict.residuals_ns)
    median, worst = round(float(np.median(residuals))), int(residuals.max())
    bias = f", bias up to {length_text(verdict.bias_ns)}" if verdict.bias_ns else ""
    message = (
        f"UTC of {base.label} does not agree with that of the other hosts: its times were moved "
        f"by {span_text(verdict.offset_ns)}, as told by {_told_by(verdict)} (residual: median "
        f"{length_text(median)}, worst {length_text(worst)}{bias})."
    )
    if abs(verdict.offset_ns) <= _FLAGGED_NS:
        return Diagnostic("info", "clock-corrected", message, count=verdict.anchors)
    message += " That is more than NTP leaves: check the time service of the hosts."
    return Diagnostic("warning", "clock-corrected", message, count=verdict.anchors)


def _ambiguous(
    base: BaseClock, verdict: Verdict, reports: Sequence[Report]
) -> Iterator[Diagnostic]:
    fits = sorted({verdict.offset_ns, *verdict.rivals_ns}, key=abs)[:_LISTED]
    message = (
        f"The clock of {base.label} is ambiguous: steps take equally long, and the offsets "
        f"{', '.join(map(span_text, fits))} fit its collectives equally well. It is set apart: no "
        "row is drawn and no number counts it. Load it alone, or say which is right: "
        f"offsets={{{base.label!r}: seconds}}."
    )
    yield from _each(base, reports, "clock-ambiguous", message)


def _far(base: BaseClock, reports: Sequence[Report]) -> Iterator[Diagnostic]:
    message = (
        f"UTC puts {base.label} far from all other reports, and there are no collectives in common "
        "that confirm or correct it: its clock is taken to be wrong. It is set apart: no row is "
        "drawn and no number counts it. Load it alone, or say what to add to its times: "
        f"offsets={{{base.label!r}: seconds}} (0 if its clock is right)."
    )
    yield from _each(base, reports, "clock-far", message)


def _each(
    base: BaseClock, reports: Sequence[Report], kind: str, message: str
) -> Iterator[Diagnostic]:
    """Name every report; the reason is worth reading once."""
    first, *others = base.reports
    yield Diagnostic("warning", kind, message, reports[first].key)
    for index in others:
        short = f"Set apart with all reports of {base.label}."
        yield Diagnostic("warning", kind, short, reports[index].key)


def _unconfirmed(
    bases: Sequence[BaseClock], verdicts: Sequence[Verdict], alignments: Mapping[int, Alignment]
) -> Iterator[Diagnostic]:
    """Say which hosts stand where UTC puts them, with nothing to check it by."""
    believed = ("utc", "system_clock")
    labels = [
        base.label
        for base, verdict in zip(bases, verdicts, strict=True)
        if verdict.kind is None and alignments[base.reports[0]].method in believed
    ]
    if not labels or len(bases) < 2:
        return
    message = (
        f"{listed(labels)}: placed by UTC alone, since there are no collectives in common with "
        "other hosts. Errors of 1 to 10 ms are usual, and numbers of both pools together are wrong "
        "by that much. To check it, capture NCCL kernels on all hosts (-t cuda,nvtx)."
    )
    yield Diagnostic("info", "clock-by-utc", message, count=len(labels))


def _told_by(verdict: Verdict) -> str:
    name = verdict.kind.name if verdict.kind is not None else "collectives"
    return f"{verdict.anchors:,} {name}"

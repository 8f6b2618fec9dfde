"""One clock for all reports: the best that each of them offers, checked against the others.

``docs/reference/alignment.md`` tells how; the layers are in the order of that page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.base_clocks import base_clocks
from rlviz.run.clock_words import describe, tell, tell_drifts, tell_pauses
from rlviz.run.collectives import KINDS, TOGETHER, series_of
from rlviz.run.consensus import Party, judge
from rlviz.run.drift import find_drifts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlviz.reports.report import Diagnostic, Report
    from rlviz.run.base_clocks import BaseClock
    from rlviz.run.collectives import Series
    from rlviz.run.consensus import Verdict
    from rlviz.run.drift import Drift
    from rlviz.run.hosts import Machine

__all__ = ["Alignment", "Clock", "align"]

_FAR_NS = 600_000_000_000
# A clock that nothing confirms, and that puts its reports further than this from all others, is
# taken to be wrong: workers of one run that were captured at all were captured at about one time.


@dataclass(frozen=True)
class Alignment:
    """How a report came to its place on the run's clock.

    Parameters
    ----------
    method : str
        utc: its own start time. system_clock: the machine's clock, which its reports share.
        collectives, broadcasts: as one of these, then corrected by what ends at the same time on
        other machines. user: as the caller said. ambiguous: several corrections fit. far: nothing
        confirms its start time, and it is far from all others. none: it has no start time.
    offset_ns : int or None
        What was added to its own UTC; None where it has none, or no place on the run's clock.
    residual_median_ns, residual_worst_ns : int or None
        What stays between the ends of collectives here and on other machines; None where there
        are none in common.
    anchors : int
        How many collectives that is.
    """

    method: str
    offset_ns: int | None
    residual_median_ns: int | None = None
    residual_worst_ns: int | None = None
    anchors: int = 0

    @property
    def apart(self) -> bool:
        """Its place on the run's clock is not known: it is not drawn among the others."""
        return self.method in ("ambiguous", "far")


@dataclass(frozen=True)
class Clock:
    """The run's clock.

    Parameters
    ----------
    start_utc_ns : int or None
        UTC of its 0; None when no report has a start time.
    offsets_ns : tuple of int
        Per report, what turns a time of the report into one of the run.
    alignments : tuple of Alignment
        Per report, how it came to its place.
    text : str
        All that in a line.
    diagnostics : tuple of Diagnostic
        Clocks that were corrected, and reports that could not be aligned.
    """

    start_utc_ns: int | None
    offsets_ns: tuple[int, ...]
    alignments: tuple[Alignment, ...]
    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def align(
    reports: Sequence[Report],
    machines: Sequence[Machine],
    offsets: Mapping[str, float] | None = None,
) -> Clock:
    """Put all reports on one clock, whose 0 is the start of the earliest report with GPU rows.

    Where no report has GPU rows, the earliest of all gives the 0. A report without a start time
    (nsys before 2021.3) is put at 0 and named, unless it is the only one.

    Parameters
    ----------
    reports : sequence of Report
        The reports.
    machines : sequence of Machine
        Which of them share a machine.
    offsets : mapping of str to float, optional
        Seconds to add to the times of a report or of all reports of a host, by report or host.

    Raises
    ------
    ValueError
        A name in `offsets` that neither a report nor a host has, or an offset that is no time.

    Notes
    -----
    ``ANALYSIS_DETAILS.startTime`` is no common clock: up to nsys 2025.5 it counts from each
    session's own launch.
    """
    bases = base_clocks(reports, machines, offsets or {})
    parties = _parties(reports, bases) if len(bases) > 1 else None
    verdicts = judge(parties) if parties is not None else None
    corrections, far = [0] * len(bases), [False] * len(bases)
    drifts: list[Drift | None] = [None] * len(bases)
    if parties is not None and verdicts is not None:
        drifts = find_drifts(
            parties, verdicts, _windows(reports, bases), [b.reports for b in bases]
        )
        corrections = [verdict.offset_ns for verdict in verdicts]
        far = _far(reports, bases, verdicts)
    alignments: dict[int, Alignment] = {}
    places: dict[int, int] = {}
    after_zero: dict[int, int] = {}
    for number, base in enumerate(bases):
        verdict = verdicts[number] if verdicts is not None else None
        for index in base.reports:
            drift = drifts[number]
            one = _alignment(reports[index], base, index, verdict, far=far[number])
            changed = drift.change_ns.get(index, 0) if drift is not None else 0
            if drift is not None and changed and not one.apart:
                one = _drifted(one, changed, drift, index)
            alignments[index] = one
            if base.known or one.method not in ("none", "user"):
                places[index] = base.start_ns[index] + corrections[number] + changed
            else:  # without a start time, what the caller says counts from the run's start
                after_zero[index] = base.start_ns[index]
    zero = _zero(reports, places, alignments)
    windows = {
        i: (start, start + _length(reports[i]))
        for i, start in places.items()
        if not alignments[i].apart
    }
    order = range(len(reports))
    timed = any(base.known for base in bases)
    return Clock(
        zero if timed else None,
        tuple(places[i] - zero if i in places else after_zero[i] for i in order),
        tuple(alignments[i] for i in order),
        describe(bases, verdicts, alignments),
        (
            *tell(reports, bases, verdicts, alignments),
            *tell_drifts(bases, drifts),
            *tell_pauses(reports, windows),
        ),
    )


def _parties(reports: Sequence[Report], bases: Sequence[BaseClock]) -> list[Party]:
    parties = []
    for base in bases:
        series: dict[str, list[Series]] = {kind.name: [] for kind in KINDS}
        for index in base.reports:
            collectives = reports[index].collectives
            if collectives is None:
                continue
            start = base.start_ns[index]
            window = start, start + _length(reports[index])
            for kind in KINDS:
                series[kind.name] += series_of(index, collectives, start, window, kind)
        with_series = {one.report for kind in series.values() for one in kind}
        parties.append(Party(series, len(with_series), base.fixed, base.known))
    return parties


def _windows(reports: Sequence[Report], bases: Sequence[BaseClock]) -> dict[int, tuple[int, int]]:
    return {
        index: (base.start_ns[index], base.start_ns[index] + _length(reports[index]))
        for base in bases
        for index in base.reports
    }


def _length(report: Report) -> int:
    if report.start.duration_ns is not None:
        return report.start.duration_ns
    return 0 if report.activity is None else int(str(report.activity["end"].max() or 0))


def _far(
    reports: Sequence[Report], bases: Sequence[BaseClock], verdicts: Sequence[Verdict]
) -> list[bool]:
    """Tell which clocks nothing confirms and are far from those that most reports keep to."""
    hulls: dict[int, tuple[int, int]] = {}
    sizes: dict[int, int] = {}
    for base, verdict in zip(bases, verdicts, strict=True):
        if not base.known or base.fixed or verdict.rivals_ns:
            continue
        starts = [base.start_ns[i] + verdict.offset_ns for i in base.reports]
        ends = [s + _length(reports[i]) for s, i in zip(starts, base.reports, strict=True)]
        first, last = hulls.get(verdict.group, (min(starts), max(ends)))
        hulls[verdict.group] = min(first, *starts), max(last, *ends)
        with_gpu = sum(1 for i in base.reports if reports[i].gpu_rows)
        sizes[verdict.group] = sizes.get(verdict.group, 0) + 1000 * with_gpu + len(base.reports)
    if len(hulls) < 2:
        return [False] * len(bases)
    main = max(sizes, key=lambda group: sizes[group])
    first, last = hulls[main]
    far = {g for g, (start, end) in hulls.items() if max(start - last, first - end) > _FAR_NS}
    return [verdict.group in far for verdict in verdicts]


def _alignment(
    report: Report, base: BaseClock, index: int, verdict: Verdict | None, *, far: bool
) -> Alignment:
    method, utc = base.methods[index], report.start.utc_ns
    correction = verdict.offset_ns if verdict is not None else 0
    offset = base.start_ns[index] + correction - utc if base.known and utc is not None else None
    if verdict is None:
        return Alignment(method, offset)
    if verdict.rivals_ns or far:
        return Alignment("ambiguous" if verdict.rivals_ns else "far", None)
    if verdict.kind is not None and (correction or method == "none"):
        method = verdict.kind.name
    residuals = np.abs(verdict.residuals_ns)
    if not len(residuals):
        return Alignment(method, offset)
    median, worst = round(float(np.median(residuals))), int(residuals.max())
    return Alignment(method, offset, median, worst, verdict.anchors)


def _drifted(one: Alignment, change_ns: int, drift: Drift, index: int) -> Alignment:
    """Move a report to where the collectives of its own capture put it."""
    offset = None if one.offset_ns is None else one.offset_ns + change_ns
    if index not in drift.residuals_ns:
        return replace(one, method=TOGETHER.name, offset_ns=offset)
    sizes = np.abs(drift.residuals_ns[index])
    median, worst = round(float(np.median(sizes))), int(sizes.max())
    return Alignment(TOGETHER.name, offset, median, worst, drift.anchors[index])


def _zero(
    reports: Sequence[Report], places: Mapping[int, int], alignments: Mapping[int, Alignment]
) -> int:
    placed = [i for i in places if not alignments[i].apart]
    with_gpu = [i for i in placed if reports[i].gpu_rows or reports[i].unread]
    return min((places[i] for i in with_gpu or placed), default=0)

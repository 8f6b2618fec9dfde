"""The clocks that reports bring with them: one a machine, and what their owner says of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlviz.run.hosts import SAME_BOOT_NS, boot_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlviz.reports.report import Report
    from rlviz.run.hosts import Machine

__all__ = ["BaseClock", "base_clocks"]

# int64 nanoseconds end in 2262; a start time near that is none, and sums of times must fit too.
_LAST_UTC_NS = 1 << 62
_LONGEST_S = 1e9
# Nobody's clock is eleven days and a whole number of seconds off, but nanoseconds look like that.
_LONGEST_WHOLE_S = 1_000_000


@dataclass
class BaseClock:
    """A clock that some reports share.

    Parameters
    ----------
    label : str
        What to call it: a host, or a report.
    reports : list of int
        Indices of the reports that keep to it.
    start_ns : dict of int to int
        By report, its time 0 on this clock, in UTC as far as the clock is right.
    methods : dict of int to str
        By report: utc, system_clock, user or none.
    fixed : bool
        The caller has said what is right.
    known : bool
        False: its report has no start time.
    stepped_ns : int
        By how much UTC was set between two reports that share a system clock.
    """

    label: str
    reports: list[int] = field(default_factory=list)
    start_ns: dict[int, int] = field(default_factory=dict)
    methods: dict[int, str] = field(default_factory=dict)
    fixed: bool = False
    known: bool = True
    stepped_ns: int = 0


def base_clocks(
    reports: Sequence[Report], machines: Sequence[Machine], offsets: Mapping[str, float]
) -> list[BaseClock]:
    """Find the clocks of all machines.

    Reports of one machine and boot go by its system clock where nsys recorded it (2025.6 and
    later); others by UTC. A report without a start time, and one that has an offset of its own,
    has a clock of its own.
    """
    clocks = []
    of_report, of_machine = _offsets_ns(reports, machines, offsets)
    for number, machine in enumerate(machines):
        shared = BaseClock(machine.label or reports[machine.reports[0]].key)
        alone = []
        for index in machine.reports:
            if _utc_ns(reports[index]) is None:
                alone.append(BaseClock(reports[index].key, [index], known=False))
            elif index in of_report:
                alone.append(BaseClock(reports[index].key, [index]))
            else:
                shared.reports.append(index)
        timed = [i for i in machine.reports if _utc_ns(reports[i]) is not None]
        starts = {i: _utc_ns(reports[i]) or 0 for i in timed}
        methods = dict.fromkeys(timed, "utc")
        for boot in _boots([i for i in timed if boot_ns(reports[i].start) is not None], reports):
            _by_system_clock(boot, reports, shared, starts, methods)
        for clock in (shared, *alone):
            for index in clock.reports:
                said = of_report.get(index, of_machine.get(number))
                clock.start_ns.setdefault(index, starts.get(index, 0) + (said or 0))
                clock.methods.setdefault(index, methods.get(index, "none"))
                if said is not None:
                    clock.start_ns[index] = starts.get(index, 0) + said
                    clock.methods[index] = "user"
                    clock.fixed = True
        clocks += [clock for clock in (shared, *alone) if clock.reports]
    return clocks


def _utc_ns(report: Report) -> int | None:
    utc = report.start.utc_ns
    return utc if utc is not None and 0 <= utc < _LAST_UTC_NS else None


def _boots(indices: Sequence[int], reports: Sequence[Report]) -> Iterable[list[int]]:
    """Group reports of a machine by its boot; alone, a report shares its clock with none."""
    groups: list[list[int]] = []
    ordered = sorted(indices, key=lambda i: boot_ns(reports[i].start) or 0)
    for index in ordered:
        boot = boot_ns(reports[index].start) or 0
        if groups and boot - (boot_ns(reports[groups[-1][0]].start) or 0) <= SAME_BOOT_NS:
            groups[-1].append(index)
        else:
            groups.append([index])
    return (group for group in groups if len(group) > 1)


def _by_system_clock(
    group: Sequence[int],
    reports: Sequence[Report],
    clock: BaseClock,
    starts: dict[int, int],
    methods: dict[int, str],
) -> None:
    first = min(group, key=lambda i: reports[i].start.system_clock_ns or 0)
    boot = boot_ns(reports[first].start) or 0
    for index in group:
        start = boot + (reports[index].start.system_clock_ns or 0)
        stepped = starts[index] - start
        if abs(stepped) > abs(clock.stepped_ns):
            clock.stepped_ns = stepped
        starts[index], methods[index] = start, "system_clock"


def _offsets_ns(
    reports: Sequence[Report], machines: Sequence[Machine], offsets: Mapping[str, float]
) -> tuple[dict[int, int], dict[int, int]]:
    """Give what the caller said, by report and by machine."""
    keys = {report.key: index for index, report in enumerate(reports)}
    of_report: dict[int, int] = {}
    of_machine: dict[int, int] = {}
    for name, seconds in offsets.items():
        offset = _nanoseconds(name, seconds)
        hosts = [n for n, m in enumerate(machines) if m.label == name or name in m.names]
        labelled = [n for n in hosts if machines[n].label == name]
        if name in keys:
            of_report[keys[name]] = offset
        elif hosts:
            of_machine.update(dict.fromkeys(labelled or hosts, offset))
        else:
            known = sorted({m.label for m in machines if m.label} | set(keys))
            message = f"offsets: {name!r} is no host and no report; there are {', '.join(known)}."
            raise ValueError(message)
    return of_report, of_machine


def _nanoseconds(name: str, seconds: object) -> int:
    try:
        value = float(seconds) if not isinstance(seconds, str | bool) else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= _LONGEST_S:
        message = f"offsets: {seconds!r} for {name!r} is no number of seconds."
        raise ValueError(message)
    if isinstance(seconds, int) and abs(seconds) > _LONGEST_WHOLE_S:
        message = f"offsets: {seconds!r} for {name!r} looks like nanoseconds; give seconds."
        raise ValueError(message)
    return round(value * 1e9)

"""Which reports come from one machine: names repeat in a cluster, and one machine can have two."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.reports.report import Report, Start

__all__ = ["SAME_BOOT_NS", "Host", "Machine", "boot_ns", "find_machines", "hosts_of"]

SAME_BOOT_NS = 1_000_000_000
"""Two reports of one machine tell its boot time up to this: UTC is set now and then."""

_ALIKE_BOOT_NS = 2_000_000
# Machines with different names are one only if their boot times agree as well as two readings of
# one clock do: in a large cluster, some machines were started within the same second.


class Host(NamedTuple):
    """A machine by its number in the run, and what to call it; None when no report tells."""

    number: int
    label: str | None


@dataclass
class Machine:
    """A machine, and what tells it from others.

    Parameters
    ----------
    label : str or None
        Its name; numbered where another machine has the same. None when no report names it.
    reports : list of int
        Indices of the reports that it recorded.
    """

    label: str | None = None
    reports: list[int] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    hardware_ids: set[str] = field(default_factory=set)
    boots_ns: list[int] = field(default_factory=list)
    uuid_at: dict[str, str] = field(default_factory=dict)

    @property
    def uuids(self) -> set[str]:
        """UUIDs of its GPUs, as far as they are known."""
        return set(self.uuid_at.values())


def boot_ns(start: Start) -> int | None:
    """UTC of the machine's boot: a fingerprint of machine and boot, from nsys 2025.6 on."""
    if start.utc_ns is None or start.system_clock_ns is None:
        return None
    return start.utc_ns - start.system_clock_ns


def find_machines(reports: Sequence[Report]) -> list[Machine]:
    """Tell machines apart.

    Reports with a GPU in common are of one machine. Else two reports are of one machine if they
    have a host name in common, or boot times that agree; unless their hardware ids or boot times
    differ, or different GPUs sit at the same place.

    Returns
    -------
    list of Machine
        In the order of their first reports; each report is in one of them.
    """
    machines: list[Machine] = []
    for index, report in enumerate(reports):
        one = _of_report(index, report)
        # A GPU is in one machine only: whatever else differs, these reports belong together.
        same = [m for m in machines if m.uuids & one.uuids]
        if not same:
            same = [m for m in machines if _alike(m, one)][:1]
        for other in same[1:]:
            _merge(same[0], other)
            machines.remove(other)
        if same:
            _merge(same[0], one)
        else:
            machines.append(one)
    for machine in machines:
        machine.reports.sort()
    machines.sort(key=lambda machine: machine.reports[0])
    return _labelled(machines)


def hosts_of(machines: Sequence[Machine]) -> list[Host]:
    """Give the machine of each report."""
    hosts = {
        index: Host(number, machine.label)
        for number, machine in enumerate(machines)
        for index in machine.reports
    }
    return [hosts[index] for index in range(len(hosts))]


def _of_report(index: int, report: Report) -> Machine:
    identity = report.identity
    hardware = identity.environment.get("NSYS_HW_ID")
    boot = boot_ns(report.start)
    gpus = [*identity.machine_gpus, *identity.gpus.values()]
    return Machine(
        reports=[index],
        names={identity.host} if identity.host else set(),
        hardware_ids={hardware} if hardware else set(),
        boots_ns=[boot] if boot is not None else [],
        uuid_at={gpu.bus or gpu.uuid: gpu.uuid for gpu in gpus if gpu.uuid is not None},
    )


def _alike(one: Machine, other: Machine) -> bool:
    if one.hardware_ids and other.hardware_ids:
        return bool(one.hardware_ids & other.hardware_ids)
    if any(one.uuid_at.get(bus, uuid) != uuid for bus, uuid in other.uuid_at.items()):
        return False
    nearest = min(
        (abs(a - b) for a in one.boots_ns for b in other.boots_ns),
        default=None,
    )
    if one.names & other.names:
        return nearest is None or nearest <= SAME_BOOT_NS
    return nearest is not None and nearest <= _ALIKE_BOOT_NS


def _merge(machine: Machine, other: Machine) -> None:
    machine.reports += other.reports
    machine.names |= other.names
    machine.hardware_ids |= other.hardware_ids
    machine.boots_ns += other.boots_ns
    machine.uuid_at |= other.uuid_at


def _labelled(machines: list[Machine]) -> list[Machine]:
    seen: Counter[str] = Counter()
    for machine in machines:
        if not machine.names:
            continue
        name = min(machine.names)
        seen[name] += 1
        machine.label = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return machines

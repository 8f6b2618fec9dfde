"""What the GPUs did: busy time and the columns that it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rlviz.reports.gpu_rows import KERNEL, MEMCPY, MEMSET
from rlviz.run.intervals import intersection, subtraction, union
from rlviz.run.within import joined, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.gpu_part import GpuPart
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Spans = tuple[Int64, Int64]

__all__ = ["Activity", "activity_of_lanes", "activity_of_parts"]


@dataclass(frozen=True)
class Activity:
    """Activity of a GPU, or of a worker on it; each a union of disjoint ascending spans.

    Parameters
    ----------
    busy : (ndarray, ndarray)
        Union of everything; compute, exposed communication and lone copies add up to it.
    communication : (ndarray, ndarray)
        Kernels that move data between GPUs.
    comm_exposed : (ndarray, ndarray)
        Communication with no compute under it.
    copy_only : (ndarray, ndarray)
        Copies and sets with neither kernel nor graph launch under them.
    """

    busy: Spans
    communication: Spans
    comm_exposed: Spans
    copy_only: Spans

    @classmethod
    def of(cls, compute: Spans, communication: Spans, copies: Spans, busy: Spans) -> Activity:
        """Tell what compute leaves exposed."""
        exposed = subtraction(*communication, *compute)
        alone = subtraction(*subtraction(*copies, *compute), *communication)
        return cls(busy, communication, exposed, alone)

    @classmethod
    def together(cls, parts: Sequence[Activity]) -> Activity:
        """Unite what several workers did on one GPU."""
        if len(parts) == 1:
            return parts[0]
        busy, compute, communication, copies = (
            union(*joined([getattr(part, name) for part in parts]))
            for name in ("busy", "compute", "communication", "copy_only")
        )
        # Copies that a kernel of the same worker covers are covered here as well.
        return cls.of(compute, communication, copies, busy)

    def cut_to(self, spans: Spans) -> Activity:
        """Keep what lies in the spans, such as those in which the GPU was captured."""
        return Activity(
            intersection(*self.busy, *spans),
            intersection(*self.communication, *spans),
            intersection(*self.comm_exposed, *spans),
            intersection(*self.copy_only, *spans),
        )

    @cached_property
    def compute(self) -> Spans:
        """Kernels that do not communicate, and graph launches."""
        return subtraction(*self.busy, *union(*joined([self.comm_exposed, self.copy_only])))

    def compute_in(self, start: Int64, end: Int64) -> Int64:
        """Measure compute in windows."""
        busy, *others = (
            within(spans, start, end) for spans in (self.busy, self.comm_exposed, self.copy_only)
        )
        return busy - sum(others)


def activity_of_lanes(events: Events, rules: Rules) -> dict[int, Activity]:
    """Find what each lane did over the whole run.

    Parameters
    ----------
    events : Events
        Events of the run.
    rules : Rules
        Which kernels communicate.

    Returns
    -------
    dict of int to Activity
        By lane; one without GPU rows is absent, since its activity is unknown.
    """
    return activity_of_parts(events.parts, rules.communication.matches(events.names).to_numpy())


def activity_of_parts(parts: Sequence[GpuPart], communicates: Flags) -> dict[int, Activity]:
    """Find what lanes did in some parts of the run.

    Parameters
    ----------
    parts : sequence of GpuPart
        The parts.
    communicates : ndarray of bool
        By code of a name: it moves data between GPUs.

    Returns
    -------
    dict of int to Activity
        By lane, ascending.
    """
    found: dict[int, list[Activity]] = {}
    for part in parts:
        is_copy = (part.kind == MEMCPY) | (part.kind == MEMSET)
        moves = (part.kind == KERNEL) & communicates[part.name]
        compute = _only(part, ~(is_copy | moves))
        own = Activity.of(compute, _only(part, moves), _only(part, is_copy), part.busy)
        found.setdefault(part.lane, []).append(own)
    return {lane: Activity.together(own) for lane, own in sorted(found.items())}


def _only(part: GpuPart, these: Flags) -> Spans:
    return part.busy if these.all() else union(part.start_ns[these], part.end_ns[these])

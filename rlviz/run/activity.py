"""What the GPUs did: busy time and the columns that it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rlviz.reports.gpu_rows import KERNEL, MEMCPY, MEMSET
from rlviz.run.intervals import intersection, subtraction, union
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rlviz.run.events import Events, Part
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Spans = tuple[Int64, Int64]

__all__ = ["Activity", "activity_of_lanes"]


@dataclass(frozen=True)
class Activity:
    """Activity of a GPU, or of a worker on it; each a union of disjoint ascending spans.

    Parameters
    ----------
    compute : (ndarray, ndarray)
        Kernels that do not communicate, and graph launches.
    communication : (ndarray, ndarray)
        Kernels that move data between GPUs.
    copies : (ndarray, ndarray)
        Copies and sets.
    busy : (ndarray, ndarray)
        Union of everything; compute, exposed communication and lone copies add up to it.
    """

    compute: Spans
    communication: Spans
    copies: Spans
    busy: Spans

    @classmethod
    def together(cls, parts: Sequence[Activity]) -> Activity:
        """Unite what several workers did on one GPU."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            union(*joined([part.compute for part in parts])),
            union(*joined([part.communication for part in parts])),
            union(*joined([part.copies for part in parts])),
            union(*joined([part.busy for part in parts])),
        )

    def cut_to(self, spans: Spans) -> Activity:
        """Keep what lies in the spans, such as those in which the GPU was captured."""
        return Activity(
            intersection(*self.compute, *spans),
            intersection(*self.communication, *spans),
            intersection(*self.copies, *spans),
            intersection(*self.busy, *spans),
        )

    @cached_property
    def comm_exposed(self) -> Spans:
        """Communication with no compute under it."""
        return subtraction(*self.communication, *self.compute)

    @cached_property
    def copy_only(self) -> Spans:
        """Copies and sets with neither kernel nor graph launch under them."""
        return subtraction(*subtraction(*self.copies, *self.compute), *self.communication)


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
    communicates = rules.communication.matches(events.names).to_numpy()
    parts: dict[int, list[Activity]] = {}
    for part in events.parts:
        is_copy = (part.kind == MEMCPY) | (part.kind == MEMSET)
        moves = (part.kind == KERNEL) & communicates[part.name]
        compute = _only(part, ~(is_copy | moves))
        found = Activity(compute, _only(part, moves), _only(part, is_copy), part.busy)
        parts.setdefault(part.lane, []).append(found)
    return {lane: Activity.together(own) for lane, own in sorted(parts.items())}


def _only(part: Part, these: Flags) -> Spans:
    return part.busy if these.all() else union(part.start_ns[these], part.end_ns[these])

"""What the GPUs did: busy time and the columns that it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.events import lookup
from rlviz.run.intervals import intersection, subtraction, union
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["Activity", "activity_of_lanes", "slices_of_lanes"]


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
    """

    compute: Spans
    communication: Spans
    copies: Spans

    @classmethod
    def together(cls, parts: Sequence[Activity]) -> Activity:
        """Unite what several workers did on one GPU."""
        return cls(
            union(*joined([part.compute for part in parts])),
            union(*joined([part.communication for part in parts])),
            union(*joined([part.copies for part in parts])),
        )

    def cut_to(self, spans: Spans) -> Activity:
        """Keep what lies in the spans, such as those in which the GPU was captured."""
        return Activity(
            intersection(*self.compute, *spans),
            intersection(*self.communication, *spans),
            intersection(*self.copies, *spans),
        )

    @property
    def busy(self) -> Spans:
        """Union of everything; compute, exposed communication and lone copies add up to it."""
        return union(*joined([self.compute, self.communication, self.copies]))

    @property
    def comm_exposed(self) -> Spans:
        """Communication with no compute under it."""
        return subtraction(*self.communication, *self.compute)

    @property
    def copy_only(self) -> Spans:
        """Copies and sets with neither kernel nor graph launch under them."""
        kernels = union(*joined([self.compute, self.communication]))
        return subtraction(*self.copies, *kernels)


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
    communicates = lookup(rules.communication.matches(events.names), events.kernels["short"])
    kernels = slices_of_lanes(events.kernels)
    copies, graphs = slices_of_lanes(events.copies), slices_of_lanes(events.graphs)
    flags = communicates.fill_null(value=False).to_numpy()
    found: dict[int, Activity] = {}
    for lane in sorted({*kernels, *copies, *graphs}):
        place = kernels.get(lane, slice(0, 0))
        start, end = _times(events.kernels, place)
        moves = flags[place]
        compute = [(start[~moves], end[~moves]), _times(events.graphs, graphs.get(lane))]
        found[lane] = Activity(
            union(*joined(compute)),
            union(start[moves], end[moves]),
            union(*_times(events.copies, copies.get(lane))),
        )
    return found


def slices_of_lanes(frame: pl.DataFrame) -> dict[int, slice]:
    """Find where the events of each lane stand: frames of events are sorted by lane."""
    if frame.is_empty():
        return {}
    lane = frame["lane"].to_numpy()
    first = np.flatnonzero(np.concatenate(([True], lane[1:] != lane[:-1])))
    last = np.append(first[1:], len(lane))
    return {int(lane[a]): slice(int(a), int(b)) for a, b in zip(first, last, strict=True)}


def _times(frame: pl.DataFrame, place: slice | None) -> Spans:
    place = place or slice(0, 0)
    return frame["start_ns"].to_numpy()[place], frame["end_ns"].to_numpy()[place]

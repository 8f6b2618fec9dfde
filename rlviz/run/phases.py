"""What the run was doing: the phase of each range and of each GPU event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.events import lookup
from rlviz.run.intervals import union
from rlviz.run.rules import PHASES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["NO_PHASE", "phase_at", "phase_spans"]

NO_PHASE = -1

# Where ranges of several phases are open at once, the one that interrupts the others tells: weights
# arrive while requests are in flight, and what only prepares gives way to what it prepares.
_PRECEDENCE = ("refit", "training", "logprobs", "reward", "generation", "other")


def phase_spans(events: Events, rules: Rules) -> dict[int, dict[str, Spans]]:
    """Find when each worker was in which phase, by the ranges that mark phases.

    Parameters
    ----------
    events : Events
        Events of the run.
    rules : Rules
        What range names mean.

    Returns
    -------
    dict of int to dict of str to (ndarray, ndarray)
        By worker and phase: disjoint ascending spans on the run's clock. By process and not by
        thread, since autograd launches backward kernels from a thread of its own.
    """
    phase = lookup(rules.phases_of(events.names), events.ranges["name"])
    marked = events.ranges.with_columns(phase.alias("phase")).drop_nulls("phase")
    spans: dict[int, dict[str, Spans]] = {}
    for (lane, name), part in marked.partition_by(["lane", "phase"], as_dict=True).items():
        start, end = part["start_ns"].to_numpy(), part["end_ns"].to_numpy()
        spans.setdefault(events.workers[lane], {})[name] = union(start, end)
    return spans


def phase_at(spans: dict[str, Spans], at: Int64) -> Int64:
    """Tell the phase of a worker at each moment.

    Parameters
    ----------
    spans : dict of str to (ndarray, ndarray)
        Of one worker, as `phase_spans` gives them.
    at : ndarray of int64, shape (n,)
        Moments on the run's clock.

    Returns
    -------
    ndarray of int64, shape (n,)
        Index into ``rlviz.run.rules.PHASES``, `NO_PHASE` outside of all.
    """
    result = np.full(len(at), NO_PHASE)
    for phase in reversed(_PRECEDENCE):
        if phase in spans:
            start, end = spans[phase]
            place = np.searchsorted(start, at, side="right") - 1
            inside = (place >= 0) & (at < end[place])
            result[inside] = PHASES.index(phase)
    return result

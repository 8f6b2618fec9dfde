"""How long GPUs were busy in each phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.intervals import intersection, union
from rlviz.run.phases import phase_at
from rlviz.run.rules import PHASES
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rlviz.run.gpu_time import GpuTime

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["disjoint_phases", "phase_busy"]


def disjoint_phases(spans: Mapping[str, Spans]) -> dict[str, Spans]:
    """Give each moment of a lane to one phase: where several are open, to the one that tells most.

    Parameters
    ----------
    spans : mapping of str to (ndarray, ndarray)
        Of one lane, as `rlviz.run.phases.phase_spans` gives them; phases may overlap.

    Returns
    -------
    dict of str to (ndarray, ndarray)
        By phase: disjoint ascending spans, none of which overlaps one of another phase.
    """
    # Ranges without length leave a phase without spans.
    spans = {name: own for name, own in spans.items() if len(own[0])}
    limits = np.unique(np.concatenate(joined(list(spans.values()))))
    start, end = limits[:-1], limits[1:]
    phase = phase_at(spans, start)
    found = {name: union(start[phase == i], end[phase == i]) for i, name in enumerate(PHASES)}
    return {name: own for name, own in found.items() if len(own[0])}


def phase_busy(gpu: GpuTime, phases: Mapping[int, Mapping[str, Spans]]) -> dict[str, Spans]:
    """Find when a GPU was busy in each phase.

    The phase is that of the process, by time: kernels that autograd launches from a thread of its
    own belong to the phase that the process is in. On a GPU that several workers share, phases of
    two of them can overlap; each counts.

    Parameters
    ----------
    gpu : GpuTime
        The GPU.
    phases : mapping of int to mapping of str to (ndarray, ndarray)
        By lane and phase, as of `rlviz.run.phases.phase_spans`.

    Returns
    -------
    dict of str to (ndarray, ndarray)
        By phase: disjoint ascending spans.
    """
    parts: dict[str, list[Spans]] = {name: [] for name in PHASES}
    for lane, activity in gpu.lanes.items():
        for name, spans in disjoint_phases(phases.get(lane, {})).items():
            parts[name].append(intersection(*activity.busy, *spans))
    return {name: union(*joined(own)) for name, own in parts.items()}

"""Both pools together: when they are active, at the same time or not; the tail of a segment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.processors import processors
from rlviz.run.gpu_time import LOST_GRAPHS
from rlviz.run.intervals import clip, intersection, spans_of, subtraction, total, union
from rlviz.run.thresholds import CLOSED_NS
from rlviz.run.unread import UNREAD
from rlviz.run.within import closed, how_many, joined, within

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from rlviz.run.gpu_time import GpuTime
    from rlviz.run.iteration import Iteration, Refit, Span

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["COLOCATED", "NOT_CAPTURED", "NO_GPUS", "OTHER_POOL", "Overlap", "Pools", "half_busy"]

COLOCATED = "colocated"
NO_GPUS = {"generation": "no-generation-gpus", "training": "no-training-gpus"}
NOT_CAPTURED = "pool-not-captured"

# Counts of both pools in the halves of a number, and how starts and ends change them.
_HALF = 32
_LOW = (1 << _HALF) - 1
_STEPS = np.array([1, -1, 1 << _HALF, -(1 << _HALF)])

OTHER_POOL = {"generation": "training", "training": "generation"}


@dataclass(frozen=True)
class Overlap:
    """How both pools worked together in one iteration; None is unknown.

    Parameters
    ----------
    active_ns : dict of str to (int or None)
        By pool, how long it was active.
    overlap_ns : int or None
        How long both were.
    twin_gpu_gpu_ns : int or None
        Integral of busy GPUs of generation times busy GPUs of training, outside of refits.
    twin_gpu_s : float or None
        The same with shares of the pools' GPUs, in seconds.
    exposed_generation_ns : int or None
        How long generation was active and training was not.
    reason : str or None
        Why overlap is unknown.
    """

    active_ns: dict[str, int | None]
    overlap_ns: int | None = None
    twin_gpu_gpu_ns: int | None = None
    twin_gpu_s: float | None = None
    exposed_generation_ns: int | None = None
    reason: str | None = None


class Pools:
    """Activity of the generation and the training pool over the whole run.

    Parameters
    ----------
    gpus : sequence of GpuTime
        All rows of the chart; those that are no GPU do not count.
    refits : sequence of Refit
        All refits of the run: what happens in them is nobody's activity.
    unread : collection of str
        Pools with reports that could not be read: how long they were active is unknown.

    Attributes
    ----------
    active : dict of str to ((ndarray, ndarray) or None)
        By pool: spans with any of its GPUs busy, gaps under `CLOSED_NS` closed, refits taken out.
        None is unknown, and then `reasons` says why.
    reasons : dict of str to str
    """

    def __init__(
        self, gpus: Sequence[GpuTime], refits: Sequence[Refit], unread: Collection[str] = ()
    ) -> None:
        self._gpus = {
            pool: [gpu for gpu in gpus if gpu.pool == pool and gpu.is_gpu] for pool in OTHER_POOL
        }
        self._refits = union(*spans_of(refit.span for refit in refits))
        colocated = any(gpu.pool == "colocated" for gpu in gpus)
        self.reasons: dict[str, str] = {}
        for pool, members in self._gpus.items():
            if colocated:
                self.reasons[pool] = COLOCATED
            elif not members:
                self.reasons[pool] = NO_GPUS[pool]
            elif any(gpu.unknown for gpu in members):
                self.reasons[pool] = LOST_GRAPHS
            elif pool in unread:
                self.reasons[pool] = UNREAD
        self.active: dict[str, Spans | None] = {
            pool: None if pool in self.reasons else self._active(members)
            for pool, members in self._gpus.items()
        }

    def _active(self, members: Sequence[GpuTime]) -> Spans:
        # What closes in a GPU's own time closes in that of all: few intervals are left to unite.
        busy = union(*joined([closed(gpu.busy, CLOSED_NS) for gpu in members]))
        return subtraction(*closed(busy, CLOSED_NS), *self._refits)

    def other_active_ns(self, pool: str, start: Int64, end: Int64) -> Int64 | None:
        """Measure how long the other pool was active in each window; None: unknown."""
        active = self.active[OTHER_POOL[pool]] if pool in OTHER_POOL else None
        return None if active is None else within(active, start, end)

    def overlaps(self, iterations: Sequence[Iteration]) -> tuple[Overlap, ...]:
        """Measure how both pools worked together in each iteration."""
        twins = self._twins(iterations)
        return tuple(
            self._overlap((one.start_ns, one.end_ns), twin)
            for one, twin in zip(iterations, twins, strict=True)
        )

    def _overlap(self, window: Span, twin: int) -> Overlap:
        reasons = dict(self.reasons)
        for pool, members in self._gpus.items():
            if pool not in reasons and not _captured(members, window):
                reasons[pool] = NOT_CAPTURED
        active = {
            pool: None if pool in reasons or spans is None else clip(*spans, *window)
            for pool, spans in self.active.items()
        }
        active_ns = {p: None if spans is None else total(*spans) for p, spans in active.items()}
        generation, training = active["generation"], active["training"]
        if generation is None or training is None:
            reason = next(reasons[pool] for pool in OTHER_POOL if pool in reasons)
            return Overlap(active_ns, reason=reason)
        pairs = len(self._gpus["generation"]) * len(self._gpus["training"])
        return Overlap(
            active_ns,
            overlap_ns=total(*intersection(*generation, *training)),
            twin_gpu_gpu_ns=twin,
            twin_gpu_s=twin / pairs / 1e9,
            exposed_generation_ns=total(*subtraction(*generation, *training)),
        )

    def _twins(self, iterations: Sequence[Iteration]) -> list[int]:
        """Integrate the product of busy GPUs over each iteration, outside of refits."""
        generation, training = (self.active[pool] for pool in OTHER_POOL)
        if generation is None or training is None:
            return [0] * len(iterations)
        # Elsewhere one of the pools has no GPU that is busy, and the product is 0.
        both = intersection(*generation, *training)
        windows = [clip(*both, one.start_ns, one.end_ns) for one in iterations]
        with ThreadPoolExecutor(processors()) as pool:
            return list(pool.map(self._twin, windows))

    def _twin(self, windows: Spans) -> int:
        """Integrate busy GPUs of generation times busy GPUs of training over some windows."""
        generation, training = (
            joined([intersection(*gpu.busy, *windows) for gpu in members])
            for members in self._gpus.values()
        )
        # Moment and what it is in one number each: sorting these is several times faster than
        # sorting indices.
        moments = [at << 2 | what for what, at in enumerate((*generation, *training))]
        moment = np.concatenate(moments)
        moment.sort()
        # How many are busy of both pools in one number, too.
        busy = np.cumsum(_STEPS.take(moment & 3))
        product = (busy & _LOW) * (busy >> _HALF)
        moment >>= 2
        return int((product[:-1] * np.diff(moment)).sum())


def half_busy(gpus: Sequence[GpuTime]) -> Spans:
    """Find when at least half of the generation GPUs were busy; in a segment the rest is its tail.

    Parameters
    ----------
    gpus : sequence of GpuTime
        GPUs with a generation worker; what other workers do there does not count. Gaps under
        `CLOSED_NS` of each are closed.
    """
    busy = [closed(_generation_busy(gpu), CLOSED_NS) for gpu in gpus]
    time, level = how_many(busy)
    holds = 2 * level[:-1] >= len(gpus)
    return union(time[:-1][holds], time[1:][holds])


def _generation_busy(gpu: GpuTime) -> Spans:
    own = [a.busy for lane, a in gpu.lanes.items() if gpu.roles[lane] == "generation"]
    return union(*joined(own))


def _captured(members: Sequence[GpuTime], window: Span) -> bool:
    start, end = np.array([window[0]]), np.array([window[1]])
    return any(int(gpu.captured_in(start, end)[0]) > 0 for gpu in members)

"""The longest bubble of each iteration, marked on its row with its length."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rlviz.run.overlap import OTHER_POOL
from rlviz.run.rules import SUMMED_POOLS
from rlviz.run.thresholds import BUBBLE_NS
from rlviz.view.scene import Bubble
from rlviz.view.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlviz.run.gpu_time import GpuTime
    from rlviz.run.iteration import Iteration
    from rlviz.run.run import Run

__all__ = ["longest_bubbles"]


class _Gap(NamedTuple):
    gpu: GpuTime
    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


def longest_bubbles(run: Run) -> tuple[Bubble, ...]:
    """Find the longest bubble of each iteration that was captured whole.

    It is the longest of ``longest_gap_ns`` in ``run.summary(by="gpu")``; an iteration whose longest
    gap is no bubble has none.
    """
    gpus = [
        g for g in run.metrics.gpus if g.is_gpu and g.unknown is None and g.pool in SUMMED_POOLS
    ]
    found = []
    for iteration in run.story.iterations:
        if iteration.complete:
            gap = max(_gaps(gpus, iteration), key=lambda gap: gap.length_ns, default=None)
            if gap is not None and gap.length_ns >= BUBBLE_NS:
                texts = _texts(run, gap)
                left, right = gap.start_ns / 1e9, gap.end_ns / 1e9
                found.append(Bubble(gap.gpu.row, left, right, texts, iteration.number))
    return tuple(found)


def _gaps(gpus: list[GpuTime], iteration: Iteration) -> Iterator[_Gap]:
    for gpu in gpus:
        found = gpu.gaps.longest_in(iteration.start_ns, iteration.end_ns)
        if found is not None:
            yield _Gap(gpu, *found)


def _texts(run: Run, gap: _Gap) -> tuple[str, ...]:
    """Say how long it is and, where that is known, what the other pool did most of the time."""
    length = duration(gap.length_ns / 1e9)
    short = f"bubble {length}", length
    span = np.array([[gap.start_ns], [gap.end_ns]])
    active = run.metrics.pools.other_active_ns(gap.gpu.pool, *span)
    if active is None or gap.gpu.pool not in OTHER_POOL:
        return short
    does = "active" if 2 * int(active[0]) > gap.length_ns else "idle too"
    return f"bubble {length}: {OTHER_POOL[gap.gpu.pool]} is {does}", *short

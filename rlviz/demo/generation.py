"""The generation pool's part: segments of decoding, and the refits between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.plan import Range, Stage, Track
from rlviz.demo.shape import BROADCASTS, MS, SECOND, US, Shape
from rlviz.demo.training import annotate, jittered, nccl_range

if TYPE_CHECKING:
    from rlviz.demo.intervals import Int64
    from rlviz.demo.names import Naming
    from rlviz.demo.scenario import Scenario

__all__ = ["Engines", "broadcast_weights", "hand_over_weights"]

SLOW_GPU = 1.5  # how much longer the slow GPU takes for the same work
LONELY_S = 12.0  # how long the long tail goes on alone
LONELY_SHARE = 0.3  # how much of that its GPU is busy


@dataclass
class Engines:
    """The generation workers; `tracks` takes what they do."""

    scenario: Scenario
    naming: Naming
    shape: Shape
    rng: np.random.Generator
    tracks: list[Track]

    def segment(self, weights: int, starts: Int64) -> Int64:
        """Lay out the segment that uses the weights of step `weights`; return its ends."""
        common = self.rng.uniform(0.985, 1.015)
        hole = 4 * SECOND * self.shape.pace, self.rng.uniform(0.32, 0.42) * SECOND
        ends = np.empty_like(starts)
        for index, (track, start) in enumerate(zip(self.tracks, starts, strict=True)):
            pace = common * self.rng.uniform(0.97, 1.03) * self.shape.pace
            if index == self.scenario.slow_generation_gpu:
                pace *= SLOW_GPU
            lonely = self.scenario.long_tail and index == len(self.tracks) - 1
            ends[index] = self._segment(track, int(start), pace, hole, lonely=lonely)
            self._annotate(track, weights, int(start), int(ends[index]))
        return ends

    def _annotate(self, track: Track, weights: int, start: int, end: int) -> None:
        """Add the ranges of a segment; asynchronous requests of verl overlap each other."""
        step = weights + 1
        if self.naming.style == "push_pop" or self.scenario.colocated:
            annotate(track, self.naming.generation_work, step, start - 2 * MS, end + 2 * MS)
            return
        for name, phase in self.naming.generation_work:
            for low, high in ((0.0, 0.55), (0.3, 0.85), (0.6, 1.0)):
                own = start + int(low * (end - start)), start + int(high * (end - start)) + 2 * MS
                track.ranges.append(Range(name, phase, step, *own))

    def _segment(
        self, track: Track, start: int, pace: float, hole: tuple[float, float], *, lonely: bool
    ) -> int:
        rng, shape = self.rng, self.shape
        nodes = self.scenario.graph_trace == "node"
        side = int(nodes)
        # Requests in: a copy, then prefill, decode with a full batch, and a batch that empties.
        copied = np.cumsum(rng.uniform(1.5, 3, 5) * MS).astype(np.int64) + start + 2 * MS
        track.add(copied - 1 * MS, copied, Stage.COPY_IN)
        clock = int(copied[-1]) + 300 * US

        busy = rng.uniform(0.9, 1.1, shape.prefills) * 1.3 / shape.prefills
        clock = self._run(
            track,
            clock,
            busy * pace,
            rng.uniform(40, 140, shape.prefills),
            Stage.PREFILL,
            min(shape.parts, 12),
            0,
        )
        busy = rng.uniform(0.95, 1.05, shape.decodes) * 13.2 / shape.decodes
        gap = rng.uniform(120, 420, shape.decodes)
        gap *= _unevenness(rng, shape.decodes)
        gap[np.searchsorted(np.cumsum(busy), hole[0] / SECOND)] += hole[1] / US
        sides = (np.arange(shape.decodes) % 4 == 0) * side
        clock = self._run(track, clock, busy * pace, gap, Stage.DECODE, shape.decode_parts, sides)

        share, gap = _emptying(shape.tail_decodes)
        gap *= rng.uniform(0.9, 1.05, shape.tail_decodes)
        busy = gap * share / (1 - share) * _unevenness(rng, shape.tail_decodes)
        busy *= 6.6 / busy.sum()
        clock = self._run(track, clock, busy * pace, gap, Stage.DECODE, 1, 0)
        if lonely:
            count = shape.lonely_decodes
            period = rng.uniform(0.8, 1.2, count) * LONELY_S * self.shape.pace / count
            gap = period * (1 - LONELY_SHARE) * SECOND / US
            clock = self._run(track, clock, period * LONELY_SHARE, gap, Stage.DECODE, 1, 0)
        return clock

    @staticmethod
    def _run(
        track: Track,
        start: int,
        busy_s: np.ndarray,
        gap_us: np.ndarray,
        stage: Stage,
        parts: int,
        side: Int64 | int,
    ) -> int:
        """Add spans one after another, each after its gap; return the end of the last one."""
        length = (busy_s * SECOND).astype(np.int64)
        ends = start + np.cumsum(length + (gap_us * US).astype(np.int64))
        track.add(ends - length, ends, stage, parts, side)
        # Every so often the sampled tokens go to the host while kernels run.
        seen = slice(0, len(ends), 5)
        middle = ends[seen] - length[seen] // 2
        track.add(middle, middle + np.minimum(length[seen] // 4, 6 * US), Stage.COPY_OUT)
        return int(ends[-1])


def _unevenness(rng: np.random.Generator, count: int) -> np.ndarray:
    """Factors around 1 that stay for a while: batches are not all alike."""
    blocks = rng.uniform(0.75, 1.3, 1 + count // 24)
    return np.repeat(blocks, 24)[:count]


def _emptying(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the busy share and the gap (us) of each decode while a batch empties.

    Fewer requests, shorter kernels, and the same work for the CPU between two of them: over time
    the share falls evenly from 0.97 to 0.4. No gap reaches 1 ms: the pool stays active.
    """
    time = np.linspace(0, 1, 200)
    share, gap = 0.97 - 0.57 * time, 250 + 680 * time
    decodes = np.cumsum((1 - share) / gap)
    when = np.interp(np.linspace(decodes[0], decodes[-1], count), decodes, time)
    return np.interp(when, time, share), np.interp(when, time, gap)


def broadcast_weights(
    rng: np.random.Generator,
    scenario: Scenario,
    naming: Naming,
    policies: list[Track],
    engines: list[Track],
    step: int,
    begin: int,
) -> Int64:
    """Send the weights of `step` by broadcasts over all workers; return the engines' ends."""
    tracks = [*policies, *engines]
    called = (begin + rng.uniform(0.5, 9, len(tracks)) * MS).astype(np.int64)
    ready = called + (rng.uniform(2, 6, len(tracks)) * MS).astype(np.int64)
    length = rng.uniform(64, 70, BROADCASTS) * MS * (8 if scenario.slow_refit else 1)
    for lasts in length:
        # The sender packs a bucket, the receivers unpack the one before: both are copies.
        packed = ready + (rng.uniform(3, 6, len(tracks)) * MS).astype(np.int64)
        for track, start, end in zip(tracks, ready, packed, strict=True):
            track.add(np.array([start]), np.array([end - 150 * US]), Stage.COPY_ON)
            nccl_range(track, Stage.BROADCAST, step, int(end))
        ends = jittered(rng, packed.max() + lasts, len(tracks))
        ends[0] -= int(rng.uniform(100, 300) * US)  # the root has sent before the last has received
        for track, start, end in zip(tracks, packed, ends, strict=True):
            track.add(np.array([start]), np.array([end]), Stage.BROADCAST)
        ready = ends + (rng.uniform(0.2, 0.6, len(tracks)) * MS).astype(np.int64)

    loaded = ready + (rng.uniform(9, 16, len(tracks)) * MS).astype(np.int64)
    if scenario.slow_refit:
        loaded[-1] += int(0.4 * SECOND)
    for index, track in enumerate(tracks):
        if index < len(policies):
            annotate(track, naming.refit_policy, step, called[index], ready[index] + 2 * MS)
            continue
        track.add(ready[index : index + 1], loaded[index : index + 1], Stage.COPY_ON)
        loaded[index] += int(rng.uniform(2, 5) * MS)
        annotate(track, naming.refit_generation, step, called[index], loaded[index])
    return loaded[len(policies) :]


def hand_over_weights(
    rng: np.random.Generator,
    scenario: Scenario,
    naming: Naming,
    policies: list[Track],
    engines: list[Track],
    step: int,
    begin: int,
) -> Int64:
    """Hand the weights of `step` to the engine on the same GPU; return the policies' ends."""
    ends = np.empty(len(policies), np.int64)
    last = 0
    for index, (policy, engine) in enumerate(zip(policies, engines, strict=True)):
        called = begin + int(rng.uniform(1, 8) * MS)
        count = 8
        length = (rng.uniform(52, 60, count) * MS * (8 if scenario.slow_refit else 1)).astype(
            np.int64
        )
        if scenario.slow_refit and index == len(policies) - 1:
            length[-1] += int(0.4 * SECOND)
        packed = called + 12 * MS + np.cumsum(length)
        policy.add(packed - length, packed - length + 8 * MS, Stage.COPY_ON)
        engine.add(packed - length + 9 * MS, packed - 600 * US, Stage.COPY_ON)
        end = int(packed[-1])
        annotate(policy, naming.refit_policy, step, called, end + 3 * MS)
        annotate(engine, naming.refit_generation, step, called + 2 * MS, end + 9 * MS)
        last = max(last, end + 9 * MS)
    for index, policy in enumerate(policies):
        called = last + int(rng.uniform(3, 8) * MS)
        copied = called + np.cumsum(rng.uniform(9, 12, 5) * MS).astype(np.int64)
        policy.add(copied - 8 * MS, copied, Stage.COPY_OUT)
        ends[index] = copied[-1] + 6 * MS
        annotate(policy, naming.offload_after, step, called, int(ends[index]))
    return ends

"""The training pool's part of a step: copies, log probabilities, training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.plan import Range, Stage, Track
from rlviz.demo.shape import MS, SECOND, US, Shape

if TYPE_CHECKING:
    from rlviz.demo.intervals import Int64
    from rlviz.demo.names import Names, Naming
    from rlviz.demo.scenario import Scenario

__all__ = ["Policies", "annotate", "jittered", "nccl_range"]

SLOW_RANK = 1.22  # how much longer the slow rank computes

_COLLECTIVES = {
    Stage.ALL_GATHER: "ncclAllGather",
    Stage.REDUCE_SCATTER: "ncclReduceScatter",
    Stage.ALL_REDUCE: "ncclAllReduce",
    Stage.BROADCAST: "ncclBroadcast",
}


def jittered(rng: np.random.Generator, end: float, count: int) -> Int64:
    """Scatter the ends of a collective over its ranks: 20 to 50 us apart, or nearly equal."""
    off = rng.uniform(10, 25, count) * rng.choice([-1, 1], count) * US
    ends: Int64 = (end + off).astype(np.int64)
    return ends


def launch_gaps(rng: np.random.Generator, count: int) -> Int64:
    """Gaps between chunks: mostly a launch's latency, some longer, a few that are bubbles."""
    kind = rng.random(count)
    gap = rng.uniform(15, 85, count) * US
    gap = np.where(kind > 0.90, rng.uniform(110, 950, count) * US, gap)
    return np.where(kind > 0.985, rng.uniform(1.1, 6, count) * MS, gap).astype(np.int64)


def annotate(
    track: Track, names: Names, step: int, start: int, end: int, inset: int = 2 * MS
) -> None:
    """Add the nested ranges `names`, the outermost from `start` to `end`."""
    for name, phase in names:
        track.ranges.append(Range(name, phase, step, int(start), int(end)))
        start, end = start + inset, end - inset // 2


def nccl_range(track: Track, stage: Stage, step: int, start: int, thread: int = 0) -> None:
    """Add the call that launched a collective which starts at `start`."""
    name = _COLLECTIVES[stage]
    track.ranges.append(Range(name, "", step, start - 45 * US, start - 20 * US, thread, "NCCL"))


@dataclass
class Policies:
    """The policy workers, stepping together; `tracks` takes what they do."""

    scenario: Scenario
    naming: Naming
    shape: Shape
    rng: np.random.Generator
    tracks: list[Track]
    slow: Int64 | np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.slow = np.ones(len(self.tracks))
        if self.scenario.slow_training_rank is not None:
            self.slow[self.scenario.slow_training_rank] = SLOW_RANK

    def together(self, after: float, spread_ms: float = 3.0) -> Int64:
        """When each rank hears of a call that the driver makes at `after`."""
        latency = self.rng.uniform(0.4, 0.4 + spread_ms, len(self.tracks)) * MS
        return (after + latency).astype(np.int64)

    def step(self, step: int, begin: int) -> int:
        """Lay out one step; the weights may be sent from the returned time on."""
        pace = self.shape.pace
        wait = self.rng.uniform(2.0, 2.2) if not self.scenario.colocated else 0.25
        called = self.together(begin + wait * SECOND, 20)
        for track, start in zip(self.tracks, called, strict=True):
            annotate(track, self.naming.wait, step, begin + 130 * MS, start - 5 * MS)

        done = self._copies(Stage.COPY_IN, called, step, 0.52, self.naming.prepare_logprobs)
        done = self._logprobs(done, step, 3.5 * pace, self.naming.logprobs)
        trains = 18.4
        if self.naming.reference is not None:
            done = self._logprobs(done + 150 * MS, step, 3.4 * pace, self.naming.reference)
        else:
            trains += 3.6
        done = self._copies(
            Stage.COPY_IN, self.together(done), step, 0.68, self.naming.prepare_training
        )
        done = self._train(self.together(done + 5 * MS), step, trains * pace)
        if self.scenario.colocated:
            done = self._copies(
                Stage.COPY_OUT, self.together(done), step, 0.3, self.naming.offload_before
            )
        return done

    def _copies(
        self, stage: Stage, start: Int64, step: int, busy_s: float, names: Names, count: int = 7
    ) -> int:
        """Copy for `busy_s` on every rank, with a set at the end; return when all are done."""
        latest = 0
        for track, begin in zip(self.tracks, start, strict=True):
            length = self.rng.uniform(0.9, 1.1, count) * busy_s / count * SECOND
            gap = self.rng.uniform(0.2, 0.7, count) * MS
            gap[self.rng.integers(count)] += self.rng.uniform(8, 30) * MS
            ends = (begin + 40 * MS + np.cumsum(length + gap)).astype(np.int64)
            track.add(ends - length.astype(np.int64), ends, stage)
            cleared = ends[-1:] + 30 * US
            track.add(cleared, cleared + 24 * US, Stage.SET)
            end = int(ends[-1] + self.rng.uniform(15, 25) * MS)
            annotate(track, names, step, begin, end)
            latest = max(latest, end)
        return latest

    def _logprobs(self, after: int, step: int, busy_s: float, names: Names) -> int:
        start = self.together(after + 10 * MS)
        groups = [(Stage.FORWARD, Stage.ALL_GATHER)] * self.shape.logprob_groups
        ends = self._lockstep(start + 35 * MS, step, busy_s, groups, microbatches=3, exposed=False)
        for track, begin, end in zip(self.tracks, start, ends, strict=True):
            annotate(track, names, step, begin, end + 12 * MS, 15 * MS)
        return int(ends.max()) + 12 * MS

    def _train(self, start: Int64, step: int, busy_s: float) -> int:
        forward = (Stage.FORWARD, Stage.ALL_GATHER)
        backward = (Stage.BACKWARD, Stage.REDUCE_SCATTER)
        count = self.shape.train_groups
        groups = [forward if index % 3 == 0 else backward for index in range(count)]
        exposed = self.scenario.exposed_communication
        ends = self._lockstep(
            start + 12 * MS, step, busy_s, groups, microbatches=8, exposed=exposed
        )
        ends = self._collective(Stage.ALL_REDUCE, step, ends + 30 * US, 9 * MS)
        length = self.rng.uniform(0.14, 0.16, len(self.tracks)) * SECOND * self.shape.pace
        stops = ends + length.astype(np.int64)
        for track, begin, end, stop in zip(self.tracks, start, ends, stops, strict=True):
            parts = 2 * self.shape.parts
            track.add(np.array([end + 40 * US]), np.array([stop]), Stage.OPTIMIZER, parts)
            annotate(track, self.naming.training, step, begin, stop + 4 * MS)
        return int(stops.max()) + 4 * MS

    def _collective(self, stage: Stage, step: int, start: Int64, length: float) -> Int64:
        """Run one collective that lasts `length` from the arrival of the last rank."""
        ends = jittered(self.rng, start.max() + length, len(self.tracks))
        thread = int(stage is Stage.REDUCE_SCATTER)
        for track, begin, end in zip(self.tracks, start, ends, strict=True):
            track.add(np.array([begin]), np.array([end]), stage)
            nccl_range(track, stage, step, int(begin), thread)
        return ends

    def _lockstep(
        self,
        start: Int64,
        step: int,
        busy_s: float,
        groups: list[tuple[Stage, Stage]],
        *,
        microbatches: int,
        exposed: bool,
    ) -> Int64:
        """Compute group by group on all ranks, with a collective in or after each.

        A collective that is hidden starts inside its group and is over before the group is, unless
        a rank comes late: then the others wait for it, and what they wait with is communication.
        """
        ranks, chunks = len(self.tracks), self.shape.chunks
        scale = self.rng.uniform(0.985, 1.015) * busy_s * SECOND / len(groups) / chunks
        batch = max(2, len(groups) // microbatches)
        for index, (compute, collective) in enumerate(groups):
            # Ranks run the same program on shards of one size: chunks differ, ranks hardly do.
            share = self.rng.uniform(0.8, 1.2, chunks) * self.rng.normal(1, 0.01, (ranks, chunks))
            share *= chunks / share.sum(axis=1, keepdims=True)
            own_pace = self.rng.normal(1, 0.0008, (ranks, 1)) * self.slow[:, None]
            length = scale * share * own_pace
            gap = launch_gaps(self.rng, chunks) * self.rng.normal(1, 0.03, (ranks, chunks))
            gap[:, 0] = 0
            steps = length.astype(np.int64) + gap.astype(np.int64)
            ends = start[:, None] + np.cumsum(steps, axis=1)
            starts = ends - length.astype(np.int64)
            for rank, track in enumerate(self.tracks):
                side = (np.arange(chunks) + rank) % 2
                track.add(starts[rank], ends[rank], compute, self.shape.parts, side)
            own = ends[:, -1] - start
            last = (index + 1) % batch == 0
            if exposed:
                arrived, lasts = ends[:, -1] + 20 * US, 0.3 * scale * chunks
            elif last:
                # Nothing is left to hide the last collective of a microbatch.
                arrived, lasts = ends[:, -1] + 20 * US, self.rng.uniform(22, 32) * MS
            else:
                arrived, lasts = start + (0.25 * own).astype(np.int64), 0.2 * scale * chunks
            over = self._collective(collective, step, arrived, lasts)
            start = np.maximum(ends[:, -1], over) + launch_gaps(self.rng, 1)
            start += int(last * self.rng.uniform(30, 70) * MS)
        return np.maximum(ends[:, -1], over)

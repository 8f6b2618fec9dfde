"""What a simulated run is, before any row of it exists: who works when, on one true clock.

Two readers share it and never meet: the truth, which computes with the spans, and the rows, which
cover them. All times are integers in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.demo.intervals import Int64
    from rlviz.demo.names import Naming
    from rlviz.demo.scenario import Scenario

__all__ = ["Gpu", "Lane", "Plan", "Range", "Report", "Spans", "Stage", "Track"]


class Stage(IntEnum):
    """What a span of GPU activity is made of."""

    PREFILL = 0
    DECODE = 1
    FORWARD = 2
    BACKWARD = 3
    OPTIMIZER = 4
    ALL_GATHER = 10
    REDUCE_SCATTER = 11
    ALL_REDUCE = 12
    BROADCAST = 13
    COPY_IN = 20
    COPY_OUT = 21
    COPY_ON = 22
    SET = 23


_FIRST_COLLECTIVE, _FIRST_COPY = Stage.ALL_GATHER, Stage.COPY_IN


@dataclass(frozen=True)
class Spans:
    """Stretches of GPU activity of one worker, in the order of their starts.

    Parameters
    ----------
    start, end : ndarray of int64
        True clock.
    stage : ndarray of int64
        A `Stage`.
    parts : ndarray of int64
        Kernels that cover the span end to start; 1 for a collective, a copy or a set.
    side : ndarray of int64
        Kernels on other streams, inside the span.
    """

    start: Int64
    end: Int64
    stage: Int64
    parts: Int64
    side: Int64

    def where(self, kept: npt.NDArray[np.bool_]) -> Spans:
        """Keep some of the spans."""
        return Spans(
            self.start[kept], self.end[kept], self.stage[kept], self.parts[kept], self.side[kept]
        )

    @classmethod
    def none(cls) -> Spans:
        """No activity at all."""
        return cls(*(np.empty(0, np.int64) for _ in range(5)))

    @classmethod
    def joined(cls, parts: Sequence[Spans]) -> Spans:
        """Put spans together, in the order of their starts."""
        columns = [
            np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(cls)
        ]
        order = np.argsort(columns[0], kind="stable")
        return cls(*(column[order] for column in columns))

    def moved(self, by: int) -> Spans:
        """Shift all times."""
        return replace(self, start=self.start + by, end=self.end + by)

    def computing(self) -> npt.NDArray[np.bool_]:
        """Where kernels compute."""
        return self.stage < _FIRST_COLLECTIVE

    def communicating(self) -> npt.NDArray[np.bool_]:
        """Where a collective runs."""
        return (self.stage >= _FIRST_COLLECTIVE) & (self.stage < _FIRST_COPY)

    def copying(self) -> npt.NDArray[np.bool_]:
        """Where something is copied or set."""
        return self.stage >= _FIRST_COPY

    def of(self, *stages: Stage) -> npt.NDArray[np.bool_]:
        """Where the stage is one of these."""
        return np.isin(self.stage, [int(stage) for stage in stages])


@dataclass(frozen=True)
class Range:
    """An NVTX range on the true clock; `step` is the training step it belongs to."""

    name: str
    phase: str
    step: int
    start: int
    end: int
    thread: int = 0
    domain: str = ""

    def moved(self, by: int) -> Range:
        """Shift it in time."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass
class Track:
    """What one worker does, as it is being laid out."""

    blocks: list[Spans] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)

    def add(
        self,
        start: Int64,
        end: Int64,
        stage: Stage,
        parts: Int64 | int = 1,
        side: Int64 | int = 0,
    ) -> None:
        """Add spans of one stage."""
        each = np.ones(len(start), np.int64)
        self.blocks.append(Spans(start, end, each * int(stage), each * parts, each * side))

    def spans(self) -> Spans:
        """Sort what was added."""
        return Spans.joined(self.blocks)


@dataclass(frozen=True)
class Gpu:
    """A physical GPU of a host."""

    host: str
    index: int
    uuid: str
    bus: str


@dataclass(frozen=True)
class Lane:
    """One worker process."""

    role: str
    rank: int | None
    host: str
    pid: int
    gpu: Gpu | None


@dataclass(frozen=True)
class Report:
    """One collection of one worker: what lies inside `window`, and how its clock reads.

    `spans` and `ranges` are on the true clock; ranges that were open when the collection started
    are left out, those that are open at its end reach beyond it. `utc_error_ns` is what its UTC
    start time is off; `uptime_ns` the host's system clock at the true clock's zero; `launch_ns` the
    moment its nsys session was launched.
    """

    path: str
    lane: Lane
    capture: int
    window: tuple[int, int]
    spans: Spans
    ranges: tuple[Range, ...]
    utc_error_ns: int
    uptime_ns: int
    launch_ns: int


@dataclass(frozen=True)
class Plan:
    """The whole run. The true clock's zero is the start of the earliest report with GPU rows.

    `utc_zero_ns` is its UTC. `reports` are those that exist, `missing` the lanes without one,
    `captures` the steps of each collection.
    """

    scenario: Scenario
    naming: Naming
    gpus: tuple[Gpu, ...]
    lanes: tuple[Lane, ...]
    reports: tuple[Report, ...]
    missing: tuple[Lane, ...]
    captures: tuple[tuple[int, ...], ...]
    utc_zero_ns: int
    secrets: tuple[str, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        """All captured steps."""
        return tuple(step for steps in self.captures for step in steps)

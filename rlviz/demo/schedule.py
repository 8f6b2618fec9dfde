"""The schedule of a simulated run: steps one after another, and what each report sees of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.cast import cast, secrets_of, uptimes_ns, utc_zero_ns
from rlviz.demo.generation import Engines, broadcast_weights, hand_over_weights
from rlviz.demo.names import naming_of
from rlviz.demo.plan import Lane, Plan, Range, Report, Spans, Track
from rlviz.demo.shape import MS, SECOND, shape_of
from rlviz.demo.training import Policies

if TYPE_CHECKING:
    from rlviz.demo.scenario import Scenario

__all__ = ["plan_of"]

START_BLOCKS_NS = 100 * MS  # starting a collection holds the process up
_STOP_TAKES_S = 1.0


@dataclass
class _Course:
    """The run as it unfolds: tracks by worker, steps that were taken, windows by capture."""

    scenario: Scenario
    rng: np.random.Generator
    policies: Policies
    engines: Engines
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)
    windows: list[np.ndarray] = field(default_factory=list)
    luck: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self.luck = dict(self.rng.bit_generator.state)

    def opened(self, top: int) -> np.ndarray:
        """When each worker's collection starts: the policies', then the engines'."""
        return top + np.concatenate(
            (
                self.rng.uniform(0, 30, len(self.policies.tracks)) * MS,
                self.rng.uniform(110, 340, len(self.engines.tracks)) * MS,
            )
        ).astype(np.int64)

    def closed(self, top: int) -> np.ndarray:
        """When each worker's collection stops."""
        engines = self.rng.uniform(1.68, 1.95, len(self.engines.tracks))
        policies = self.rng.uniform(1.60, 1.66, len(self.policies.tracks))
        return top + (np.concatenate((policies, engines)) * SECOND).astype(np.int64)


def plan_of(scenario: Scenario) -> Plan:
    """Decide who works when."""
    rng = np.random.default_rng([scenario.seed, 0x51])
    naming, shape = naming_of(scenario), shape_of(scenario)
    gpus, lanes = cast(scenario, rng)
    policies = [Track() for lane in lanes if lane.role == "policy"]
    engines = [Track() for lane in lanes if lane.role == "generation"]
    course = _Course(
        scenario,
        rng,
        Policies(scenario, naming, shape, rng, policies),
        Engines(scenario, naming, shape, rng, engines),
    )
    dealt = _dealt_steps(scenario)
    _unfold(course, dealt)
    tracks = [*policies, *engines]
    spans = [track.spans() for track in tracks]
    workers = [lane for lane in lanes if lane.gpu]
    present = [
        index
        for index, lane in enumerate(workers)
        if lane.role != "policy" or lane.rank != scenario.missing_rank
    ]
    zero = int(min(window[index, 0] for window in course.windows for index in present))
    clocks = _Clocks(scenario, lanes)
    reports = [
        _report(
            scenario,
            clocks,
            workers[index],
            capture,
            course.windows[capture][index] - zero,
            spans[index],
            tracks[index].ranges,
            zero,
        )
        for index in present
        for capture in range(scenario.captures)
    ]
    return Plan(
        scenario,
        naming,
        gpus,
        lanes,
        (*reports, *_controller(scenario, clocks, lanes, course, zero)),
        tuple(lane for index, lane in enumerate(workers) if index not in present),
        tuple(tuple(steps) for steps in dealt),
        utc_zero_ns(scenario),
        secrets_of(scenario),
    )


def _dealt_steps(scenario: Scenario) -> list[list[int]]:
    """Deal the steps over the captures; verl leaves one out between two."""
    dealt, step = [], scenario.first
    for part in np.array_split(np.arange(scenario.steps), scenario.captures):
        dealt.append(list(range(step, step + len(part))))
        step += len(part) + (scenario.framework == "verl")
    return dealt


def _unfold(course: _Course, dealt: list[list[int]]) -> None:
    """Take all steps, captured or not."""
    top = 0
    # Each engine went on as soon as it had the weights of the step before the first one.
    starts = (course.rng.uniform(-12, 0, len(course.engines.tracks)) * MS).astype(np.int64)
    for index, steps in enumerate(dealt):
        opened = course.opened(top)
        for step in steps:
            top, starts = _step(course, step, top, starts)
        course.windows.append(np.stack((opened, course.closed(top)), axis=1))
        if index + 1 == len(dealt):
            if not course.scenario.colocated:
                course.engines.segment(steps[-1], starts)
        elif steps[-1] + 1 < dealt[index + 1][0]:
            top, starts = _step(course, steps[-1] + 1, top, starts)
        else:
            top = int(course.windows[-1][:, 1].max() + _STOP_TAKES_S * SECOND)


def _step(course: _Course, step: int, top: int, starts: np.ndarray) -> tuple[int, np.ndarray]:
    """Take one step from `top` on; return when the next one begins, and each engine's start."""
    policies, engines = course.policies, course.engines
    if course.scenario.identical_steps:
        course.rng.bit_generator.state = course.luck
    both = (policies.tracks, engines.tracks)
    if course.scenario.colocated:
        asked = top + int(0.5 * SECOND)
        begin = asked + (course.rng.uniform(2, 5, len(engines.tracks)) * MS).astype(np.int64)
        generated = engines.segment(step - 1, begin)
        done = policies.step(step, int(generated.max()))
        ends = hand_over_weights(
            course.rng, course.scenario, policies.naming, *both, step, done + 20 * MS
        )
        course.steps[step] = (top, int(ends.max()))
        return int(ends.max()) + 40 * MS, ends
    generated = engines.segment(step - 1, starts)
    done = max(policies.step(step, top), int(generated.max()))
    ends = broadcast_weights(
        course.rng, course.scenario, policies.naming, *both, step, done + 70 * MS
    )
    course.steps[step] = (top, int(ends.max()))
    resumed = ends + (course.rng.uniform(2, 6, len(ends)) * MS).astype(np.int64)
    return int(ends.max()) + 15 * MS, resumed


class _Clocks:
    """How far the UTC of each report is off, and the clocks of each host and session."""

    def __init__(self, scenario: Scenario, lanes: tuple[Lane, ...]) -> None:
        self.uptime_ns = uptimes_ns(scenario)
        skew_ns = {host: round(ms * MS) for host, ms in scenario.skew_ms.items()}
        seen = dict.fromkeys(scenario.host_names, 0)
        self.error_ns: dict[Lane, int] = {}
        self.launch_ns: dict[Lane, int] = {}
        for index, lane in enumerate(lanes):
            stepped = round(scenario.utc_step_ms * MS) * seen[lane.host]
            self.error_ns[lane] = skew_ns.get(lane.host, 0) + stepped
            self.launch_ns[lane] = -(90 * SECOND + 371_234_567 * (index + 1))
            seen[lane.host] += 1


def _report(
    scenario: Scenario,
    clocks: _Clocks,
    lane: Lane,
    capture: int,
    window: np.ndarray,
    spans: Spans,
    ranges: list[Range],
    zero: int,
) -> Report:
    """Cut out what one collection sees; nothing is launched while it starts."""
    start, end = int(window[0]), int(window[1])
    seen = spans.where(
        (spans.start - zero >= start + START_BLOCKS_NS) & (spans.end - zero <= end)
    ).moved(-zero)
    listed = sorted((one.moved(-zero) for one in ranges), key=lambda one: (one.start, -one.end))
    return Report(
        _path(scenario, lane, capture),
        lane,
        capture,
        (start, end),
        seen,
        tuple(one for one in listed if start <= one.start < end),
        clocks.error_ns[lane],
        clocks.uptime_ns[lane.host],
        # The driver's report starts with its process, the others when they are told to.
        clocks.launch_ns[lane] if lane.gpu else start - 350 * MS,
    )


def _path(scenario: Scenario, lane: Lane, capture: int) -> str:
    naming = naming_of(scenario)
    worker = naming.worker_of(lane.role)
    stem = worker.stem.format(
        first=scenario.first, after=scenario.first + scenario.steps, pid=lane.pid, rank=lane.rank
    )
    numbered = lane.gpu and (scenario.captures > 1 or scenario.framework == "verl")
    suffix = f".{capture + 1}" if numbered else ""
    return f"{lane.host}/{stem}{suffix}.sqlite"


def _controller(
    scenario: Scenario, clocks: _Clocks, lanes: tuple[Lane, ...], course: _Course, zero: int
) -> list[Report]:
    """Verl's driver: no GPU, a report from its own start on, with a range for every step."""
    steps = {step: (start - zero, end - zero) for step, (start, end) in course.steps.items()}
    length = 31 * SECOND
    for step in range(scenario.first - 1, 0, -1):
        after = steps[step + 1][0]
        steps[step] = (after - length, after - 15 * MS)
    marks = Track()
    for step in sorted(steps):
        start, end = steps[step]
        marks.ranges.append(Range("step", "other", step, start + 2 * MS, end + 4 * MS))
        waited = Range("wait_for_enough_samples", "other", step, start + 3 * MS, start + 58 * MS)
        marks.ranges.append(waited)
    window = np.array([steps[1][0] - 60 * SECOND, max(end for _, end in steps.values()) + SECOND])
    return [
        _report(scenario, clocks, lane, 0, window, Spans.none(), marks.ranges, 0)
        for lane in lanes
        if lane.role == "controller"
    ]

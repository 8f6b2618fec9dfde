"""Who takes part in a simulated run: hosts, GPUs, worker processes, and their clocks."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from rlviz.demo.plan import Gpu, Lane
from rlviz.demo.shape import SECOND

if TYPE_CHECKING:
    import numpy as np

    from rlviz.demo.scenario import Scenario

__all__ = ["cast", "secrets_of", "uptimes_ns", "utc_zero_ns"]

_BUSES = (0x19, 0x3B, 0x4C, 0x5D, 0x9B, 0xBB, 0xCB, 0xDB)
_FIRST_PID, _PID_STEP, _CONTROLLER_PID = 4711, 97, 2048
_UTC_ZERO_NS = 1_790_000_000 * SECOND


def cast(scenario: Scenario, rng: np.random.Generator) -> tuple[tuple[Gpu, ...], tuple[Lane, ...]]:
    """Deal the workers of both pools over the hosts.

    Process ids start anew on every host, as they do in containers: they repeat.
    """
    gpus: list[Gpu] = []
    lanes: list[Lane] = []
    for host_index, host in enumerate(scenario.host_names):
        policies = _dealt(scenario.policy_gpus, scenario.hosts, host_index)
        engines = _dealt(scenario.engines, scenario.hosts, host_index)
        own: list[Gpu] = []
        count = len(policies) + (0 if scenario.colocated else len(engines))
        for index in range(count):
            bus = f"{index // len(_BUSES):04x}:{_BUSES[index % len(_BUSES)]:02x}:00.0"
            name = str(uuid.UUID(bytes=rng.bytes(16), version=4))
            own.append(Gpu(host, index, name, bus))
        places = [("policy", rank, index) for index, rank in enumerate(policies)]
        offset = 0 if scenario.colocated else len(policies)
        places += [("generation", rank, index + offset) for index, rank in enumerate(engines)]
        for order, (role, rank, index) in enumerate(places):
            lanes.append(Lane(role, rank, host, _FIRST_PID + _PID_STEP * order, own[index]))
        gpus += own
    lanes.sort(key=lambda lane: (lane.role != "policy", lane.rank or 0))
    if scenario.framework == "verl":
        lanes.append(Lane("controller", None, scenario.host_names[0], _CONTROLLER_PID, None))
    return tuple(gpus), tuple(lanes)


def _dealt(count: int, hosts: int, host: int) -> range:
    """Ranks of one host when `count` of them are dealt in order."""
    return range(count * host // hosts, count * (host + 1) // hosts)


def utc_zero_ns(scenario: Scenario) -> int:
    """UTC of the true clock's zero: a round second, another one for every seed."""
    return _UTC_ZERO_NS + (scenario.seed % 1_000_000) * SECOND


def uptimes_ns(scenario: Scenario) -> dict[str, int]:
    """How long each host had been up at the true clock's zero: its system clock."""
    return {
        host: (700_000 + 41_773 * index) * SECOND + 123_456_789 * (index + 1)
        for index, host in enumerate(scenario.host_names)
    }


def secrets_of(scenario: Scenario) -> tuple[str, ...]:
    """Made-up tokens that every report carries where nsys puts the environment."""
    return tuple(
        f"SIMULATED-{what}-{scenario.seed:04d}-MUST-NOT-LEAVE-THE-REPORT"
        for what in ("HF-TOKEN", "WANDB-KEY")
    )

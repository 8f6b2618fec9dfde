"""What a simulated run is made of, and what is planted in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Scenario"]

FRAMEWORKS = ("nemo_rl", "verl", "rlinf")
GRAPHS = ("node", "graph", "lost")
VERSIONS = ("2025.3", "2026.2")

# What each framework's profiling starts with by default; RLinf and colocated runs from the first.
_FIRST_STEP = {"nemo_rl": 3, "verl": 2, "rlinf": 1}
_FEWEST_KERNELS_A_STEP = 100


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A run to simulate: its size, its framework, and the faults planted in it.

    Parameters
    ----------
    framework : {"nemo_rl", "verl", "rlinf"}
        Whose files, processes, threads and ranges to imitate.
    colocated : bool
        Synchronous: policy and generation take turns on the same GPUs. Then `policy_gpus` counts
        the GPUs and `generation_gpus` is not used.
    hosts, policy_gpus, generation_gpus : int
        Both pools are dealt over the hosts; a worker has one GPU.
    steps : int
        Training steps inside the capture.
    first_step : int, optional
        Number of the first of them, from 1. By default 3 for NeMo-RL, 2 for verl, and 1 for RLinf
        and colocated runs. RLinf's reports do not tell, so there it can only be 1.
    captures : int
        Reports a worker (``.1``, ``.2``): the steps are dealt over that many collections of one
        nsys session, with a pause between two of them. verl skips one step in the pause.
    kernels_per_gpu : int
        No GPU has more kernels than this. Few kernels are long kernels: the times stay the same.
    graphs : {"node", "graph", "lost"}, optional
        CUDA graphs of decoding: traced kernel by kernel, as one row a launch, or launched with no
        GPU row left (what a capture that loses them looks like). By default "node", verl "graph".
    nsys : {"2025.3", "2026.2"}
        Whose schema to write; 2026.2 has ``systemClockNs``.
    seed : int
        The same scenario and seed give the same rows.
    identical_steps : bool
        Every step takes exactly as long as the one before: a shift by one step fits as well.
    slow_training_rank, slow_generation_gpu : int, optional
        The policy rank, the generation GPU that is slower than its siblings.
    long_tail : bool
        The last generation GPU is left with a few very long requests in every segment.
    slow_refit, exposed_communication : bool
        Weights take eight times as long to arrive; collectives of training run with no compute
        under them.
    missing_rank : int, optional
        The policy rank that left no report.
    clock_skew_ms : float or mapping of str to float
        How far the UTC of a host is off; a number is meant for every host but the first.
    utc_step_ms : float
        UTC steps by this much between one report of a host and the next one.
    """

    framework: str = "nemo_rl"
    colocated: bool = False
    hosts: int = 2
    policy_gpus: int = 4
    generation_gpus: int = 4
    steps: int = 5
    first_step: int | None = None
    captures: int = 1
    kernels_per_gpu: int = 48_000
    graphs: str | None = None
    nsys: str = "2025.3"
    seed: int = 0
    identical_steps: bool = False
    slow_training_rank: int | None = None
    slow_generation_gpu: int | None = None
    long_tail: bool = False
    slow_refit: bool = False
    exposed_communication: bool = False
    missing_rank: int | None = None
    clock_skew_ms: float | Mapping[str, float] = field(default=0.0)
    utc_step_ms: float = 0.0

    def __post_init__(self) -> None:
        _one_of("framework", self.framework, FRAMEWORKS)
        _one_of("graphs", self.graphs, (None, *GRAPHS))
        _one_of("nsys", self.nsys, VERSIONS)
        for name in ("hosts", "policy_gpus", "generation_gpus", "steps", "captures"):
            _at_least(name, getattr(self, name), 1)
        if self.captures > self.steps:
            msg = f"captures: {self.captures} is too many for {self.steps} steps"
            raise ValueError(msg)
        _at_least("kernels_per_gpu", self.kernels_per_gpu, _FEWEST_KERNELS_A_STEP * self.steps)
        _at_least("first_step", self.first, 1)
        if self.framework == "rlinf" and self.first != 1:
            msg = "first_step: RLinf's reports do not tell the step, it can only be 1"
            raise ValueError(msg)
        if self.missing_rank is not None and (self.colocated or self.policy_gpus < 2):
            msg = "missing_rank: one rank has to stay, and its GPU must have no second worker"
            raise ValueError(msg)
        for name, count in (
            ("slow_training_rank", self.policy_gpus),
            ("missing_rank", self.policy_gpus),
            ("slow_generation_gpu", self.engines),
        ):
            value = getattr(self, name)
            if value is not None and not 0 <= value < count:
                msg = f"{name}: {value} is not one of the {count} there are (from 0)"
                raise ValueError(msg)
        unknown = sorted(set(self.skew_ms) - set(self.host_names))
        if unknown:
            msg = f"clock_skew_ms: no host {', '.join(unknown)}; there are {self.host_names}"
            raise ValueError(msg)

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts, "node-1" and so on."""
        return tuple(f"node-{index + 1}" for index in range(self.hosts))

    @property
    def engines(self) -> int:
        """Generation workers: one a GPU of the pool, in a colocated run one a policy GPU."""
        return self.policy_gpus if self.colocated else self.generation_gpus

    @property
    def first(self) -> int:
        """Number of the first captured step."""
        if self.first_step is not None:
            return self.first_step
        return 1 if self.colocated else _FIRST_STEP[self.framework]

    @property
    def graph_trace(self) -> str:
        """How decode graphs are traced."""
        return self.graphs or ("graph" if self.framework == "verl" else "node")

    @property
    def skew_ms(self) -> dict[str, float]:
        """Error of each host's UTC; hosts that are right are absent."""
        if isinstance(self.clock_skew_ms, Mapping):
            return dict(self.clock_skew_ms)
        return dict.fromkeys(self.host_names[1:], self.clock_skew_ms) if self.clock_skew_ms else {}


def _one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        msg = f"{name}: {value!r} is none of {', '.join(repr(one) for one in known)}"
        raise ValueError(msg)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        msg = f"{name}: {value} is too few, at least {least} are needed"
        raise ValueError(msg)

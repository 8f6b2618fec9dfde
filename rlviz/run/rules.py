"""What names mean: roles of workers and phases of ranges, from ``rlviz/rules/*.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PHASES", "POOLS", "ROLES", "Rules", "pool_of", "shipped_rules"]

ROLES = (
    "policy",
    "generation",
    "reference",
    "critic",
    "reward",
    "environment",
    "controller",
    "unknown",
)
POOLS = ("generation", "training", "colocated", "other")
PHASES = ("generation", "logprobs", "training", "refit", "reward", "other")

_TRAINING = frozenset({"policy", "reference", "critic"})
_FRAMEWORKS = ("nemo_rl", "verl", "rlinf", "vllm", "plain")


@dataclass(frozen=True)
class _Role:
    role: str
    ranges: tuple[str, ...]
    processes: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True)
class _Phase:
    phase: str
    ranges: tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """Patterns (as of `fnmatch`; case counts), asked in order: the first that matches tells.

    Parameters
    ----------
    roles, phases : tuple
        Rules of all frameworks, one after the other.
    """

    roles: tuple[_Role, ...]
    phases: tuple[_Phase, ...]

    def role(self, ranges: Iterable[str], processes: Iterable[str], file: str) -> str:
        """Tell a worker's role: by its ranges first, its process next, its file's name last.

        Parameters
        ----------
        ranges : iterable of str
            Distinct names of its NVTX ranges.
        processes : iterable of str
            Names of its process and threads.
        file : str
            Name of its report, without folder and suffix.

        Returns
        -------
        str
            One of `ROLES`.

        Examples
        --------
        >>> rules = shipped_rules()
        >>> rules.role(["dtensor_value_worker_v2/train"], [], "dtensor_policy_worker_v2_1:4_77")
        'critic'
        >>> rules.role([], [], "vllm_generation_worker_1:4_12")
        'generation'
        """
        for kind, texts in (("ranges", ranges), ("processes", processes), ("files", [file])):
            distinct = set(texts)
            for rule in self.roles:
                if any(fnmatchcase(t, p) for p in getattr(rule, kind) for t in distinct):
                    return rule.role
        return "unknown"

    def phase(self, name: str) -> str | None:
        """Tell the phase that a range of this name marks; None when it marks none.

        Examples
        --------
        >>> shipped_rules().phase("vllm_genertion_worker/generate")
        'generation'
        """
        for rule in self.phases:
            if any(fnmatchcase(name, pattern) for pattern in rule.ranges):
                return rule.phase
        return None


@cache
def shipped_rules() -> Rules:
    """Rules of all frameworks that rlviz knows."""
    folder = resources.files("rlviz.rules")
    read: list[dict[str, Any]] = [
        tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in _FRAMEWORKS
    ]
    roles = [
        _Role(r["role"], *(tuple(r.get(key, ())) for key in ("ranges", "processes", "files")))
        for framework in read
        for r in framework["role"]
    ]
    phases = [_Phase(p["phase"], tuple(p["ranges"])) for f in read for p in f["phase"]]
    return Rules(tuple(roles), tuple(phases))


def pool_of(roles: Iterable[str]) -> str:
    """Tell the pool of a GPU from the roles of its workers; one of `POOLS`.

    Examples
    --------
    >>> pool_of(["policy", "generation"])
    'colocated'
    """
    found = set(roles)
    generates, trains = "generation" in found, bool(found & _TRAINING)
    if generates and trains:
        return "colocated"
    return "generation" if generates else "training" if trains else "other"

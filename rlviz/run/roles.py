"""What a worker is for: told by its ranges first, its process next, its file's name last."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["POOLS", "ROLES", "RoleRule", "pool_of", "role_of", "rules"]

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

_TRAINING = frozenset({"policy", "reference", "critic"})
_FRAMEWORKS = ("nemo_rl", "verl", "rlinf", "plain")


@dataclass(frozen=True)
class RoleRule:
    """Patterns (as of `fnmatch`, case counts) that tell a role; any of them is enough."""

    role: str
    ranges: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@cache
def rules() -> tuple[RoleRule, ...]:
    """Role rules of all frameworks, in the order in which they are asked."""
    folder = resources.files("rlviz.rules")
    read: list[dict[str, Any]] = [
        tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in _FRAMEWORKS
    ]
    return tuple(
        RoleRule(
            entry["role"],
            *(tuple(entry.get(key, ())) for key in ("ranges", "processes", "files")),
        )
        for framework in read
        for entry in framework["role"]
    )


def role_of(ranges: Iterable[str], processes: Iterable[str], file: str) -> str:
    """Tell a worker's role.

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
    >>> role_of(["dtensor_value_worker_v2/train"], [], "dtensor_policy_worker_v2_1:4_77")
    'critic'
    >>> role_of([], [], "vllm_generation_worker_1:4_12")
    'generation'
    """
    for texts, kind in ((set(ranges), "ranges"), (set(processes), "processes"), ({file}, "files")):
        for rule in rules():
            if any(fnmatchcase(t, p) for p in getattr(rule, kind) for t in texts):
                return rule.role
    return "unknown"


def pool_of(roles: Iterable[str]) -> str:
    """Tell the pool of a GPU from the roles of its workers; one of `POOLS`."""
    found = set(roles)
    generates, trains = "generation" in found, bool(found & _TRAINING)
    if generates and trains:
        return "colocated"
    return "generation" if generates else "training" if trains else "other"

"""What names mean: roles of workers and phases of ranges, from ``rlviz/rules/*.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PHASES", "POOLS", "ROLES", "Pattern", "Rules", "pool_of", "shipped_rules"]

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
class Pattern:
    """Shell patterns, any of which may match: ``*`` any text, ``?`` one character; case counts.

    Parameters
    ----------
    globs : tuple of str
        The patterns; none matches nothing.

    Examples
    --------
    >>> Pattern(("*_worker/train",)).matches(pl.Series(["policy_worker/train", "train"])).to_list()
    [True, False]
    """

    globs: tuple[str, ...]

    def matches(self, texts: pl.Series) -> pl.Series:
        """Tell which texts match as a whole; in one pass, since a run can hold a million names."""
        if not self.globs:
            return pl.repeat(value=False, n=len(texts), dtype=pl.Boolean, eager=True)
        alternatives = "|".join(map(_regex, self.globs))
        return texts.str.contains(f"^(?s:{alternatives})$")


@dataclass(frozen=True)
class _Role:
    role: str
    ranges: Pattern
    processes: Pattern
    files: Pattern


@dataclass(frozen=True)
class _Phase:
    phase: str
    ranges: Pattern


@dataclass(frozen=True)
class Rules:
    """What names mean. Rules are asked in order: the first that matches tells.

    Parameters
    ----------
    roles, phases : tuple
        Rules of all frameworks, one after the other.
    communication : Pattern
        Short names of kernels that move data between GPUs.
    """

    roles: tuple[_Role, ...]
    phases: tuple[_Phase, ...]
    communication: Pattern

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
            named = pl.Series(list(texts), dtype=pl.String)
            for rule in self.roles:
                if getattr(rule, kind).matches(named).any():
                    return rule.role
        return "unknown"

    def phases_of(self, names: pl.Series) -> pl.Series:
        """Tell the phase that ranges of these names mark.

        Parameters
        ----------
        names : polars.Series of str, shape (n,)
            Names of ranges.

        Returns
        -------
        polars.Series of str, shape (n,)
            One of `PHASES`; null where a name marks none.

        Examples
        --------
        >>> shipped_rules().phases_of(pl.Series(["vllm_genertion_worker/generate", "io"])).to_list()
        ['generation', None]
        """
        told = [
            pl.when(rule.ranges.matches(names)).then(pl.lit(rule.phase)) for rule in self.phases
        ]
        return pl.select(pl.coalesce(told)).to_series().alias("phase")


@cache
def shipped_rules() -> Rules:
    """Rules of all frameworks that rlviz knows."""
    folder = resources.files("rlviz.rules")
    read: list[dict[str, Any]] = [
        tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in _FRAMEWORKS
    ]
    roles = [
        _Role(r["role"], *(Pattern(tuple(r.get(k, ()))) for k in ("ranges", "processes", "files")))
        for framework in read
        for r in framework["role"]
    ]
    phases = [_Phase(p["phase"], Pattern(tuple(p["ranges"]))) for f in read for p in f["phase"]]
    communication = [g for f in read for g in f.get("kernels", {}).get("communication", ())]
    return Rules(tuple(roles), tuple(phases), Pattern(tuple(communication)))


def _regex(glob: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(c) or re.escape(c) for c in glob)


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

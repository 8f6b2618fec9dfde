"""What names mean: roles of workers, phases of ranges, marks of iterations; data in TOML files."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = [
    "PHASES",
    "POOLS",
    "ROLES",
    "SUMMED_POOLS",
    "TRAINING_ROLES",
    "Pattern",
    "Rules",
    "pool_of",
]

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
TRAINING_ROLES = ("policy", "reference", "critic")
POOLS = ("generation", "training", "colocated", "other")
SUMMED_POOLS = POOLS[:-1]
"""Pools that have numbers; what is in no other one has rows only."""

PHASES = ("generation", "logprobs", "training", "refit", "reward", "other")

# So few texts are matched faster by Python than they are brought into a column.
_MANY = 200


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

    globs: tuple[str, ...] = ()

    def matches(self, texts: pl.Series) -> pl.Series:
        """Tell which texts match as a whole; in one pass, since a run can hold a million names."""
        if not self.globs:
            return pl.repeat(value=False, n=len(texts), dtype=pl.Boolean, eager=True)
        return texts.str.contains(self._expression)

    def matches_any(self, texts: Collection[str]) -> bool:
        """Tell whether any of some texts matches as a whole."""
        if len(texts) > _MANY:
            return bool(self.matches(pl.Series(list(texts), dtype=pl.String)).any())
        matches = self._compiled.match
        return bool(self.globs) and any(matches(text) for text in texts)

    @cached_property
    def _expression(self) -> str:
        return rf"\A(?s:{'|'.join(map(_regex, self.globs))})\z"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._expression.replace(r"\z", r"\Z"))


@dataclass(frozen=True)
class RoleRule:
    """A role, and what tells it; `framework` is who names things so."""

    framework: str
    role: str
    ranges: Pattern = Pattern()
    processes: Pattern = Pattern()
    files: Pattern = Pattern()


@dataclass(frozen=True)
class PhaseRule:
    """A phase, and the ranges that mark it."""

    framework: str
    phase: str
    ranges: Pattern


@dataclass(frozen=True)
class Rules:
    """What names mean. Rules are asked in order: the first that matches tells.

    Parameters
    ----------
    roles, phases : tuple of RoleRule, tuple of PhaseRule
        Rules of all frameworks, one after the other.
    steps : Pattern
        Ranges of a controller, one a train step, from the first step on.
    first_step : tuple of re.Pattern
        Each finds a group ``first`` in a report's name: the first train step that it captured; and
        ``end``, if it has one: the first that it did not.
    rank : tuple of re.Pattern
        Each finds a group ``rank`` in a report's name: the rank of its worker in its role.
    communication : Pattern
        Short names of kernels that move data between GPUs.
    """

    roles: tuple[RoleRule, ...] = ()
    phases: tuple[PhaseRule, ...] = ()
    steps: Pattern = Pattern()
    first_step: tuple[re.Pattern[str], ...] = ()
    rank: tuple[re.Pattern[str], ...] = ()
    communication: Pattern = Pattern()

    @property
    def text(self) -> str:
        """All of them as text, to tell them from others."""
        return json.dumps(asdict(self), default=lambda pattern: pattern.pattern)

    def role(self, ranges: Collection[str], processes: Collection[str], file: str) -> str:
        """Tell a worker's role: by its ranges first, its process next, its file's name last.

        Parameters
        ----------
        ranges : collection of str
            Distinct names of its NVTX ranges.
        processes : collection of str
            Names of its process and threads.
        file : str
            Name of its report, without folder and suffix.

        Returns
        -------
        str
            One of `ROLES`.

        Examples
        --------
        >>> from rlviz.run.rulebook import shipped_rules
        >>> rules = shipped_rules()
        >>> rules.role(["dtensor_value_worker_v2/train"], [], "dtensor_policy_worker_v2_1:4_77")
        'critic'
        >>> rules.role([], [], "vllm_generation_worker_1:4_12")
        'generation'
        """
        for kind, texts in (("ranges", ranges), ("processes", processes), ("files", [file])):
            for rule in self.roles:
                if getattr(rule, kind).matches_any(texts):
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
        >>> from rlviz.run.rulebook import shipped_rules
        >>> shipped_rules().phases_of(pl.Series(["vllm_genertion_worker/generate", "io"])).to_list()
        ['generation', None]
        """
        told = [
            pl.when(rule.ranges.matches(names)).then(pl.lit(rule.phase)) for rule in self.phases
        ]
        return pl.select(pl.coalesce(told)).to_series().alias("phase")

    def framework(self, names: pl.Series) -> str | None:
        """Tell who names ranges so: the first framework with a rule for one of them."""
        rules: list[PhaseRule | RoleRule] = [*self.phases, *self.roles]
        return next((r.framework for r in rules if r.ranges.matches(names).any()), None)

    def first_step_of(self, report: str) -> int | None:
        """Tell the first train step that a report captured, by its name without suffix.

        Examples
        --------
        >>> from rlviz.run.rulebook import shipped_rules
        >>> shipped_rules().first_step_of("dtensor_policy_worker_v2_3:8_4711")
        3
        """
        return _number(self.first_step, "first", report)

    def steps_of(self, report: str) -> range | None:
        """Tell the train steps that a report captured, by its name without suffix.

        Returns
        -------
        range or None
            None: its name does not tell.

        Examples
        --------
        >>> from rlviz.run.rulebook import shipped_rules
        >>> shipped_rules().steps_of("dtensor_policy_worker_v2_3:8_4711")
        range(3, 8)
        """
        first = self.first_step_of(report)
        end = _number((p for p in self.first_step if "end" in p.groupindex), "end", report)
        return range(first, end) if first is not None and end is not None and first < end else None

    def rank_of(self, report: str) -> int | None:
        """Tell the rank of a report's worker, by the report's name without suffix.

        Examples
        --------
        >>> from rlviz.run.rulebook import shipped_rules
        >>> shipped_rules().rank_of("rlinf_profile_RolloutGroup_2_4711")
        2
        """
        return _number(self.rank, "rank", report)


def pool_of(roles: Iterable[str]) -> str:
    """Tell the pool of a GPU from the roles of its workers; one of `POOLS`.

    Examples
    --------
    >>> pool_of(["policy", "generation"])
    'colocated'
    """
    found = set(roles)
    generates, trains = "generation" in found, bool(found & set(TRAINING_ROLES))
    if generates and trains:
        return "colocated"
    return "generation" if generates else "training" if trains else "other"


def _number(patterns: Iterable[re.Pattern[str]], group: str, text: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(text)
        # Nobody counts further; a group that takes in text or half a hash is no number.
        if found and re.fullmatch("[0-9]{1,9}", found[group] or ""):
            return int(found[group])
    return None


def _regex(glob: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(c) or re.escape(c) for c in glob)

"""The part of a run that was asked for: steps, ranks and roles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, TypeAlias

from rlviz.run.rules import ROLES, pool_of

if TYPE_CHECKING:
    from rlviz.reports.report import Diagnostic

__all__ = ["EVERYTHING", "Numbers", "Part", "Words", "part_of"]

Numbers: TypeAlias = "int | Iterable[int]"
Words: TypeAlias = "str | Iterable[str]"


@dataclass(frozen=True)
class Part:
    """What was asked for of a run.

    Parameters
    ----------
    steps, ranks : container of int or None
        Numbers of train steps, and ranks of workers in their role; None: all.
    roles : tuple of str or None
        Roles; None: all.
    told : tuple of Diagnostic
        What was left out, and what could not be.
    """

    steps: range | frozenset[int] | None = None
    ranks: range | frozenset[int] | None = None
    roles: tuple[str, ...] | None = None
    told: tuple[Diagnostic, ...] = ()

    @property
    def everything(self) -> bool:
        """True: the whole run."""
        return self.steps is None and self.ranks is None and self.roles is None

    def holds_pool(self, pool: str) -> bool:
        """Tell whether any role of a pool was asked for."""
        return self.roles is None or pool_of(self.roles) in (pool, "colocated")

    def holds_rank(self, rank: int) -> bool:
        """Tell whether a rank was asked for."""
        return self.ranks is None or rank in self.ranks

    def holds_steps(self, first: int, end: int) -> bool:
        """Tell whether any step of ``[first, end)`` was asked for."""
        if self.steps is None:
            return True
        if isinstance(self.steps, range):
            return _meet(self.steps, first, end)
        return any(first <= step < end for step in self.steps)


EVERYTHING = Part()


def part_of(
    steps: Numbers | None = None, ranks: Numbers | None = None, roles: Words | None = None
) -> Part:
    """Understand what a caller asks for.

    Parameters
    ----------
    steps, ranks : int, iterable of int, or None
        One number, or all that are listed: ``(3, 5)`` is 3 and 5, ``range(3, 6)`` is 3 to 5.
    roles : str, iterable of str, or None
        One role, or several.

    Raises
    ------
    ValueError
        A number that is none, a role that is none, or none at all.

    Examples
    --------
    >>> part_of(steps=range(3, 6), roles="policy").holds_steps(5, 9)
    True
    """
    return Part(_numbers("steps", steps), _numbers("ranks", ranks), _roles(roles))


def _numbers(name: str, asked: Numbers | None) -> range | frozenset[int] | None:
    if asked is None:
        return None
    if isinstance(asked, range):
        found: range | frozenset[int] = asked
    elif _is_number(asked):
        found = frozenset({int(asked)})  # type: ignore[arg-type]
    elif isinstance(asked, Iterable) and not isinstance(asked, str | bytes):
        listed = list(asked)
        if not all(map(_is_number, listed)):
            raise _bad(name, asked)
        found = frozenset(map(int, listed))
    else:
        raise _bad(name, asked)
    if not found:
        message = f"{name}={asked!r} asks for nothing; leave it out for all."
        raise ValueError(message)
    return found


def _is_number(one: object) -> bool:
    # numpy's integers are numbers too.
    return isinstance(one, Integral) and not isinstance(one, bool)


def _bad(name: str, asked: object) -> ValueError:
    return ValueError(
        f"{name}={asked!r}: a number, a list of numbers, or a range such as range(3, 6) for 3 to 5."
    )


def _roles(asked: Words | None) -> tuple[str, ...] | None:
    if asked is None:
        return None
    listed = [asked] if isinstance(asked, str) else list(asked)
    for role in listed:
        if role not in ROLES:
            message = f"{role!r} is no role; roles are {', '.join(ROLES)}."
            raise ValueError(message)
    if not listed:
        message = f"roles={asked!r} asks for nothing; leave it out for all."
        raise ValueError(message)
    return tuple(role for role in ROLES if role in listed)


def _meet(steps: range, first: int, end: int) -> bool:
    ascending = steps if steps.step > 0 else steps[::-1]
    # The first step of the range that is not below `first`.
    gap = max(0, first - ascending.start)
    at = ascending.start + -(-gap // ascending.step) * ascending.step
    return at in ascending and at < end

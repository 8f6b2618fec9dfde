"""What was worked out once and need not be again, where somebody keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Memo", "forgets"]

T = TypeVar("T")


class Memo(Protocol):
    """Gives a value that is kept under a name, else makes it and keeps it.

    Parameters
    ----------
    name : str
        Name of the value.
    classes : sequence of type
        Dataclasses and named tuples in it.
    make : callable
        Makes the value.
    """

    def __call__(self, name: str, classes: Sequence[type], make: Callable[[], T]) -> T:
        """Give the value."""


def forgets(name: str, classes: Sequence[type], make: Callable[[], T]) -> T:  # noqa: ARG001
    """Keep nothing: make the value."""
    return make()

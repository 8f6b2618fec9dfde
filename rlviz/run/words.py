"""How a run writes counts and lists, and in which order it puts names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["counted", "listed", "natural_key"]

# Python refuses to read much longer numbers, and a report may hold any.
_NUMBER = re.compile(r"([0-9]{1,18})")


def counted(count: int, word: str) -> str:
    """Write a count with its word.

    Examples
    --------
    >>> counted(1, "GPU"), counted(1_200, "report")
    ('1 GPU', '1,200 reports')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def listed(items: Sequence[object], most: int = 8) -> str:
    """Write the first of some items, and how many more there are.

    Examples
    --------
    >>> listed([0, 3, 4], 2), listed(["a", "b"], 2)
    ('0, 3 and 1 more', 'a, b')
    """
    more = len(items) - most
    shown = ", ".join(map(str, items[:most]))
    return f"{shown} and {more} more" if more > 0 else shown


def natural_key(text: str) -> list[tuple[int, int | str]]:
    """Give a key that sorts names as people count.

    Examples
    --------
    >>> sorted(["node-10", "node-2"], key=natural_key)
    ['node-2', 'node-10']
    """
    return [
        (0, int(part)) if _NUMBER.fullmatch(part) else (1, part) for part in _NUMBER.split(text)
    ]

"""Strips of buckets as they travel to the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.levels.strip import Strip

__all__ = ["counts_told", "strip_facts"]

_MOST_COUNTED = 255


def strip_facts(strips: Sequence[Strip]) -> list[list[float]]:
    """Give row, left edge, bucket width (both in seconds) and number of buckets of each strip."""
    return [[s.row, s.start_ns / 1e9, s.width_ns / 1e9, len(s)] for s in strips]


def counts_told(counts: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Give counts a byte each: 255 is 255 or more."""
    told: NDArray[np.uint8] = np.minimum(counts, _MOST_COUNTED).astype(np.uint8)
    return told

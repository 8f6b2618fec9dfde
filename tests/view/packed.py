"""What a chart's messages hold, unpacked."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.view.scene import Overlays
from rlviz.view.search import PLACES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["places_of", "ranges_of"]


def ranges_of(facts: dict[str, Any], columns: list[bytes]) -> dict[str, NDArray[np.float64]]:
    """Give the columns of the ranges in an answer."""
    length, values = facts["ranges"]
    return _decoded([one.name for one in fields(Overlays)], length, values, columns[9])


def places_of(facts: dict[str, Any], columns: list[bytes]) -> dict[str, NDArray[np.float64]]:
    """Give the columns of the places that a search has found."""
    length, values = facts["places"]
    return _decoded(list(PLACES), length, values, columns[0])


def _decoded(
    names: list[str], length: int, values: list[int], packed: bytes
) -> dict[str, NDArray[np.float64]]:
    at = 0
    found = {}
    for name, size in zip(names, values, strict=True):
        found[name] = np.frombuffer(packed, "f8", size or length, at)
        at += 8 * len(found[name])
    for kind, some in (("u2", range(257, 1 << 16)), ("u1", range(1, 257))):
        for name, size in zip(names, values, strict=True):
            if size in some:
                place = np.frombuffer(packed, kind, length, at)
                at += place.nbytes
                found[name] = found[name][place]
    assert at == len(packed)
    return found

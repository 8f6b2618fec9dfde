"""Names in a few groups: the kernels that take most time, and all others by their kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.gpu_rows import GRAPH, KERNEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.run.run import Run

    UInt8 = NDArray[np.uint8]

__all__ = ["KINDS", "MOST", "Groups", "groups_of"]

KINDS = ("compute", "communication", "copy", "graph")
"""Kinds of GPU work, by what they are and not by what they are for."""

MOST = 10
"""So many kernels have a group of their own."""


@dataclass(frozen=True)
class Groups:
    """What the names of GPU events stand for.

    Parameters
    ----------
    kernels : tuple of int
        Codes of the kernels that take most of the run's time, the first first; group i is the
        i-th of them, and behind them comes a group for each of `KINDS`.
    of_name, kind_of_name : ndarray of uint8
        By code of a name, its group; its kind, as an index into `KINDS`.
    kinds : tuple of int
        By group, its kind.
    """

    kernels: tuple[int, ...]
    of_name: UInt8
    kind_of_name: UInt8
    kinds: tuple[int, ...]


def groups_of(run: Run) -> Groups:
    """Sort the names of a run into groups."""
    kind = _kinds(run)
    most = run.top_kernels()["short_name"].head(MOST)
    codes = {name: code for code, name in enumerate(run.events.names)} if len(most) else {}
    kernels = tuple(codes[name] for name in most)
    group = kind + len(kernels)
    group[list(kernels)] = np.arange(len(kernels))
    kinds = (*(int(kind[code]) for code in kernels), *range(len(KINDS)))
    return Groups(kernels, group.astype(np.uint8), kind, kinds)


def _kinds(run: Run) -> UInt8:
    communicates = run.rules.communication.matches(run.events.names).to_numpy()
    kinds = np.where(communicates, KINDS.index("communication"), KINDS.index("compute"))
    for part in run.events.parts:
        other = part.sums.filter(pl.col("kind") != KERNEL)
        is_graph = other["kind"].to_numpy() == GRAPH
        code = np.where(is_graph, KINDS.index("graph"), KINDS.index("copy"))
        kinds[other["name"].to_numpy()] = code
    return kinds.astype(np.uint8)

"""Timelines of a few ticks, and sweeps over them that are too dumb to be wrong."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

from rlviz.reports.gpu_rows import GRAPH, KERNEL, MEMCPY, MEMSET
from rlviz.run.gpu_part import GpuPart
from rlviz.run.intervals import union

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = [
    "LAST",
    "close",
    "columns",
    "quickly",
    "recorded",
    "runs",
    "span",
    "spans",
    "ticks",
    "ticks_of",
    "unite",
    "windows",
    "work",
]

LAST = 40
KINDS = {"gemm": KERNEL, "nccl": KERNEL, "graph": GRAPH, "copy": MEMCPY, "set": MEMSET}
quickly = settings(max_examples=60, deadline=None, derandomize=True)
span = st.tuples(st.integers(0, LAST), st.integers(0, 8)).map(lambda s: (s[0], s[0] + s[1]))
spans = st.lists(span, max_size=8)
windows = st.tuples(st.integers(0, LAST + 8), st.integers(0, 20)).map(lambda s: (s[0], s[0] + s[1]))


def columns(pairs: Iterable[tuple[int, int]], tick: int = 1) -> Spans:
    table = np.array(list(pairs), np.int64).reshape(-1, 2) * tick
    return table[:, 0], table[:, 1]


def unite(pairs: Iterable[tuple[int, int]], tick: int = 1) -> Spans:
    return union(*columns(pairs, tick))


def ticks(pairs: Iterable[tuple[int, int]]) -> set[int]:
    return {tick for start, end in pairs for tick in range(start, end)}


def ticks_of(found: Spans, tick: int = 1) -> set[int]:
    """Ticks of disjoint ascending spans, which have to be that."""
    start, end = (side.tolist() for side in found)
    assert all(s < e for s, e in zip(start, end, strict=True))
    assert all(e < s for e, s in zip(end[:-1], start[1:], strict=True))
    assert all(side % tick == 0 for side in (*start, *end))
    return ticks((s // tick, e // tick) for s, e in zip(start, end, strict=True))


def runs(of: set[int]) -> list[tuple[int, int]]:
    """Stretches of consecutive ticks."""
    found = []
    for _, group in groupby(enumerate(sorted(of)), key=lambda pair: pair[1] - pair[0]):
        own = [tick for _, tick in group]
        found.append((own[0], own[-1] + 1))
    return found


def close(of: set[int], under: int) -> set[int]:
    """Fill stretches between ticks that are shorter than `under`."""
    stretches = runs(of)
    between = pairwise(stretches)
    return of | ticks((e, s) for (_, e), (s, _) in between if s - e < under)


@dataclass
class Recorded:
    """GPU rows as a run has them."""

    parts: tuple[GpuPart, ...]
    names: pl.Series


def recorded(works: list[tuple[int, str, tuple[int, int]]], parts: int = 1) -> Any:
    """Deal work of lanes over the reports of each."""
    names = list(KINDS)
    made = []
    for lane in sorted({lane for lane, _, _ in works}):
        own = sorted((s, e, names.index(name)) for a, name, (s, e) in works if a == lane)
        for dealt in (own[place::parts] for place in range(parts)):
            start, end, code = np.array(dealt, np.int64).reshape(-1, 3).T
            kind = np.array([KINDS[names[c]] for c in code], np.uint8)
            read = pl.DataFrame({"start": start, "end": end, "name": code, "kind": kind})
            recode = np.arange(len(names), dtype=np.int32)
            made.append(GpuPart(0, lane, None, 0, read, pl.DataFrame(), 0, recode))
    return cast("Any", Recorded(tuple(made), pl.Series(names)))


work = st.tuples(st.integers(0, 1), st.sampled_from(list(KINDS)), span)

"""Idle time: gaps between what a GPU did, by their class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.intervals import reaching_into, subtraction
from rlviz.run.thresholds import BUBBLE_NS, LAUNCH_NS, WAIT_NS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Spans = tuple[Int64, Int64]

__all__ = ["CLASSES", "Gaps", "idle_gaps"]

CLASSES = ("launch", "short", "wait")


@dataclass(frozen=True)
class Gaps:
    """Pieces of the gaps of one GPU: those that edges and other limits leave over.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        Disjoint, ascending.
    whole_ns : ndarray of int64, shape (n,)
        Length of the whole gap that a piece is of, inside the capture window. The class goes by
        it: a wait that a limit cuts to 5 us is 5 us of a wait.
    """

    start: Int64
    end: Int64
    whole_ns: Int64

    @property
    def spans(self) -> Spans:
        """Start and end of the pieces."""
        return self.start, self.end

    @property
    def classes(self) -> Int64:
        """Index into `CLASSES` of each piece."""
        return (self.whole_ns >= LAUNCH_NS).astype(np.int64) + (self.whole_ns >= WAIT_NS)

    @property
    def bubble(self) -> Flags:
        """Which pieces are of bubbles."""
        return np.asarray(self.whole_ns >= BUBBLE_NS)

    def sums_in(self, start: Int64, end: Int64) -> tuple[Int64, Int64]:
        """Measure idle time in windows.

        Parameters
        ----------
        start, end : ndarray of int64, shape (n,)
            The windows.

        Returns
        -------
        by_class : ndarray of int64, shape (len(CLASSES), n)
        bubble : ndarray of int64, shape (n,)
            Nanoseconds.
        """
        by_class, bubble = np.zeros((len(CLASSES), len(start)), np.int64), np.zeros_like(start)
        for place, (first, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
            inside = reaching_into(self.spans, first, last)
            length = np.minimum(self.end[inside], last) - np.maximum(self.start[inside], first)
            whole = self.whole_ns[inside]
            classed = [int(length[whole >= limit].sum()) for limit in (0, LAUNCH_NS, WAIT_NS)]
            by_class[:, place] = -np.diff(classed, append=0)
            bubble[place] = length[whole >= BUBBLE_NS].sum()
        return by_class, bubble

    def cut_at(self, limits: Int64) -> Gaps:
        """Part the pieces at moments, which ascend."""
        first = np.searchsorted(limits, self.start, side="right")
        last = np.searchsorted(limits, self.end, side="left")
        parts = last - first + 1
        own = np.repeat(np.arange(len(self.start)), parts)
        within = np.arange(len(own)) - np.repeat(np.cumsum(parts) - parts, parts)
        place = first[own] + within
        if not len(limits):
            return self
        opens = np.where(within > 0, limits[np.maximum(place - 1, 0)], self.start[own])
        inner = within < parts[own] - 1
        closes = np.where(inner, limits[np.minimum(place, len(limits) - 1)], self.end[own])
        return Gaps(opens, closes, self.whole_ns[own])

    def longest_in(self, start: int, end: int) -> tuple[int, int] | None:
        """Find the longest piece after a window cut the pieces; the first of several; None: none.

        Returns
        -------
        (int, int) or None
            Its start and end.
        """
        inside = reaching_into(self.spans, start, end)
        if inside.stop <= inside.start:
            return None
        opens = np.maximum(self.start[inside], start)
        closes = np.minimum(self.end[inside], end)
        place = int(np.argmax(closes - opens))
        return int(opens[place]), int(closes[place])


def idle_gaps(busy: Spans, captured: Spans, edges: Spans) -> Gaps:
    """Find the idle time of a GPU.

    Parameters
    ----------
    busy, captured, edges : (ndarray, ndarray)
        Disjoint ascending spans; busy and edges inside the captured ones.

    Returns
    -------
    Gaps
        What is captured, not busy, and in no edge: pieces of gaps. A gap that an edge cuts keeps
        the class of its whole length.
    """
    gaps = subtraction(*captured, *busy)
    if not len(edges[0]) or not len(gaps[0]):
        return Gaps(*gaps, gaps[1] - gaps[0])
    # Between two edges, and before and behind all.
    firsts, lasts = subtraction(gaps[0][:1], gaps[1][-1:], *edges)
    parts = [_cut(gaps, *window) for window in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    return Gaps(*(np.concatenate(column) for column in zip(_NO_GAPS, *parts, strict=True)))


def _cut(gaps: Spans, first: int, last: int) -> tuple[Int64, Int64, Int64]:
    """Cut gaps to a window; their whole length stays with them."""
    own = reaching_into(gaps, first, last)
    start, end = gaps[0][own], gaps[1][own]
    return np.maximum(start, first), np.minimum(end, last), end - start


_NO_GAPS = tuple(np.empty(0, np.int64) for _ in range(3))

"""What an iteration is: one turn of the loop, with the refit that ends it and the segment in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Boundary", "Iteration", "Refit", "Span", "last_ends"]

Span: TypeAlias = tuple[int, int]
"""Start and end in nanoseconds on the run's clock."""

Boundary: TypeAlias = Literal["refit", "first_phase", "last_phase_end", "marker", "none"]


@dataclass(frozen=True)
class Refit:
    """One transfer of weights from policy to generation.

    Parameters
    ----------
    generation : Span or None
        First start to last end of the generation workers' update ranges; None when none is seen.
    training : Span or None
        First start to last end of the policies' part: their refit ranges, else the collective
        kernels after training.
    updates, sends : dict of int to Span
        By generation lane, its own update range; by training lane, its own part.
    unended : frozenset of int
        Lanes whose part was open when their capture ended: how long it took is unknown.
    """

    generation: Span | None
    training: Span | None
    updates: dict[int, Span] = field(default_factory=dict)
    sends: dict[int, Span] = field(default_factory=dict)
    unended: frozenset[int] = frozenset()

    @property
    def span(self) -> Span:
        """From the first start to the last end over both pools."""
        spans = [s for s in (self.generation, self.training) if s is not None]
        return min(s for s, _ in spans), max(e for _, e in spans)


@dataclass(frozen=True)
class Iteration:
    """One turn of the loop: one window for both pools.

    Parameters
    ----------
    number : int
        Number of its train step.
    start_ns, end_ns : int
        Its window on the run's clock.
    boundary : (Boundary, Boundary)
        What its start and its end are.
    complete : bool
        False: the capture cut it, or an end of it is a guess; it is kept out of means.
    train : Span or None
        First start to last end of its training ranges over all ranks.
    weights : int or None
        Step whose weights its segment used.
    segment : dict of int to Span
        By generation lane, the hull of its work between the two refits around it.
    refit : Refit or None
        The refit that follows its training.
    """

    number: int
    start_ns: int
    end_ns: int
    boundary: tuple[Boundary, Boundary]
    complete: bool
    train: Span | None = None
    weights: int | None = None
    segment: dict[int, Span] = field(default_factory=dict)
    refit: Refit | None = None

    @property
    def segment_span(self) -> Span | None:
        """Hull of the segment over all generation lanes; None when there is no work in it."""
        if not self.segment:
            return None
        return min(s for s, _ in self.segment.values()), max(e for _, e in self.segment.values())


def last_ends(spans: Mapping[int, Span], row_of_lane: Sequence[int]) -> dict[int, int]:
    """Give the last end of each row, of spans by lane such as a segment's or a refit's updates."""
    ends: dict[int, int] = {}
    for lane, (_, end) in sorted(spans.items()):
        row = row_of_lane[lane]
        ends[row] = max(end, ends.get(row, end))
    return ends

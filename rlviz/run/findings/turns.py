"""The iterations that findings are about, and what both pools did in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rlviz.run.findings.finding import percent, spoken
from rlviz.run.intervals import clip, spans_of, subtraction, total, union
from rlviz.run.overlap import COLOCATED
from rlviz.run.rules import TRAINING_ROLES
from rlviz.run.thresholds import CLOSED_NS
from rlviz.run.within import closed, joined

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rlviz.run.iteration import Iteration, Span
    from rlviz.run.metrics import Metrics
    from rlviz.run.run import Run

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["LOST_SHARE", "Cost", "Loss", "Turns"]

LOST_SHARE = 0.03
"""Least share of an iteration that is worth a finding: iterations of one run differ by about as
much by themselves (uneven batches), and nobody reads a list of trifles."""

_ONE_OF_THEM = 0.8  # a fault with this much of its cost in one iteration is that iteration's


@dataclass(frozen=True)
class Loss:
    """What a fault costs one iteration.

    Parameters
    ----------
    iteration : Iteration
        The iteration.
    ns : int
        How much shorter it would be without the fault.
    span : Span
        Where to look.
    """

    iteration: Iteration
    ns: int
    span: Span


@dataclass(frozen=True)
class Cost:
    """What a fault costs the run.

    Parameters
    ----------
    mean_ns : int
        Mean of its losses over all iterations that count, also those that it spares.
    share : float
        The same as a share of their mean duration.
    worst : Loss
        The iteration that it costs most.
    single : bool
        Nearly all of it is the worst iteration's.
    """

    mean_ns: int
    share: float
    worst: Loss
    single: bool

    @property
    def number(self) -> int | None:
        """Iteration that the finding is about; None: all."""
        return self.worst.iteration.number if self.single else None

    @property
    def said(self) -> str:
        """The cost in words: of the one iteration, or of all in the mean."""
        if self.single:
            return f"{spoken(self.worst.ns)} in iteration {self.number}"
        return f"{spoken(self.mean_ns)} an iteration"

    @property
    def said_with_share(self) -> str:
        """The cost in words, with what that is of an iteration."""
        one = self.worst.iteration
        share = self.worst.ns / (one.end_ns - one.start_ns) if self.single else self.share
        return f"{self.said} ({percent(share)} of it)"


class Turns:
    """What findings measure in.

    Complete iterations count; where the capture cut every one, those that there are.

    Parameters
    ----------
    run : Run
        The run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.metrics: Metrics = run.metrics
        every = list(enumerate(self.metrics.iterations))
        chosen = [(place, one) for place, one in every if one.complete] or every
        chosen = [(place, one) for place, one in chosen if one.end_ns > one.start_ns]
        self.places: list[int] = [place for place, _ in chosen]
        self.iterations: list[Iteration] = [one for _, one in chosen]
        lengths = [one.end_ns - one.start_ns for one in self.iterations]
        self.duration_ns: float = sum(lengths) / len(lengths) if lengths else 0.0
        labels = run.rows.select("row", "label").unique("row").iter_rows()
        self._labels = {row: " ".join(label.split()) for row, label in labels}

    def label(self, row: int) -> str:
        """Name of a row in a sentence."""
        return self._labels[row]

    def share(self, ns: float) -> float:
        """Tell what a mean length is of an iteration."""
        return ns / self.duration_ns if self.duration_ns else 0.0

    def cost(self, losses: Sequence[Loss]) -> Cost | None:
        """Sum up what a fault costs; None where it costs nothing at all."""
        if not losses:
            return None
        lost = sum(loss.ns for loss in losses)
        worst = max(losses, key=lambda loss: loss.ns)
        mean = lost / len(self.iterations)
        single = len(self.iterations) > 1 and worst.ns > _ONE_OF_THEM * lost
        return Cost(round(mean), self.share(mean), worst, single)

    @cached_property
    def refits(self) -> Spans:
        """When a refit was under way."""
        return union(*spans_of(refit.span for refit in self.run.story.refits))

    @cached_property
    def generating(self) -> Spans | None:
        """When generation was active, by the work of its workers; None: unknown."""
        return self._active("generation", ("generation",))

    @cached_property
    def training(self) -> Spans | None:
        """When training was active, by the work of its workers; None: unknown."""
        return self._active("training", TRAINING_ROLES)

    def _active(self, pool: str, roles: Collection[str]) -> Spans | None:
        pools = self.metrics.pools
        if pools.reasons.get(pool) != COLOCATED:
            return pools.active[pool]
        # On shared GPUs it is the worker that tells what a GPU is busy for.
        gpus = [g for g in self.metrics.gpus if g.is_gpu and set(g.roles.values()) & set(roles)]
        if not gpus or any(gpu.unknown for gpu in gpus):
            return None
        busy = [own.busy for g in gpus for lane, own in g.lanes.items() if g.roles[lane] in roles]
        return subtraction(*closed(union(*joined(busy)), CLOSED_NS), *self.refits)

    def training_alone_ns(self, iteration: Iteration) -> int | None:
        """Measure how long training is active and generation is not; None: unknown.

        What makes training shorter makes the iteration shorter by no more than this: for the rest
        of it, generation has to be waited for anyway.
        """
        if self.training is None or self.generating is None:
            return None
        window = iteration.start_ns, iteration.end_ns
        return total(*subtraction(*clip(*self.training, *window), *clip(*self.generating, *window)))

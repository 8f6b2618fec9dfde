"""What keeps training from computing: a rank that is waited for, and communication itself."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rlviz.reports.gpu_rows import KERNEL
from rlviz.run.findings.finding import Finding, spoken
from rlviz.run.findings.turns import LOST_SHARE, Loss
from rlviz.run.intervals import spans_of, subtraction
from rlviz.run.stragglers import TrainingStraggler
from rlviz.run.within import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.activity import Activity
    from rlviz.run.findings.finding import Kind
    from rlviz.run.findings.turns import Cost, Turns
    from rlviz.run.iteration import Iteration, Span

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["TrainingFaults"]

# Least share of an iteration that exposed communication must take: the last collective of a
# microbatch and the norm of the gradients are never hidden, and take some per cent.
_EXPOSED_SHARE = 0.05

# A straggler is one rank: last at this share of the collectives, charged this share of the time.
_MOSTLY = 0.5

_LONGEST_NAME = 48
_HIDES = 0.9  # what generation hides of it is said from a tenth on


class _Held(NamedTuple):
    """How long something holds training up, and what that costs.

    `whole` is how long, `cost` what of it makes iterations longer, `hidden` a sentence where they
    differ.
    """

    whole: Cost
    cost: Cost
    hidden: str


class TrainingFaults:
    """Finds what holds the training ranks up.

    Parameters
    ----------
    turns : Turns
        The iterations.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        stragglers = [turns.metrics.training_stragglers[place] for place in turns.places]
        self._matched = [one for one in stragglers if isinstance(one, TrainingStraggler)]
        self._collectives = sum(one.matched for one in self._matched)
        charged: dict[int, int] = {}
        for one in self._matched:
            for row, ns in one.charged_by_row_ns.items():
                charged[row] = charged.get(row, 0) + ns
        self._worst_row = max(charged, key=lambda row: charged[row], default=None)
        self._times_last = sum(o.times_last for o in self._matched if o.row == self._worst_row)
        self._is_one_rank = self._times_last >= _MOSTLY * self._collectives and max(
            charged.values(), default=0
        ) >= _MOSTLY * sum(charged.values())
        # From the first to the last arrival at each matched collective, by iteration.
        self._spreads_ns = np.array(
            [
                sum(o.charged_by_row_ns.values()) if isinstance(o, TrainingStraggler) else 0
                for o in stragglers
            ],
            np.int64,
        )

    def straggler(self) -> list[Finding]:
        """Find the rank that the others wait for, or say that they wait for each other."""
        if self._worst_row is None:
            return []
        if not self._is_one_rank:
            return self._uneven
        held = self._held(self._waits_ns)
        if held is None or held.whole.share < LOST_SHARE:
            return []
        longer_ns = float(self._longer_ns(self._compute_ns).mean())
        why = "it computes no longer than they do"
        if longer_ns > 0.5 * held.whole.mean_ns:
            why = f"it computes {spoken(longer_ns)} longer"
        text = (
            f"{self._turns.label(self._worst_row)} arrives last at {self._times_last} of "
            f"{self._collectives} all-reduces and reduce-scatters of training: "
            f"{_others(len(self._exposed_ns) - 1)} {held.whole.said} for it; {why}.{held.hidden}"
        )
        return [_finding("training-straggler", text, held.cost, self._worst_row)]

    @cached_property
    def _uneven(self) -> list[Finding]:
        """Say that the ranks wait for each other, now for one and now for another."""
        held = self._held(self._spreads_ns)
        if self._worst_row is None or held is None or held.whole.share < LOST_SHARE:
            return []
        text = (
            f"Training ranks wait for each other {held.whole.said}, from the first to the last "
            f"arrival at {self._collectives} all-reduces and reduce-scatters, and not always for "
            f"the same one: {self._turns.label(self._worst_row)}, which is charged most, is last "
            f"at {self._times_last}.{held.hidden}"
        )
        return [_finding("training-straggler", text, held.cost, None)]

    def communication(self) -> list[Finding]:
        """Find communication that no compute hides and that waits for nobody."""
        if not self._exposed_ns:
            return []
        # Who waits least for others is in no collective for longer than it takes.
        least = np.min(list(self._exposed_ns.values()), axis=0)
        if not self._is_one_rank and self._uneven:
            least = np.maximum(least - self._spreads_ns, 0)
        held = self._held(least)
        if held is None or held.whole.share < _EXPOSED_SHARE:
            return []
        row = self._most_exposed
        text = (
            f"Communication has no compute under it for {held.whole.said_with_share} on "
            f"{_every(len(self._exposed_ns))}, most of it in {self._top_collective(row)} and on "
            f"{self._turns.label(row)}.{held.hidden}"
        )
        return [_finding("exposed-communication", text, held.cost, row)]

    def _held(self, ns: Int64) -> _Held | None:
        """Sum up how long training is held up in each iteration."""
        turns = self._turns
        both = list(zip(turns.iterations, ns.tolist(), strict=True))
        losses = [Loss(one, self._hurried(one, own), _train(one)) for one, own in both]
        cost, whole = turns.cost(losses), turns.cost([Loss(i, n, _train(i)) for i, n in both])
        if cost is None or whole is None:
            return None
        hidden = ""
        if cost.mean_ns < _HIDES * whole.mean_ns:
            hidden = (
                f" It would win {spoken(cost.mean_ns)} an iteration to be rid of it: for the rest, "
                "generation takes as long."
            )
        return _Held(whole, cost, hidden)

    def _hurried(self, iteration: Iteration, ns: int) -> int:
        """Tell how much sooner an iteration ends when its training is shorter by so much."""
        alone = self._turns.training_alone_ns(iteration)
        return ns if alone is None else min(ns, alone)

    @property
    def _waits_ns(self) -> Int64:
        """How long the others wait for the straggler.

        They do so in communication, where it is the shortest, for it starts last and all end
        together; or, after a phase in which it computes longer, with nothing to do at all.
        """
        waits: Int64 = np.maximum(
            -self._longer_ns(self._exposed_ns), self._longer_ns(self._compute_ns)
        )
        return np.maximum(waits, 0)

    def _longer_ns(self, by_row: dict[int, Int64]) -> Int64:
        """By how much the straggler has more of something than the others, by iteration."""
        own = by_row.get(self._worst_row) if self._worst_row is not None else None
        others = [ns for row, ns in by_row.items() if row != self._worst_row]
        if own is None or not others:
            return np.zeros(len(self._turns.iterations), np.int64)
        longer: Int64 = (own - np.median(others, axis=0)).astype(np.int64)
        return longer

    @cached_property
    def _exposed_ns(self) -> dict[int, Int64]:
        """Communication with no compute under it, outside of refits, by row and iteration."""
        starts, ends = _limits(self._turns.iterations)
        return {row: within(spans, starts, ends) for row, spans in self._exposed.items()}

    @cached_property
    def _exposed(self) -> dict[int, Spans]:
        return {
            row: subtraction(*own.comm_exposed, *self._turns.refits)
            for row, own in self._policies.items()
        }

    @cached_property
    def _compute_ns(self) -> dict[int, Int64]:
        windows = _limits(self._turns.iterations)
        return {row: own.compute_in(*windows) for row, own in self._policies.items()}

    @cached_property
    def _policies(self) -> dict[int, Activity]:
        """What policies did that communicate at all, by row."""
        found = {}
        for gpu in self._turns.metrics.gpus:
            own = [a for lane, a in gpu.lanes.items() if gpu.roles[lane] == "policy"]
            if gpu.unknown is None and len(own) == 1 and len(own[0].communication[0]):
                found[gpu.row] = own[0]
        return found

    @property
    def _most_exposed(self) -> int:
        """Row with the most `comm_exposed_ns` in all of ``run.summary(by="gpu")``."""
        windows = self._turns.metrics.windows
        sums = {
            gpu.row: int(within(gpu.activity.comm_exposed, *windows).sum())
            for gpu in self._turns.metrics.gpus
            if gpu.row in self._exposed
        }
        return max(sums, key=lambda row: sums[row])

    def _top_collective(self, row: int) -> str:
        """Name the kernel that most of a row's exposed communication is."""
        events = self._turns.run.events
        spans, (starts, ends) = self._exposed[row], _limits(self._turns.iterations)
        communicates = self._turns.run.rules.communication.matches(events.names).to_numpy()
        codes = np.arange(len(events.names), dtype=np.int32)
        sums = np.zeros(len(codes), np.int64)
        for part in events.parts:
            if part.row != row:
                continue
            own = np.flatnonzero((part.kind == KERNEL) & part.tell(communicates))
            start, end, name = part.starts(own), part.ends(own), part.tell(codes)[own]
            place = np.searchsorted(starts, start, side="right") - 1
            inside = (place >= 0) & (start < ends[place])
            np.add.at(sums, name[inside], within(spans, start[inside], end[inside]))
        return str(events.names[int(sums.argmax())])[:_LONGEST_NAME]


def _finding(kind: Kind, text: str, cost: Cost, row: int | None) -> Finding:
    return Finding(kind, text, cost.mean_ns, *cost.worst.span, cost.number, row)


def _limits(iterations: Sequence[Iteration]) -> Spans:
    return spans_of((one.start_ns, one.end_ns) for one in iterations)


def _train(iteration: Iteration) -> Span:
    return iteration.train or (iteration.start_ns, iteration.end_ns)


def _others(count: int) -> str:
    return "the other GPU waits" if count == 1 else f"the other {count} GPUs wait"


def _every(count: int) -> str:
    return "the training GPU" if count == 1 else f"each of {count} training GPUs"

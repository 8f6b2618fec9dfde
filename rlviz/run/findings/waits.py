"""What both pools wait for: generation that nothing hides, refits, and what is no GPU work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.findings.finding import Finding, spoken
from rlviz.run.findings.turns import LOST_SHARE, Loss
from rlviz.run.intervals import clip, intersection, spans_of, subtraction, total, union
from rlviz.run.iteration import last_ends
from rlviz.run.overlap import COLOCATED, NOT_CAPTURED
from rlviz.run.within import joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.run.findings.turns import Turns
    from rlviz.run.iteration import Iteration, Refit

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["exposed_generation", "refit_stall", "training_waits"]

# Least share of an iteration that a refit must take: weights have to travel, and some per cent of
# an iteration are what that takes in a run that is well set up.
_REFIT_SHARE = 0.08

_LAST_SHARE = 0.05  # a GPU this much of the refit behind the others is named


def exposed_generation(turns: Turns, waited: Spans) -> list[Finding]:
    """Find generation that runs while training waits, late GPUs (`waited`) left out."""
    generating, training = turns.generating, turns.training
    if generating is None or training is None or _colocated(turns):
        return []
    spans = subtraction(*subtraction(*generating, *training), *waited)
    losses = _losses(turns, spans)
    cost = turns.cost(losses)
    if cost is None or cost.share < LOST_SHARE:
        return []
    longest = cost.worst.span
    text = (
        f"Generation is exposed {cost.said_with_share}: "
        f"it runs and training waits, for {spoken(longest[1] - longest[0])} at most at a time."
    )
    return [Finding("exposed-generation", text, cost.mean_ns, *longest, cost.number)]


def training_waits(turns: Turns, waited: Spans) -> list[Finding]:
    """Find time in which neither generation nor training works, late GPUs (`waited`) left out."""
    if turns.generating is None or turns.training is None:
        return []
    known = union(*joined([turns.generating, turns.training, turns.refits, waited]))
    windows = spans_of((one.start_ns, one.end_ns) for one in turns.iterations)
    spans = subtraction(*windows, *known)
    losses = _losses(turns, spans)
    cost = turns.cost(losses)
    if cost is None or cost.share < LOST_SHARE:
        return []
    longest = cost.worst.span
    text = (
        f"Training waits {cost.said_with_share} while "
        f"nothing generates either, for {spoken(longest[1] - longest[0])} at most at a time: "
        f"{_who_works(turns, spans)}."
    )
    return [Finding("training-waits", text, cost.mean_ns, *longest, cost.number)]


def refit_stall(turns: Turns) -> list[Finding]:
    """Find refits that keep generation from computing for long."""
    refits = [(i, i.refit) for i in turns.iterations if i.refit is not None]
    losses = [Loss(i, _stalled_ns(turns, refit), refit.span) for i, refit in refits]
    cost = turns.cost(losses)
    if cost is None or cost.share < _REFIT_SHARE:
        return []
    computing_is_known = any(gpu.unknown is None for gpu in turns.metrics.generation_gpus)
    does = "keeps generation from computing for" if computing_is_known else "takes"
    text = f"The refit {does} {cost.said_with_share}"
    last = [(refit, _last_one(turns, refit)) for _, refit in refits]
    named = [row for _, row in last if row is not None]
    row = max(named, key=named.count, default=None)
    if row is not None and 2 * named.count(row) > len(refits):
        behind = [_behind_ns(turns, refit, row) for refit, one in last if one == row]
        text += (
            f"; {turns.label(row)} has its weights last in {len(behind)} of {len(refits)}, "
            f"{spoken(float(np.median(behind)))} after the others"
        )
    else:
        row = None
    return [
        Finding("refit-stall", f"{text}.", cost.mean_ns, *cost.worst.span, cost.number, row),
    ]


def _colocated(turns: Turns) -> bool:
    return COLOCATED in turns.metrics.pools.reasons.values()


def _losses(turns: Turns, spans: Spans) -> list[Loss]:
    """Measure spans in each iteration where both pools were captured; the longest is the place."""
    found = []
    for place, iteration in zip(turns.places, turns.iterations, strict=True):
        if turns.metrics.overlaps[place].reason == NOT_CAPTURED:
            continue
        start, end = _in(spans, iteration)
        if len(start):
            longest = int(np.argmax(end - start))
            span = int(start[longest]), int(end[longest])
            found.append(Loss(iteration, total(start, end), span))
    return found


def _in(spans: Spans, iteration: Iteration) -> Spans:
    return clip(*spans, iteration.start_ns, iteration.end_ns)


def _who_works(turns: Turns, spans: Spans) -> str:
    """Say what other GPUs do in the spans."""
    others = [g for g in turns.metrics.gpus if g.pool == "other" and g.is_gpu and not g.unknown]
    busy = union(*joined([gpu.busy for gpu in others]))
    ns = total(*intersection(*busy, *spans)) / len(turns.iterations)
    if ns >= 0.5 * total(*spans) / len(turns.iterations):
        names = dict.fromkeys(role for gpu in others for role in gpu.roles.values())
        return f"GPUs of {', '.join(names)} workers are busy for {spoken(ns)} of that"
    return "no GPU work in the reports tells for what"


def _stalled_ns(turns: Turns, refit: Refit) -> int:
    """Measure how long the mean generation GPU computes nothing in a refit."""
    start, end = (np.array([at]) for at in refit.span)
    computed = [
        int(own.compute_in(start, end)[0])
        for gpu in turns.metrics.generation_gpus
        for lane, own in gpu.lanes.items()
        if gpu.unknown is None and gpu.roles[lane] == "generation"
    ]
    length = refit.span[1] - refit.span[0]
    return length - round(sum(computed) / len(computed)) if computed else length


def _last_one(turns: Turns, refit: Refit) -> int | None:
    """Find the GPU that has its weights clearly after all others."""
    ends = last_ends(refit.updates, turns.metrics.row_of_lane)
    if len(ends) < 2:
        return None
    last = max(ends, key=lambda row: ends[row])
    length = refit.span[1] - refit.span[0]
    return last if _behind_ns(turns, refit, last) >= _LAST_SHARE * length else None


def _behind_ns(turns: Turns, refit: Refit, row: int) -> int:
    ends = last_ends(refit.updates, turns.metrics.row_of_lane)
    return ends[row] - max(end for other, end in ends.items() if other != row)

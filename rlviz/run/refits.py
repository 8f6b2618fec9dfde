"""Refits: when weights went from policy to generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.events import lookup
from rlviz.run.intervals import union
from rlviz.run.iteration import Refit
from rlviz.run.rules import TRAINING_ROLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.iteration import Span
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]

__all__ = ["find_refits"]

# Ranges of one refit follow each other at once; longer apart they are two, if nothing else tells.
_SAME_REFIT_NS = 50_000_000


def find_refits(
    events: Events, rows: pl.DataFrame, phases: pl.DataFrame, rules: Rules
) -> list[Refit]:
    """Find the refits of a run, in their order.

    A refit is told by the update ranges of the generation workers, else by the refit ranges of
    the policies, else by collective kernels between training and the policy's next phase.

    Parameters
    ----------
    events, rows : Events, polars.DataFrame
        Events and lanes of the run.
    phases : polars.DataFrame
        Ranges that mark phases, as of `rlviz.run.phases.marked_ranges`.
    rules : Rules
        Which kernels communicate.

    Returns
    -------
    list of Refit
        By start.
    """
    role = lookup(rows["role"], phases["lane"])
    of_generation = role == "generation"
    of_training = role.is_in(TRAINING_ROLES)
    is_refit = phases["phase"] == "refit"
    trains = phases.filter(of_training & (phases["phase"] == "training"))
    updates = _clusters(phases.filter(of_generation & is_refit), trains)
    sends = _clusters(phases.filter(of_training & is_refit), trains)
    if sends.is_empty():
        policy = phases.filter(of_training & (phases["phase"] != "refit"))
        sends = _clusters(_broadcasts(events, rows, policy, rules), trains)
    return _paired(updates, sends)


def _clusters(spans: pl.DataFrame, trains: pl.DataFrame) -> pl.DataFrame:
    """Add the number of the refit that each span belongs to: column `refit`."""
    spans = spans.sort("start_ns")
    start, end = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    if len(start) == 0:
        return spans.with_columns(pl.lit(0).alias("refit"))
    reach = np.maximum.accumulate(end)
    apart = start[1:] > reach[:-1]
    if len(trains):
        # What lies between two refits is training; a pause within one is none.
        begins = np.sort(trains["start_ns"].to_numpy())
        between = np.searchsorted(begins, start[1:]) > np.searchsorted(begins, reach[:-1])
        apart &= between
    else:
        apart &= start[1:] - reach[:-1] > _SAME_REFIT_NS
    return spans.with_columns(pl.Series("refit", np.concatenate(([0], np.cumsum(apart)))))


def _broadcasts(
    events: Events, rows: pl.DataFrame, policy: pl.DataFrame, rules: Rules
) -> pl.DataFrame:
    """Find collective kernels between a policy's training and its next phase."""
    communicates = rules.communication.matches(events.names).to_numpy()
    roles = rows["role"].to_list()
    found = []
    for part in events.parts:
        first = events.workers.index(events.workers[part.lane])
        own = policy.filter(pl.col("lane") == first).sort("start_ns")
        if roles[part.lane] not in TRAINING_ROLES or own.is_empty():
            continue
        collective = part.tell(communicates)
        start, end = part.starts(collective), part.ends(collective)
        place = np.searchsorted(own["start_ns"].to_numpy(), start, side="right") - 1
        last_end = np.maximum.accumulate(own["end_ns"].to_numpy())
        after_training = (own["phase"] == "training").to_numpy()[place]
        sends = (place >= 0) & after_training & (start >= last_end[place])
        found += [(part.lane, *span) for span in zip(*union(start[sends], end[sends]), strict=True)]
    columns = {"lane": pl.Int32, "start_ns": pl.Int64, "end_ns": pl.Int64}
    return pl.DataFrame(found, schema=columns, orient="row")


def _paired(updates: pl.DataFrame, sends: pl.DataFrame) -> list[Refit]:
    """Bring both pools' parts of each refit together."""
    received, sent = (
        [part for _, part in sorted(side.partition_by("refit", as_dict=True).items())]
        for side in (updates, sends)
    )
    if not received:
        return [
            Refit(None, _hull(part), sends=_by_lane(part), unended=_unended(part)) for part in sent
        ]
    refits = []
    for part in received:
        generation = _hull(part)
        # The policies' part is the one that meets it; a capture may have missed either.
        meets = [s for s in sent if _meet(_hull(s), generation)]
        both = pl.concat(meets) if meets else None
        training = _hull(both) if both is not None else None
        own = _by_lane(both) if both is not None else {}
        unended = _unended(part) | (_unended(both) if both is not None else frozenset())
        refits.append(Refit(generation, training, _by_lane(part), own, unended))
    return refits


def _meet(one: Span, other: Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _unended(part: pl.DataFrame) -> frozenset[int]:
    # Kernels, which tell of some refits, have always ended.
    if "truncated" not in part.columns:
        return frozenset()
    return frozenset(part.filter("truncated")["lane"])


def _hull(part: pl.DataFrame) -> Span:
    return int(part["start_ns"].min()), int(part["end_ns"].max())  # type: ignore[arg-type]


def _by_lane(part: pl.DataFrame) -> dict[int, Span]:
    return {lane: _hull(own) for (lane,), own in part.partition_by("lane", as_dict=True).items()}

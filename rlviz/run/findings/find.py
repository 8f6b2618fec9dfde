"""All findings of a run, those that cost most first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rlviz.run.columns import schema
from rlviz.run.findings.generation import late_generation
from rlviz.run.findings.incomplete import incomplete_trace, workers_are_missing
from rlviz.run.findings.training import TrainingFaults
from rlviz.run.findings.turns import LOST_SHARE, Turns
from rlviz.run.findings.waits import exposed_generation, refit_stall, training_waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.run.findings.finding import Finding, Kind
    from rlviz.run.run import Run

__all__ = ["find", "findings_frame"]

# What the others wait with, because of the first: it stands below its cause, however long it is.
_CONSEQUENCES: dict[Kind, tuple[Kind, ...]] = {
    "training-straggler": ("exposed-communication",),
    "generation-straggler": ("exposed-generation", "training-waits"),
    "long-tail": ("exposed-generation", "training-waits"),
}


def find(run: Run) -> list[Finding]:
    """Find what costs a run time.

    Parameters
    ----------
    run : Run
        The run.

    Returns
    -------
    list of Finding
        What makes the trace incomplete comes first, for then no number can be trusted; after it
        the others by the time they lose, but a cause before its consequences.
        docs/reference/findings.md says what each of them measures.
    """
    found = incomplete_trace(run)
    turns = Turns(run)
    if not turns.iterations:
        return found
    late, waited = late_generation(turns)
    training = TrainingFaults(turns)
    costs = [
        *late,
        *exposed_generation(turns, waited),
        *training_waits(turns, waited),
        *refit_stall(turns),
        *training.straggler(),
    ]
    # What looks like communication may be waiting for a rank that is in no report.
    if not workers_are_missing(run):
        costs += training.communication()
    return found + _ranked(costs, turns)


def findings_frame(found: Sequence[Finding]) -> pl.DataFrame:
    """Give findings as a frame, columns as ``COLUMNS["findings"]``."""
    records = [
        (rank, f.kind, f.iteration, f.row, f.start_ns, f.end_ns, f.lost_ns, f.text)
        for rank, f in enumerate(found, start=1)
    ]
    return pl.DataFrame(records, schema=schema("findings"), orient="row")


def _ranked(found: Sequence[Finding], turns: Turns) -> list[Finding]:
    lost = {one.kind: one.lost_ns or 0 for one in found}

    def weight(one: Finding) -> tuple[int, int]:
        own = one.lost_ns or 0
        # A cause that is hidden costs nothing, and so has no consequences.
        causes = _CONSEQUENCES.get(one.kind, ()) if turns.share(own) >= LOST_SHARE else ()
        return max(own, *(lost.get(kind, 0) for kind in causes), 0), len(causes)

    return sorted(found, key=weight, reverse=True)

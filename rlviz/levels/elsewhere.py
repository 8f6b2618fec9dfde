"""Rows of a run worked out by other processes, which take events and plan from the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from tqdm.auto import tqdm

from rlviz.levels.groups import Groups
from rlviz.levels.made import Context, make_row
from rlviz.levels.memory import Memory
from rlviz.levels.tracks import context_of, name_of_row, parts_by_row
from rlviz.run.gpu_part import GpuPart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun
    from rlviz.levels.store import Store
    from rlviz.pool import Processes

__all__ = ["make_planned_row", "make_rows_in"]

# With fewer events, threads of this process are as fast.
_WORTH_PROCESSES = 2_000_000
_PLAN = "plan"


@dataclass(frozen=True)
class PlannedPart:
    """Where a part of a row is: as `rlviz.run.gpu_part.GpuPart`, whose events are in the store."""

    row: int
    lane: int
    entry: str
    first: int
    count: int
    offset_ns: int
    recode: int


@dataclass(frozen=True)
class Plan:
    """All that other processes need of a run.

    Parameters
    ----------
    context : Context
        What rows depend on.
    parts : tuple of PlannedPart
        Parts of the rows that are to be made.
    recodes : tuple of ndarray of int32
        Recodes that the parts number.
    """

    context: Context
    parts: tuple[PlannedPart, ...]
    recodes: tuple[NDArray[np.int32], ...]


def make_rows_in(processes: Processes, run: ZoomableRun) -> None:
    """Have the rows of a run worked out by other processes, where that is worth it.

    Parameters
    ----------
    processes : Processes
        Who does it. What they do not do is done where it is asked for.
    run : ZoomableRun
        The run; only what its memory does not hold yet is worked out.
    """
    memory = run.memory
    if not isinstance(memory, Memory):
        return
    parts = parts_by_row(run)
    waiting = [row for row in parts if not memory.holds(name_of_row(row))]
    own = [part for row in waiting for part in parts[row]]
    if len(waiting) < 2 or sum(len(part.read) for part in own) < _WORTH_PROCESSES:
        memory.forget(_PLAN)  # whoever was killed while rows were worked out left it
        return
    planned = _plan(run, own)
    if planned is None or not memory.keep(_PLAN, planned):
        return
    largest_first = sorted(waiting, key=lambda row: -sum(len(part.read) for part in parts[row]))
    made = processes.make_rows(largest_first, memory.key, memory.store.folder)
    try:
        for _ in tqdm(made, "working out rows", len(waiting), unit="row", leave=False, delay=1):
            pass
    finally:
        memory.forget(_PLAN)


def make_planned_row(store: Store, memory: str, row: int) -> None:
    """Work out a row of a run, and keep it in the memory of the run; called in other processes.

    Raises
    ------
    LookupError
        The store has no plan of that run, or not the events of the row.
    """
    own = Memory(store, memory)
    plan: Plan = own.value(_PLAN, (Plan, PlannedPart, Context, Groups))
    parts = []
    for part in plan.parts:
        if part.row == row:
            entry = store.get(part.entry)
            if entry is None:
                raise LookupError(part.entry)
            events = entry.frame("activity").slice(part.first, part.count)
            recode = plan.recodes[part.recode]
            parts.append(
                GpuPart(
                    row,
                    part.lane,
                    part.entry,
                    part.first,
                    events,
                    pl.DataFrame(),
                    part.offset_ns,
                    recode,
                )
            )
    own.keep(name_of_row(row), make_row(parts, plan.context))


def _plan(run: ZoomableRun, parts: list[GpuPart]) -> Plan | None:
    """Say where the parts are; None where one is not in the store."""
    planned: list[PlannedPart] = []
    recodes: dict[int, NDArray[np.int32]] = {}
    for part in parts:
        if part.entry is None:
            return None
        recodes[id(part.recode)] = part.recode
        number = list(recodes).index(id(part.recode))
        planned.append(
            PlannedPart(
                part.row,
                part.lane,
                part.entry,
                part.first,
                len(part.read),
                part.offset_ns,
                number,
            )
        )
    return Plan(context_of(run), tuple(planned), tuple(recodes.values()))

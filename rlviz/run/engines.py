"""Engines: generation workers that hold one model together, as tensor-parallel ranks do."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.reports.report import Report
    from rlviz.run.workers import Worker

__all__ = ["ALONE", "Place", "place_in_engines"]

Place = tuple[str, int, int]
"""Sort key of a worker: first bus of its engine on the host, the engine, its rank in it."""

ALONE: Place = ("", 0, 0)


def place_in_engines(workers: Sequence[Worker], reports: Sequence[Report]) -> list[Place]:
    """Tell which generation workers stand together.

    Workers of an engine share a communicator that none but generation workers belong to; of
    several the smallest, since data-parallel engines may talk to each other as well.

    Parameters
    ----------
    workers, reports : sequence of Worker, sequence of Report
        Workers with their roles, and the reports that they were found in.

    Returns
    -------
    list of Place
        Per worker; `ALONE` for one that is in no engine.
    """
    members: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for index, worker in enumerate(workers):
        for report in worker.reports:
            for one in reports[report].identity.communicators:
                if one.pid == worker.pid and one.number is not None and one.ranks > 1:
                    members[one.ranks, one.number][index] = one.rank
    places = [ALONE] * len(workers)
    for (_, number), ranks in sorted(members.items(), reverse=True):
        if len(ranks) < 2 or len(set(ranks.values())) < len(ranks):
            continue
        if any(workers[index].role != "generation" for index in ranks):
            continue
        for index, rank in ranks.items():
            host = workers[index].host
            here = [other for other in ranks if workers[other].host == host]
            places[index] = (min(_bus(workers[other]) for other in here), number, rank)
    return places


def _bus(worker: Worker) -> str:
    return min((gpu.bus or "" for gpu in worker.devices.values()), default="")

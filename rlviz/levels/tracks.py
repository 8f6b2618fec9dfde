"""The tracks of a run: made of its events, or taken from where they are kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from rlviz.levels.events import RowEvents
from rlviz.levels.groups import Groups, groups_of
from rlviz.levels.made import MADE, Context, MadeRow, make_row
from rlviz.levels.track import Track
from rlviz.processors import processors

if TYPE_CHECKING:
    from rlviz.run.gpu_part import GpuPart
    from rlviz.run.run import Run

__all__ = ["context_of", "name_of_row", "parts_by_row", "remembered_groups", "tracks_of"]

# With fewer events in a row, threads cost more than they give.
_MANY = 500_000


def tracks_of(run: Run) -> dict[int, Track]:
    """Give the track of every row that has GPU data, with its levels."""
    parts = parts_by_row(run)
    groups = remembered_groups(run)
    context = cache(lambda: context_of(run))
    beside = min(processors(), max(len(parts), 1))

    def made(row: int) -> MadeRow:
        own = parts[row]
        many = sum(len(part.read) for part in own) >= _MANY
        threads = max(processors() // beside, 1) if many else 1
        return run.remember(name_of_row(row), MADE, lambda: make_row(own, context(), threads))

    with ThreadPoolExecutor(beside) as pool:
        rows = list(pool.map(made, parts))
    return {
        row: Track(row, RowEvents.of(own), one, groups)
        for (row, own), one in zip(parts.items(), rows, strict=True)
    }


def parts_by_row(run: Run) -> dict[int, list[GpuPart]]:
    """Sort the parts of a run by row."""
    parts: dict[int, list[GpuPart]] = {}
    for part in run.events.parts:
        parts.setdefault(part.row, []).append(part)
    return dict(sorted(parts.items()))


def context_of(run: Run) -> Context:
    """Give what the rows of a run depend on, besides their events."""
    communicates = run.rules.communication.matches(run.events.names).to_numpy()
    return Context(remembered_groups(run), communicates, run.lane_phases)


def remembered_groups(run: Run) -> Groups:
    """Give what names stand for."""
    return run.remember("groups", (Groups,), lambda: groups_of(run))


def name_of_row(row: int) -> str:
    """Give the name under which a made row is kept."""
    return f"row-{row}"

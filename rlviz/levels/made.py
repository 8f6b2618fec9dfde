"""What is worked out of the GPU events of a row, once: what they were for, unions, levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.levels.coverage import Coverage
from rlviz.levels.events import order_of
from rlviz.levels.pyramid import COLUMNS, Level, Pyramid
from rlviz.levels.tally import Columns
from rlviz.run.activity import Activity, activity_of_parts
from rlviz.run.intervals import union
from rlviz.run.phases import ACTIVITY, activity_codes
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.levels.groups import Groups
    from rlviz.run.gpu_part import GpuPart

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Flags = NDArray[np.bool_]
    Spans = tuple[Int64, Int64]

__all__ = ["MADE", "STRIDE", "Context", "MadeRow", "columns_of", "made_of", "make_row"]

STRIDE = 1024
"""Of so many events one after the other, `MadeRow.reach_ns` tells one number."""


@dataclass(frozen=True)
class Context:
    """What of a run a row's work depends on, besides its events.

    Parameters
    ----------
    groups : Groups
        What names stand for.
    communicates : ndarray of bool
        By code of a name: it moves data between GPUs.
    phases : dict of int to dict of str to (ndarray, ndarray)
        By lane and phase, as of `rlviz.run.phases.phase_spans`.
    """

    groups: Groups
    communicates: Flags
    phases: dict[int, dict[str, Spans]]


@dataclass(frozen=True)
class MadeRow:
    """What is worked out of a row.

    Parameters
    ----------
    code : ndarray of uint8, shape (n,)
        By event, what it was for: index into ``rlviz.run.phases.ACTIVITY``.
    codes : tuple of int
        Those that there are.
    reach_ns : ndarray of int64
        Latest end of the first `STRIDE` events, of the first 2 `STRIDE`, and so on.
    lanes : dict of int to Activity
        What each lane did.
    together : (ndarray, ndarray) or None
        Union over all lanes; None where there is one.
    index : tuple of (int, int, int, tuple of str)
        Of each level its width, its first bucket, how many it has, and types of its columns.
    columns : dict of str to ndarray
        Columns of the levels, those of one name and type behind each other.
    """

    code: UInt8
    codes: tuple[int, ...]
    reach_ns: Int64
    lanes: dict[int, Activity]
    together: Spans | None
    index: tuple[tuple[int, int, int, tuple[str, ...]], ...]
    columns: dict[str, NDArray[Any]]

    @property
    def busy(self) -> Spans:
        """Union of all events."""
        return next(iter(self.lanes.values())).busy if self.together is None else self.together

    @cached_property
    def pyramid(self) -> Pyramid:
        """All levels."""
        read = dict.fromkeys(self.columns, 0)

        def take(name: str, count: int) -> NDArray[Any]:
            first = read[name]
            read[name] += count
            return self.columns[name][first : first + count]

        return Pyramid(
            tuple(
                Level(
                    width_ns,
                    first,
                    *(take(f"{n} {d}", size) for n, d in zip(COLUMNS, dtypes, strict=True)),
                )
                for width_ns, first, size, dtypes in self.index
            )
        )


MADE = (MadeRow, Activity)
"""The classes that a made row is of."""


def make_row(parts: Sequence[GpuPart], context: Context, threads: int = 1) -> MadeRow:
    """Work out a row.

    Parameters
    ----------
    parts : sequence of GpuPart
        Its events, one part at least.
    context : Context
        Of the run.
    threads : int
        How many to use.
    """
    lanes = activity_of_parts(parts, context.communicates)
    together = union(*joined([own.busy for own in lanes.values()])) if len(lanes) > 1 else None
    order = order_of(parts)
    code, start, end, name = (
        column if order is None else column[order]
        for column in (
            np.concatenate(own) if len(parts) > 1 else own[0]
            for own in (
                [_codes(part, context) for part in parts],
                *([getattr(p, c) for p in parts] for c in ("start_ns", "end_ns", "name")),
            )
        )
    )
    events = columns_of(start, end, name, code, context.groups)
    return made_of(events, lanes, together, threads)


def columns_of(
    start_ns: Int64,
    end_ns: Int64,
    name: Int32,
    code: UInt8,
    groups: Groups,
    codes: int = len(ACTIVITY),
) -> Columns:
    """Give events in the form in which they are summed up.

    Parameters
    ----------
    start_ns, end_ns, name, code
        As of `rlviz.levels.tally.Columns`.
    groups : Groups
        What the names stand for.
    codes : int
        How many codes there are.
    """
    group = groups.of_name[name]
    return Columns(start_ns, end_ns, name, code, group, codes, len(groups.of_name), groups.kinds)


def made_of(
    events: Columns, lanes: dict[int, Activity], together: Spans | None, threads: int = 1
) -> MadeRow:
    """Work out levels of events whose unions are known.

    Parameters
    ----------
    events : Columns
        All of them.
    lanes : dict of int to Activity
        What each lane did, one at least.
    together : (ndarray, ndarray) or None
        Union over all lanes; None where there is one.
    threads : int
        How many to use.
    """
    busy = next(iter(lanes.values())).busy if together is None else together
    levels = Pyramid.of(events, Coverage.of(*busy), threads).levels
    codes = tuple(np.flatnonzero(np.bincount(events.code, minlength=1)).tolist())
    return MadeRow(events.code, codes, _reach(events.end_ns), lanes, together, *_packed(levels))


def _codes(part: GpuPart, context: Context) -> UInt8:
    return activity_codes(part, context.phases.get(part.lane, {}), context.communicates)


def _reach(end_ns: Int64) -> Int64:
    if not len(end_ns):
        return end_ns
    return np.maximum.accumulate(np.maximum.reduceat(end_ns, np.arange(0, len(end_ns), STRIDE)))


def _packed(
    levels: Sequence[Level],
) -> tuple[tuple[tuple[int, int, int, tuple[str, ...]], ...], dict[str, NDArray[Any]]]:
    """Put levels into few long columns, and say where each is."""
    pieces: dict[str, list[NDArray[Any]]] = {}
    for level in levels:
        for name in COLUMNS:
            column = getattr(level, name)
            pieces.setdefault(f"{name} {column.dtype}", []).append(column)
    index = tuple(
        (
            level.width_ns,
            level.first,
            len(level),
            tuple(str(getattr(level, name).dtype) for name in COLUMNS),
        )
        for level in levels
    )
    return index, {name: np.concatenate(own) for name, own in pieces.items()}

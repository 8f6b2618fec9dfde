"""Who is waited for: the last GPU of a segment, the rank that is last at collectives; stalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.gpu_rows import KERNEL
from rlviz.run.collectives import TOGETHER
from rlviz.run.intervals import clip
from rlviz.run.iteration import last_ends

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.gpu_part import GpuPart
    from rlviz.run.iteration import Iteration, Span
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]
    _Collectives = tuple[Int64, Int64, NDArray[np.int32]]

__all__ = [
    "GenerationStraggler",
    "Stalls",
    "TrainingStraggler",
    "TrainingStragglers",
    "generation_straggler",
]

# All ranks wait in these for the last one; in an all-gather or a broadcast some may go on early.
_MATCHED = "(?i)all_?reduce|reduce_?scatter"


@dataclass(frozen=True)
class GenerationStraggler:
    """The generation GPU that ends a segment last.

    Parameters
    ----------
    row : int
        Its row.
    spread_ns : int
        How much later than the first one it ends.
    late_ns : dict of int to int
        By row, how much later than the first one each GPU ends.
    """

    row: int
    spread_ns: int
    late_ns: dict[int, int]


def generation_straggler(
    iteration: Iteration, row_of_lane: Sequence[int]
) -> GenerationStraggler | None:
    """Find the straggler of an iteration's segment; None where no segment is seen."""
    ends = last_ends(iteration.segment, row_of_lane)
    if not ends:
        return None
    first = min(ends.values())
    late = {row: end - first for row, end in ends.items()}
    last = max(late, key=lambda row: late[row])
    return GenerationStraggler(last, late[last], late)


@dataclass(frozen=True)
class TrainingStraggler:
    """The training GPU that the others wait for in collectives.

    Parameters
    ----------
    row : int
        Row of the one that is charged most.
    charged_ns : int
        Sum of the spreads of the collectives that it started last.
    times_last, matched : int
        How many it started last, of how many that were compared.
    late_median_ns : int
        Median spread of the collectives that it started last.
    charged_by_row_ns : dict of int to int
        What every row is charged.
    """

    row: int
    charged_ns: int
    times_last: int
    matched: int
    late_median_ns: int
    charged_by_row_ns: dict[int, int]


class TrainingStragglers:
    """Finds training stragglers by the collectives that all ranks take part in.

    Parameters
    ----------
    events, rows : Events, polars.DataFrame
        Events and lanes of the run.
    phases : mapping of int to mapping of str to (ndarray, ndarray)
        By lane and phase, as of `rlviz.run.phases.phase_spans`.
    rules : Rules
        Which kernels communicate.
    """

    def __init__(
        self,
        events: Events,
        rows: pl.DataFrame,
        phases: Mapping[int, Mapping[str, Spans]],
        rules: Rules,
    ) -> None:
        lanes = rows.filter((pl.col("role") == "policy") & pl.col("gpu_data"))
        self._row_of_lane = dict(lanes.select("lane", "row").iter_rows())
        self._phases = phases
        names = events.names
        codes = np.arange(len(names), dtype=np.int32)
        matched = rules.communication.matches(names) & names.str.contains(_MATCHED)
        self._collectives: dict[int, list[_Collectives]] = {}
        for part in events.parts:
            if part.lane in self._row_of_lane:
                these = np.flatnonzero((part.kind == KERNEL) & part.tell(matched.to_numpy()))
                own = part.starts(these), part.ends(these), part.tell(codes)[these]
                self._collectives.setdefault(part.lane, []).append(own)

    def of(self, iteration: Iteration) -> TrainingStraggler | str:
        """Find the straggler of an iteration's training, or tell why there is none.

        Collectives are matched by order and name over the ranks that left reports. All end
        together, so only their starts tell: who starts last, keeps the others waiting. Those that
        do not end together are of different communicators, and wait for nobody in the other.
        """
        if iteration.train is None:
            return "no-training-range"
        if not self._row_of_lane:
            return "no-gpu-rows"
        found = {lane: self._spans(lane, iteration.train) for lane in self._row_of_lane}
        lanes = [lane for lane, by_name in found.items() if by_name]
        if len(lanes) < 2:
            return "one-rank"
        first = found[lanes[0]]
        # A name that the ranks do not use equally often cannot be matched by order.
        names = [
            name
            for name, spans in first.items()
            if all(len(found[lane].get(name, _NONE)) == len(spans) for lane in lanes)
        ]
        if not names:
            return "no-matched-collectives"
        spans = np.stack([np.concatenate([found[lane][n] for n in names]) for lane in lanes])
        rows = [self._row_of_lane[lane] for lane in lanes]
        return _charge(spans[:, :, 0], spans[:, :, 1], rows) or "no-matched-collectives"

    def _spans(self, lane: int, train: Span) -> dict[int, Int64]:
        """Find starts and ends of a rank's collectives inside its own training ranges, by name."""
        own = clip(*self._phases.get(lane, {}).get("training", _NEVER), *train)
        if not len(own[0]):
            return {}
        found: dict[int, list[Int64]] = {}
        for start, end, name in self._collectives.get(lane, []):
            inside = (start >= own[0][0]) & (end <= own[1][-1])
            for code in np.unique(name[inside]):
                own_code = inside & (name == code)
                spans = np.stack((start[own_code], end[own_code]), axis=1)
                found.setdefault(int(code), []).append(spans)
        both = {code: np.concatenate(parts) for code, parts in found.items()}
        return {code: spans[np.argsort(spans[:, 0])] for code, spans in both.items()}


def _charge(starts: Int64, ends: Int64, rows: Sequence[int]) -> TrainingStraggler | None:
    """Charge the spread of every collective to the rank that starts it last.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (ranks, collectives)
        Of the k-th collective on each rank.
    rows : sequence of int
        Row of each rank.

    Returns
    -------
    TrainingStraggler or None
        None where no two ranks end a collective together.
    """
    communicator = _communicators(ends)
    spreads, lasts = [], []
    for number in range(int(communicator.max()) + 1):
        inside = communicator == number
        several = inside.sum(axis=0) > 1
        own, members = starts[:, several], inside[:, several]
        latest = np.where(members, own, _FIRST)
        spreads.append(latest.max(axis=0) - np.where(members, own, _LAST).min(axis=0))
        lasts.append(latest.argmax(axis=0))
    spread, last = np.concatenate(spreads), np.concatenate(lasts)
    if not len(spread):
        return None
    charged = [int(spread[last == place].sum()) for place in range(len(rows))]
    worst = int(np.argmax(charged))
    own = spread[last == worst]
    by_row: dict[int, int] = {}
    for row, ns in zip(rows, charged, strict=True):
        by_row[row] = by_row.get(row, 0) + ns
    return TrainingStraggler(
        row=rows[worst],
        charged_ns=charged[worst],
        times_last=len(own),
        matched=len(spread),
        late_median_ns=int(np.median(own)) if len(own) else 0,
        charged_by_row_ns=by_row,
    )


def _communicators(ends: Int64) -> Int64:
    """Give a number to each group of ranks that end a collective together."""
    order = np.argsort(ends, axis=0)
    apart = np.diff(np.take_along_axis(ends, order, axis=0), axis=0) > TOGETHER.apart_ns
    number = np.cumsum(np.pad(apart, ((1, 0), (0, 0))), axis=0)
    found = np.empty_like(ends)
    np.put_along_axis(found, order, number, axis=0)
    return found


class Stalls:
    """Measures how long generation GPUs generate nothing around a refit.

    Parameters
    ----------
    events : Events
        Events of the run.
    captured : mapping of int to (ndarray, ndarray)
        Captured spans by lane: nothing is known of what lies between two captures.
    """

    def __init__(self, events: Events, captured: Mapping[int, Spans]) -> None:
        self._captured = captured
        self._parts: dict[int, list[GpuPart]] = {}
        for part in events.parts:
            self._parts.setdefault(part.lane, []).append(part)
        self._reach: dict[int, list[Int64]] = {}

    def of(self, lane: int, update: Span) -> int | None:
        """Measure the first work after an update range minus the last before it.

        Returns
        -------
        int or None
            None where there is no work on both sides inside one capture.
        """
        before, after = [], []
        for part, reach in zip(self._parts.get(lane, []), self._reach_of(lane), strict=True):
            first, last = (part.begun_before(at) for at in update)
            # What began before the update is generation, however long it went on.
            before += [_reach(part, reach, first)] if first > 0 else []
            after += [int(part.starts(slice(last, last + 1))[0])] if last < len(part.read) else []
        if not before or not after:
            return None
        stall = max(before), min(after)
        if not self._in_one_capture(lane, min(stall[0], update[0]), stall[1]):
            return None
        return max(stall[1] - stall[0], 0)

    def _reach_of(self, lane: int) -> list[Int64]:
        """Tell, per part, how far all GPU rows up to the end of each stretch of them reach."""
        if lane not in self._reach:
            self._reach[lane] = [
                np.maximum.accumulate(
                    np.maximum.reduceat(part.ends(slice(None)), range(0, len(part.read), _STRIDE))
                )
                if len(part.read)
                else _NOTHING
                for part in self._parts.get(lane, [])
            ]
        return self._reach[lane]

    def _in_one_capture(self, lane: int, first: int, last: int) -> bool:
        start, end = self._captured[lane]
        place = int(np.searchsorted(start, first, side="right")) - 1
        return place >= 0 and last <= int(end[place])


def _reach(part: GpuPart, reach: Int64, count: int) -> int:
    """Tell how far the first rows of a part reach, one row at least."""
    whole = count // _STRIDE
    rest = part.ends(slice(whole * _STRIDE, count))
    return max(int(reach[whole - 1]) if whole else _FIRST, int(rest.max(initial=_FIRST)))


_STRIDE = 1024
_NOTHING: Int64 = np.empty(0, np.int64)
_NEVER: Spans = (np.empty(0, np.int64), np.empty(0, np.int64))
_NONE: Int64 = np.empty((0, 2), np.int64)
_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

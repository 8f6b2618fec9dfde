"""Who is waited for: the last GPU of a segment, the rank that is last at collectives; stalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.activity import slices_of_lanes
from rlviz.run.events import lookup
from rlviz.run.intervals import clip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.events import Events
    from rlviz.run.iteration import Iteration, Span
    from rlviz.run.rules import Rules

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

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
    ends: dict[int, int] = {}
    for lane, (_, end) in sorted(iteration.segment.items()):
        row = row_of_lane[lane]
        ends[row] = max(end, ends.get(row, end))
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
        names = events.names
        communicates = rules.communication.matches(names)
        matched = communicates & names.str.contains(_MATCHED)
        lanes = rows.filter((pl.col("role") == "policy") & pl.col("gpu_data"))
        self._row_of_lane = dict(lanes.select("lane", "row").iter_rows())
        self._phases = phases
        kernels = events.kernels.filter(
            lookup(matched, events.kernels["short"]), pl.col("lane").is_in(list(self._row_of_lane))
        )
        self._kernels = {
            lane: (part["start_ns"].to_numpy(), part["end_ns"].to_numpy(), part["short"].to_numpy())
            for (lane,), part in kernels.partition_by("lane", as_dict=True).items()
        }

    def of(self, iteration: Iteration) -> TrainingStraggler | str:
        """Find the straggler of an iteration's training, or tell why there is none.

        Collectives are matched by order and name over the ranks that left reports. All end
        together, so only their starts tell: who starts last, keeps the others waiting.
        """
        if iteration.train is None:
            return "no-training-range"
        found = {lane: self._collectives(lane, iteration.train) for lane in self._row_of_lane}
        lanes = [lane for lane, by_name in found.items() if by_name]
        if len(lanes) < 2:
            return "one-rank"
        first = found[lanes[0]]
        # A name that the ranks do not use equally often cannot be matched by order.
        names = [
            name
            for name, starts in first.items()
            if all(len(found[lane].get(name, ())) == len(starts) for lane in lanes)
        ]
        if not names:
            return "no-matched-collectives"
        starts = np.stack([np.concatenate([found[lane][n] for n in names]) for lane in lanes])
        return _charge(starts, [self._row_of_lane[lane] for lane in lanes])

    def _collectives(self, lane: int, train: Span) -> dict[int, Int64]:
        """Find the starts of a rank's collectives inside its own training ranges, by name."""
        own = clip(*self._phases.get(lane, {}).get("training", _NEVER), *train)
        if lane not in self._kernels or not len(own[0]):
            return {}
        start, end, name = self._kernels[lane]
        inside = (start >= own[0][0]) & (end <= own[1][-1])
        return {int(code): start[inside & (name == code)] for code in np.unique(name[inside])}


def _charge(starts: Int64, rows: Sequence[int]) -> TrainingStraggler:
    spread = starts.max(axis=0) - starts.min(axis=0)
    last = starts.argmax(axis=0)
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
        matched=starts.shape[1],
        late_median_ns=int(np.median(own)) if len(own) else 0,
        charged_by_row_ns=by_row,
    )


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
        self._frames = [
            (frame, slices_of_lanes(frame))
            for frame in (events.kernels, events.copies, events.graphs)
        ]
        self._captured = captured
        self._work: dict[int, list[Spans]] = {}

    def of(self, lane: int, update: Span) -> int | None:
        """Measure the first work after an update range minus the last before it.

        Returns
        -------
        int or None
            None where there is no work on both sides inside one capture.
        """
        before, after = [], []
        for start, reach in self._work_of(lane):
            first, last = np.searchsorted(start, update)
            # What began before the update is generation, however long it went on.
            before += [int(reach[first - 1])] if first > 0 else []
            after += [int(start[last])] if last < len(start) else []
        if not before or not after:
            return None
        stall = max(before), min(after)
        if not self._in_one_capture(lane, min(stall[0], update[0]), stall[1]):
            return None
        return max(stall[1] - stall[0], 0)

    def _work_of(self, lane: int) -> list[Spans]:
        """Give starts of a lane's GPU rows, and how far all rows up to each of them reach."""
        if lane not in self._work:
            self._work[lane] = [
                (
                    frame["start_ns"].to_numpy()[places[lane]],
                    np.maximum.accumulate(frame["end_ns"].to_numpy()[places[lane]]),
                )
                for frame, places in self._frames
                if lane in places
            ]
        return self._work[lane]

    def _in_one_capture(self, lane: int, first: int, last: int) -> bool:
        start, end = self._captured[lane]
        place = int(np.searchsorted(start, first, side="right")) - 1
        return place >= 0 and last <= int(end[place])


_NEVER: Spans = (np.empty(0, np.int64), np.empty(0, np.int64))

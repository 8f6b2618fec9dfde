"""Generation GPUs that end late: slow ones, and those with a long tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.gpu_rows import GRAPH, KERNEL
from rlviz.run.findings.finding import Finding, percent, spoken
from rlviz.run.findings.turns import LOST_SHARE, Loss
from rlviz.run.intervals import clip, spans_of, union
from rlviz.run.iteration import last_ends
from rlviz.run.within import joined, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.findings.finding import Kind
    from rlviz.run.findings.turns import Turns
    from rlviz.run.iteration import Iteration, Span

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["late_generation"]

SLOWER = 1.15
"""A GPU is slow when its kernels take this much longer than those of the same name elsewhere: twice
as much as clocks of healthy GPUs and batches of different sizes make of it."""

LONELY_SHARE = 0.6
"""A GPU that is busy for less than this after the others ended has only few requests left."""

UNEVEN_SHARE = 0.1
"""Least share of an iteration that unevenly dealt requests must cost: lengths of answers are not
known before, so that some GPU ends some per cent later than the others in every run."""

HIDDEN_SHARE = 0.1
"""A GPU that ends this much of an iteration late for a reason of its own is named even where
training hides it: another split of the GPUs would bring it out."""

_FEWEST_KERNELS = 5  # of a name, for its mean to say something


@dataclass(frozen=True)
class _Late:
    """The end of a segment: half of the GPUs have ended, the last one goes on."""

    iteration: Iteration
    row: int
    half_ns: int
    waits_from_ns: int
    end_ns: int
    others: int

    @property
    def waited(self) -> Loss:
        return Loss(self.iteration, self.end_ns - self.waits_from_ns, (self.half_ns, self.end_ns))

    @property
    def late(self) -> Loss:
        return Loss(self.iteration, self.end_ns - self.half_ns, (self.half_ns, self.end_ns))


def late_generation(turns: Turns) -> tuple[list[Finding], Spans]:
    """Find the generation GPUs that end segments late.

    Parameters
    ----------
    turns : Turns
        The iterations.

    Returns
    -------
    findings : list of Finding
        Of the kinds generation-straggler and long-tail.
    waited : (ndarray, ndarray)
        What they account for: spans in which nobody trains and a GPU of theirs goes on.
    """
    found, waited = [], []
    rest = _late_ends(turns)
    while rest:
        own = _worst_row(rest)
        # Where no GPU alone is worth it, all are: a tail can be another one's each time.
        for chosen in (own, rest):
            finding = _finding(turns, chosen)
            if finding is not None:
                found.append(finding)
                waited += [(one.waits_from_ns, one.end_ns) for one in chosen]
                break
        else:
            chosen = own
        rest = [one for one in rest if one not in chosen]
    return found, union(*spans_of(waited))


def _late_ends(turns: Turns) -> list[_Late]:
    """Give the late end of each iteration's segment."""
    if any(gpu.unknown for gpu in turns.metrics.generation_gpus):
        return []
    found = []
    for iteration in turns.iterations:
        ends = last_ends(iteration.segment, turns.metrics.row_of_lane)
        if len(ends) < 2:
            continue
        last = max(ends, key=lambda row: ends[row])
        half = sorted(ends.values())[(len(ends) - 1) // 2]
        begin = _trained_until(turns, half, ends[last])
        # A few of a wide spread are not alone; those in the last half of it go on with the last.
        others = sum(2 * end > half + ends[last] for row, end in ends.items() if row != last)
        found.append(_Late(iteration, last, half, begin, ends[last], others))
    return found


def _trained_until(turns: Turns, half: int, end: int) -> int:
    """Tell from when on nobody trains while the last GPU goes on: what training hides is free."""
    if turns.training is None:
        return half
    trained = clip(*turns.training, half, end)
    return int(trained[1][-1]) if len(trained[1]) else half


def _worst_row(late: Sequence[_Late]) -> list[_Late]:
    """Give those of the row that costs most; where training hides all, of the latest."""
    by_row: dict[int, list[_Late]] = {}
    for one in late:
        by_row.setdefault(one.row, []).append(one)
    return max(
        by_row.values(),
        key=lambda own: (sum(o.waited.ns for o in own), sum(o.late.ns for o in own)),
    )


def _finding(turns: Turns, late: Sequence[_Late]) -> Finding | None:
    cost, lateness = turns.cost([o.waited for o in late]), turns.cost([o.late for o in late])
    if cost is None or lateness is None:
        return None
    hidden = cost.share < LOST_SHARE
    if hidden and lateness.share < HIDDEN_SHARE:
        return None
    shown = lateness if hidden else cost
    row = next(one.row for one in late if one.iteration is shown.worst.iteration)
    own = [one for one in late if one.row == row]
    kind, why = _reason(turns, row, own, _busy_share(turns, late))
    if why is None and cost.share < UNEVEN_SHARE:
        return None
    if hidden and 2 * len(own) < len(turns.iterations):
        return None
    others = max(one.others for one in late)
    text = (
        f"{turns.label(row)} ends last in {len(own)} of {len(turns.iterations)} iterations, "
        f"{spoken(sum(one.late.ns for one in late) / len(late))} after half of the generation GPUs"
        f"{f', with up to {others} more' if others else ''}; "
        f"{why or 'its kernels are as fast as theirs: it had more to generate'}. "
    )
    text += (
        "Training hides it: it costs next to nothing as the run is split now."
        if hidden
        else f"Nothing trains meanwhile for {cost.said}."
    )
    return Finding(kind, text, cost.mean_ns, *shown.worst.span, shown.number, row)


def _reason(
    turns: Turns, row: int, late: Sequence[_Late], busy_share: float
) -> tuple[Kind, str | None]:
    """Tell why a GPU ends late: it is slow, or has few requests left; None: it had more to do."""
    slower = _slower(turns, row, [one.iteration for one in late])
    if slower is not None and slower >= SLOWER:
        return "generation-straggler", f"its kernels take {slower:.1f} times as long as theirs"
    if busy_share < LONELY_SHARE:
        why = f"it is busy for {percent(busy_share)} of that, as with a few long requests"
        return "long-tail", why
    return "generation-straggler", None


def _busy_share(turns: Turns, late: Sequence[_Late]) -> float:
    """Tell how much of the time after the others ended the late GPUs were busy."""
    busy = {
        gpu.row: union(
            *joined([a.busy for lane, a in gpu.lanes.items() if gpu.roles[lane] == "generation"])
        )
        for gpu in turns.metrics.generation_gpus
        if gpu.row in {one.row for one in late}
    }
    parts = [within(busy[o.row], np.array([o.half_ns]), np.array([o.end_ns])) for o in late]
    length = sum(one.late.ns for one in late)
    return int(np.concatenate(parts).sum()) / length if length else 1.0


def _slower(turns: Turns, row: int, iterations: Sequence[Iteration]) -> float | None:
    """Tell how many times as long the kernels of a GPU take as those of its siblings.

    Returns
    -------
    float or None
        Of the ratios by name the middle one, each with the weight of the time that it takes on the
        GPU. A name's is the ratio of geometric means, on which a few long kernels, or a full batch
        and an empty one in another mixture, have little bearing. None: nothing to compare.
    """
    lengths = [
        _lengths(turns, lane, [i.segment[lane] for i in iterations if lane in i.segment])
        for lane in sorted({lane for iteration in iterations for lane in iteration.segment})
    ]
    if not lengths:
        return None
    usual = (
        pl.concat(lengths)
        .filter(pl.col("ns") > 0)
        .group_by("row", "lane", "name")
        .agg(pl.col("ns").log().mean().alias("log"), pl.col("ns").sum(), pl.len().alias("count"))
        .filter(pl.col("count") >= _FEWEST_KERNELS)
        .with_columns((pl.col("row") == row).alias("own"))
        .group_by("own", "name")
        .agg(pl.col("log").median(), pl.col("ns").sum())
    )
    own, siblings = (usual.filter(pl.col("own") == which) for which in (True, False))
    both = own.join(siblings, on="name").with_columns(
        (pl.col("log") - pl.col("log_right")).exp().alias("ratio")
    )
    if both.is_empty():
        return None
    both = both.sort("ratio")
    weight = both["ns"].to_numpy().cumsum()
    return float(both["ratio"][int(np.searchsorted(weight, weight[-1] / 2))])


def _lengths(turns: Turns, lane: int, segments: Sequence[Span]) -> pl.DataFrame:
    """Give the lengths of a lane's kernels and graphs in its segments, by name."""
    events = turns.run.events
    communicates = turns.run.rules.communication.matches(events.names).to_numpy()
    codes = np.arange(len(communicates), dtype=np.int32)
    names: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    lengths: list[Int64] = [np.empty(0, np.int64)]
    for part in events.parts:
        if part.lane != lane:
            continue
        for start, end in segments:
            own = slice(part.begun_before(start), part.begun_before(end))
            kind = part.kind[own]
            computes = (kind == GRAPH) | ((kind == KERNEL) & ~part.tell(communicates, own))
            names.append(part.tell(codes, own)[computes])
            lengths.append((part.ends(own) - part.starts(own))[computes])
    return pl.DataFrame({"name": np.concatenate(names), "ns": np.concatenate(lengths)}).select(
        pl.lit(turns.metrics.row_of_lane[lane]).alias("row"), pl.lit(lane).alias("lane"), pl.all()
    )

"""The mean iteration of several runs: how busy each pool is, by time since an iteration began."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rlviz.levels.coverage import Coverage
from rlviz.run.phases import ACTIVITY
from rlviz.run.rules import SUMMED_POOLS
from rlviz.view.compare_words import heading_of, headline_of
from rlviz.view.detail import Detail
from rlviz.view.overlays import UNNAMED
from rlviz.view.palette import COLOR_OF_ACTIVITY, COLORS
from rlviz.view.scene import Bars, Bracket, Heading, Line, Overlays, PoolBand, Row, Scene
from rlviz.view.sizes import (
    BAND,
    FOOT_PX,
    GROUP_HEAD_PX,
    HEADING_AIR_PX,
    POOL_HEAD_PX,
    bracket_y,
    row_height_px,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun
    from rlviz.levels.track import Track
    from rlviz.run.iteration import Iteration
    from rlviz.view.asked import Bucket, Span, Window

    Int64 = NDArray[np.int64]
    Float = NDArray[np.float64]

__all__ = ["MeanDetail", "mean_scene"]

_BUCKETS = 600
_AIR = 1.03
_LEAST_HEIGHT = 0.005


class MeanDetail(Detail):
    """The detail of a mean: none, for no event of a run has a place in it."""

    def answer(self, asked: Window) -> tuple[dict[str, Any], list[bytes]]:  # noqa: ARG002
        """Refuse: all there is of a mean is on the chart."""
        msg = "all there is of a mean is on the chart"
        raise ValueError(msg)

    def prepare(self) -> None:
        """Prepare nothing."""

    def levels(self) -> tuple[dict[str, Any] | None, bytes]:
        """Give no levels."""
        return None, b""

    def bucket(self, asked: Bucket) -> dict[str, Any]:  # noqa: ARG002
        """Refuse, as `answer` does."""
        msg = "a bucket of a mean stands for no events"
        raise ValueError(msg)

    def places(self, search: str) -> tuple[dict[str, Any], list[bytes]]:  # noqa: ARG002
        """Refuse, as `answer` does."""
        msg = "all there is of a mean is on the chart"
        raise ValueError(msg)

    def kernels(self, asked: Span) -> dict[str, Any]:  # noqa: ARG002
        """Refuse, as `answer` does."""
        msg = "a mean has no kernels of its own"
        raise ValueError(msg)

    def busy(self, asked: Span) -> dict[str, Any]:  # noqa: ARG002
        """Refuse, as `answer` does."""
        msg = "a mean has no busy time of its own"
        raise ValueError(msg)


class _Mean(NamedTuple):
    """Of a pool: mean busy share of each bucket, the activity that leads it, events in it."""

    share: Float
    activity: Int64
    events: Int64


def mean_scene(runs: Mapping[str, ZoomableRun]) -> Scene:
    """Compose the mean iterations of runs, all beginning at second 0.

    A row is a pool. The height at a moment is the mean of the busy shares of its GPUs, over the
    complete iterations of the run; one that has ended counts as idle, so that the area is the mean
    busy time of an iteration. A line marks the end of each of them.

    Parameters
    ----------
    runs : mapping of str to ZoomableRun
        The runs by name; each has a complete iteration.
    """
    complete = {name: [i for i in run.story.iterations if i.complete] for name, run in runs.items()}
    lengths = {name: [i.end_ns - i.start_ns for i in own] for name, own in complete.items()}
    longest = max(max(own) for own in lengths.values())
    edges = np.linspace(0, longest, _BUCKETS + 1).astype(np.int64)
    pools = {
        name: [pool for pool in SUMMED_POOLS if pool in set(run.rows["pool"])]
        for name, run in runs.items()
    }
    count = sum(map(len, pools.values()))
    unit_px = row_height_px(count)
    names: list[str] = []
    rows: list[Row] = []
    bands: list[PoolBand] = []
    bars: list[Bars] = []
    brackets: list[Bracket] = []
    headings: list[Heading] = []
    y = 0.0
    for name, run in runs.items():
        y += GROUP_HEAD_PX / unit_px
        headings.append(Heading(name, y - HEADING_AIR_PX / unit_px, heading_of(name, run, None)))
        for pool in pools[name]:
            top = y
            y += POOL_HEAD_PX / unit_px
            row = _row(run, pool, name, len(rows), y)
            if row.gpu_data:
                mean = _mean(_tracks(run, pool), complete[name], edges)
                bars.append(_bars(row, mean, edges, len(names)))
            names.append(f"mean of {row.label}, {len(complete[name])} iterations")
            rows.append(row)
            y += 1.0
            bands.append(PoolBand(pool, top, y, name))  # type: ignore[arg-type]
            mean_s = sum(lengths[name]) / len(lengths[name]) / 1e9
            at = bracket_y(top, count)
            text = f"Mean of {len(lengths[name])}"
            brackets.append(Bracket(pool, 0.0, mean_s, at, text, False, None, name))  # type: ignore[arg-type]
    end_s = _AIR * longest / 1e9
    return Scene(
        title=" against ".join(reversed(list(runs))) + " · mean iteration",
        subtitle=headline_of(runs, None),
        caption=(
            "an aggregate: mean busy share of a pool's GPUs over complete iterations, by time "
            "since each began; idle once it has ended · dashed: where each ends"
        ),
        simulated=any(run.simulated for run in runs.values()),
        start_s=0.0,
        end_s=end_s,
        first_s=0.0,
        last_s=end_s,
        height=y + FOOT_PX / unit_px,
        run_start_utc_ns=None,
        names=(*names, *UNNAMED),
        colors=tuple(COLORS),
        rows=tuple(rows),
        pools=tuple(bands),
        bars=_joined(bars),
        overlays=_no_ranges(),
        shades=(),
        brackets=tuple(brackets),
        lines=tuple(
            Line(length / 1e9, "boundary", "", name)
            for name, own in lengths.items()
            for length in own
        ),
        overview=(),
        headings=tuple(headings),
    )


def _tracks(run: ZoomableRun, pool: str) -> list[Track]:
    members = run.rows.filter((pl.col("pool") == pool) & pl.col("gpu_data"))["row"].unique()
    return [run.tracks[row] for row in members.sort() if row in run.tracks]


def _row(run: ZoomableRun, pool: str, group: str, number: int, top: float) -> Row:
    """Place the row of a pool; its busy share is that of the summaries, unknown where they are."""
    own = run.summary().filter(~pl.col("partial") & (pl.col("pool") == pool))
    known = len(own) > 0 and not own["busy_ns"].null_count()
    gpus = int(own["gpus"].max() or 0) if len(own) else 0  # type: ignore[arg-type]
    available = int((own["gpus"] * own["duration_ns"]).sum())
    return Row(
        row=number,
        top=top,
        bottom=top + BAND,
        label=f"{gpus} GPU" if gpus == 1 else f"{gpus} GPUs",
        host="",
        pool=pool,  # type: ignore[arg-type]
        gpu_data=known,
        busy_share=float(own["busy_ns"].sum() / max(available, 1)) if known else None,
        details={"run": group},
        role=f"{group} {pool}",
        group=group,
    )


def _mean(tracks: Sequence[Track], iterations: Sequence[Iteration], edges: Int64) -> _Mean:
    busy, count = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1, np.int64)
    times = np.zeros((len(ACTIVITY), len(edges) - 1))
    for track in tracks:
        coverage = Coverage.of(*track.busy)
        for iteration in iterations:
            at = np.minimum(iteration.start_ns + edges, iteration.end_ns)
            busy += coverage.between(at)
            own = track.inside(iteration.start_ns, iteration.end_ns)
            start, end, code = track.events.start_ns(own), track.events.end_ns(own), track.code[own]
            count += np.diff(np.searchsorted(np.sort(start), at))
            for activity in np.unique(code[code < len(ACTIVITY)]):
                chosen = code == activity
                times[activity] += np.diff(_until(start[chosen], end[chosen], at))
    width = np.maximum(np.diff(edges), 1) * max(len(tracks) * len(iterations), 1)
    return _Mean(busy / width, np.argmax(times, axis=0), count)


def _until(start: Int64, end: Int64, at: Int64) -> Float:
    """Give the summed time of events before each moment."""
    return _before(start, at) - _before(end, at)


def _before(moments: Int64, at: Int64) -> Float:
    ordered = np.sort(moments - at[0]).astype(np.float64)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    number = np.searchsorted(ordered, at - at[0])
    return np.asarray(number * (at - at[0]) - sums[number])


def _bars(row: Row, mean: _Mean, edges: Int64, name: int) -> Bars:
    held = np.flatnonzero(mean.share > 0)
    share = mean.share[held]
    number = len(held)
    return Bars(
        left=edges[held] / 1e9,
        right=edges[held + 1] / 1e9,
        top=row.bottom - (row.bottom - row.top) * np.maximum(share, _LEAST_HEIGHT),
        bottom=np.full(number, row.bottom),
        row=np.full(number, row.row, np.int32),
        name=np.full(number, name, np.int32),
        color=COLOR_OF_ACTIVITY[mean.activity[held]].astype(np.int32),
        kind=np.zeros(number, np.int32),
        # Always an aggregate, also where one event reaches over the bucket.
        count=np.maximum(mean.events[held], 2).astype(np.int32),
        busy_s=share * np.diff(edges)[held] / 1e9,
        name_share=np.ones(number),
    )


def _joined(bars: Sequence[Bars]) -> Bars:
    kinds = {"left": float, "right": float, "top": float, "bottom": float}
    kinds |= {"busy_s": float, "name_share": float}
    return Bars(
        **{
            f.name: np.concatenate(
                [np.empty(0, kinds.get(f.name, np.int32)), *(getattr(b, f.name) for b in bars)]
            )
            for f in fields(Bars)
        }
    )


def _no_ranges() -> Overlays:
    real = ("left", "right", "top", "bottom", "parent_share")
    flags = ("truncated", "shown")
    return Overlays(
        **{
            f.name: np.empty(
                0, np.float64 if f.name in real else np.bool_ if f.name in flags else np.int32
            )
            for f in fields(Overlays)
        }
    )

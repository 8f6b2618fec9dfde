"""A run as one trace for Perfetto: all reports merged, on one clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.levels.coverage import Coverage
from rlviz.levels.groups import KINDS
from rlviz.out.packets import counter_packets, first_packet
from rlviz.out.tracks import Tracks, flat, nested
from rlviz.run.capture import captured_by_row
from rlviz.run.nesting import clear_levels
from rlviz.run.rules import SUMMED_POOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun
    from rlviz.reports.read import Detail

    Int64 = NDArray[np.int64]

__all__ = ["write_trace"]

_GPU_WORK: tuple[Detail, ...] = ("kernels", "copies", "graphs")
_COUNTER_STEPS = 2_000


def write_trace(run: ZoomableRun, write: Callable[[bytes], object]) -> None:
    """Write a run as a Perfetto trace.

    Parameters
    ----------
    run : ZoomableRun
        The run; the files of its reports are opened again, one after the other.
    write : callable
        Takes the bytes of the trace, a part at a time.

    Raises
    ------
    UnreadableReport
        The file of a report is not there any more, or it is not the one that was read.

    Notes
    -----
    Times are nanoseconds since the run's start. Where a report starts earlier, the trace starts
    with it; UTC tells second 0 then.
    """
    base_ns = max(-_first_ns(run), 0)
    write(first_packet(run.start_utc_ns, base_ns))
    tracks = Tracks(write, base_ns)
    _write_iterations(run, tracks)
    lanes = _lane_tracks(run, tracks)
    _write_busy_shares(run, tracks, write, base_ns)
    _write_captures(run, tracks, lanes)
    _write_phases(run, tracks, lanes)
    _write_ranges(run, tracks, lanes)
    for kind in _GPU_WORK:
        for frame in run.events.details(kind):
            _write_gpu_work(run, tracks, lanes, kind, frame)


def _first_ns(run: ZoomableRun) -> int:
    starts = [run.reports["window_start_ns"].min(), run.events.ranges["start_ns"].min()]
    starts += [run.events.marks["start_ns"].min()]
    starts += [int(part.start_ns.min()) for part in run.events.parts if len(part.kind)]
    return min(one for one in [0, *starts] if isinstance(one, int))


def _write_iterations(run: ZoomableRun, tracks: Tracks) -> None:
    """Write iterations, and below them training, generation and refit of each, and findings."""
    iterations = run.iterations
    partial = pl.when("partial").then(pl.lit(" (partial)")).otherwise(pl.lit(""))
    named = pl.format("Iteration {}{}", "iteration", partial)
    spans = iterations.select("start_ns", "end_ns", name=named)
    top = _write_spans(tracks, spans, _Place(("iterations",), "Iterations"), "iteration")
    for key, label in (("train", "Train {}"), ("segment", "Gen {}"), ("refit", "Refit {}")):
        # A segment is called by the step whose weights it uses.
        number = pl.coalesce("weights", "iteration") if key == "segment" else pl.col("iteration")
        spans = iterations.select(
            pl.col(f"{key}_start_ns").alias("start_ns"),
            pl.col(f"{key}_end_ns").alias("end_ns"),
            name=pl.format(label, number),
        ).drop_nulls()
        if len(spans):
            place = _Place(("iterations", key), label.removesuffix(" {}"), top)
            _write_spans(tracks, spans, place, "iteration")
    found = run.findings.drop_nulls(["start_ns", "end_ns"]).rename({"text": "name"})
    place = _Place(("findings",), "Findings", top)
    _write_spans(tracks, found.sort("start_ns", "end_ns"), place, "finding")


def _write_busy_shares(
    run: ZoomableRun, tracks: Tracks, write: Callable[[bytes], object], base_ns: int
) -> None:
    """Write how busy the GPUs of each pool are that were captured then, as a counter."""
    busy, captured = run.busy_by_row(), captured_by_row(run.rows, run.reports)
    pools = dict(run.rows.filter("gpu_data").select("row", "pool").iter_rows())
    filled = [(int(start[0]), int(end[-1])) for start, end in busy.values() if len(start)]
    if not filled:
        return
    hull = min(s for s, _ in filled), max(e for _, e in filled)
    edges = np.unique(np.linspace(*hull, _COUNTER_STEPS + 1).astype(np.int64))
    for pool in SUMMED_POOLS:
        members = [row for row, own in pools.items() if own == pool and row in busy]
        if members and len(edges) > 1:
            worked, seen = (
                np.sum([Coverage.of(*spans[row]).between(edges) for row in members], axis=0)
                for spans in (busy, captured)
            )
            # A counter has no gaps: where nobody looked, the windows that were captured tell so.
            percent = np.minimum(100 * worked / np.maximum(seen, 1), 100) * (seen > 0)
            track = tracks.track(("pool", pool), "")
            values = np.append(np.round(percent, 3), 0.0)
            write(counter_packets(edges + base_ns, track, values))


def _lane_tracks(run: ZoomableRun, tracks: Tracks) -> dict[int, int]:
    """Write a track for each pool, in it one for each row, and below it one for each lane."""
    found = {}
    shared = run.rows.group_by("row").len().filter(pl.col("len") > 1)["row"].to_list()
    for one in run.rows.sort("row", "lane").iter_rows(named=True):
        # What is told of a pool as a whole is how busy its GPUs are.
        unit = "% of GPUs busy" if one["pool"] in SUMMED_POOLS else None
        pool = tracks.track(("pool", one["pool"]), f"Pool: {one['pool']}", unit=unit)
        host = f" · {one['host']}" if one["host"] is not None else ""
        told = {
            "host": one["host"],
            "role": one["role"],
            "rank": one["rank"],
            "pid": one["pid"],
            "GPU": one["gpu_name"],
            "bus": one["gpu_bus"],
            "UUID": one["gpu_uuid"],
            "without GPU data:": None if one["gpu_data"] else "its busy time is unknown",
        }
        description = ", ".join(
            f"{key} {value}" for key, value in told.items() if value is not None
        )
        label = " ".join(f"{one['label']}{host}".split())
        row = tracks.track(("row", one["row"]), label, pool, description=description)
        if one["row"] in shared:
            worker = f"{one['role']} (process {one['pid']})"
            row = tracks.track(("lane", one["lane"]), worker, row, description=description)
        found[one["lane"]] = row
    return found


def _write_captures(run: ZoomableRun, tracks: Tracks, lanes: dict[int, int]) -> None:
    """Write when each lane was captured: outside of it nothing is known, which is not idle."""
    windows = run.reports.select("report", start_ns="window_start_ns", end_ns="window_end_ns")
    own = run.rows.select("lane", "report").explode("report").join(windows, on="report")
    own = own.drop_nulls(["start_ns", "end_ns"]).sort("lane", "start_ns", "end_ns")
    for (lane,), frame in own.group_by(["lane"], maintain_order=True):
        place = _Place(("capture", lane), "Captured", lanes[_whole(lane)])
        _write_spans(tracks, frame.with_columns(name=pl.lit("captured")), place, "capture")


def _write_phases(run: ZoomableRun, tracks: Tracks, lanes: dict[int, int]) -> None:
    phases = run.phases().sort("lane", "start_ns", "end_ns")
    for (lane,), frame in phases.group_by(["lane"], maintain_order=True):
        place = _Place(("phases", lane), "Phases", lanes[_whole(lane)])
        _write_spans(tracks, frame.rename({"phase": "name"}), place, "phase")


def _write_ranges(run: ZoomableRun, tracks: Tracks, lanes: dict[int, int]) -> None:
    """Write NVTX ranges and marks: a track for each thread, and one for ranges that do not nest."""
    texts = run.events.texts
    columns = ["lane", "thread", "thread_name", "start_ns", "end_ns", "name", "domain"]
    ranges = run.events.ranges
    pushed = ranges.filter("push_pop").select(*columns, mark=pl.lit(value=False))
    marks = run.events.marks.select(*columns, mark=pl.lit(value=True))
    own = pl.concat([pushed, marks]).sort("lane", "thread", "start_ns", maintain_order=True)
    for (lane, thread), frame in own.group_by(["lane", "thread"], maintain_order=True):
        tid = _whole(thread) & 0xFFFFFF
        name = texts(frame["thread_name"])[0]
        label = f"NVTX: thread {tid}" + (f" {name}" if name is not None else "")
        track = tracks.track(("thread", lane, thread), label, lanes[_whole(lane)])
        start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
        on = np.full(len(frame), track)
        record, time, kind = nested(on, start, end, frame["mark"].to_numpy())
        chosen = frame[record]
        named = texts(chosen["name"])
        tracks.events(time, kind, np.full(len(time), track), named, _domain(run, chosen))
    apart = ranges.filter(~pl.col("push_pop")).sort("lane", "start_ns", maintain_order=True)
    for (lane,), frame in apart.group_by(["lane"], maintain_order=True):
        place = _Place(("start/end", lane), "NVTX: start/end ranges", lanes[_whole(lane)])
        spans = frame.with_columns(texts(frame["name"]), _domain(run, frame))
        _write_spans(tracks, spans, place, "nvtx")


def _domain(run: ZoomableRun, ranges: pl.DataFrame) -> pl.Series:
    return run.events.texts(ranges["domain"]).fill_null("nvtx").alias("category")


def _write_gpu_work(
    run: ZoomableRun, tracks: Tracks, lanes: dict[int, int], kind: Detail, frame: pl.DataFrame
) -> None:
    """Write kernels, copies or graphs of one report, a track for each stream."""
    texts = run.events.texts
    kinds = pl.Series("category", KINDS, pl.String)
    for (lane, stream), own in frame.group_by(["lane", "stream"], maintain_order=True):
        label = "Stream unknown" if stream is None else f"Stream {stream}"
        # Copies may overlap kernels of their stream, so they have a track of their own.
        label += "" if kind == "kernels" else f": {kind}"
        place = _Place(("stream", lane, stream, kind), label, lanes[_whole(lane)])
        short = texts(own["short" if "short" in own.columns else "name"])
        named = own.select("start_ns", "end_ns").with_columns(short.alias("name"))
        if kind == "kernels":
            full = texts(own["name"])
            communicates = run.rules.communication.matches(short)
            category = communicates.cast(pl.Int32).replace_strict(
                [1, 0], [KINDS.index("communication"), KINDS.index("compute")]
            )
            named = named.with_columns(
                full.set(full == short, None).alias("full_name"), kinds.gather(category)
            )
        else:
            category_text = "copy" if kind == "copies" else "graph"
            named = named.with_columns(pl.lit(category_text).alias("category"))
        _write_spans(tracks, named, place, kind)


@dataclass(frozen=True)
class _Place:
    """Where a track belongs: what it is known by, its name, and what it stands below."""

    key: tuple[Hashable, ...]
    name: str
    parent: int = 0


def _write_spans(tracks: Tracks, spans: pl.DataFrame, place: _Place, category: str) -> int:
    """Write spans on a track; those that overlap on siblings of its name, drawn as one with it.

    Parameters
    ----------
    tracks : Tracks
        Writes them.
    spans : polars.DataFrame
        start_ns, end_ns and name, maybe category and full_name; by start.
    place : _Place
        The track.
    category : str
        Their category, where they have no column of it.

    Returns
    -------
    int
        Number of the track, 0 where there are no spans.
    """
    start, end = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    if not len(start):
        return 0
    overlap = (start[1:] < np.maximum.accumulate(end)[:-1]).any()
    level = clear_levels(np.zeros(len(start), np.int64), start, end) if overlap else None
    own = [
        tracks.track((*place.key, number), place.name, place.parent)
        for number in range(1 if level is None else int(level.max()) + 1)
    ]
    record, time, kind = flat(start, end)
    track = np.full(len(record), own[0]) if level is None else np.array(own)[level][record]
    chosen = spans[record]
    if "category" not in spans.columns:
        chosen = chosen.with_columns(category=pl.lit(category))
    full_name = chosen["full_name"] if "full_name" in spans.columns else None
    tracks.events(time, kind, track, chosen["name"], chosen["category"], full_name)
    return own[0]


def _whole(number: object) -> int:
    if not isinstance(number, int):
        message = f"{number!r} is no number of a lane"
        raise TypeError(message)
    return number

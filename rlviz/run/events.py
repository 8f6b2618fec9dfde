"""The events of all reports on the run's clock, in one frame a kind, sorted by row and lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.nesting import clear_levels, depth
from rlviz.run.workers import owner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rlviz.reports.report import Report
    from rlviz.run.workers import Lane, Worker

    Int64 = NDArray[np.int64]

__all__ = ["Events", "collect", "lookup"]

_GPU_KINDS = ("kernels", "copies", "graphs")


@dataclass(frozen=True)
class Events:
    """Events of the whole run.

    Parameters
    ----------
    names : polars.Series of str
        Texts that the code columns (`name`, `short`, `domain`, `thread`) point to.
    workers : tuple of int
        Per lane, its worker: lanes of one process share its ranges, which stand on the first.
    kernels, copies, graphs, ranges, marks : polars.DataFrame
        Columns as in the reports, and row, lane, start_ns, end_ns on the run's clock.
    """

    names: pl.Series
    workers: tuple[int, ...]
    kernels: pl.DataFrame
    copies: pl.DataFrame
    graphs: pl.DataFrame
    ranges: pl.DataFrame
    marks: pl.DataFrame

    def texts(self, codes: pl.Series) -> pl.Series:
        """Look codes up in `names`; null stays null."""
        return lookup(self.names, codes)


def lookup(table: pl.Series, codes: pl.Series) -> pl.Series:
    """Take the entry of `table` for each code; null for null.

    Examples
    --------
    >>> lookup(pl.Series(["a", "b"]), pl.Series("name", [1, None, 0])).to_list()
    ['b', None, 'a']
    """
    if not len(table):
        return codes.cast(table.dtype)
    found = table.gather(codes.fill_null(0)).alias(codes.name)
    return found.set(codes.is_null(), None) if codes.null_count() else found


def collect(
    reports: Sequence[Report],
    offsets_ns: Sequence[int],
    windows_ns: Sequence[tuple[int, int]],
    workers: Sequence[Worker],
    lanes: Sequence[Lane],
) -> Events:
    """Bring the events of all reports together.

    Parameters
    ----------
    reports : sequence of Report
        The reports.
    offsets_ns : sequence of int
        What turns a time of each report into one of the run.
    windows_ns : sequence of (int, int)
        Capture window of each report on the run's clock; it closes ranges that never ended.
    workers, lanes : sequence of Worker, sequence of Lane
        As of `rlviz.run.workers`; rows and lanes get the numbers of `lanes`.
    """
    codes: dict[str, int] = {}
    places = _Places(workers, lanes)
    gathered: dict[str, list[pl.DataFrame]] = {k: [] for k in (*_GPU_KINDS, "ranges", "marks")}
    for index, report in enumerate(reports):
        texts = [codes.setdefault(text, len(codes)) for text in report.names]
        recode = pl.Series(texts, dtype=pl.Int32)
        for kind in _GPU_KINDS:
            frame = getattr(report, kind)
            if frame is not None:
                placed = places.of_activity(index, report, frame)
                gathered[kind].append(_shift(placed, offsets_ns[index], recode))
        threads = _threads(report, codes)
        for kind in ("ranges", "marks"):
            frame = getattr(report, kind)
            if frame is not None:
                placed = places.of_ranges(index, frame).join(threads, on="thread", how="left")
                gathered[kind].append(_shift(placed, offsets_ns[index], recode))
        if report.ranges is not None:
            known = report.start.duration_ns is not None
            gathered["ranges"][-1] = _close(gathered["ranges"][-1], windows_ns[index][1], known)
    frames = {kind: _sorted(kind, parts) for kind, parts in gathered.items()}
    frames["ranges"] = _nest(frames["ranges"])
    names = pl.Series("name", list(codes), dtype=pl.String)
    return Events(names, tuple(lane.worker for lane in lanes), **frames)


class _Places:
    """Row and lane of every (report, process, device)."""

    def __init__(self, workers: Sequence[Worker], lanes: Sequence[Lane]) -> None:
        activity: list[tuple[int, int | None, int | None, int, int]] = []
        first: dict[int, tuple[int, int]] = {}
        for number, lane in enumerate(lanes):
            worker = workers[lane.worker]
            activity += [(r, worker.pid, lane.device, lane.row, number) for r in worker.reports]
            device = lane.device if lane.device is not None else -1
            first.setdefault(lane.worker, (device, number))
            # Ranges stand once: on the worker's first device.
            first[lane.worker] = min(first[lane.worker], (device, number))
        columns = {
            "report": pl.Int64,
            "pid": pl.Int64,
            "device": pl.Int64,
            "row": pl.Int32,
            "lane": pl.Int32,
        }
        self._activity = pl.DataFrame(activity, schema=columns, orient="row")
        numbers = [number for _, number in first.values()]
        self._ranges = self._activity.filter(pl.col("lane").is_in(numbers)).drop("device")

    def of_activity(self, report: int, source: Report, frame: pl.DataFrame) -> pl.DataFrame:
        places = self._activity.filter(pl.col("report") == report).drop("report")
        return frame.with_columns(owner(source, frame).alias("pid")).join(
            places, on=["pid", "device"], how="left", nulls_equal=True
        )

    def of_ranges(self, report: int, frame: pl.DataFrame) -> pl.DataFrame:
        places = self._ranges.filter(pl.col("report") == report).drop("report")
        return frame.join(places, on="pid", how="left", nulls_equal=True)


def _threads(report: Report, codes: dict[str, int]) -> pl.DataFrame:
    named = report.identity.threads
    return pl.DataFrame(
        {
            "thread": list(named),
            "thread_name": [codes.setdefault(n, len(codes)) for n in named.values()],
        },
        schema={"thread": pl.Int64, "thread_name": pl.Int32},
    )


def _shift(frame: pl.DataFrame, offset_ns: int, recode: pl.Series) -> pl.DataFrame:
    """Put times on the run's clock and codes into the run's names."""
    codes = [lookup(recode, frame[c]) for c in ("name", "short", "domain") if c in frame.columns]
    return frame.with_columns(
        *codes,
        (pl.col("start") + offset_ns).alias("start_ns"),
        (pl.col("end" if "end" in frame.columns else "start") + offset_ns).alias("end_ns"),
    ).drop("start", "end", strict=False)


def _close(ranges: pl.DataFrame, window_end_ns: int, window_is_known: bool) -> pl.DataFrame:
    """End the ranges that never ended at the window's end, and mark them."""
    end = pl.col("end_ns")
    # Older nsys itself closes what is open at the stop, at the window's very end.
    closed_by_nsys = (end == window_end_ns) & window_is_known
    last = pl.max_horizontal(pl.lit(window_end_ns), pl.col("start_ns"))
    return ranges.with_columns(
        (end.is_null() | closed_by_nsys).alias("truncated"), end.fill_null(last)
    )


def _sorted(kind: str, parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    frames = list(parts)
    if not frames:
        return _EMPTY[kind]
    # Of two that start together the outer one comes first.
    keys = ["row", "lane", "start_ns", "end_ns"]
    return pl.concat(frames).sort(keys, descending=[False, False, False, True])


def _nest(ranges: pl.DataFrame) -> pl.DataFrame:
    """Add the column `depth`."""
    level = np.zeros(len(ranges), np.int32)
    push_pop = ranges["push_pop"].to_numpy()
    # Threads of different lanes can have equal numbers.
    thread = (ranges["lane"].cast(pl.Int64).to_numpy() << 48) + ranges["thread"].to_numpy()
    start, end = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    level[push_pop] = depth(thread[push_pop], start[push_pop], end[push_pop])
    overlapping = ~push_pop
    level[overlapping] = clear_levels(
        ranges["lane"].cast(pl.Int64).to_numpy()[overlapping], start[overlapping], end[overlapping]
    )
    return ranges.with_columns(pl.Series("depth", level))


def _empty(**columns: type[pl.DataType]) -> pl.DataFrame:
    place = {"row": pl.Int32, "lane": pl.Int32, "start_ns": pl.Int64, "end_ns": pl.Int64}
    return pl.DataFrame(schema={**columns, **place})


_ACTIVITY = {
    "pid": pl.Int64,
    "device": pl.Int64,
    "stream": pl.Int64,
    "correlation_id": pl.Int64,
    "name": pl.Int32,
}
_ANNOTATION = {
    "pid": pl.Int64,
    "thread": pl.Int64,
    "name": pl.Int32,
    "domain": pl.Int32,
    "thread_name": pl.Int32,
}
_EMPTY = {
    "kernels": _empty(**_ACTIVITY, short=pl.Int32, graph_node_id=pl.Int64),
    "copies": _empty(**_ACTIVITY, kind=pl.String, bytes=pl.Int64, direction=pl.String),
    "graphs": _empty(**_ACTIVITY, graph_id=pl.Int64),
    "ranges": _empty(**_ANNOTATION, push_pop=pl.Boolean, truncated=pl.Boolean),
    "marks": _empty(**_ANNOTATION),
}

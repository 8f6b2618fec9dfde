"""The events of all reports on the run's clock, in one frame a kind, sorted by row and lane."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rlviz.reports.launches import read_launches
from rlviz.reports.read import read_details
from rlviz.reports.sums import name_sums
from rlviz.run.gpu_part import GpuPart
from rlviz.run.memo import forgets
from rlviz.run.nesting import clear_levels, depth
from rlviz.run.projection import project
from rlviz.run.sources import Source
from rlviz.run.workers import owner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rlviz.reports.read import Detail
    from rlviz.reports.report import Report
    from rlviz.run.memo import Memo
    from rlviz.run.workers import Lane, Worker

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["Events", "lookup"]


class Events:
    """Events of the whole run; GPU rows in full are read when they are asked for.

    Attributes
    ----------
    workers : tuple of int
        Per lane, its worker: lanes of one process share its ranges, which stand on the first.
    parts : tuple of GpuPart
        The lean GPU rows, a part for each lane and report.
    ranges, marks : polars.DataFrame
        Columns as in the reports, and row, lane, start_ns, end_ns on the run's clock.
    """

    def __init__(
        self,
        reports: Sequence[Report],
        offsets_ns: Sequence[int],
        windows_ns: Sequence[tuple[int, int]],
        workers: Sequence[Worker],
        lanes: Sequence[Lane],
        memo: Memo = forgets,
    ) -> None:
        self._reports = reports
        self._offsets_ns = offsets_ns
        self._windows_ns = windows_ns
        self._codes: dict[str, int] = {}
        self._places = _Places(workers, lanes)
        self.workers: tuple[int, ...] = tuple(lane.worker for lane in lanes)
        self._recodes = [self._recode(report, report.names) for report in reports]
        self.parts: tuple[GpuPart, ...] = tuple(
            part
            for index, report in enumerate(reports)
            for part in _parts(index, report, self._places, offsets_ns[index], self._recodes[index])
        )
        self.ranges: pl.DataFrame
        self.marks: pl.DataFrame
        self.ranges, self.marks, names = memo("ranges", (), self._annotated)
        self._codes = {name: code for code, name in enumerate(names)}

    @property
    def names(self) -> pl.Series:
        """Texts that the code columns (`name`, `short`, `domain`, `thread_name`) point to."""
        return pl.Series("name", list(self._codes), dtype=pl.String)

    @cached_property
    def kernels(self) -> pl.DataFrame:
        """All kernels: row, lane, start_ns, end_ns, and the columns of the reports."""
        return self._details("kernels")

    @cached_property
    def copies(self) -> pl.DataFrame:
        """All memcpys and memsets."""
        return self._details("copies")

    @cached_property
    def graphs(self) -> pl.DataFrame:
        """All graphs that were traced as a whole."""
        return self._details("graphs")

    @cached_property
    def projected_ranges(self) -> pl.DataFrame:
        """`ranges` with gpu_start_ns, gpu_end_ns, gpu_busy_ns and gpu_events of each."""
        frames = [
            report.ranges
            if report.ranges is None
            else report.ranges.hstack(project(report.ranges, read_launches(report)))
            for report in self._reports
        ]
        found = self._annotations("ranges", frames)
        absent = [pl.lit(None, pl.Int64).alias(c) for c in _PROJECTED if c not in found.columns]
        return found.with_columns(absent)

    def texts(self, codes: pl.Series) -> pl.Series:
        """Look codes up in `names`; null stays null."""
        return lookup(self.names, codes)

    def sources(self, row: int) -> list[Source]:
        """Give each report of each process and device that is on a row."""
        return [
            Source(self._reports[report], self._offsets_ns[report], pid, device, lane)
            for report, pid, device, lane in self._places.on(row)
        ]

    def _recode(self, report: Report, texts: Sequence[str]) -> pl.Series:
        codes = [self._codes.setdefault(report.spell(t), len(self._codes)) for t in texts]
        return pl.Series(codes, dtype=pl.Int32)

    def details(self, kind: Detail) -> Iterator[pl.DataFrame]:
        """Read kernels, copies or graphs of one report after the other, and keep none of them.

        Parameters
        ----------
        kind : {"kernels", "copies", "graphs"}
            Which of them; columns as of the property of that name.

        Yields
        ------
        polars.DataFrame
            Those of one report, sorted. `names` has grown by the names that only they have.
        """
        for index, report in enumerate(self._reports):
            if not report.gpu_rows:
                continue
            frame, texts = read_details(report, kind)
            if frame is not None:
                placed = self._places.of_activity(index, report, frame)
                recode = self._recode(report, texts)
                yield _sorted(kind, [_shift(placed, self._offsets_ns[index], recode)])

    def _details(self, kind: Detail) -> pl.DataFrame:
        return _sorted(kind, self.details(kind))

    def _annotated(self) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
        ranges = self._annotations("ranges", [report.ranges for report in self._reports])
        marks = self._annotations("marks", [report.marks for report in self._reports])
        # The names of threads have come last.
        return ranges, marks, tuple(self._codes)

    def _annotations(
        self, kind: Literal["ranges", "marks"], frames: Sequence[pl.DataFrame | None]
    ) -> pl.DataFrame:
        """Bring ranges or marks of all reports together."""
        parts = []
        for index, (report, frame) in enumerate(zip(self._reports, frames, strict=True)):
            if frame is None:
                continue
            threads = self._threads(report)
            placed = self._places.of_ranges(index, frame).join(threads, on="thread", how="left")
            placed = _shift(placed, self._offsets_ns[index], self._recodes[index])
            if kind == "ranges":
                known = report.start.duration_ns is not None
                placed = _close(placed, self._windows_ns[index][1], known)
            parts.append(placed)
        return _nest(_sorted(kind, parts)) if kind == "ranges" else _sorted(kind, parts)

    def _threads(self, report: Report) -> pl.DataFrame:
        named = report.identity.threads
        return pl.DataFrame(
            {"thread": list(named), "thread_name": self._recode(report, list(named.values()))},
            schema={"thread": pl.Int64, "thread_name": pl.Int32},
        )


def _parts(
    index: int, report: Report, places: _Places, offset_ns: int, recode: pl.Series
) -> Iterator[GpuPart]:
    if report.activity is None or report.devices is None:
        return
    sums = name_sums(report.activity, report.devices) if report.sums is None else report.sums
    # Lean rows are sorted by process and device: each lane is one slice of them.
    placed = places.of_activity(index, report, report.devices)
    codes, first = recode.to_numpy(), 0
    for place, (row, lane, count) in enumerate(placed.select("row", "lane", "rows").iter_rows()):
        own = report.activity.slice(first, count)
        summed = sums.filter(pl.col("place") == place)
        yield GpuPart(row, lane, report.entry, first, own, summed, offset_ns, codes)
        first += count


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

    def on(self, row: int) -> Iterator[tuple[int, int | None, int | None, int]]:
        """Give report, process, device and lane of all that is on a row."""
        found = self._activity.filter(pl.col("row") == row).sort("lane", "report")
        yield from found.select("report", "pid", "device", "lane").iter_rows()

    def of_activity(self, report: int, source: Report, frame: pl.DataFrame) -> pl.DataFrame:
        places = self._activity.filter(pl.col("report") == report).drop("report")
        return frame.with_columns(owner(source, frame).alias("pid")).join(
            places, on=["pid", "device"], how="left", nulls_equal=True, maintain_order="left"
        )

    def of_ranges(self, report: int, frame: pl.DataFrame) -> pl.DataFrame:
        places = self._ranges.filter(pl.col("report") == report).drop("report")
        return frame.join(places, on="pid", how="left", nulls_equal=True)


def _shift(frame: pl.DataFrame, offset_ns: int, recode: pl.Series) -> pl.DataFrame:
    """Put times on the run's clock and codes into the run's names."""
    codes = [lookup(recode, frame[c]) for c in ("name", "short", "domain") if c in frame.columns]
    return frame.with_columns(
        *codes,
        (pl.col("start") + offset_ns).alias("start_ns"),
        (pl.col("end" if "end" in frame.columns else "start") + offset_ns).alias("end_ns"),
        *(
            (pl.col(c) + offset_ns).alias(f"{c}_ns")
            for c in ("gpu_start", "gpu_end")
            if c in frame.columns
        ),
    ).drop("start", "end", "gpu_start", "gpu_end", strict=False)


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


_PROJECTED = ("gpu_start_ns", "gpu_end_ns", "gpu_busy_ns", "gpu_events")


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

"""The run: what all reports together say, as polars frames."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import polars as pl

from rlviz.run.activity import activity_of_lanes
from rlviz.run.columns import empty, schema
from rlviz.run.cpu import WithCpuSide
from rlviz.run.findings import find, findings_frame
from rlviz.run.intervals import clip, union
from rlviz.run.memo import forgets
from rlviz.run.metrics import Metrics
from rlviz.run.phases import phase_spans
from rlviz.run.summary import summary, summary_by_gpu
from rlviz.run.top_kernels import top_kernels
from rlviz.run.unknown import reasons
from rlviz.run.windowed import overlapping, wanted_rows
from rlviz.run.within import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rlviz.run.activity import Activity
    from rlviz.run.events import Events
    from rlviz.run.memo import Memo
    from rlviz.run.rules import Rules
    from rlviz.run.story import Story
    from rlviz.run.windowed import Rows

    Int64 = NDArray[np.int64]

__all__ = ["Run"]

T = TypeVar("T")

_SUMMARIES = {"pool": (summary, "summary"), "gpu": (summary_by_gpu, "summary_by_gpu")}


class Run(WithCpuSide):
    """One RL run, read from the reports of its workers. Made by `rlviz.load`.

    Attributes
    ----------
    start_utc_ns : int or None
        UTC of the run's start, second 0 of the chart; None when no report tells.
    clock : str
        How the reports came to one clock, in a line; ``run.reports`` has it for each.
    simulated : bool
        True when a report says that it was made up.
    reports, rows : polars.DataFrame
        A row per report; per lane: ``COLUMNS["reports"]``, ``COLUMNS["rows"]``.
    events, story, rules, memory : Events, Story, Rules, Memo
        What the frames are made of: columns with codes in place of names; refits, segments and
        iterations; what names mean; what was worked out already.

    Notes
    -----
    Every method takes `row` (a number or several; default all), `start_ns` and `end_ns` (a window
    on the run's clock; default all), and gives a frame sorted by row, lane and start. Events that
    overlap the window come whole.
    """

    def __init__(
        self,
        *,
        start_utc_ns: int | None,
        clock: str,
        simulated: bool,
        reports: pl.DataFrame,
        rows: pl.DataFrame,
        diagnostics: pl.DataFrame,
        events: Events,
        rules: Rules,
        story: Story,
        phases: pl.DataFrame,
        memo: Memo = forgets,
    ) -> None:
        self.start_utc_ns = start_utc_ns
        self.clock = clock
        self.simulated = simulated
        self.reports = reports
        self.rows = rows
        self.events = events
        self.rules = rules
        self.story = story
        self.memory = memo
        self._remembered: dict[str, Any] = {}
        self._phases = phases
        self._diagnostics = diagnostics

    def __repr__(self) -> str:
        rows = self.rows["row"].n_unique()
        read = self.reports.filter(pl.col("status") != "unreadable")
        last, first = read["window_end_ns"].max(), read["window_start_ns"].min()
        seconds = (last - first) / 1e9 if isinstance(last, int) and isinstance(first, int) else 0.0
        made_up = ", simulated" if self.simulated else ""
        return f"Run({rows} rows, {len(read)} reports, {seconds:.1f} s{made_up})"

    def release(self) -> None:
        """Let go of what numbers were made of, which takes as much memory as all events.

        It is made again when a number is asked for that was not asked for before.
        """
        for name in ("metrics", "_busy_by_row", "_busy_by_lane"):
            self.__dict__.pop(name, None)
        for part in self.events.parts:
            part.release()

    def remember(self, name: str, classes: Sequence[type], make: Callable[[], T]) -> T:
        """Give a value that was made before, in this process or an earlier one, else make it.

        Parameters
        ----------
        name, classes, make
            As of `rlviz.run.memo.Memo`; a name stands for one value of a run.
        """
        if name not in self._remembered:
            self._remembered[name] = self.memory(name, classes, make)
        value: T = self._remembered[name]
        return value

    def is_remembered(self, name: str, value: object) -> bool:
        """Tell whether `value` is the one that is remembered under a name."""
        return self._remembered.get(name) is value

    def kernels(
        self, *, row: Rows = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pl.DataFrame:
        """Kernels, columns as ``COLUMNS["kernels"]``.

        Examples
        --------
        >>> import rlviz
        >>> rlviz.load("demo-reports").kernels(row=0, start_ns=0, end_ns=10**9).columns[:4]
        ['row', 'lane', 'start_ns', 'end_ns']
        """
        found = overlapping(self.events.kernels, row, start_ns, end_ns)
        return self._named("kernels", found.rename({"short": "short_name"}))

    def copies(
        self, *, row: Rows = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pl.DataFrame:
        """Memcpys and memsets, columns as ``COLUMNS["copies"]``."""
        return self._named("copies", overlapping(self.events.copies, row, start_ns, end_ns))

    def graphs(
        self, *, row: Rows = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pl.DataFrame:
        """CUDA graphs that were traced as a whole, columns as ``COLUMNS["graphs"]``."""
        return self._named("graphs", overlapping(self.events.graphs, row, start_ns, end_ns))

    def ranges(
        self,
        *,
        row: Rows = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
        projected: bool = False,
    ) -> pl.DataFrame:
        """NVTX ranges; each once, on its worker's first lane.

        Parameters
        ----------
        row, start_ns, end_ns
            As for every method.
        projected : bool
            Also give the GPU work that was launched in each push/pop range, by correlation id and
            thread; the reports are opened again for it. Kernels of the backward pass are launched
            by a thread of autograd's, so they are in no range of the main thread.

        Returns
        -------
        polars.DataFrame
            Columns as ``COLUMNS["ranges"]``, and with `projected` those of
            ``COLUMNS["projected"]``: null where no GPU work was launched.
        """
        events = self.events.projected_ranges if projected else self.events.ranges
        found = overlapping(events, row, start_ns, end_ns)
        kind = pl.when(pl.col("push_pop")).then(pl.lit("push_pop")).otherwise(pl.lit("start_end"))
        found = _threads(found.with_columns(kind.alias("kind")))
        extra = list(schema("projected")) if projected else []
        return self._named("ranges", found).hstack(found.select(extra))

    def marks(
        self, *, row: Rows = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pl.DataFrame:
        """NVTX marks, columns as ``COLUMNS["marks"]``; `end_ns` equals `start_ns`."""
        found = overlapping(self.events.marks, row, start_ns, end_ns)
        return self._named("marks", _threads(found))

    def busy(
        self,
        *,
        row: Rows = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
        by: Literal["lane", "row"] = "lane",
    ) -> pl.DataFrame:
        """Busy time: the union of kernels, copies, sets and graph launches over all streams.

        Parameters
        ----------
        row, start_ns, end_ns
            As for every method; intervals are cut to the window, so their sum is its busy time.
        by : {"lane", "row"}
            Union over a lane, or over all lanes of a row (`lane` is null then): what to take for
            GPUs that several workers share.

        Returns
        -------
        polars.DataFrame
            row, lane, start_ns, end_ns; disjoint and ascending. A lane without GPU data has no
            rows here, and its busy time is unknown: ``run.rows["gpu_data"]``.
        """
        if by not in ("lane", "row"):
            message = f"by={by!r} is none of 'lane' and 'row'"
            raise ValueError(message)
        spans = self._busy_by_row if by == "row" else self._busy_by_lane
        wanted = wanted_rows(row)
        parts = []
        for (number, lane), (start, end) in spans.items():
            if wanted is None or number in wanted:
                start, end = clip(start, end, start_ns, end_ns)
                parts.append(
                    pl.DataFrame({"start_ns": start, "end_ns": end}).with_columns(
                        pl.lit(number).cast(pl.Int32).alias("row"),
                        pl.lit(lane).cast(pl.Int32).alias("lane"),
                    )
                )
        columns = list(schema("busy"))
        return pl.concat([empty("busy"), *(part.select(columns) for part in parts)])

    @cached_property
    def diagnostics(self) -> pl.DataFrame:
        """What the reports lack and why numbers are null, as ``COLUMNS["diagnostics"]``."""
        found = [(d.severity, d.report, d.kind, d.message, d.count) for d in reasons(self.metrics)]
        known = set(self._diagnostics.select("kind", "report").iter_rows())
        new = [line for line in found if (line[2], line[1]) not in known]
        return pl.concat(
            [self._diagnostics, pl.DataFrame(new, schema=schema("diagnostics"), orient="row")]
        )

    @cached_property
    def metrics(self) -> Metrics:
        """What the numbers of the run are made of."""
        return Metrics(
            events=self.events,
            activity=lambda: self.lane_activity,
            rows=self.rows,
            reports=self.reports,
            diagnostics=self._diagnostics,
            rules=self.rules,
            iterations=self.story.iterations,
            refits=self.story.refits,
            phases=self.lane_phases,
        )

    def summary(self, *, by: Literal["pool", "gpu"] = "pool") -> pl.DataFrame:
        """Sum up each iteration: busy and idle time, overlap, refit, stragglers, phases.

        Parameters
        ----------
        by : {"pool", "gpu"}
            A row per iteration and pool, or per iteration and GPU.

        Returns
        -------
        polars.DataFrame
            Columns as ``COLUMNS["summary"]`` or ``COLUMNS["summary_by_gpu"]``; times of a pool are
            sums over its GPUs. A number that the reports cannot give is null, and
            `diagnostics` says why. The page Definitions defines them.
        """
        if by not in ("pool", "gpu"):
            message = f"by={by!r} is none of 'pool' and 'gpu'"
            raise ValueError(message)
        make, name = _SUMMARIES[by]
        return self.remember(name, (), lambda: make(self.metrics))

    def gaps(
        self, *, row: Rows = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pl.DataFrame:
        """Idle time that overlaps the window, columns as ``COLUMNS["gaps"]``.

        Rows whose idle time is unknown have none here.
        """
        return overlapping(self.metrics.gaps(), row, start_ns, end_ns)

    def top_kernels(
        self, *, row: Rows = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pl.DataFrame:
        """Kernels by the time they take in the window, columns as ``COLUMNS["top_kernels"]``."""
        return top_kernels(self.events, rows=wanted_rows(row), start_ns=start_ns, end_ns=end_ns)

    @cached_property
    def findings(self) -> pl.DataFrame:
        """What costs the run time, worst first, columns as ``COLUMNS["findings"]``.

        Each has its number, its row and its place; the page Findings defines them.
        """
        return self.remember("findings", (), lambda: findings_frame(find(self)))

    @property
    def framework(self) -> str | None:
        """Who made the run, by the names of its ranges; None when nothing tells."""
        return self.rules.framework(self.events.texts(self.events.ranges["name"].unique()))

    @property
    def iterations(self) -> pl.DataFrame:
        """Iterations of the run, columns as ``COLUMNS["iterations"]``."""
        none = (None, None)
        records = [
            (
                i.number,
                i.start_ns,
                i.end_ns,
                i.boundary[1],
                i.boundary[0],
                *(i.train or none),
                *(i.segment_span or none),
                i.weights,
                *(i.refit.span if i.refit is not None else none),
                not i.complete,
            )
            for i in self.story.iterations
        ]
        return pl.DataFrame(records, schema=schema("iterations"), orient="row")

    def phases(
        self, *, row: Rows = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pl.DataFrame:
        """Phases that overlap the window, columns as ``COLUMNS["phases"]``."""
        found = overlapping(self._phases, row, start_ns, end_ns)
        return found.select(pl.col(n).cast(dtype) for n, dtype in schema("phases").items())

    @cached_property
    def lane_phases(self) -> dict[int, dict[str, tuple[Int64, Int64]]]:
        """Spans of each phase by lane, as of `rlviz.run.phases.phase_spans`."""
        return phase_spans(self._phases, self.events.workers)

    @property
    def lane_activity(self) -> dict[int, Activity]:
        """What each lane did; one without GPU data is absent."""
        return activity_of_lanes(self.events, self.rules)

    def busy_by_row(
        self, start_ns: int | None = None, end_ns: int | None = None
    ) -> dict[int, tuple[Int64, Int64]]:
        """Busy spans of each row that has GPU data: what `busy` has of rows, in no frame."""
        spans = {row: own for (row, _), own in self._busy_by_row.items()}
        cut = start_ns is not None or end_ns is not None
        return {r: clip(*own, start_ns, end_ns) for r, own in spans.items()} if cut else spans

    @cached_property
    def _busy_by_lane(self) -> dict[tuple[int, int | None], tuple[Int64, Int64]]:
        row_of_lane = self.rows["row"].to_list()
        spans = {(row_of_lane[lane], lane): own.busy for lane, own in self.lane_activity.items()}
        return dict(sorted(spans.items()))

    @cached_property
    def _busy_by_row(self) -> dict[tuple[int, int | None], tuple[Int64, Int64]]:
        lanes: dict[int, list[tuple[Int64, Int64]]] = defaultdict(list)
        for (row, _), busy in self._busy_by_lane.items():
            lanes[row].append(busy)
        return {
            (row, None): own[0] if len(own) == 1 else union(*joined(own))
            for row, own in lanes.items()
        }

    def _named(self, frame: str, events: pl.DataFrame) -> pl.DataFrame:
        """Turn codes into texts, and give the documented columns in their order."""
        coded = [
            self.events.texts(events[column])
            for column in ("name", "short_name", "domain", "thread")
            if column in events.columns
        ]
        return events.with_columns(coded).select(
            pl.col(name).cast(dtype) for name, dtype in schema(frame).items()
        )


def _threads(events: pl.DataFrame) -> pl.DataFrame:
    tid = (pl.col("thread") & 0xFFFFFF).alias("tid")
    return events.with_columns(tid).drop("thread").rename({"thread_name": "thread"})

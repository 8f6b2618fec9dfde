"""Rows from spans: kernels, copies and the calls that launched them, as columns.

A span of compute is covered exactly, end to start on the main stream, so that the union of the rows
is the union of the spans; kernels on other streams lie inside it, so that the sum is larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rlviz.demo.kernels import KERNELS, SIDE_KERNELS, Kernel
from rlviz.demo.plan import Report, Spans, Stage
from rlviz.demo.shape import US

if TYPE_CHECKING:
    from rlviz.demo.intervals import Int64

__all__ = ["Activity", "KernelRows", "Launches", "activity_of"]

MAIN_STREAM, SIDE_STREAMS, COLLECTIVE_STREAM, COPY_STREAM = 7, (14, 15), 20, 23
_AUTOGRAD_THREAD = 1
_FIRST_CORRELATION = 4_001


@dataclass
class KernelRows:
    """Kernels of one report; times on the true clock, `kernel` an index into `kinds`.

    `node` is the place in the CUDA graph that launched it, -1 outside graphs.
    """

    kinds: list[Kernel]
    kernel: Int64
    start: Int64
    end: Int64
    stream: Int64
    node: Int64
    correlation: Int64


@dataclass
class Launches:
    """Calls of the CUDA runtime; `api` is an index into `apis`."""

    apis: list[str]
    api: Int64
    start: Int64
    end: Int64
    thread: Int64
    correlation: Int64


@dataclass
class Activity:
    """Everything of a report that has to do with the GPU; copies, sets and graphs are spans."""

    kernels: KernelRows
    copies: Spans
    copy_correlation: Int64
    sets: Spans
    set_correlation: Int64
    graphs: Spans
    graph_correlation: Int64
    launches: Launches


class _Piles:
    """Columns that grow block by block."""

    def __init__(self, count: int) -> None:
        self.columns: list[list[npt.NDArray[np.int64]]] = [[] for _ in range(count)]

    def add(self, length: int, *values: Int64 | int) -> None:
        for column, value in zip(self.columns, values, strict=True):
            column.append(np.broadcast_to(np.asarray(value, np.int64), (length,)))

    def joined(self) -> list[Int64]:
        return [
            np.concatenate(column) if column else np.empty(0, np.int64) for column in self.columns
        ]


def activity_of(report: Report, graph_trace: str, rng: np.random.Generator) -> Activity:
    """Cover the spans of a report with rows."""
    spans = report.spans
    maker = _Maker(rng, _FIRST_CORRELATION)
    graphs, graph_correlation = Spans.none(), np.empty(0, np.int64)
    for stage in Stage:
        chosen = spans.where(spans.of(stage))
        if not len(chosen.start) or stage >= Stage.COPY_IN:
            continue
        if stage is Stage.DECODE and graph_trace != "node":
            graph_correlation = maker.called(chosen.start, "cudaGraphLaunch_v10000", 0)
            graphs = chosen if graph_trace == "graph" else graphs
        elif stage >= Stage.ALL_GATHER:
            maker.collectives(stage, chosen)
        else:
            for parts in np.unique(chosen.parts).tolist():
                maker.compute(stage, chosen.where(chosen.parts == parts), parts)
            maker.beside(stage, chosen.where(chosen.side > 0))
    copies = spans.where(spans.of(Stage.COPY_IN, Stage.COPY_OUT, Stage.COPY_ON))
    sets = spans.where(spans.of(Stage.SET))
    return Activity(
        maker.kernels(),
        copies,
        maker.called(copies.start, "cudaMemcpyAsync_v3020", 0),
        sets,
        maker.called(sets.start, "cudaMemsetAsync_v3020", 0),
        graphs,
        graph_correlation if len(graphs.start) else graph_correlation[:0],
        maker.launches(),
    )


class _Maker:
    def __init__(self, rng: np.random.Generator, correlation: int) -> None:
        self.rng = rng
        self.correlation = correlation
        self.kinds: dict[Kernel, int] = {}
        self.apis: dict[str, int] = {}
        self.kernel_piles = _Piles(6)
        self.launch_piles = _Piles(5)

    def kernels(self) -> KernelRows:
        columns = self.kernel_piles.joined()
        order = np.argsort(columns[1], kind="stable")
        return KernelRows(list(self.kinds), *(column[order] for column in columns))

    def launches(self) -> Launches:
        columns = self.launch_piles.joined()
        order = np.argsort(columns[1], kind="stable")
        return Launches(list(self.apis), *(column[order] for column in columns))

    def called(
        self, before: Int64, api: str, thread: Int64 | int, lead_us: tuple[int, int] = (8, 16)
    ) -> Int64:
        """Add a call shortly before each of the moments; return its correlation ids."""
        count = len(before)
        lead = self.rng.integers(lead_us[0] * US, lead_us[1] * US, count)
        lasts = self.rng.integers(3 * US, 6 * US, count)
        ids = self.correlation + np.arange(count)
        self.correlation += count
        number = self.apis.setdefault(api, len(self.apis))
        start = before - lead
        self.launch_piles.add(count, number, start, start + lasts, thread, ids)
        return ids

    def collectives(self, stage: Stage, spans: Spans) -> None:
        kind = KERNELS[stage][0]
        thread = _AUTOGRAD_THREAD if stage is Stage.REDUCE_SCATTER else 0
        ids = self.called(spans.start, kind.api, thread)
        number = self.kinds.setdefault(kind, len(self.kinds))
        self.kernel_piles.add(len(ids), number, spans.start, spans.end, COLLECTIVE_STREAM, -1, ids)

    def compute(self, stage: Stage, spans: Spans, parts: int) -> None:
        """Cover each span with `parts` kernels, end to start."""
        kinds = _chosen(KERNELS[stage], parts)
        count = len(spans.start)
        weight = np.array([kind.weight for kind in kinds])
        share = self.rng.uniform(0.75, 1.25, (count, parts)) * weight
        share /= share.sum(axis=1, keepdims=True)
        inner = np.cumsum(share, axis=1)[:, :-1] * (spans.end - spans.start)[:, None]
        bounds = np.column_stack(
            (spans.start, spans.start[:, None] + inner.astype(np.int64), spans.end)
        )
        graph = stage is Stage.DECODE
        thread = _AUTOGRAD_THREAD if stage is Stage.BACKWARD else 0
        # One launch starts a whole graph: its kernels share the launch's id.
        shared = self.called(spans.start, "cudaGraphLaunch_v10000", 0) if graph else None
        for place, kind in enumerate(kinds):
            starts = bounds[:, place]
            # The CPU runs ahead of the GPU: kernels of a span are launched in a burst.
            burst = np.minimum(starts, spans.start + place * 7 * US)
            ids = shared if shared is not None else self.called(burst, kind.api, thread, (8, 10))
            number = self.kinds.setdefault(kind, len(self.kinds))
            node = place + 1 if graph else -1
            self.kernel_piles.add(
                count, number, starts, bounds[:, place + 1], MAIN_STREAM, node, ids
            )

    def beside(self, stage: Stage, spans: Spans) -> None:
        """Add kernels on the side streams, inside their spans."""
        if not len(spans.start):
            return
        length = spans.end - spans.start
        kinds = SIDE_KERNELS[stage]
        thread = _AUTOGRAD_THREAD if stage is Stage.BACKWARD else 0
        for index, kind in enumerate(kinds):
            mine = np.arange(len(length)) % len(kinds) == index
            start = spans.start[mine] + (length[mine] * self.rng.uniform(0.3, 0.4)).astype(np.int64)
            end = start + (length[mine] * self.rng.uniform(0.1, 0.3)).astype(np.int64)
            ids = self.called(start, kind.api, thread)
            number = self.kinds.setdefault(kind, len(self.kinds))
            stream = SIDE_STREAMS[index % len(SIDE_STREAMS)]
            if len(kinds) == 1:
                stream = SIDE_STREAMS[stage is Stage.BACKWARD]
            self.kernel_piles.add(len(ids), number, start, end, stream, -1, ids)


def _chosen(kinds: tuple[Kernel, ...], parts: int) -> list[Kernel]:
    """Give `parts` of the kernels in their order: the heaviest, or all of them again and again."""
    if parts >= len(kinds):
        return [kinds[index % len(kinds)] for index in range(parts)]
    heaviest = sorted(range(len(kinds)), key=lambda index: -kinds[index].weight)[:parts]
    return [kinds[index] for index in sorted(heaviest)]

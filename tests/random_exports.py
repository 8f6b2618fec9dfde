"""Random small exports, and sweeps too dumb to be wrong to hold a reader of them against.

The real reports have one stream a device and no graphs: on them a sum of durations equals the
union. Here streams overlap, graphs run beside kernels, ranges end on other threads or never, and
some rows are rubbish.
"""

from __future__ import annotations

from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from hypothesis import strategies as st

import rlviz
from tests.exports import Export

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rlviz import Run

UNIT = 1_000_000
LAST = 40
WINDOW_NS = (LAST + 10) * UNIT
HOUR_NS = 3_600_000_000_000

# the second device of one worker is the first of the other: they share a GPU
GPUS = {(100, 0): "gpu-a", (100, 1): "gpu-b", (200, 0): "gpu-b"}

Span = tuple[int, int]


class Work(NamedTuple):
    """A row of GPU work."""

    kind: str
    start: Any
    end: Any
    worker: tuple[int, int]
    stream: int


class Range(NamedTuple):
    """An NVTX range; `end` None when it was never closed."""

    start: int
    end: int | None
    thread: int
    domain: int
    end_thread: int | None


@st.composite
def spans(draw: st.DrawFn, shortest: int = 0) -> Span:
    start = draw(st.integers(1, LAST))
    return start * UNIT, (start + draw(st.integers(shortest, 9))) * UNIT


@st.composite
def work(draw: st.DrawFn) -> Work:
    start, end = draw(spans())
    kind = draw(st.sampled_from(["kernel", "copy", "memset", "graph"]))
    return Work(kind, start, end, draw(st.sampled_from(list(GPUS))), draw(st.integers(7, 9)))


@st.composite
def rubbish(draw: st.DrawFn) -> Work:
    start, end = draw(
        st.sampled_from(
            [
                (5 * UNIT, 4 * UNIT),
                (0, 0),
                (HOUR_NS, HOUR_NS + UNIT),
                (-2 * HOUR_NS, UNIT - 2 * HOUR_NS),
                (3 * UNIT, HOUR_NS),
                (-HOUR_NS, 3 * UNIT),
                (3 * UNIT, None),
                (3 * UNIT, "soon"),
                (3.5, 7 * UNIT),
                (2**63 - 2, 2**63 - 1),
                (1e30, 2e30),
            ]
        )
    )
    return draw(work())._replace(start=start, end=end)


@st.composite
def loose_ranges(draw: st.DrawFn) -> list[Range]:
    """Ranges in any position: inside, across and beside each other."""
    found = []
    for _ in range(draw(st.integers(0, 12))):
        start, end = draw(spans(shortest=1))
        closed = draw(st.integers(0, 4)) > 0
        place = st.integers(0, 1)
        found.append(
            Range(
                start,
                end if closed else None,
                draw(place),
                draw(place),
                draw(st.none() | place) if closed else None,
            )
        )
    return found


@st.composite
def nested_ranges(draw: st.DrawFn) -> list[tuple[Range, int]]:
    """Ranges of two threads as a stack makes them, each with its depth."""
    found = []
    for thread in (0, 1):
        now = UNIT
        stack: list[tuple[int, int, int]] = []
        for push in draw(st.lists(st.booleans(), max_size=16)):
            if push:
                now += draw(st.integers(0, 2)) * UNIT
                stack.append((now, len(stack), draw(st.integers(0, 2))))
            elif stack:
                now += draw(st.integers(1, 2)) * UNIT
                start, depth, domain = stack.pop()
                found.append((Range(start, now, thread, domain, None), depth))
        found += [(Range(start, None, thread, domain, None), d) for start, d, domain in stack]
    return found


windows = st.tuples(st.integers(0, LAST + 5), st.integers(1, 20)).map(
    lambda pair: (pair[0] * UNIT, (pair[0] + pair[1]) * UNIT)
)


# -- an export of it -------------------------------------------------------------------------


_FOLDER = TemporaryDirectory(prefix="rlviz-tests-")  # a run may read its reports again later
_numbers = count()


def load(fill: Callable[[Export], None], duration_ns: int | None = WINDOW_NS) -> Run:
    """Load an export of two workers on two GPUs, filled by `fill`."""
    path = Path(_FOLDER.name) / f"{next(_numbers)}" / "worker_100.sqlite"
    with Export(path, pid=100, duration_ns=duration_ns) as export:
        export.gpu("gpu-a", "0000:19:00.0", number=0, device=0, pid=100)
        export.gpu("gpu-b", "0000:3a:00.0", number=1, device=1, pid=100)
        export.row("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=0, pid=200)
        fill(export)
    return rlviz.load(path)


def write_work(export: Export, works: Iterable[Work]) -> None:
    """Write GPU work; some launches have two RUNTIME rows, as in old exports."""
    kinds: dict[str, Callable[..., int]] = {
        "kernel": export.kernel,
        "copy": export.copy,
        "memset": export.memset,
        "graph": export.graph,
    }
    for item in works:
        pid, device = item.worker
        where = {"stream": item.stream, "device": device, "pid": pid}
        correlation = kinds[item.kind](item.start, item.end, **where)
        if item.stream == 8:
            for name in ("cudaLaunchKernel", "cudaLaunchKernel_v7000"):
                export.runtime(1, 2, name, correlation=correlation, pid=pid)


def write_ranges(add: Callable[..., None], ranges: Iterable[Range]) -> None:
    """Write ranges by `Export.push_pop` or `Export.start_end`."""
    for item in ranges:
        end_tid = None if item.end_thread is None else 100 + item.end_thread
        where = {"tid": 100 + item.thread, "domain": item.domain, "end_tid": end_tid}
        add(item.start, item.end, f"range {item.domain}", **where)


# -- the sweeps ------------------------------------------------------------------------------


def sweep(pieces: Iterable[Span]) -> list[Span]:
    """Union by looking at every stretch between two neighbouring times."""
    pieces = list(pieces)
    times = sorted({time for piece in pieces for time in piece})
    merged: list[Span] = []
    for left, right in pairwise(times):
        if any(start <= left and right <= end for start, end in pieces):
            if merged and merged[-1][1] == left:
                merged[-1] = (merged[-1][0], right)
            else:
                merged.append((left, right))
    return merged


def overlaps(start: int, end: int, window: Span) -> bool:
    """Share time with [from, to); what has no length must lie inside."""
    return start < window[1] and (end > window[0] or start >= window[0])


def closed(ranges: Iterable[Range]) -> list[Span]:
    """Close ranges that are open at the stop there."""
    return [(item.start, WINDOW_NS if item.end is None else item.end) for item in ranges]


def most_at_once(pieces: Iterable[Span]) -> int:
    pieces = list(pieces)
    return max((sum(start <= time < end for start, end in pieces) for time, _ in pieces), default=0)


def lanes(run: Run) -> dict[int, tuple[str, int]]:
    """Give the GPU and the process of each lane."""
    return {lane["lane"]: (lane["gpu_uuid"], lane["pid"]) for lane in run.rows.to_dicts()}


def everything(run: Run, **window: int | None) -> pl.DataFrame:
    columns = ["row", "lane", "start_ns", "end_ns", "stream", "pid", "device"]
    frames = [run.kernels(**window), run.copies(**window), run.graphs(**window)]
    together: pl.DataFrame = pl.concat([frame.select(columns) for frame in frames])
    return together

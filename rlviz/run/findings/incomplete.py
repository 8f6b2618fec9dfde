"""What the trace lacks, so that numbers are unknown or cannot be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rlviz.run.findings.finding import Finding
from rlviz.run.gpu_time import LOST_GRAPHS, NO_GPU_DATA
from rlviz.run.overlap import NO_GPUS
from rlviz.run.rules import TRAINING_ROLES
from rlviz.run.words import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.run.run import Run

    _Said = tuple[str, int | None]

__all__ = ["incomplete_trace", "workers_are_missing"]

_MISSING_RANKS = "missing-ranks"
_MISSING_CAPTURES = "missing-captures"
_NOTHING = "nothing-traced"
_APART = ("clock-ambiguous", "clock-far")
_NOT_ALIGNED = "not-aligned"
# A file that is no export at all is no report that is missing.
_UNREAD = ("unreadable", "unfinished-capture", "export-needed")
_MOST_NAMES = 3


def incomplete_trace(run: Run) -> list[Finding]:
    """Say what the trace lacks, what is lacking most first.

    Nothing is said of workers that have no part in pool numbers, such as a controller.

    Parameters
    ----------
    run : Run
        The run.
    """
    said = [
        *_missing_ranks(run),
        *_missing_captures(run),
        *_unread(run),
        *_apart(run),
        *_untraced(run),
        *_without_gpu_rows(run),
        *_without_graphs(run),
        *_without_a_pool(run),
        *_not_aligned(run),
    ]
    place = _hull(run)
    return [Finding("incomplete-trace", text, None, *place, row=row) for text, row in said]


def workers_are_missing(run: Run) -> bool:
    """Tell whether others may wait for a worker that is in no number."""
    return bool(_missing_ranks(run) or _unread(run) or _apart(run))


def _missing_ranks(run: Run) -> list[_Said]:
    missing = run.diagnostics.filter(
        (pl.col("kind") == _MISSING_RANKS) & (pl.col("severity") == "warning")
    )
    return [(_first_sentence(message), None) for message in missing["message"]]


def _missing_captures(run: Run) -> list[_Said]:
    missing = run.diagnostics.filter(pl.col("kind") == _MISSING_CAPTURES)
    return [
        (f"{_reports([report])}: {_first_sentence(message)}", _row_of(run, [report]))
        for report, message in missing.select("report", "message").iter_rows()
    ]


def _unread(run: Run) -> list[_Said]:
    lost = [report for kind in _UNREAD for report in _reports_with(run, kind)]
    if not lost:
        return []
    text = f"{_reports(lost)} could not be read: what is in it is in no number."
    return [(text, None)]


def _apart(run: Run) -> list[_Said]:
    lost = [report for kind in _APART for report in _reports_with(run, kind)]
    if not lost:
        return []
    text = (
        f"{_reports(lost)} is set apart and in no number: its place on the time axis is unknown. "
        "Say it with offsets=."
    )
    return [(text, None)]


def _untraced(run: Run) -> list[_Said]:
    lost = _reports_with(run, _NOTHING)
    if not lost:
        return []
    text = f"In {_reports(lost, '')} nothing was traced: what its process did is unknown."
    return [(text, None)]


def _without_gpu_rows(run: Run) -> list[_Said]:
    blind = _reports_with(run, NO_GPU_DATA)
    if blind and not run.rows["gpu_data"].any():
        return [("No report has GPU rows: busy and idle time of every GPU are unknown.", None)]
    lanes = run.rows.filter(pl.col("role").is_in(["generation", *TRAINING_ROLES]))
    said: list[_Said] = []
    own: list[str] = lanes["report"].explode().unique().sort().to_list()
    lost = [report for report in own if report in blind]
    if lost:
        text = f"{_reports(lost)} has no GPU rows: what its GPUs did meanwhile is unknown."
        said.append((text, _row_of(run, lost)))
    hidden = lanes.filter(
        ~pl.col("gpu_data") & ~pl.col("report").list.eval(pl.element().is_in(blind)).list.any()
    )
    if len(hidden):
        who = listed(hidden["label"].to_list(), _MOST_NAMES)
        text = f"No GPU rows of {who}, though others in the report have some: their busy and idle "
        row = hidden["row"][0] if len(hidden) == 1 else None
        said.append((f"{text}time are unknown.", row))
    return said


def _without_graphs(run: Run) -> list[_Said]:
    lost = [gpu for gpu in run.metrics.gpus if gpu.unknown == LOST_GRAPHS]
    if not lost:
        return []
    who = listed([" ".join(gpu.label.split()) for gpu in lost], _MOST_NAMES)
    text = (
        f"CUDA graphs of {who} left no rows: busy and idle time there are unknown, and all numbers "
        "of their pool with them. Capture with --cuda-graph-trace=node."
    )
    return [(text, lost[0].row if len(lost) == 1 else None)]


def _without_a_pool(run: Run) -> list[_Said]:
    reasons = run.metrics.pools.reasons
    absent = [pool for pool, kind in NO_GPUS.items() if reasons.get(pool) == kind]
    # Without either pool this is no RL run, or its GPU rows are missing altogether: said above.
    if len(absent) != 1:
        return []
    text = (
        f"No report has GPU rows of a {absent[0]} worker: what the pools do at the same time is "
        "unknown."
    )
    return [(text, None)]


def _not_aligned(run: Run) -> list[_Said]:
    lost = _reports_with(run, _NOT_ALIGNED)
    if not lost:
        return []
    text = f"{_reports(lost)} has no start time: its place on the time axis is unknown."
    return [(text, _row_of(run, lost))]


def _first_sentence(message: str) -> str:
    """Leave out how to capture better: the diagnostic says it."""
    return message.partition(". ")[0].removesuffix(".") + "."


def _reports_with(run: Run, kind: str) -> list[str]:
    found: list[str] = (
        run.diagnostics.filter(pl.col("kind") == kind)["report"].drop_nulls().to_list()
    )
    return found


def _row_of(run: Run, reports: Sequence[str]) -> int | None:
    """Give the row that the reports are of, if it is only one."""
    own = run.rows.explode("report").filter(pl.col("report").is_in(list(reports)))
    rows: list[int] = own["row"].unique().to_list()
    return rows[0] if len(rows) == 1 else None


def _reports(keys: Sequence[str], which: str = "Each of ") -> str:
    if len(keys) == 1:
        return f"Report {keys[0]}" if which else f"report {keys[0]}"
    return f"{which}{len(keys)} reports ({listed(keys, _MOST_NAMES)})"


def _hull(run: Run) -> tuple[int | None, int | None]:
    """Give first start and last end of what was captured of any GPU, else of any worker."""
    windows = run.reports.filter(pl.col("status") != "apart")
    with_gpus = windows.filter(pl.col("kernels").is_not_null())
    windows = with_gpus if len(with_gpus) else windows
    first, last = windows["window_start_ns"].min(), windows["window_end_ns"].max()
    if not isinstance(first, int) or not isinstance(last, int):
        return None, None
    return first, last

"""What a span of time sums up to: its kernels, and how long each row is busy in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rlviz.run.intervals import total
from rlviz.view.legible import legible
from rlviz.view.windows import window_ns

if TYPE_CHECKING:
    from rlviz.run.run import Run
    from rlviz.view.asked import Span

__all__ = ["MOST_KERNELS", "busy_in", "kernels_in"]

MOST_KERNELS = 20
"""So many kernels are told of by name; the others as one sum."""


def kernels_in(run: Run, span: Span) -> dict[str, Any]:
    """Sum up the kernels of a span by name, those that take most first.

    Parameters
    ----------
    run : Run
        The run.
    span : Span
        Which rows, and when.

    Returns
    -------
    dict
        ``kernels``, a list of name, count and seconds each; ``names``, ``count`` and ``total``
        (seconds) of all, those beyond `MOST_KERNELS` included. As of `Run.top_kernels`: of a
        kernel that reaches over a limit the part inside counts, and kernels that overlap count
        side by side.
    """
    start_ns, end_ns = window_ns(span.start_s, span.end_s)
    found = run.top_kernels(row=_rows(span), start_ns=start_ns, end_ns=end_ns)
    most = found.head(MOST_KERNELS).select("short_name", "count", pl.col("total_ns") / 1e9)
    return {
        "kernels": [[legible(name), count, seconds] for name, count, seconds in most.iter_rows()],
        "names": len(found),
        "count": int(found["count"].sum()),
        "total": int(found["total_ns"].sum()) / 1e9,
    }


def busy_in(run: Run, span: Span) -> dict[str, Any]:
    """Measure the busy time of rows in a span.

    Parameters
    ----------
    run : Run
        The run.
    span : Span
        Which rows, and when.

    Returns
    -------
    dict
        ``busy``, a list of row and seconds; a row that is not in it was not busy, or has no GPU
        data.
    """
    start_ns, end_ns = window_ns(span.start_s, span.end_s)
    busy = {row: total(*own) for row, own in run.busy_by_row(start_ns, end_ns).items()}
    wanted = [row for row in sorted(busy) if span.rows is None or row in span.rows]
    return {"busy": [[row, busy[row] / 1e9] for row in wanted if busy[row]]}


def _rows(span: Span) -> list[int] | None:
    return None if span.rows is None else sorted(span.rows)

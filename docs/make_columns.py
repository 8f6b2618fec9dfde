"""Write ``docs/reference/columns.md`` from what the code says, after a change of a column."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rlviz.run.columns import COLUMNS
from rlviz.run.run import Run

_PAGE = Path(__file__).with_name("reference") / "columns.md"

_HEAD = """\
# Columns

*Written by `docs/make_columns.py` from `rlviz/run/columns.py`: change the code, not this page.*

A `Run` gives polars frames. Those that are methods take `row=` (a number or several), `start_ns=`
and `end_ns=`, and give what overlaps that window.

Times are nanoseconds since the run's start, which is the start of the earliest report with GPU
rows (`run.start_utc_ns` in UTC). A null means that the reports do not say; it never stands for 0.
"""

_ABOUT = {
    "reports": "A row per report.",
    "rows": "A row per lane: a GPU and a worker on it.",
    "kernels": "A row per kernel.",
    "copies": "A row per memcpy or memset.",
    "graphs": "A row per launch of a CUDA graph that was traced as a whole.",
    "ranges": "A row per NVTX range, on the first lane of its worker.",
    "marks": "A row per NVTX mark; its end is its start.",
    "busy": (
        "Busy time, disjoint and ascending: the union of kernels, copies, sets and graph launches "
        'over all streams, of each lane, or with `by="row"` of each GPU. It is cut to the window '
        "that is asked for. A lane without GPU data has no rows here: its busy time is unknown, "
        "not 0."
    ),
    "calls": (
        "A row per CUDA call of the threads behind a row of the chart. Read from the reports when "
        "it is asked for; a report without calls has none here."
    ),
    "launch_bound": (
        "A row per [launch-bound stretch](definitions.md#launch-bound). A row of the chart whose "
        "report has no CUDA calls has none here: whether it is launch-bound is unknown."
    ),
    "phases": "A row per phase of a worker: what its ranges say that it did.",
    "iterations": "A row per iteration, one window for both pools.",
    "findings": (
        "A row per finding, the one to look at first on top; the kinds are in "
        "[Findings](findings.md)."
    ),
    "diagnostics": (
        "A row per trouble; the kinds are in [Reading reports](reading-reports.md#diagnostics)."
    ),
}


def columns_page() -> str:
    """Give the text of ``docs/reference/columns.md``."""
    return _HEAD + "".join(_section(frame) for frame in COLUMNS)


def _section(frame: str) -> str:
    called = "()" if callable(getattr(Run, frame, None)) else ""
    lines = [
        f"\n## `run.{frame}{called}`\n",
        *([_ABOUT[frame], ""] if frame in _ABOUT else []),
        "| column | type | unit | meaning |",
        "| --- | --- | --- | --- |",
        *(
            f"| `{name}` | {_type(column.dtype)} | {column.unit} | {_text(column.meaning)} |"
            for name, column in COLUMNS[frame].items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _type(dtype: pl.DataType) -> str:
    return f"list of {dtype.inner}" if isinstance(dtype, pl.List) else str(dtype)


def _text(meaning: str) -> str:
    return meaning.replace("<", "&lt;").replace("|", "\\|")


if __name__ == "__main__":
    _PAGE.write_text(columns_page(), encoding="utf-8")

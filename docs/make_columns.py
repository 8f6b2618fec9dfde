"""Write ``docs/columns.md`` from what the code says: run it after a change of a column."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rlviz.run.columns import COLUMNS

_PAGE = Path(__file__).with_name("columns.md")

_HEAD = """\
# Columns

*Written by `docs/make_columns.py` from `rlviz/run/columns.py`: change the code, not this page.*

A `Run` gives polars frames. `run.reports`, `run.rows` and `run.diagnostics` are attributes;
`run.kernels()`, `run.copies()`, `run.graphs()`, `run.ranges()`, `run.marks()` and `run.busy()` are
methods that take `row=` (a number or several), `start_ns=` and `end_ns=`.

Times are nanoseconds since the run's start, which is the start of the earliest report with GPU
rows (`run.start_utc_ns` in UTC). A null means that the reports do not say; it never stands for 0.
"""

_TITLES = {
    "reports": ("`run.reports`", "A row per report."),
    "rows": ("`run.rows`", "A row per lane: a GPU and a worker on it."),
    "kernels": ("`run.kernels()`", "A row per kernel."),
    "copies": ("`run.copies()`", "A row per memcpy or memset."),
    "graphs": ("`run.graphs()`", "A row per launch of a CUDA graph that was traced as a whole."),
    "ranges": ("`run.ranges()`", "A row per NVTX range, on the first lane of its worker."),
    "marks": ("`run.marks()`", "A row per NVTX mark; its end is its start."),
    "busy": (
        "`run.busy()`",
        "Busy time, disjoint and ascending: the union of kernels, copies, sets and graph launches "
        'over all streams, of each lane, or with `by="row"` of each GPU. Cut to the window that '
        "is asked for. A lane without GPU data has no rows here: its busy time is unknown, not 0.",
    ),
    "diagnostics": (
        "`run.diagnostics`",
        "A row per trouble; the kinds are in [Reading reports](reading-reports.md#diagnostics).",
    ),
}


def columns_page() -> str:
    """Give the text of ``docs/columns.md``."""
    parts = [_HEAD]
    for frame, columns in COLUMNS.items():
        title, about = _TITLES[frame]
        lines = [
            f"| `{name}` | {_type(column.dtype)} | {column.unit} | {_text(column.meaning)} |"
            for name, column in columns.items()
        ]
        head = "| column | type | unit | meaning |\n| --- | --- | --- | --- |"
        parts.append(f"\n## {title}\n\n{about}\n\n{head}\n" + "\n".join(lines) + "\n")
    return "".join(parts)


def _type(dtype: pl.DataType) -> str:
    inner = getattr(dtype, "inner", None)
    return f"list of {inner}" if isinstance(dtype, pl.List) else str(dtype)


def _text(meaning: str) -> str:
    return meaning.replace("<", "&lt;").replace("|", "\\|")


if __name__ == "__main__":
    _PAGE.write_text(columns_page(), encoding="utf-8")

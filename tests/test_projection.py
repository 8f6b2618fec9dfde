"""Ranges projected onto the GPU, held against plain SQL and NVIDIA's own projection."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlviz
from rlviz.run.projection import project
from tests.exports import Export
from tests.shared import SHARED, needs_shared, stem_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ORACLE = sorted(
    path
    for path in (SHARED / "oracle").glob("*.json")
    if "pushpop_ranges" in (json.loads(path.read_text())["projection"] or {})
)


def report_of(oracle: Path) -> Path:
    folder, _, name = oracle.stem.partition("__")
    return SHARED / "reports" / folder / f"{name}.sqlite"


@needs_shared
@pytest.mark.parametrize("oracle", ORACLE, ids=stem_of)
def test_projections_equal_those_of_plain_sql(oracle: Path) -> None:
    expected = json.loads(oracle.read_text())["projection"]
    ranges = rlviz.load(report_of(oracle)).ranges(projected=True)
    nested = ranges.filter(pl.col("kind") == "push_pop")
    assert nested.height == expected["pushpop_ranges"]
    worked = nested.filter(pl.col("gpu_events").is_not_null())
    assert worked.height == expected["pushpop_ranges_with_gpu_work"]
    for name in expected["top_names"]:
        own = worked.filter(
            (pl.col("name") == name["name"]) & pl.col("domain").eq_missing(name["domain"])
        )
        whole = name["all"]
        assert own.height == name["instances_with_gpu_work"]
        assert own["gpu_events"].sum() == whole["count"]
        assert (own["gpu_end_ns"] - own["gpu_start_ns"]).sum() == whole["total_span_ns"]
        assert own["gpu_busy_ns"].sum() == whole["total_busy_ns"]
        spans = {(i["all"]["span_start"], i["all"]["span_end"]) for i in name["instances"]}
        assert spans <= set(own.select("gpu_start_ns", "gpu_end_ns").rows())


def test_a_launch_recorded_twice_counts_once(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.push_pop(0, 1_000, "step")
        correlation = export.kernel(2_000, 3_000)
        for name in ("cudaLaunchKernel", "cudaLaunchKernel_v7000"):
            export.runtime(100, 200, name, correlation=correlation)
    found = rlviz.load(tmp_path).ranges(projected=True)
    assert found.select("gpu_start_ns", "gpu_end_ns", "gpu_busy_ns", "gpu_events").rows() == [
        (2_000, 3_000, 1_000, 1)
    ]


def test_ranges_without_gpu_work_have_none_rather_than_zero(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.push_pop(0, 1_000, "step")
        export.start_end(0, 1_000, "request")
        export.kernel(2_000, 3_000)
    found = rlviz.load(tmp_path).ranges(projected=True)
    assert found["gpu_events"].null_count() == found.height == 2


ticks = st.integers(0, 12)
spans = st.tuples(ticks, ticks, st.integers(0, 1)).map(lambda s: (min(s[:2]), max(s[:2]), s[2]))
works = st.tuples(ticks, st.integers(0, 6), ticks, st.integers(0, 3), st.integers(0, 1))


@settings(max_examples=60)
@given(st.lists(spans, max_size=8), st.lists(works, max_size=8))
def test_projections_equal_a_search_over_all_pairs(
    ranges: list[tuple[int, int, int]], launched: list[tuple[int, int, int, int, int]]
) -> None:
    frame = pl.DataFrame(
        {
            "start": [r[0] for r in ranges],
            "end": [r[1] for r in ranges],
            "thread": [r[2] for r in ranges],
            "push_pop": [True] * len(ranges),
        },
        schema={"start": pl.Int64, "end": pl.Int64, "thread": pl.Int64, "push_pop": pl.Boolean},
    )
    columns = ("event", "start", "end", "thread", "call_start", "call_end")
    table = [
        (i, at, at + length, thread, call, call + took)
        for i, (at, length, call, took, thread) in enumerate(launched)
    ]
    launches = pl.DataFrame(table, schema=dict.fromkeys(columns, pl.Int64), orient="row")
    found = project(frame, launches)
    for (start, end, thread), got in zip(ranges, found.iter_rows(named=True), strict=True):
        own = [row for row in table if row[3] == thread and row[4] >= start and row[5] <= end]
        assert got == expected_of(own)


def expected_of(own: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    if not own:
        return dict.fromkeys(("gpu_start", "gpu_end", "gpu_busy_ns", "gpu_events"))
    covered = np.zeros(40, bool)
    for row in own:
        covered[row[1] : row[2]] = True
    return {
        "gpu_start": min(row[1] for row in own),
        "gpu_end": max(row[2] for row in own),
        "gpu_busy_ns": int(covered.sum()),
        "gpu_events": len(own),
    }

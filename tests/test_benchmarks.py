"""What benchmarks measure is a run as rlviz knows it, of the size that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import rlviz
from benchmarks.reports import write_run

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_of_many_kernels_has_as_many_and_keeps_its_iterations(tmp_path: Path) -> None:
    paths = write_run(tmp_path, reports=4, kernels=8_000, ranges=1_000, steps=2)
    run = rlviz.load(tmp_path)
    assert len(paths) == len(run.rows) == 4
    assert run.kernels().height == 8_000
    ranges = run.ranges().filter(pl.col("end_ns") > pl.col("start_ns"))
    assert abs(ranges.height - 1_000) < 50
    assert run.iterations["iteration"].unique().sort().to_list() == [3, 4]
    assert run.diagnostics.filter(pl.col("severity") != "info").height == 0

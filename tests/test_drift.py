"""Clocks that drift: every capture stands where its own collectives put it, or it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import rlviz
from tests.exports import UTC_NS, Export
from tests.ranks import MS, SECOND, ends_of, rank
from tests.small_reports import told

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600 * SECOND
TENTH_MS = 100_000


def captures(folder: Path, errors_ns: tuple[int, int], apart_ns: int = 2 * HOUR) -> rlviz.Run:
    """Two hosts in two captures; by so much is the UTC of the second one off in either."""
    for number, error in enumerate(errors_ns, start=1):
        at = UTC_NS + (number - 1) * apart_ns
        ones, others = ends_of(number)
        rank(folder / f"w_1.{number}.sqlite", ones, pid=1, utc_ns=at)
        rank(folder / f"w_2.{number}.sqlite", others, pid=2, host="node-2", utc_ns=at + error)
        generates = folder / f"w_3.{number}.sqlite"
        with Export(
            generates, pid=3, host="node-2", utc_ns=at + error, duration_ns=200 * SECOND
        ) as export:
            export.gpu("gpu-3", "0000:03:00.0")
            export.kernel(0, SECOND)
    return rlviz.load(folder)


def starts(run: rlviz.Run) -> dict[str, int]:
    return dict(run.reports.select("report", "window_start_ns").iter_rows())


@pytest.mark.parametrize(
    "errors_ns", [(0, 7_200_000), (0, -7_200_000), (12 * MS, 14 * MS), (-3 * MS, 4 * MS)]
)
def test_a_clock_that_drifts_by_1_ppm_over_2_hours_is_right_in_either_capture(
    tmp_path: Path, errors_ns: tuple[int, int]
) -> None:
    run = captures(tmp_path, errors_ns)
    found = starts(run)
    for number in (1, 2):
        for other in (f"w_2.{number}.sqlite", f"w_3.{number}.sqlite"):
            assert abs(found[other] - found[f"w_1.{number}.sqlite"]) < TENTH_MS
    (line,) = told(run, "clock-drift")
    assert "drifts" in line["message"]
    own = run.reports.filter(host="node-2").filter(report="w_2.2.sqlite").to_dicts()[0]
    assert own["alignment"] == "collectives"
    assert abs(own["offset_ns"] + errors_ns[1]) < TENTH_MS
    assert own["residual_worst_ns"] < TENTH_MS
    assert own["anchors"] == 40


def test_a_clock_that_does_not_drift_is_left_as_it_is_to_the_nanosecond(tmp_path: Path) -> None:
    run = captures(tmp_path, (0, 0))
    assert set(run.reports["offset_ns"]) == {0}
    assert not told(run, "clock-drift")


def test_collectives_of_another_communicator_are_no_drift(tmp_path: Path) -> None:
    # a second pair of ranks, of which nothing on the first host ends together with the other
    run_folder = tmp_path / "run"
    ones, others = ends_of(1)
    rank(run_folder / "w_1.sqlite", ones, pid=1)
    rank(run_folder / "w_2.sqlite", others, pid=2, host="node-2")
    rank(run_folder / "w_3.sqlite", others + 7 * MS, pid=3, host="node-2")
    run = rlviz.load(run_folder)
    assert set(run.reports["offset_ns"]) == {0}
    assert not told(run, "clock-drift")


@pytest.mark.parametrize("ppm", [5.0, -4.0])
def test_drift_within_a_capture_is_told_in_ppm(tmp_path: Path, ppm: float) -> None:
    ones, others = ends_of(3, count=60)
    fast = others + (others * ppm * 1e-6).astype(np.int64)
    rank(tmp_path / "w_1.sqlite", ones, pid=1)
    rank(tmp_path / "w_2.sqlite", fast, pid=2, host="node-2")
    (line,) = told(rlviz.load(tmp_path), "clock-drift")
    assert ("fast" if ppm > 0 else "slow") in line["message"]
    told_ppm = float(line["message"].split(" ppm")[0].rpartition(" ")[2])
    assert told_ppm == pytest.approx(abs(ppm), rel=0.05)


def test_jitter_is_no_drift(tmp_path: Path) -> None:
    for seed in range(4):
        folder = tmp_path / str(seed)
        ones, others = ends_of(seed)
        rank(folder / "w_1.sqlite", ones, pid=1)
        rank(folder / "w_2.sqlite", others, pid=2, host="node-2", error_ns=12 * MS)
        assert not told(rlviz.load(folder), "clock-drift")

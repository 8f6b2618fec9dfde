"""Where a capture begins and ends: what it cuts has no length, and is no idle time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rlviz
from tests.exports import Export
from tests.ranks import MS, SECOND
from tests.small_reports import told

if TYPE_CHECKING:
    from pathlib import Path

TEN = 10 * SECOND
UPDATE = "vllm_internal_worker_extension/update_weights_from_collective"


def loop(folder: Path, update_ends_ns: int | None, *, closed_by_nsys: bool = False) -> rlviz.Run:
    """Two refits with a train step between them; the capture stops in the second, or after it."""
    end = update_ends_ns
    if closed_by_nsys:
        end = 10 * SECOND
    with Export(
        folder / "vllm_generation_worker_1:2_1.sqlite", pid=1, duration_ns=10 * SECOND
    ) as e:
        e.gpu("gpu-1", "0000:01:00.0")
        e.push_pop(1 * SECOND, 2 * SECOND, UPDATE)
        e.push_pop(9 * SECOND, end, UPDATE)
        e.kernel(500 * MS, 900 * MS)
        e.kernel(3 * SECOND, 8 * SECOND)
    with Export(folder / "dtensor_policy_worker_1:2_2.sqlite", pid=2, duration_ns=TEN) as e:
        e.gpu("gpu-2", "0000:02:00.0")
        e.push_pop(4 * SECOND, 7 * SECOND, "dtensor_policy_worker/train")
        e.kernel(4 * SECOND, 7 * SECOND)
    return rlviz.load(folder)


def test_a_refit_that_ended_has_a_length(tmp_path: Path) -> None:
    run = loop(tmp_path, 9 * SECOND + 500 * MS)
    (line,) = run.summary().filter(pool="generation").to_dicts()
    assert (line["refit_ns"], line["partial"]) == (500 * MS, False)


@pytest.mark.parametrize("closed_by_nsys", [False, True])
def test_a_refit_that_the_capture_cut_has_none_and_its_iteration_is_partial(
    tmp_path: Path, *, closed_by_nsys: bool
) -> None:
    run = loop(tmp_path, None, closed_by_nsys=closed_by_nsys)
    for by in ("pool", "gpu"):
        frame = run.summary(by=by)
        assert frame["refit_ns"].is_null().all()
        assert frame["partial"].all()
    assert run.iterations["partial"].to_list() == [True]
    assert run.ranges().filter("truncated").height == 1
    assert told(run, "truncated-ranges")[0]["count"] == 1


def test_a_capture_of_one_second_is_not_all_edge(tmp_path: Path) -> None:
    path = tmp_path / "dtensor_policy_worker_1:2_1.sqlite"
    with Export(path, pid=1, duration_ns=1 * SECOND) as export:
        export.gpu("gpu", "0000:01:00.0")
        export.push_pop(100 * MS, 900 * MS, "dtensor_policy_worker/train")
        export.kernel(100 * MS, 500 * MS)
        export.kernel(600 * MS, 900 * MS)
    (line,) = rlviz.load(path).summary(by="gpu").to_dicts()
    assert (line["busy_ns"], line["edge_ns"]) == (700 * MS, 100 * MS)
    assert line["captured_ns"] == line["busy_ns"] + line["edge_ns"] == 800 * MS
    assert line["bubble_ns"] == 0


def test_work_before_the_first_range_is_noted_and_nothing_is_idle_for_lack_of_one(
    tmp_path: Path,
) -> None:
    # The range in which the capture began is in no report, and its work is.
    path = tmp_path / "vllm_generation_worker_1:2_1.sqlite"
    with Export(path, pid=1, duration_ns=10 * SECOND) as export:
        export.gpu("gpu", "0000:01:00.0")
        export.kernel(0, 2 * SECOND)
        export.push_pop(2 * SECOND, 3 * SECOND, UPDATE)
        export.kernel(3 * SECOND, 5 * SECOND)
        export.push_pop(5 * SECOND, 6 * SECOND, UPDATE)
    run = rlviz.load(path)
    gaps = run.gaps()
    assert gaps["start_ns"].min() == 2 * SECOND
    busy = run.busy(by="row")
    assert busy["start_ns"].min() == 0


def test_work_of_a_policy_whose_range_was_open_at_the_start_is_told(tmp_path: Path) -> None:
    path = tmp_path / "dtensor_policy_worker_1:2_1.sqlite"
    with Export(path, pid=1, duration_ns=10 * SECOND) as export:
        export.gpu("gpu", "0000:01:00.0")
        export.kernel(0, 2 * SECOND)
        export.push_pop(3 * SECOND, 5 * SECOND, "dtensor_policy_worker/train")
        export.kernel(3 * SECOND, 5 * SECOND)
    (line,) = told(rlviz.load(path), "open-at-start")
    assert (line["severity"], line["count"]) == ("info", 1)

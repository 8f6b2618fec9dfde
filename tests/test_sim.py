"""Simulated RL runs, made and answered by other hands (`../shared/reports/sim`)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from tests.leaks import leaks
from tests.shared import needs_shared, truth

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz import Run

pytestmark = needs_shared

RUNS = ["nemo_async", "nemo_skew", "sync_colocated", "verl_async", "edge_rows"]
ON_ONE_CLOCK = [run for run in RUNS if run != "nemo_skew"]  # its UTC is off on one host
every_run = pytest.mark.parametrize("name", RUNS)
every_run_on_one_clock = pytest.mark.parametrize("name", ON_ONE_CLOCK)

GPU_TABLES = {"KERNEL": "kernels", "MEMCPY": "memcpy", "MEMSET": "memset", "GRAPH_TRACE": "graphs"}
BAD_ROWS = {
    "kernel_end_before_start": "kernels",
    "kernel_start_and_end_zero": "kernels",
    "kernel_far_outside_window": "kernels",
    "memcpy_end_before_start": "memcpy",
    "graph_start_and_end_zero": "graphs",
    "range_end_before_start": "ranges",
    "range_far_outside_window": "ranges",
}


@dataclass(frozen=True)
class Simulated:
    """A run, its known answers, and what rlviz made of it."""

    folder: Path
    answer: dict[str, Any]
    run: Run

    @property
    def reports(self) -> dict[str, dict[str, Any]]:
        """Known answers of each report."""
        found: dict[str, dict[str, Any]] = self.answer["reports"]
        return found

    @property
    def gpus(self) -> dict[str, dict[str, Any]]:
        """Known answers of each GPU."""
        found: dict[str, dict[str, Any]] = self.answer["gpus"]
        return found

    def lanes(self, report: str) -> list[dict[str, Any]]:
        """Lanes that were read from a report."""
        return [lane for lane in self.run.rows.to_dicts() if report in lane["report"]]

    def row_of(self, uuid: str) -> int:
        """Row of a GPU."""
        (row,) = self.run.rows.filter(pl.col("gpu_uuid") == uuid)["row"].unique()
        return int(row)

    def inside(self, frame: pl.DataFrame, report: str) -> pl.DataFrame:
        """Rows of a frame that belong to a report: those of its worker inside its window."""
        (line,) = self.run.reports.filter(pl.col("report") == report).to_dicts()
        lanes = [lane["lane"] for lane in self.lanes(report)]
        return frame.filter(
            pl.col("lane").is_in(lanes),
            pl.col("end_ns") >= line["window_start_ns"],
            pl.col("start_ns") <= line["window_end_ns"],
        )


@cache
def load(name: str) -> Simulated:
    folder, answer = truth(name)
    return Simulated(folder, answer, rlviz.load(folder))


def length(frame: pl.DataFrame) -> int:
    return int((frame["end_ns"] - frame["start_ns"]).sum())


def planted(report: dict[str, Any], table: str) -> int:
    """Bad rows in one table of a report."""
    bad = (count for fault, count in report["planted"].items() if BAD_ROWS.get(fault) == table)
    return sum(bad)


@every_run
def test_every_report_is_found_under_its_path_in_the_folder(name: str) -> None:
    loaded = load(name)
    found = loaded.run.reports
    assert sorted(found["report"]) == sorted(loaded.reports)
    assert set(found["path"]) == {str(loaded.folder / report) for report in loaded.reports}


@every_run
def test_a_simulated_run_says_that_it_is_one(name: str) -> None:
    assert load(name).run.simulated


@every_run
def test_roles_hosts_and_processes_are_known(name: str) -> None:
    loaded = load(name)
    found = {
        line["report"]: (line["role"], line["host"], line["pids"])
        for line in loaded.run.reports.to_dicts()
    }
    assert found == {
        report: (answer["role"], answer["host"], [answer["pid"]])
        for report, answer in loaded.reports.items()
    }


@every_run
def test_every_worker_has_one_lane_on_the_row_of_its_gpu(name: str) -> None:
    loaded = load(name)
    for report, answer in loaded.reports.items():
        (lane,) = loaded.lanes(report)
        assert lane["pid"] == answer["pid"]
        assert lane["host"] == answer["host"]
        assert lane["role"] == answer["role"]
        assert lane["pool"] == (answer["pool"] or "other")
        assert (lane["gpu_uuid"], lane["gpu_bus"]) == (answer["gpu"], answer["bus"])
        assert lane["gpu_data"] == (answer["gpu"] is not None)
    with_gpu = loaded.run.rows.filter("gpu_data")
    assert with_gpu["row"].n_unique() == len(loaded.gpus)
    assert with_gpu.select("row", "gpu_uuid").n_unique() == len(loaded.gpus)


@every_run
def test_ranks_are_those_of_the_environment_or_unknown(name: str) -> None:
    loaded = load(name)
    for report, answer in loaded.reports.items():
        (lane,) = loaded.lanes(report)
        if answer["role"] == "policy":
            assert lane["rank"] == answer["rank"]
        else:  # no RANK in its environment
            assert lane["rank"] in (None, answer["rank"])


@every_run
def test_rows_stand_in_the_order_of_pools(name: str) -> None:
    rows = load(name).run.rows
    order = ["generation", "training", "colocated", "other"]
    places = [order.index(pool) for pool in rows.sort("row", "lane")["pool"]]
    assert places == sorted(places)
    assert rows["row"].unique().sort().to_list() == list(range(rows["row"].n_unique()))
    assert rows["lane"].unique().sort().to_list() == list(range(rows.height))
    hosts = rows.group_by("pool", maintain_order=True).agg("host")["host"]
    assert all(list(names) == sorted(names) for names in hosts)


@every_run
def test_captures_of_one_process_share_a_lane(name: str) -> None:
    loaded = load(name)
    workers = {(answer["host"], answer["pid"]) for answer in loaded.reports.values()}
    assert loaded.run.rows.height == len(workers)
    assert sorted(loaded.run.rows["report"].explode()) == sorted(loaded.reports)


@every_run
def test_no_row_is_lost_and_no_bad_row_is_counted(name: str) -> None:
    loaded = load(name)
    copies = loaded.run.copies()
    tables = {
        "kernels": loaded.run.kernels(),
        "memcpy": copies.filter(pl.col("kind") == "memcpy"),
        "memset": copies.filter(pl.col("kind") == "memset"),
        "graphs": loaded.run.graphs(),
    }
    for report, answer in loaded.reports.items():
        for table, frame_name in GPU_TABLES.items():
            rows = answer["rows"].get(f"CUPTI_ACTIVITY_KIND_{table}", 0)
            found = loaded.inside(tables[frame_name], report)
            assert found.height == rows - planted(answer, frame_name), (report, table)
        kernels = loaded.inside(tables["kernels"], report)
        assert length(kernels) == answer["sum_of_kernel_durations_ns"]
        (line,) = loaded.run.reports.filter(pl.col("report") == report).to_dicts()
        assert line["kernels"] == (kernels.height if answer["gpu"] else None)


@every_run
def test_ranges_have_the_counts_and_times_of_the_schedule(name: str) -> None:
    loaded = load(name)
    ranges = loaded.run.ranges()
    for report, answer in loaded.reports.items():
        found = loaded.inside(ranges, report)
        by_name = {
            range_name: {"count": part.height, "ns": length(part)}
            for (range_name,), part in found.group_by("name")
        }
        assert {name: by_name.get(name) for name in answer["ranges"]} == answer["ranges"]


@every_run
def test_every_planted_bad_row_is_told_and_none_else(name: str) -> None:
    loaded = load(name)
    told: Counter[str] = Counter()
    for line in loaded.run.diagnostics.filter(pl.col("kind") == "bad-rows").to_dicts():
        told[line["report"]] += line["count"]
    assert told == {
        report: sum(planted(answer, table) for table in [*GPU_TABLES.values(), "ranges"])
        for report, answer in loaded.reports.items()
        if answer["planted"]
    }


@every_run_on_one_clock
def test_reports_stand_at_their_place_on_the_run_clock(name: str) -> None:
    loaded = load(name)
    assert loaded.run.start_utc_ns == loaded.answer["clock"]["zero_utc_ns"]
    found = {
        line["report"]: (line["utc_start_ns"], line["window_start_ns"], line["window_end_ns"])
        for line in loaded.run.reports.to_dicts()
    }
    assert found == {
        report: (
            answer["utc_epoch_ns"],
            answer["add_to_reach_run_clock_ns"],
            answer["add_to_reach_run_clock_ns"] + answer["duration_ns"],
        )
        for report, answer in loaded.reports.items()
    }


@every_run
def test_whole_run_busy_time_of_every_gpu_is_the_schedule(name: str) -> None:
    loaded = load(name)
    by_row = loaded.run.busy(by="row")
    assert by_row["row"].n_unique() == len(loaded.gpus)
    for uuid, gpu in loaded.gpus.items():
        busy = by_row.filter(pl.col("row") == loaded.row_of(uuid))
        assert length(busy) == gpu["whole_run"]["busy_ns"]
        assert busy["lane"].null_count() == busy.height


@every_run_on_one_clock
def test_busy_time_inside_every_iteration_is_the_schedule(name: str) -> None:
    loaded = load(name)
    for iteration in loaded.answer["iterations"]:
        start, end = iteration["window"]
        by_row = loaded.run.busy(by="row", start_ns=start, end_ns=end)
        for uuid, gpu in iteration["gpus"].items():
            busy = by_row.filter(pl.col("row") == loaded.row_of(uuid))
            assert length(busy) == gpu["busy_ns"], (iteration["iteration"], uuid)


@every_run_on_one_clock
def test_busy_time_of_colocated_workers_is_told_apart(name: str) -> None:
    loaded = load(name)
    for iteration in loaded.answer["iterations"]:
        start, end = iteration["window"]
        busy = loaded.run.busy(start_ns=start, end_ns=end)
        expected: Counter[int] = Counter()
        for report, busy_ns in iteration["lane_busy_ns"].items():
            (lane,) = loaded.lanes(report)
            expected[lane["lane"]] += busy_ns  # chained captures share a lane
        for lane_number, busy_ns in expected.items():
            assert length(busy.filter(pl.col("lane") == lane_number)) == busy_ns


@every_run
def test_secrets_reach_no_frame_no_text_and_no_attribute(name: str) -> None:
    loaded = load(name)
    for secret in loaded.answer["secrets"]:
        assert not leaks(loaded.run, secret)


def test_ranges_that_end_on_another_thread_stay_on_the_one_that_opened_them() -> None:
    loaded = load("edge_rows")
    for report in loaded.reports:
        connection = sqlite3.connect(f"{(loaded.folder / report).as_uri()}?immutable=1", uri=True)
        begun = connection.execute(
            "select start, globalTid & 0xFFFFFF, endGlobalTid & 0xFFFFFF"
            " from NVTX_EVENTS where eventType = 60 and text is not null"
        ).fetchall()
        connection.close()
        assert any(opened != closed for _, opened, closed in begun if closed is not None)
        found = loaded.inside(loaded.run.ranges(), report).filter(pl.col("kind") == "start_end")
        (line,) = loaded.run.reports.filter(pl.col("report") == report).to_dicts()
        places = found.select(pl.col("start_ns") - line["window_start_ns"], "tid").rows()
        assert sorted(places) == sorted((start, opened) for start, opened, _ in begun)


def test_a_range_without_a_name_is_still_drawn() -> None:
    loaded = load("edge_rows")
    for report, answer in loaded.reports.items():
        found = loaded.inside(loaded.run.ranges(), report)
        nameless = found.filter(pl.col("name") == "<unnamed>")
        assert nameless.height == answer["planted"]["range_without_name"]


@every_run
def test_open_ranges_last_to_the_end_of_their_window(name: str) -> None:
    loaded = load(name)
    for report, answer in loaded.reports.items():
        (line,) = loaded.run.reports.filter(pl.col("report") == report).to_dicts()
        open_ranges = loaded.inside(loaded.run.ranges(), report).filter("truncated")
        extra = answer["planted"].get("planted_ranges_with_null_end", 0)
        assert open_ranges.height == answer["ranges_open_at_stop"] + extra
        assert set(open_ranges["end_ns"]) <= {line["window_end_ns"]}


def test_a_controller_without_gpu_neither_sets_the_axis_nor_counts_as_idle() -> None:
    loaded = load("verl_async")
    (controller,) = loaded.run.rows.filter(~pl.col("gpu_data")).to_dicts()
    assert controller["role"] == "controller"
    assert controller["pool"] == "other"
    assert controller["row"] == loaded.run.rows["row"].max()
    assert loaded.run.busy(row=controller["row"]).is_empty()
    assert "no-gpu-rows" in set(
        loaded.run.diagnostics.filter(pl.col("report") == "worker_process_2048.sqlite")["kind"]
    )
    steps = loaded.run.ranges(row=controller["row"]).filter(pl.col("name") == "step")
    spans = loaded.answer["controller_steps"].values()
    assert [list(span) for span in steps.select("start_ns", "end_ns").rows()] == list(spans)


def test_colocated_gpus_have_one_row_with_two_lanes() -> None:
    rows = load("sync_colocated").run.rows
    lanes = rows.group_by("row", "gpu_uuid").agg("role")
    assert lanes.height == 2
    assert all(sorted(roles) == ["generation", "policy"] for roles in lanes["role"])


def test_a_wrong_clock_leaves_what_is_inside_a_report_alone() -> None:
    loaded = load("nemo_skew")
    for line in loaded.run.reports.to_dicts():
        answer = loaded.reports[line["report"]]
        assert line["utc_start_ns"] == answer["utc_epoch_ns"]
        assert line["window_end_ns"] - line["window_start_ns"] == answer["duration_ns"]

"""What plain SQL says about real reports (`../shared/oracle`), to the nanosecond."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from tests.shared import REPORTS, needs_shared, oracle, stems

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rlviz import Run

pytestmark = needs_shared
every_report = pytest.mark.parametrize("stem", stems())

KINDS = {59: "push_pop", 60: "start_end"}
DIRECTIONS = {1: "H2D", 2: "D2H", 8: "D2D", 10: "P2P"}


@dataclass(frozen=True)
class Loaded:
    """A report, what SQL says about it, and what rlviz made of it."""

    path: Path
    answer: dict[str, Any]
    run: Run

    @property
    def gpu(self) -> list[dict[str, Any]]:
        """What SQL says about each (pid, deviceId)."""
        found: list[dict[str, Any]] = self.answer["gpu"]
        return found

    @property
    def nvtx(self) -> dict[str, Any]:
        """What SQL says about NVTX; empty without the table."""
        return self.answer["nvtx"] or {}

    def activity(self) -> pl.DataFrame:
        """Kernels, copies, sets and graph launches in one frame."""
        columns = ["row", "pid", "device", "stream", "start_ns", "end_ns"]
        frames = [self.run.kernels(), self.run.copies(), self.run.graphs()]
        together: pl.DataFrame = pl.concat([frame.select(columns) for frame in frames])
        return together


@cache
def load(stem: str) -> Loaded:
    path, answer = oracle(stem)
    return Loaded(path, answer, rlviz.load(path))


def length(frame: pl.DataFrame) -> int:
    return int((frame["end_ns"] - frame["start_ns"]).sum())


def sizes(frame: pl.DataFrame) -> dict[str, Any]:
    """Say of events what the oracle says of them, as far as it does."""
    if frame.is_empty():
        return {"count": 0}
    durations = frame["end_ns"] - frame["start_ns"]
    return {
        "count": frame.height,
        "sum_ns": durations.sum(),
        "min_ns": durations.min(),
        "max_ns": durations.max(),
        "first_start": frame["start_ns"].min(),
        "last_end": frame["end_ns"].max(),
    }


def without_busy(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in numbers.items() if name != "busy_ns"}


def of_device(frame: pl.DataFrame, gpu: dict[str, Any]) -> pl.DataFrame:
    return frame.filter(pl.col("pid") == gpu["pid"], pl.col("device") == gpu["deviceId"])


def named(name: str | None) -> str:
    return "<unnamed>" if name is None else name


@every_report
def test_the_report_is_the_one_that_the_oracle_speaks_of(stem: str) -> None:
    loaded = load(stem)
    assert loaded.run.reports.height == 1
    assert loaded.run.reports["path"].to_list() == [str(loaded.path)]
    assert loaded.run.reports["schema_version"].to_list() == [loaded.answer["schema_version"]]
    assert loaded.run.reports["nsys_version"].to_list() == [loaded.answer["nsys_version"]]


@every_report
def test_clock_and_window_are_those_that_nsys_wrote(stem: str) -> None:
    loaded = load(stem)
    started = loaded.answer["session_start"]["utcEpochNs"]
    assert loaded.run.start_utc_ns == started
    assert loaded.run.reports["utc_start_ns"].to_list() == [started]
    assert loaded.run.reports["window_start_ns"].to_list() == [0]
    assert loaded.run.reports["window_end_ns"].to_list() == [
        loaded.answer["analysis_details"]["duration"]
    ]


@every_report
def test_no_gpu_row_is_lost_or_counted_twice(stem: str) -> None:
    loaded = load(stem)
    tables = {
        "kernels": loaded.run.kernels(),
        "memcpy": loaded.run.copies().filter(pl.col("kind") == "memcpy"),
        "memset": loaded.run.copies().filter(pl.col("kind") == "memset"),
        "graphs": loaded.run.graphs(),
        "all": loaded.activity(),
    }
    for gpu in loaded.gpu:
        for name, frame in tables.items():
            assert sizes(of_device(frame, gpu)) == without_busy(gpu[name]), name
    for name, frame in tables.items():
        assert frame.height == sum(gpu[name]["count"] for gpu in loaded.gpu), name


@every_report
def test_streams_of_a_device_are_not_mixed_up(stem: str) -> None:
    loaded = load(stem)
    expected = Counter(
        {
            (gpu["pid"], gpu["deviceId"], stream["streamId"]): stream["kernels"]
            + stream["memcpy"]
            + stream["memset"]
            + stream["graphs"]
            for gpu in loaded.gpu
            for stream in gpu["streams"]
        }
    )
    assert Counter(loaded.activity().select("pid", "device", "stream").iter_rows()) == expected


@every_report
def test_busy_time_of_a_device_is_the_union_of_its_rows(stem: str) -> None:
    loaded = load(stem)
    activity = loaded.activity()
    rows = set()
    for gpu in loaded.gpu:
        mine = of_device(activity, gpu)
        (row,) = mine["row"].unique().to_list()
        rows.add(row)
        assert length(loaded.run.busy(row=row)) == gpu["all"]["busy_ns"]
        assert length(loaded.run.busy(by="row", row=row)) == gpu["all"]["busy_ns"]
    assert set(loaded.run.busy()["row"]) == rows
    assert len(rows) == len(loaded.gpu)


@every_report
def test_busy_time_is_clipped_to_the_window_asked_for(stem: str) -> None:
    loaded = load(stem)
    for gpu in loaded.gpu:
        first, last = gpu["all"]["first_start"], gpu["all"]["last_end"]
        edges = [first + (last - first) * i // 20 for i in range(21)]
        (row,) = of_device(loaded.activity(), gpu)["row"].unique().to_list()
        pieces = [
            length(loaded.run.busy(row=row, start_ns=start, end_ns=end))
            for start, end in pairwise(edges)
        ]
        assert pieces == gpu["bins"]["all_busy_ns"]


@every_report
def test_gaps_of_a_device_are_where_sql_sees_them(stem: str) -> None:
    loaded = load(stem)
    for gpu in loaded.gpu:
        (row,) = of_device(loaded.activity(), gpu)["row"].unique().to_list()
        busy = loaded.run.busy(row=row)
        starts, ends = busy["start_ns"].to_list()[1:], busy["end_ns"].to_list()[:-1]
        gaps = [(end, start - end) for start, end in zip(starts, ends, strict=True) if start > end]
        assert len(gaps) == gpu["gaps"]["count"]
        assert sum(ns for _, ns in gaps) == gpu["idle_ns_between_first_and_last"]
        largest = [(gap["start"], gap["ns"]) for gap in gpu["gaps"]["largest"]]
        assert sorted(ns for _, ns in gaps)[::-1][:10] == [ns for _, ns in largest]
        assert set(largest) <= set(gaps)


@every_report
def test_kernels_keep_their_demangled_names(stem: str) -> None:
    loaded = load(stem)
    found = (
        loaded.run.kernels()
        .group_by("name")
        .agg(pl.len(), (pl.col("end_ns") - pl.col("start_ns")).sum())
    )
    expected = {
        (kernel["name"], kernel["count"], kernel["sum_ns"])
        for kernel in loaded.answer["kernels_by_name"]
    }
    assert set(found.iter_rows()) == expected


@every_report
def test_bytes_directions_and_launch_ids_are_those_of_plain_sql(stem: str) -> None:
    loaded = load(stem)
    tables = {
        "kernels": (loaded.run.kernels(), "KERNEL", ""),
        "memcpy": (loaded.run.copies().filter(pl.col("kind") == "memcpy"), "MEMCPY", "bytes"),
        "memset": (loaded.run.copies().filter(pl.col("kind") == "memset"), "MEMSET", "bytes"),
    }
    for name, (frame, table, size) in tables.items():
        if not frame.is_empty():
            columns = f"start, correlationId{size and ', ' + size}"
            asked = f"select {columns} from CUPTI_ACTIVITY_KIND_{table}"
            mine = ["start_ns", "correlation_id", *([size] if size else [])]
            assert Counter(frame.select(mine).iter_rows()) == Counter(sql(loaded, asked)), name
    kinds = sql(loaded, "select copyKind, count(*) from CUPTI_ACTIVITY_KIND_MEMCPY group by 1")
    found = tables["memcpy"][0]["direction"]
    assert Counter(found) == {DIRECTIONS[int(kind)]: count for kind, count in kinds}


def sql(loaded: Loaded, question: str) -> list[tuple[int, ...]]:
    connection = sqlite3.connect(loaded.path.as_uri() + "?immutable=1", uri=True)
    try:
        return connection.execute(question).fetchall()
    except sqlite3.OperationalError:  # the table is absent
        return []
    finally:
        connection.close()


def by_domain(rows: Iterable[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for *key, count in rows:
        found[tuple(key)] += count
    return found


@every_report
def test_no_range_or_mark_of_a_domain_is_lost_or_doubled(stem: str) -> None:
    loaded = load(stem)
    told = loaded.nvtx.get("by_type_and_domain", [])
    ranges = loaded.run.ranges().group_by("pid", "kind", "domain").len().iter_rows()
    marks = loaded.run.marks().group_by("pid", "domain").len().iter_rows()
    assert by_domain(ranges) == by_domain(
        (line["pid"], KINDS[line["eventType"]], line["domain"], line["count"])
        for line in told
        if line["eventType"] in KINDS
    )
    assert by_domain(marks) == by_domain(
        (line["pid"], line["domain"], line["count"]) for line in told if line["eventType"] == 34
    )


@every_report
def test_counts_and_times_of_every_range_name_agree(stem: str) -> None:
    loaded = load(stem)
    duration = pl.col("end_ns") - pl.col("start_ns")
    found = (
        loaded.run.ranges()
        .group_by("kind", "domain", "name")
        .agg(pl.len(), duration.sum(), duration.min().alias("min"), duration.max().alias("max"))
    )
    rows = {tuple(row[:3]): tuple(row[3:]) for row in found.iter_rows()}
    assert length(loaded.run.ranges()) == loaded.nvtx.get("names_total_ns", 0)
    expected = {
        (KINDS[line["eventType"]], line["domain"], named(line["name"])): (
            line["count"],
            line["total_ns"],
            line["min_ns"],
            line["max_ns"],
        )
        for line in loaded.nvtx.get("names", [])
    }
    assert expected == {key: rows.get(key) for key in expected}
    assert len(rows) == loaded.nvtx.get("distinct_names", 0)


@every_report
def test_first_and_last_range_stand_where_nsys_put_them(stem: str) -> None:
    loaded = load(stem)
    ranges = loaded.run.ranges()
    assert ranges.height == loaded.nvtx.get("ranges", 0)
    assert ranges["start_ns"].min() == loaded.nvtx.get("first_start")
    assert ranges["end_ns"].max() == loaded.nvtx.get("last_end")


@every_report
def test_marks_keep_their_names(stem: str) -> None:
    loaded = load(stem)
    found = loaded.run.marks().group_by("domain", "name").len().iter_rows()
    assert by_domain(found) == by_domain(
        (mark["domain"], named(mark["name"]), mark["count"])
        for mark in loaded.nvtx.get("marks", [])
    )


@every_report
def test_ranges_open_at_the_stop_do_not_look_closed(stem: str) -> None:
    loaded = load(stem)
    duration = loaded.answer["analysis_details"]["duration"]
    # what ends with the report's last event was cut only if that is the end of its window
    cut = loaded.nvtx.get("last_end") == duration
    expected = loaded.nvtx["ranges_ending_exactly_at_last_end"] if cut else 0
    truncated = loaded.run.ranges().filter("truncated")
    assert truncated.height == expected
    assert set(truncated["end_ns"]) <= {duration}


@every_report
def test_nesting_is_as_deep_as_on_the_thread(stem: str) -> None:
    loaded = load(stem)
    nested = loaded.run.ranges().filter(pl.col("kind") == "push_pop")
    found = nested.group_by("pid", "tid").agg(pl.col("depth").max() + 1)
    expected = {
        (thread["pid"], thread["tid"]): thread["max_depth"]
        for thread in loaded.nvtx.get("threads", [])
        if thread["pushpop_ranges"]
    }
    assert {(pid, tid): depth for pid, tid, depth in found.iter_rows()} == expected


@every_report
def test_threads_keep_their_names_and_ranges(stem: str) -> None:
    loaded = load(stem)
    ranges = loaded.run.ranges()
    found = ranges.group_by("pid", "tid", "thread").agg(
        (pl.col("kind") == "push_pop").sum(), (pl.col("kind") == "start_end").sum().alias("60")
    )
    assert set(found.iter_rows()) == {
        (
            thread["pid"],
            thread["tid"],
            thread["thread_name"],
            thread["pushpop_ranges"],
            thread["startend_ranges"],
        )
        for thread in loaded.nvtx.get("threads", [])
    }


@every_report
def test_the_line_of_a_report_counts_what_is_in_it(stem: str) -> None:
    loaded = load(stem)
    (line,) = loaded.run.reports.to_dicts()
    kernels = loaded.answer["rows"]["CUPTI_ACTIVITY_KIND_KERNEL"]
    assert line["kernels"] == kernels
    assert line["ranges"] == (loaded.nvtx["ranges"] if loaded.nvtx else None)
    workers = {gpu["pid"] for gpu in loaded.gpu}
    workers |= {thread["pid"] for thread in loaded.nvtx.get("threads", [])}
    assert workers <= set(line["pids"])


@pytest.mark.parametrize("run", ["rl-run-2022.4", "rl-run-2023.4"])
def test_reports_of_one_run_share_the_wall_clock(run: str) -> None:
    loaded = rlviz.load(REPORTS / run)
    assert loaded.rows["pool"].to_list() == ["generation"] * 2 + ["training"] * 2
    assert loaded.rows["role"].to_list() == ["generation"] * 2 + ["policy"] * 2
    assert loaded.rows["row"].to_list() == [0, 1, 2, 3]
    assert not loaded.rows["gpu_data"].any()
    answers = [oracle(stem)[1] for stem in stems() if stem.startswith(f"{run}__")]
    assert loaded.start_utc_ns is not None
    assert loaded.start_utc_ns == min(a["session_start"]["utcEpochNs"] for a in answers)
    for answer in answers:
        pid = answer["nvtx"]["threads"][0]["pid"]
        ranges = loaded.ranges().filter(pl.col("pid") == pid)
        first, last = answer["first_start_utc_ns"], answer["last_end_utc_ns"]
        assert ranges["start_ns"].min() == first - loaded.start_utc_ns
        assert ranges["end_ns"].max() == last - loaded.start_utc_ns


def test_a_domain_created_twice_does_not_double_its_ranges() -> None:
    if not stems():
        pytest.skip("the oracle is not here")
    ranges = load("rl-run-2022.4__vllm_generation_worker_1:4_6860").run.ranges()
    decode = ranges.filter(pl.col("domain") == "io", pl.col("name") == "detokenize")
    # NVIDIA's own nvtx_sum says 1,384 and 9,833,871,524 ns
    assert (decode.height, length(decode)) == (692, 4_916_935_762)

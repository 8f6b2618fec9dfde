"""Every generation of nsys's schema, tables and columns that are not there, rows that are odd."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from tests.exports import UTC_NS, Export
from tests.schema import GENERATIONS, TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz import Run

every_generation = pytest.mark.parametrize("schema", list(GENERATIONS))
MS = 1_000_000
HOUR = 3_600_000_000_000


def fill(export: Export) -> None:
    """Write a bit of everything."""
    export.gpu("gpu-a", "0000:19:00.0")
    export.process(4711, "ray::Worker")
    export.thread(4711, "python3")
    export.domain(1, "NCCL")
    first = export.kernel(10 * MS, 20 * MS, "void gemm<float>(T1 *)", short="gemm")
    export.runtime(9 * MS, 10 * MS, correlation=first)
    export.kernel(15 * MS, 30 * MS, "softmax", stream=13, graph_node=5)
    export.copy(40 * MS, 45 * MS, size=1024, kind=2)
    export.memset(45 * MS, 46 * MS, size=64)
    export.graph(50 * MS, 60 * MS, graph_id=9)
    export.push_pop(5 * MS, 65 * MS, "outer")
    export.push_pop(6 * MS, 16 * MS, "inner", registered=True)
    export.push_pop(7 * MS, 8 * MS, "ncclAllReduce", domain=1, registered=True)
    export.push_pop(70 * MS, 71 * MS, None)
    export.start_end(66 * MS, 80 * MS, "request")
    export.mark(81 * MS, "step done")


def write(path: Path, schema: str = "3.20.2", **settings: Any) -> Path:
    with Export(path, schema, duration_ns=100 * MS, **settings) as export:
        fill(export)
    return path


def alter(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = OFF")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def kinds(run: Run) -> set[str]:
    return set(run.diagnostics["kind"])


def busy_ns(run: Run) -> int:
    busy = run.busy()
    return int((busy["end_ns"] - busy["start_ns"]).sum())


# -- generations -----------------------------------------------------------------------------


@every_generation
@pytest.mark.parametrize("lazy", [True, False])
def test_every_generation_gives_the_same_run(tmp_path: Path, schema: str, lazy: bool) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite", schema, lazy=lazy))
    kernels = run.kernels().select("name", "short_name", "start_ns", "end_ns", "graph_node_id")
    assert kernels.rows() == [
        ("void gemm<float>(T1 *)", "gemm", 10 * MS, 20 * MS, None),
        ("softmax", "softmax", 15 * MS, 30 * MS, 5),
    ]
    assert run.copies().select("kind", "direction", "bytes").rows() == [
        ("memcpy", "D2H", 1024),
        ("memset", None, 64),
    ]
    assert run.graphs().select("start_ns", "end_ns", "graph_id").rows() == [(50 * MS, 60 * MS, 9)]
    assert run.ranges().select("name", "domain", "depth", "kind", "thread").rows() == [
        ("outer", None, 0, "push_pop", "python3"),
        ("inner", None, 1, "push_pop", "python3"),
        ("ncclAllReduce", "NCCL", 2, "push_pop", "python3"),
        ("request", None, 0, "start_end", "python3"),
        ("<unnamed>", None, 0, "push_pop", "python3"),
    ]
    assert run.marks()["name"].to_list() == ["step done"]
    assert busy_ns(run) == 36 * MS


@every_generation
def test_versions_and_times_are_told_or_known_to_be_absent(tmp_path: Path, schema: str) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite", schema))
    (line,) = run.reports.to_dicts()
    known = schema != "2020"
    assert line["schema_version"] == (schema if known else None)
    assert line["nsys_version"] == (GENERATIONS[schema] if known else None)
    assert line["utc_start_ns"] == run.start_utc_ns == (UTC_NS if known else None)
    # without ANALYSIS_DETAILS: first to last event, and domain rows from before count for nothing
    window = (0, 100 * MS) if known else (5 * MS, 80 * MS)
    assert (line["window_start_ns"], line["window_end_ns"]) == window
    assert {"no-start-time", "no-window"} & kinds(run) == (
        set() if known else {"no-start-time", "no-window"}
    )
    assert line["status"] == "ok"
    assert line["host"] == "node-1"


@every_generation
def test_a_report_with_all_tables_and_no_rows_is_no_error(tmp_path: Path, schema: str) -> None:
    with Export(tmp_path / "w.sqlite", schema, lazy=False):
        pass
    run = rlviz.load(tmp_path)
    assert "nothing-traced" in kinds(run)
    assert run.reports["status"].to_list() == ["empty"]
    for frame in (run.kernels(), run.copies(), run.graphs(), run.ranges(), run.busy()):
        assert frame.is_empty()


def test_a_range_that_ends_with_the_last_event_is_closed_where_no_window_says_else(
    tmp_path: Path,
) -> None:
    with Export(tmp_path / "w.sqlite", "2020") as export:
        export.push_pop(5 * MS, 30 * MS, "the last to end")
        export.push_pop(6 * MS, None, "never ended")
    ranges = rlviz.load(tmp_path).ranges()
    assert ranges.select("name", "end_ns", "truncated").rows() == [
        ("the last to end", 30 * MS, False),
        ("never ended", 30 * MS, True),
    ]


# -- what is not there -----------------------------------------------------------------------


@pytest.mark.parametrize("table", sorted(set(TABLES) - {"EXPORT_META_DATA", "StringIds"}))
def test_a_table_that_is_absent_is_no_error(tmp_path: Path, table: str) -> None:
    path = write(tmp_path / "w.sqlite", lazy=False)
    alter(path, f"DROP TABLE {table}")
    run = rlviz.load(path)
    assert run.rows.height == 1
    missing = {
        "CUPTI_ACTIVITY_KIND_KERNEL": run.kernels(),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": run.graphs(),
        "NVTX_EVENTS": run.ranges(),
    }
    for name, frame in missing.items():
        assert frame.is_empty() == (name == table)


def test_without_its_strings_a_report_keeps_its_times(tmp_path: Path) -> None:
    path = write(tmp_path / "w.sqlite")
    alter(path, "DROP TABLE StringIds")
    run = rlviz.load(path)
    assert busy_ns(run) == 36 * MS
    assert run.ranges().height == 5


OPTIONAL = {
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        "globalPid",
        "correlationId",
        "contextId",
        "shortName",
        "demangledName",
        "graphNodeId",
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": ["globalPid", "correlationId", "bytes", "copyKind"],
    "CUPTI_ACTIVITY_KIND_MEMSET": ["globalPid", "correlationId", "bytes"],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": ["globalPid", "correlationId", "graphId", "graphExecId"],
    "CUPTI_ACTIVITY_KIND_RUNTIME": ["globalTid", "correlationId", "nameId"],
    "NVTX_EVENTS": ["text", "textId", "domainId", "endGlobalTid", "category", "rangeId"],
    "TARGET_INFO_GPU": ["cuDevice", "uuid", "busLocation", "name"],
    "TARGET_INFO_SESSION_START_TIME": ["utcEpochNs"],
    "ANALYSIS_DETAILS": ["duration", "startTime"],
    "TARGET_INFO_SYSTEM_ENV": ["value"],
    "ThreadNames": ["nameId", "globalTid"],
    "PROCESSES": ["pid", "name"],
}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table in OPTIONAL for column in OPTIONAL[table]]
)
def test_a_column_that_is_absent_loses_no_row(tmp_path: Path, table: str, column: str) -> None:
    path = write(tmp_path / "w.sqlite")
    alter(path, f'ALTER TABLE {table} DROP COLUMN "{column}"')
    run = rlviz.load(path)
    assert run.rows.height == 1
    assert busy_ns(run) == 36 * MS
    assert run.ranges().height == 5


@pytest.mark.parametrize("column", ["start", "end", "deviceId", "streamId"])
def test_a_column_that_is_needed_is_named(tmp_path: Path, column: str) -> None:
    path = write(tmp_path / "w.sqlite")
    alter(path, f'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN "{column}"')
    run = rlviz.load(path)
    (line,) = run.diagnostics.filter(pl.col("kind") == "schema").to_dicts()
    assert column in line["message"]
    assert run.kernels().is_empty()
    assert run.copies().height == 2


def test_without_gpu_tables_busy_time_is_unknown_and_not_zero(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.push_pop(1 * MS, 2 * MS, "generate")
    run = rlviz.load(tmp_path)
    assert run.rows["gpu_data"].to_list() == [False]
    assert run.busy().is_empty()
    assert run.busy(by="row").is_empty()
    assert "no-gpu-rows" in kinds(run)
    assert run.reports.select("status", "kernels").rows() == [("partial", None)]


def test_without_nvtx_the_gpu_rows_stand_alone(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.kernel(1 * MS, 2 * MS)
    run = rlviz.load(tmp_path)
    assert "no-nvtx" in kinds(run)
    assert run.reports.select("status", "ranges").rows() == [("partial", None)]
    assert busy_ns(run) == 1 * MS


@pytest.mark.parametrize("call", ["cudaGraphLaunch_v10000", "cuGraphLaunch"])
def test_graphs_that_left_no_rows_are_told_since_idle_time_is_unknown(
    tmp_path: Path, call: str
) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.kernel(1 * MS, 2 * MS)
        for start in (10, 20, 30):
            export.runtime(start * MS, start * MS + 100, call, correlation=900 + start)
    (line,) = [
        line
        for line in rlviz.load(tmp_path).diagnostics.to_dicts()
        if line["kind"] == "graph-launches-without-rows"
    ]
    assert (line["report"], line["count"]) == ("w.sqlite", 3)
    assert "--cuda-graph-trace" in line["message"]


def test_graphs_that_left_no_rows_are_told_where_there_is_no_other_gpu_row(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.push_pop(1 * MS, 50 * MS, "decode")
        export.runtime(10 * MS, 11 * MS, "cudaGraphLaunch_v10000", correlation=1)
    assert "graph-launches-without-rows" in kinds(rlviz.load(tmp_path))


@pytest.mark.parametrize("traced", ["graph", "node"])
def test_graphs_that_were_traced_raise_no_alarm(tmp_path: Path, traced: str) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        if traced == "graph":
            correlation = export.graph(1 * MS, 2 * MS)
        else:
            correlation = export.kernel(1 * MS, 2 * MS, graph_node=4)
        export.runtime(0, 100, "cudaGraphLaunch_v10000", correlation=correlation)
    assert "graph-launches-without-rows" not in kinds(rlviz.load(tmp_path))


# -- rows that are odd -----------------------------------------------------------------------


def test_two_calls_for_one_launch_do_not_double_the_kernel(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite", "2.9.1") as export:
        correlation = export.kernel(1 * MS, 2 * MS)
        for name in ("cudaLaunchKernel", "cudaLaunchKernel_v7000"):
            export.runtime(100, 200, name, correlation=correlation)
    assert rlviz.load(tmp_path).kernels().height == 1


def test_a_domain_created_twice_does_not_double_its_ranges(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.domain(2, "io")
        export.domain(2, "io", tid=4999)
        export.push_pop(1 * MS, 2 * MS, "detokenize", domain=2)
    assert rlviz.load(tmp_path).ranges()["domain"].to_list() == ["io"]


def test_domain_numbers_of_two_processes_are_not_mixed_up(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite") as export:
        export.domain(1, "NCCL", pid=10)
        export.domain(1, "vllm", pid=20, start=3 * MS, registered=True)
        export.push_pop(1 * MS, 2 * MS, "a", domain=1, pid=10)
        export.push_pop(1 * MS, 2 * MS, "b", domain=1, pid=20)
    found = rlviz.load(tmp_path).ranges().select("name", "domain").rows()
    assert sorted(found) == [("a", "NCCL"), ("b", "vllm")]


def test_rows_a_little_outside_the_window_are_kept(tmp_path: Path) -> None:
    # a real report has ranges 0.16 s past the end of a 0.26 s window
    with Export(tmp_path / "w.sqlite", duration_ns=260 * MS) as export:
        export.kernel(250 * MS, 270 * MS)
        export.push_pop(240 * MS, 420 * MS, "fork")
    run = rlviz.load(tmp_path)
    assert run.kernels()["end_ns"].to_list() == [270 * MS]
    assert run.ranges()["end_ns"].to_list() == [420 * MS]
    assert "bad-rows" not in kinds(run)


@pytest.mark.parametrize("span", [(3 * MS, HOUR), (-HOUR, 3 * MS), (3 * MS, 2**62)])
def test_a_row_that_reaches_far_outside_the_window_is_left_out(
    tmp_path: Path, span: tuple[int, int]
) -> None:
    # one such row would make a chart that is hours wide, and a GPU that is always busy
    with Export(tmp_path / "w.sqlite") as export:
        export.kernel(1 * MS, 2 * MS)
        export.kernel(*span)
        export.push_pop(1 * MS, 2 * MS, "step")
        export.push_pop(*span, "nonsense")
    run = rlviz.load(tmp_path)
    assert busy_ns(run) == 1 * MS
    assert run.ranges()["name"].to_list() == ["step"]
    assert run.diagnostics.filter(pl.col("kind") == "bad-rows")["count"].sum() == 2


def test_a_range_may_start_and_end_at_zero(tmp_path: Path) -> None:
    # zeros are "not collected" on GPU rows only
    with Export(tmp_path / "w.sqlite") as export:
        export.push_pop(0, 0, "at the very start")
        export.mark(0, "start")
        export.kernel(0, 5)
    run = rlviz.load(tmp_path)
    assert (run.ranges().height, run.marks().height, run.kernels().height) == (1, 1, 1)


def test_broken_text_is_read_and_costs_no_row(tmp_path: Path) -> None:
    path = write(tmp_path / "w.sqlite")
    alter(
        path,
        "UPDATE StringIds SET value = CAST(x'ff6b00c3' AS TEXT) WHERE value = 'softmax'",
        "UPDATE NVTX_EVENTS SET text = CAST(x'fffe' AS TEXT) WHERE text = 'outer'",
        "UPDATE PROCESSES SET name = CAST(x'ff' AS TEXT)",
    )
    run = rlviz.load(path)
    assert run.kernels().height == 2
    assert run.ranges().height == 5
    assert busy_ns(run) == 36 * MS


def test_hostile_names_come_as_they_stand(tmp_path: Path) -> None:
    names = ["</script><script>alert(1)</script>", "a\nb", "x" * 100_000, "日本 ✓", "", "%s{0}"]
    with Export(tmp_path / "w.sqlite") as export:
        for place, name in enumerate(names):
            export.kernel((place + 1) * MS, (place + 2) * MS, name)
            export.push_pop((place + 1) * MS, (place + 2) * MS, name)
    run = rlviz.load(tmp_path)
    assert run.kernels()["name"].to_list() == names
    assert run.ranges()["name"].to_list() == names


def test_names_that_point_nowhere_cost_no_row(tmp_path: Path) -> None:
    path = write(tmp_path / "w.sqlite")
    alter(
        path,
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 999999",
        "UPDATE NVTX_EVENTS SET textId = 999999 WHERE textId IS NOT NULL",
    )
    run = rlviz.load(path)
    # the short name is the next best
    assert run.kernels()["name"].to_list() == ["gemm", "softmax"]
    assert run.ranges()["name"].to_list().count("<unnamed>") == 3

"""Every option, on runs of a few kernels: the rows agree with the truth, and the truth with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rlviz.demo.export import statements
from tests.demo.written import Written, clipped, sweep
from tests.shared import REPORTS, needs_shared

SMALL: dict[str, Any] = {"steps": 2, "kernels_per_gpu": 400, "policy_gpus": 2, "generation_gpus": 2}

OPTIONS: dict[str, dict[str, Any]] = {
    "clean": {},
    "newer nsys": {"nsys": "2026.2"},
    "colocated": {"colocated": True, "nsys": "2026.2"},
    "graphs as rows": {"graphs": "graph"},
    "verl": {"framework": "verl", "captures": 2},
    "verl colocated": {"framework": "verl", "colocated": True},
    "rlinf": {"framework": "rlinf"},
    "rlinf colocated": {"framework": "rlinf", "colocated": True},
    "captures": {"captures": 2},
    "slow rank": {"slow_training_rank": 1},
    "slow gpu": {"slow_generation_gpu": 1},
    "long tail": {"long_tail": True},
    "slow refit": {"slow_refit": True},
    "exposed": {"exposed_communication": True},
    "missing": {"missing_rank": 0},
    "skewed": {"clock_skew_ms": {"node-2": -7_200_000.0}},
    "stepped": {"utc_step_ms": 80.0, "hosts": 1, "nsys": "2026.2"},
    "one host each": {"policy_gpus": 1, "hosts": 2},
}

Maker = Callable[..., Written]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Maker]:
    """Write a run once for all tests."""
    runs: dict[str, Written] = {}

    def make(**options: Any) -> Written:
        key = repr(sorted(options.items(), key=lambda item: item[0]))
        if key not in runs:
            runs[key] = Written.run(tmp_path_factory.mktemp("run"), **(SMALL | options))
        return runs[key]

    yield make
    for run in runs.values():
        run.close()


every_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@every_option
def test_busy_time_of_the_rows_is_that_of_the_schedule(
    made: Maker, options: dict[str, Any]
) -> None:
    run = made(**options)
    for uuid, gpu in run.truth["gpus"].items():
        windows, rows = run.windows(uuid), run.of_gpu(uuid)
        swept = sweep(rows, windows)
        assert {key: gpu["whole_run"][key] for key in swept} == swept
        for iteration in run.truth["iterations"]:
            swept = sweep(rows, clipped(windows, *iteration["window"]))
            assert {key: iteration["gpus"][uuid][key] for key in swept} == swept


@every_option
def test_rows_and_ranges_are_as_many_as_foretold(made: Maker, options: dict[str, Any]) -> None:
    run = made(**options)
    assert {str(path.relative_to(run.folder)) for path in run.folder.rglob("*.sqlite")} == set(
        run.truth["reports"]
    )
    for report, known in run.truth["reports"].items():
        events = {t for t in run.tables(report) if t.startswith(("CUPTI_ACT", "NVTX_"))}
        assert events == set(known["rows"])
        for table, count in known["rows"].items():
            assert run.ask(report, f"SELECT count(*) FROM {table}") == [(count,)]
        duration = known["duration_ns"]
        counted = run.ask(
            report,
            f"""
            SELECT coalesce(text, value), count(*), sum(coalesce("end", {duration}) - start)
            FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId
            WHERE eventType IN (59, 60) GROUP BY 1
            """,
        )
        assert {name: {"count": n, "ns": ns} for name, n, ns in counted} == known["ranges"]
        ((still_open,),) = run.ask(
            report, 'SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND "end" IS NULL'
        )
        assert still_open == known["ranges_open_at_stop"]


@every_option
def test_a_report_holds_what_a_lazy_export_would(made: Maker, options: dict[str, Any]) -> None:
    run = made(**options)
    documented = statements(run.truth["scenario"]["nsys"])
    for report in run.truth["reports"]:
        tables = run.tables(report)
        assert tables <= set(documented)
        for table in tables:
            assert run.ask(report, f"SELECT 1 FROM {table} LIMIT 1"), f"{table} is empty"
            ((written,),) = run.ask(report, f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
            assert written == documented[table][0].rstrip(";")


@every_option
def test_every_row_of_the_gpu_has_one_call_that_launched_it(
    made: Maker, options: dict[str, Any]
) -> None:
    run = made(**options)
    for report, known in run.truth["reports"].items():
        for table in set(known["rows"]) & {
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            "CUPTI_ACTIVITY_KIND_MEMSET",
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        }:
            calls = "(SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME call WHERE "
            calls += "call.correlationId = event.correlationId AND call.start < event.start)"
            query = f"SELECT count(*) FROM {table} event WHERE {calls} <> 1 OR deviceId <> 0"
            assert run.ask(report, query) == [(0,)]


@every_option
def test_no_time_lies_outside_the_capture(made: Maker, options: dict[str, Any]) -> None:
    run = made(**options)
    for report, known in run.truth["reports"].items():
        for start, end, _ in run.activity(report):
            offset = known["add_to_reach_run_clock_ns"]
            # Starting a collection holds the process up for 0.1 s.
            assert offset + 100_000_000 <= start < end <= offset + known["duration_ns"]


@every_option
def test_times_and_identities_are_written_as_foretold(made: Maker, options: dict[str, Any]) -> None:
    run = made(**options)
    zero = run.truth["clock"]["zero_utc_ns"]
    newer = run.truth["clock"]["system_clock_present"]
    for report, known in run.truth["reports"].items():
        columns = "utcEpochNs" + (", systemClockNs" if newer else "")
        (session,) = run.ask(report, f"SELECT {columns} FROM TARGET_INFO_SESSION_START_TIME")
        true_utc = zero + known["add_to_reach_run_clock_ns"]
        assert session[0] == known["utc_epoch_ns"] == true_utc + known["utc_error_ns"]
        ((duration, since),) = run.ask(report, "SELECT duration, startTime FROM ANALYSIS_DETAILS")
        assert duration == known["duration_ns"]
        assert since >= 0
        if newer:
            assert session[1] == since == known["system_clock_ns"]
        hostname = run.ask(
            report, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"
        )
        assert hostname == [(known["host"],)]
        if known["gpu"]:
            assert run.ask(
                report,
                """
                SELECT uuid, busLocation FROM TARGET_INFO_CUDA_DEVICE
                JOIN TARGET_INFO_GPU ON id = gpuId WHERE cudaId = 0
                """.replace("uuid", "TARGET_INFO_GPU.uuid"),
            ) == [(known["gpu"], known["bus"])]
        mark = run.ask(report, "SELECT value FROM META_DATA_EXPORT WHERE name = 'SIMULATED'")
        assert mark == [("made by rlviz; not a real capture",)]


@every_option
def test_the_tokens_lie_where_nsys_puts_the_environment_and_nowhere_else(
    made: Maker, options: dict[str, Any]
) -> None:
    run = made(**options)
    for report in run.truth["reports"]:
        texts = {
            table: "".join(
                value
                for row in run.ask(report, f"SELECT * FROM {table}")
                for value in row
                if isinstance(value, str)
            )
            for table in run.tables(report)
        }
        for secret in run.truth["secrets"]:
            holders = {table for table, text in texts.items() if secret in text}
            assert holders == {"StringIds", "TARGET_INFO_SYSTEM_ENV", "META_DATA_CAPTURE"}


def numbers(run: Written) -> dict[str, Any]:
    """One complete iteration."""
    found: dict[str, Any] = next(one for one in run.truth["iterations"] if one["complete"])
    return found


def test_a_slow_rank_is_the_one_that_is_waited_for(made: Maker) -> None:
    slow, clean = numbers(made(slow_training_rank=1)), numbers(made())
    assert slow["training_straggler"]["rank"] == 1
    assert slow["training_straggler"]["charged_ns"] > 1e9
    assert clean["training_straggler"]["charged_ns"] < 0.2e9


@pytest.mark.parametrize("fault", ["slow_generation_gpu", "long_tail"])
def test_what_holds_up_generation_ends_last(made: Maker, fault: str) -> None:
    run = made(**{fault: 1 if fault == "slow_generation_gpu" else True})
    iteration = numbers(run)
    straggler = iteration["segment"]["straggler"]
    planted = run.truth["planted"][fault]
    assert straggler["last"] == planted["gpu"]
    assert straggler["ns"] > 8e9
    _, end = iteration["segment"]["per_gpu"][planted["gpu"]]
    busy = sweep(run.of_gpu(planted["gpu"]), [(end - 6_000_000_000, end)])["busy_ns"] / 6e9
    # A slow GPU works all the time; a long tail leaves its GPU nearly empty.
    assert busy > 0.9 if fault == "slow_generation_gpu" else busy < 0.4


def test_a_slow_refit_stalls_generation(made: Maker) -> None:
    slow, clean = numbers(made(slow_refit=True)), numbers(made())
    lengths = [
        one["refit"]["generation"][1] - one["refit"]["generation"][0] for one in (slow, clean)
    ]
    assert lengths[0] > 5 * lengths[1]


def test_exposed_communication_is_exposed(made: Maker) -> None:
    shares = [
        max(n["comm_exposed_ns"] / n["captured_ns"] for n in numbers(run)["gpus"].values())
        for run in (made(exposed_communication=True), made())
    ]
    assert shares[0] > 0.12
    assert shares[1] < 0.03


def test_a_missing_rank_leaves_no_report_but_is_known_to_the_others(made: Maker) -> None:
    run = made(missing_rank=0)
    assert [one["rank"] for one in run.truth["missing_reports"]] == [0]
    assert run.truth["ranks"]["policy"] == [0, 1]
    assert len(run.truth["gpus"]) == 3
    report = next(name for name, one in run.truth["reports"].items() if one["role"] == "policy")
    ranks = run.ask(
        report, "SELECT DISTINCT jsonText FROM NVTX_EVENTS WHERE eventType = 59 AND domainId = 1"
    )
    assert any('"No. of ranks": 2, "Rank": 1' in text for (text,) in ranks)


def test_graphs_without_rows_make_idle_time_unknown(made: Maker) -> None:
    run = made(graphs="lost")
    iteration = numbers(run)
    pools = {numbers["pool"]: numbers for numbers in iteration["gpus"].values()}
    assert pools["generation"]["busy_ns"] is None
    assert pools["generation"]["reason"]
    assert pools["training"]["busy_ns"] is not None
    assert iteration["overlap"]["ns"] is None
    for report, known in run.truth["reports"].items():
        if known["role"] == "generation":
            launches = (
                "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId"
            )
            ((count,),) = run.ask(report, launches + " WHERE value = 'cudaGraphLaunch_v10000'")
            assert count > 0


def test_a_colocated_run_shares_its_gpus(made: Maker) -> None:
    run = made(colocated=True, nsys="2026.2")
    assert all(len(gpu["reports"]) == 2 for gpu in run.truth["gpus"].values())
    assert numbers(run)["overlap"] == {"ns": None, "reason": "colocated"}
    names = {name for one in run.truth["reports"].values() for name in one["ranges"]}
    assert "vllm_genertion_worker/generate" in names


def test_captures_of_one_process_belong_to_one_session(made: Maker) -> None:
    run = made(captures=2)
    launches: dict[tuple[str, int], set[int]] = {}
    for report, known in run.truth["reports"].items():
        ((since,),) = run.ask(report, "SELECT startTime FROM ANALYSIS_DETAILS")
        launches.setdefault((known["host"], known["pid"]), set()).add(known["utc_epoch_ns"] - since)
    assert all(len(launch) == 1 for launch in launches.values())
    assert len({launch for each in launches.values() for launch in each}) == len(launches)


def test_verl_ranges_have_registered_names_and_a_controller_counts_the_steps(made: Maker) -> None:
    run = made(framework="verl", captures=2)
    assert [one["iteration"] for one in run.truth["iterations"]] == [2, 4]
    assert set(run.truth["controller_steps"]) == {"1", "2", "3", "4"}
    for report in run.truth["reports"]:
        kinds = run.ask(
            report,
            "SELECT DISTINCT eventType, text IS NULL FROM NVTX_EVENTS WHERE domainId = 0",
        )
        assert kinds == [(60, 1)]


def test_steps_that_are_to_be_identical_are(made: Maker) -> None:
    run = made(identical_steps=True, steps=3, kernels_per_gpu=600)
    lengths = {one["window"][1] - one["window"][0] for one in run.truth["iterations"][1:]}
    assert len(lengths) == 1


@pytest.mark.parametrize("kernels", [100, 150, 400, 1_500])
@pytest.mark.parametrize("options", [{}, {"colocated": True}, {"long_tail": True}], ids=str)
def test_no_gpu_has_more_kernels_than_allowed(
    made: Maker, kernels: int, options: dict[str, Any]
) -> None:
    run = made(kernels_per_gpu=2 * kernels, **options)
    for gpu in run.truth["gpus"].values():
        count = sum(
            run.ask(report, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0]
            for report in gpu["reports"]
        )
        assert count <= 2 * kernels


@needs_shared
@pytest.mark.parametrize(
    ("version", "real"),
    [
        ("2025.3", "nsys-2025.3_power_iteration.sqlite"),
        ("2026.2", "nsys-2026.2_h100_2gpu_1s.sqlite"),
    ],
)
def test_columns_are_those_of_a_real_export(version: str, real: str) -> None:
    address = (REPORTS / "public" / real).as_uri() + "?mode=ro&immutable=1"
    columns = "SELECT name, type, \"notnull\", pk FROM pragma_table_info('{}')"
    compared = 0
    with sqlite3.connect(address, uri=True) as theirs, sqlite3.connect(":memory:") as ours:
        for table, sql in statements(version).items():
            ours.execute(sql[0])
            known = theirs.execute(columns.format(table)).fetchall()
            if known:
                assert ours.execute(columns.format(table)).fetchall() == known
                compared += 1
    assert compared > 25

"""Numbers of runs with known answers, to the nanosecond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rlviz.run import thresholds
from rlviz.run.columns import COLUMNS, PHASE_COLUMNS, schema
from rlviz.run.intervals import clip, total
from rlviz.run.stragglers import TrainingStraggler
from rlviz.run.summary import summary, summary_by_gpu
from rlviz.run.top_kernels import top_kernels
from rlviz.run.unknown import reasons
from tests.measured import ASYNC, COLOCATED, measured, metrics_of
from tests.shared import needs_shared

every_run = pytest.mark.parametrize("name", [*ASYNC, *COLOCATED])
every_async_run = pytest.mark.parametrize("name", ASYNC)
every_colocated_run = pytest.mark.parametrize("name", COLOCATED)
CLASSES = ("launch", "short", "wait")


def flat(known: dict[str, Any]) -> dict[str, Any]:
    """Known answers of a GPU under the names of the columns."""
    idle = {f"idle_{name}_ns": known["idle_ns"][name] for name in CLASSES}
    names = ("captured", "busy", "compute", "comm_exposed", "copy_only", "edge", "bubble")
    return idle | {f"{name}_ns": known[f"{name}_ns"] for name in names}


# -- one GPU ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [*ASYNC, *COLOCATED, pytest.param("nemo_skew", marks=needs_shared)]
)
def test_a_gpu_spends_the_whole_run_as_the_schedule_says(name: str) -> None:
    loaded = measured(name)
    for uuid, answer in loaded.answer["gpus"].items():
        gpu, known = loaded.gpu(uuid), answer["whole_run"]
        assert gpu.pool == answer["pool"]
        first, last = gpu.captured[0][:1], gpu.captured[1][-1:]
        found = {n: int(ns[0]) for n, ns in gpu.numbers_in(first, last).items()}
        found["captured_ns"] = int(gpu.captured_in(first, last)[0])
        assert found == flat(known)
        longest = gpu.gaps.longest_in(int(first[0]), int(last[0]))
        assert longest is not None
        assert longest[1] - longest[0] == known["longest_gap"]["ns"]
        if name != "nemo_skew":
            assert longest == (known["longest_gap"]["start"], known["longest_gap"]["end"])


@every_run
def test_a_gpu_spends_each_iteration_as_the_schedule_says(name: str) -> None:
    loaded = measured(name)
    lines = loaded.by_gpu()
    assert len(lines) == len(loaded.iterations) * len(loaded.answer["gpus"])
    for known in loaded.iterations:
        for uuid, answer in known["gpus"].items():
            line = lines[known["iteration"], loaded.row(uuid)]
            expected = flat(answer)
            gap = answer["longest_gap"]
            expected["longest_gap_ns"] = gap["ns"]
            expected["longest_gap_start_ns"] = gap["start"]
            expected["longest_gap_other_active_ns"] = gap["other_pool_active_ns"]
            expected["pool"] = answer["pool"]
            expected["partial"] = not known["complete"]
            assert {name: line[name] for name in expected} == expected


@every_run
def test_captured_is_busy_edge_and_idle_to_the_nanosecond(name: str) -> None:
    for line in measured(name).by_gpu().values():
        idle = sum(line[f"idle_{name}_ns"] for name in CLASSES)
        assert line["captured_ns"] == line["busy_ns"] + line["edge_ns"] + idle
        parts = line["compute_ns"] + line["comm_exposed_ns"] + line["copy_only_ns"]
        assert line["busy_ns"] == parts


@every_run
def test_lanes_of_a_shared_gpu_are_told_apart(name: str) -> None:
    loaded = measured(name)
    activity = {lane: own for gpu in loaded.metrics.gpus for lane, own in gpu.lanes.items()}
    for known in loaded.iterations:
        ns: dict[int, int] = {}
        for report, answer in known["lane_busy_ns"].items():
            # Captures of one process are one lane, and each is told what lies in its own window.
            ns[loaded.lane(report)] = ns.get(loaded.lane(report), 0) + answer
        for lane, answer in ns.items():
            assert total(*clip(*activity[lane].busy, *known["window"])) == answer


@every_run
def test_gaps_add_up_to_the_idle_time_of_their_iteration(name: str) -> None:
    loaded = measured(name)
    gaps = loaded.metrics.gaps()
    assert dict(gaps.schema) == schema("gaps")
    assert gaps.select("row", "start_ns").rows() == sorted(gaps.select("row", "start_ns").rows())
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    sums = {
        (line["iteration"], line["row"], line["class"]): line["end_ns"]
        for line in gaps.group_by("iteration", "row", "class")
        .agg(length.alias("end_ns"))
        .to_dicts()
    }
    bubble_frame = gaps.filter("bubble").group_by("iteration", "row").agg(length)
    bubbles = {(iteration, row): ns for iteration, row, ns in bubble_frame.iter_rows()}
    for key, line in loaded.by_gpu().items():
        assert bubbles.get(key, 0) == line["bubble_ns"]
        for kind in CLASSES:
            assert sums.get((*key, kind), 0) == line[f"idle_{kind}_ns"]


@every_async_run
def test_gaps_tell_what_the_other_pool_did_meanwhile(name: str) -> None:
    loaded = measured(name)
    gaps = loaded.metrics.gaps()
    for known in loaded.iterations:
        for uuid, answer in known["gpus"].items():
            gap = answer["longest_gap"]
            (line,) = gaps.filter(
                pl.col("row") == loaded.row(uuid), pl.col("start_ns") == gap["start"]
            ).to_dicts()
            assert (line["end_ns"], line["iteration"]) == (gap["end"], known["iteration"])
            assert line["other_active_ns"] == gap["other_pool_active_ns"]


# -- both pools ------------------------------------------------------------------------------


@every_async_run
def test_pools_overlap_as_the_schedule_says(name: str) -> None:
    loaded = measured(name)
    lines = loaded.by_pool()
    for known, found in zip(loaded.iterations, loaded.metrics.overlaps, strict=True):
        overlap, twin = known["overlap"], known["overlap_gpu_seconds"]
        assert found.reason is None
        assert found.active_ns == known["pool_active_ns"]
        assert found.overlap_ns == overlap["ns"]
        assert found.twin_gpu_gpu_ns == twin["gpu_gpu_ns"]
        assert found.twin_gpu_s == pytest.approx(twin["s"], rel=1e-12)
        assert found.exposed_generation_ns == known["exposed_generation"]["ns"]
        for pool in ("generation", "training"):
            line = lines[known["iteration"], pool]
            assert line["active_ns"] == known["pool_active_ns"][pool]
            assert line["overlap_ns"] == overlap["ns"]
            assert line["overlap_gpu_s"] == found.twin_gpu_s
            assert line["exposed_generation_ns"] == known["exposed_generation"]["ns"]


@every_colocated_run
def test_colocated_pools_have_no_overlap_and_the_reason_is_told(name: str) -> None:
    metrics = measured(name).metrics
    frame, diagnostics = summary(metrics), reasons(metrics)
    assert set(frame["pool"]) == {"colocated"}
    for column in ("active_ns", "overlap_ns", "overlap_gpu_s", "exposed_generation_ns"):
        assert frame[column].is_null().all()
    assert "colocated" in {one.kind for one in diagnostics}


@every_async_run
def test_the_tail_of_a_segment_is_that_of_the_schedule(name: str) -> None:
    loaded = measured(name)
    known = [iteration["tail"]["ns"] for iteration in loaded.iterations]
    assert list(loaded.metrics.tails_ns) == known
    frame = summary(loaded.metrics)
    assert frame.filter(pool="generation")["tail_ns"].to_list() == known
    assert frame.filter(pool="training")["tail_ns"].is_null().all()


@every_run
def test_a_pool_is_the_sum_of_its_gpus_and_its_longest_gap(name: str) -> None:
    loaded = measured(name)
    frame = summary(loaded.metrics)
    gpus = summary_by_gpu(loaded.metrics)
    own = ("iteration", "pool", "duration_ns", "refit_ns", "straggler_ns")
    summed = [
        c
        for c in frame.columns
        if c in gpus.columns and c not in (*own, "longest_gap_ns", "partial", "stall_ns")
    ]
    assert {"busy_ns", "edge_ns", "training_ns", "refit_busy_ns"} <= set(summed)
    expected = gpus.group_by("iteration", "pool").agg(
        pl.len().cast(pl.Int64).alias("gpus"), pl.col(summed).sum(), pl.col("longest_gap_ns").max()
    )
    keys = ["iteration", "pool"]
    assert_frame_equal(
        frame.select(expected.columns).sort(keys), expected.sort(keys), check_column_order=True
    )


# -- refits and stragglers -------------------------------------------------------------------


@every_run
def test_refits_and_stalls_are_those_of_the_schedule(name: str) -> None:
    loaded = measured(name)
    pools, gpus = loaded.by_pool(), loaded.by_gpu()
    for known in loaded.iterations:
        number, refit = known["iteration"], known["refit"]
        stalls = []
        for uuid, answer in refit["per_generation_gpu"].items():
            line = gpus[number, loaded.row(uuid)]
            assert line["stall_ns"] == answer["stall_ns"]
            assert line["refit_ns"] == answer["range"][1] - answer["range"][0]
            stalls.append(answer["stall_ns"])
        generates = loaded.generating_pool
        total_ns = None if None in stalls else sum(stalls)
        assert pools[number, generates]["stall_ns"] == total_ns
        if generates == "generation":
            for pool in ("generation", "training"):
                assert pools[number, pool]["refit_ns"] == refit[pool][1] - refit[pool][0]


@every_colocated_run
def test_a_stall_that_the_capture_cuts_is_unknown_and_said_to_be(name: str) -> None:
    loaded = measured(name)
    last = loaded.iterations[-1]["iteration"]
    assert loaded.by_pool()[last, "colocated"]["stall_ns"] is None
    diagnostics = reasons(loaded.metrics)
    gpus = len(loaded.answer["gpus"])
    assert [d.count for d in diagnostics if d.kind == "unknown-stall"] == [gpus]


@every_run
def test_the_generation_straggler_is_that_of_the_schedule(name: str) -> None:
    loaded = measured(name)
    lines = loaded.by_pool()
    pool = loaded.generating_pool
    for known in loaded.iterations:
        straggler = known["segment"]["straggler"]
        line = lines[known["iteration"], pool]
        assert line["straggler_ns"] == straggler["ns"]
        assert line["straggler_row"] == loaded.row(straggler["last"])


@every_run
def test_the_training_straggler_is_that_of_the_schedule(name: str) -> None:
    loaded = measured(name)
    lines, rows = loaded.by_pool(), loaded.run.rows
    pairs = rows.filter(pl.col("role") == "policy").select("row", "rank").iter_rows()
    rank_of_row = {row: str(rank) for row, rank in pairs}
    for known, found in zip(loaded.iterations, loaded.metrics.training_stragglers, strict=True):
        answer = known["training_straggler"]
        if answer["rank"] is None:
            assert found == "one-rank"
            continue
        assert isinstance(found, TrainingStraggler)
        assert rank_of_row[found.row] == str(answer["rank"])
        assert found.matched == answer["matched_collectives"]
        assert found.times_last == answer["times_last"]
        assert found.charged_ns == answer["charged_ns"]
        assert found.late_median_ns == answer["lateness_median_ns"]
        charged = {rank_of_row[row]: ns for row, ns in found.charged_by_row_ns.items()}
        assert charged == answer["charged_by_rank_ns"]
        if loaded.generating_pool == "generation":
            line = lines[known["iteration"], "training"]
            assert (line["straggler_ns"], line["straggler_row"]) == (found.charged_ns, found.row)


# -- the frames ------------------------------------------------------------------------------


@every_run
def test_iterations_that_are_found_give_the_numbers_of_those_that_are_known(name: str) -> None:
    loaded = measured(name)
    story = loaded.run.story
    found = metrics_of(loaded.run, story.iterations, story.refits)
    for frame_of in (summary, summary_by_gpu):
        known_frame = frame_of(loaded.metrics)
        # What training lanes sent is found, and not among the known answers.
        drop = ["refit_ns"] if frame_of is summary_by_gpu else []
        assert_frame_equal(frame_of(found).drop(drop), known_frame.drop(drop))
    assert reasons(found) == reasons(loaded.metrics)


@every_run
def test_frames_have_the_documented_columns(name: str) -> None:
    metrics = measured(name).metrics
    assert dict(summary(metrics).schema) == schema("summary")
    assert dict(summary_by_gpu(metrics).schema) == schema("summary_by_gpu")


def test_the_summary_has_the_columns_that_were_promised() -> None:
    assert list(COLUMNS["summary"]) == [
        "iteration",
        "pool",
        "gpus",
        "duration_ns",
        "busy_ns",
        "compute_ns",
        "comm_exposed_ns",
        "copy_only_ns",
        "idle_launch_ns",
        "idle_short_ns",
        "idle_wait_ns",
        "bubble_ns",
        "edge_ns",
        "longest_gap_ns",
        "active_ns",
        "overlap_ns",
        "overlap_gpu_s",
        "exposed_generation_ns",
        "refit_ns",
        "stall_ns",
        "straggler_ns",
        "straggler_row",
        "tail_ns",
        "generation_ns",
        "logprobs_ns",
        "training_ns",
        "refit_busy_ns",
        "reward_ns",
        "other_ns",
        "partial",
    ]


@every_run
def test_phases_of_disjoint_ranges_share_out_the_busy_time_of_a_gpu(name: str) -> None:
    loaded = measured(name)
    for line in loaded.by_gpu().values():
        phases = sum(line[column] for column in PHASE_COLUMNS.values())
        assert 0 < phases <= line["busy_ns"]
        if line["partial"]:
            continue  # a range that was open when the capture began is in no report
        if line["pool"] == "generation":
            assert line["training_ns"] == line["logprobs_ns"] == 0
            assert line["generation_ns"] > line["refit_busy_ns"] > 0
        if line["pool"] == "training":
            assert line["generation_ns"] == 0
            assert line["training_ns"] > line["logprobs_ns"] >= 0


@every_run
def test_top_kernels_sum_up_durations_and_not_busy_time(name: str) -> None:
    loaded = measured(name)
    events = loaded.run.events
    frame = top_kernels(events)
    assert dict(frame.schema) == schema("top_kernels")
    kernels = loaded.run.kernels()
    sums = [r.get("sum_of_kernel_durations_ns") for r in loaded.answer["reports"].values()]
    told = sum(ns for ns in sums if ns is not None)
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    assert frame["total_ns"].sum() == (told or kernels.select(length).item())
    assert frame["total_ns"].to_list() == sorted(frame["total_ns"], reverse=True)
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["count"].sum() == len(kernels)


def test_top_kernels_of_a_window_count_what_lies_inside_of_it() -> None:
    run = measured("demo").run
    first, last, row = 10**9, 2 * 10**9, 3
    kernels = run.kernels(row=row, start_ns=first, end_ns=last)
    expected: dict[str, list[int]] = {}
    for line in kernels.to_dicts():
        length = min(line["end_ns"], last) - max(line["start_ns"], first)
        expected.setdefault(line["short_name"], []).append(length)
    frame = top_kernels(run.events, rows=[row], start_ns=first, end_ns=last)
    found = {n: (c, t, m) for n, c, t, m in frame.drop("share").iter_rows()}
    assert found == {n: (len(own), sum(own), max(own)) for n, own in expected.items()}
    assert top_kernels(run.events, rows=[]).is_empty()


def test_what_is_no_window_has_no_kernels_and_no_share() -> None:
    frame = top_kernels(measured("demo").run.events, start_ns=np.iinfo(np.int64).max - 1)
    assert frame.is_empty()
    assert dict(frame.schema) == schema("top_kernels")


def test_every_number_and_every_threshold_is_defined_on_its_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "definitions.md").read_text("utf-8")
    frames = ("summary", "summary_by_gpu", "gaps", "top_kernels")
    numbers = {c for frame in frames for c in COLUMNS[frame] if c.endswith(("_ns", "_s"))}
    assert {c for c in numbers - {"start_ns", "end_ns"} if f"`{c}`" not in page} == set()
    seconds = {
        "0.2 s": thresholds.EDGE_START_NS,
        "1.5 s": thresholds.EDGE_STOP_NS,
        "100 µs": thresholds.LAUNCH_NS,
        "1 ms": thresholds.BUBBLE_NS,
        "10 ms": thresholds.WAIT_NS,
    }
    units = {"s": 10**9, "ms": 10**6, "µs": 10**3}
    for told, ns in seconds.items():
        number, unit = told.split()
        assert float(number) * units[unit] == ns
        assert told in page

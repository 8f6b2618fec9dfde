"""What an expert would say: planted faults come first and by name, and clean runs have none."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

import rlviz
import rlviz.demo
from rlviz.run.columns import schema
from rlviz.run.findings import find, findings_frame
from rlviz.run.findings.finding import Finding
from rlviz.run.stragglers import TrainingStraggler
from tests.exports import Export
from tests.shared import REPORTS, SIM, needs_shared, stem_of

FAULTS = {
    "slow_training_rank": "training-straggler",
    "slow_generation_gpu": "generation-straggler",
    "long_tail": "long-tail",
    "slow_refit": "refit-stall",
    "exposed_communication": "exposed-communication",
}
PLANT: dict[str, Any] = dict.fromkeys(FAULTS, True) | {
    "slow_training_rank": 1,
    "slow_generation_gpu": 1,
}
NEVER_CLEAN = {*FAULTS.values(), "incomplete-trace"}
SMALL = {"policy_gpus": 3, "generation_gpus": 3, "steps": 2, "kernels_per_gpu": 500}
SHARED_RUNS = ("nemo_async", "nemo_skew", "sync_colocated", "verl_async", "edge_rows")
_folders: list[TemporaryDirectory[str]] = []


@dataclass(frozen=True)
class Planted:
    """A simulated run, with what was planted in it."""

    folder: Path
    run: rlviz.Run
    answer: dict[str, Any]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Lines of the frame."""
        return self.run.findings.to_dicts()

    @property
    def kinds(self) -> list[str]:
        """Kinds, in the order of their ranks."""
        return self.run.findings["kind"].to_list()

    def row_of(self, fault: str) -> int:
        """Row in which a fault was planted."""
        uuid = self.answer["planted"][fault]["gpu"]
        (row,) = self.run.rows.filter(pl.col("gpu_uuid") == uuid)["row"].unique()
        return int(row)

    def durations_ns(self) -> list[int]:
        """Lengths of the complete iterations, as the schedule has them."""
        complete = [one["window"] for one in self.answer["iterations"] if one["complete"]]
        return [end - start for start, end in complete]


def folder() -> Path:
    """Make a folder that lasts as long as the tests, since a run reads on demand."""
    _folders.append(TemporaryDirectory())
    return Path(_folders[-1].name)


@cache
def _planted(settings: tuple[tuple[str, Any], ...]) -> Planted:
    place = folder()
    rlviz.demo.write(place, **(SMALL | dict(settings)))
    answer = json.loads((place / "truth.json").read_text("utf-8"))
    return Planted(place, rlviz.load(place), answer)


def planted(**settings: Any) -> Planted:
    """Load a simulated run."""
    return _planted(tuple(settings.items()))


def copy_of(loaded: Planted) -> Path:
    """Copy its reports, to change them."""
    return shutil.copytree(loaded.folder, folder() / "copy")


def texts(run: rlviz.Run) -> str:
    """All that is said of a run."""
    return "\n".join(run.findings["text"])


# -- planted faults --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        *((run, {f: on}) for run in ({}, {"colocated": True}) for f, on in PLANT.items()),
        # Decoding that is traced as graphs has no kernels to compare, but launches.
        ({"framework": "verl"}, {"slow_generation_gpu": 1}),
        ({"framework": "rlinf"}, {"slow_training_rank": 1}),
    ],
    ids=str,
)
def test_a_planted_fault_comes_first_and_names_its_row(
    run: dict[str, Any], fault: dict[str, Any]
) -> None:
    loaded = planted(**run, **fault)
    (name,) = fault
    first = loaded.findings[0]
    assert (first["rank"], first["kind"]) == (1, FAULTS[name])
    assert first["row"] == loaded.row_of(name)
    label = loaded.run.rows.filter(row=first["row"])["label"][0]
    assert " ".join(label.split()) in first["text"]
    others = {*loaded.kinds[1:]}
    assert not others & NEVER_CLEAN, "a fault is taken for another one as well"


@pytest.mark.parametrize("fault", [{f: on} for f, on in PLANT.items()], ids=str)
def test_what_a_fault_costs_is_what_iterations_are_shorter_without_it(
    fault: dict[str, Any],
) -> None:
    faulty, clean = planted(**fault).durations_ns(), planted().durations_ns()
    won = sum(faulty) / len(faulty) - sum(clean) / len(clean)
    # Without the fault there is still a refit of 0.5 s, and some communication that nothing hides.
    necessary = 0.6e9 if {"slow_refit", "exposed_communication"} & set(fault) else 0
    lost = planted(**fault).findings[0]["lost_ns"]
    assert won - 0.3e9 < lost < won + necessary + 0.3e9


def test_a_finding_points_at_the_time_that_it_is_about() -> None:
    for fault in ({"slow_training_rank": 1}, {"long_tail": True}, {"slow_refit": True}):
        loaded = planted(**fault)
        windows = [one["window"] for one in loaded.answer["iterations"]]
        for line in loaded.findings:
            assert any(a <= line["start_ns"] < line["end_ns"] <= b for a, b in windows)
    tail = planted(long_tail=True)
    # The others have ended, and the last GPU goes on for 12 s.
    (segment,) = [
        one["segment"]["per_gpu"].values() for one in tail.answer["iterations"] if one["complete"]
    ]
    ends = sorted(end for _, end in segment)
    assert (tail.findings[0]["start_ns"], tail.findings[0]["end_ns"]) == (ends[1], ends[-1])


def test_a_slow_gpu_is_slow_by_as_much_as_it_was_made_slow() -> None:
    (said,) = re.findall(r"kernels take ([\d.]+) times", texts(planted(slow_generation_gpu=1).run))
    assert 1.35 <= float(said) <= 1.65


def test_a_rank_is_said_to_be_last_as_often_as_it_was() -> None:
    loaded = planted(slow_training_rank=1)
    known = [i["training_straggler"] for i in loaded.answer["iterations"] if i["complete"]]
    times, matched = (sum(k[n] for k in known) for n in ("times_last", "matched_collectives"))
    assert f"arrives last at {times} of {matched} " in loaded.findings[0]["text"]


def test_a_slow_gpu_that_training_hides_is_named_but_costs_nothing() -> None:
    loaded = planted(slow_training_rank=0, slow_generation_gpu=1)
    assert loaded.kinds[0] == "training-straggler"
    (hidden,) = (f for f in loaded.findings if f["kind"] == "generation-straggler")
    assert hidden["row"] == loaded.row_of("slow_generation_gpu")
    assert "hides" in hidden["text"]
    assert hidden["lost_ns"] < 0.03 * loaded.durations_ns()[0]
    # Nothing waits because of it, so it does not stand above what training waits for.
    assert loaded.kinds.index("exposed-generation") < loaded.kinds.index("generation-straggler")


# -- clean runs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "run",
    [
        *({"seed": seed} for seed in (0, 1, 2)),
        *({"colocated": True, "seed": seed} for seed in (0, 3)),
        {"framework": "verl", "captures": 2},
        {"framework": "rlinf", "steps": 3},
        {"policy_gpus": 2, "generation_gpus": 6, "steps": 1, "kernels_per_gpu": 300},
    ],
    ids=str,
)
def test_a_clean_run_has_no_fault(run: dict[str, Any]) -> None:
    assert not NEVER_CLEAN & set(planted(**run).kinds)


@needs_shared
@pytest.mark.parametrize("name", SHARED_RUNS)
def test_a_clean_run_of_other_hands_has_no_fault(name: str) -> None:
    run = rlviz.load(SIM / name)
    assert not NEVER_CLEAN & set(run.findings["kind"])
    answer = json.loads((SIM / name / "truth.json").read_text("utf-8"))
    exposed = [i["exposed_generation"]["ns"] for i in answer["iterations"] if i["complete"]]
    said = run.findings.filter(kind="exposed-generation")["lost_ns"].to_list()
    if answer["iterations"][0]["exposed_generation"]["ns"] is None:
        assert said == []
    elif name != "nemo_skew":
        assert said == [round(sum(exposed) / len(exposed))]


# -- ranks and columns -----------------------------------------------------------------------


def test_findings_are_a_frame_with_documented_columns_ranked_by_what_they_cost() -> None:
    for loaded in (planted(), planted(slow_refit=True), planted(colocated=True, slow_refit=True)):
        frame = loaded.run.findings
        assert dict(frame.schema) == schema("findings")
        assert frame["rank"].to_list() == list(range(1, len(frame) + 1))
        assert frame["lost_ns"].to_list() == sorted(frame["lost_ns"], reverse=True)
    assert dict(findings_frame([]).schema) == schema("findings")


def test_a_cause_stands_above_its_consequence_however_long_that_is() -> None:
    loaded = planted(slow_generation_gpu=1, steps=3)
    kinds, lost = loaded.kinds, loaded.run.findings["lost_ns"].to_list()
    assert kinds[:2] == ["generation-straggler", "exposed-generation"]
    assert lost[0] < lost[1], "the case shows nothing"


def test_waiting_for_a_slow_rank_is_not_called_communication() -> None:
    loaded = planted(slow_training_rank=1)
    frame = loaded.run.summary().filter(pool="training", partial=False)
    exposed = int(frame["comm_exposed_ns"].sum()) / int(frame["gpus"].sum())
    assert exposed > 0.08 * loaded.durations_ns()[0], "the case shows nothing"
    assert "exposed-communication" not in loaded.kinds


def test_ranks_that_wait_for_each_other_in_turn_are_not_one_straggler() -> None:
    run = rlviz.load(planted(slow_generation_gpu=1, steps=3).folder)
    stragglers = [
        TrainingStraggler(
            row, 1_500_000_000, 20, 60, 50_000_000, dict.fromkeys(rows, 1_400_000_000)
        )
        for rows in [run.rows.filter(pool="training")["row"].to_list()]
        for row in rows
    ]
    run.metrics.__dict__["training_stragglers"] = tuple(stragglers)
    (said,) = (f for f in find(run) if f.kind == "training-straggler")
    assert said.row is None
    assert "wait for each other 4.2 s" in said.text
    assert "exposed-communication" not in {f.kind for f in find(run)}


# -- incomplete traces -----------------------------------------------------------------------


@pytest.mark.parametrize("framework", ["nemo_rl", "verl"])
def test_a_missing_rank_comes_first_and_is_called_by_its_number(framework: str) -> None:
    loaded = planted(framework=framework, missing_rank=1, exposed_communication=True)
    assert loaded.kinds[0] == "incomplete-trace"
    assert loaded.findings[0]["text"].startswith("No report of policy rank 1 of 3: ")
    # There is no row of it, and the other ranks may be in collectives because they wait for it.
    assert loaded.findings[0]["row"] is None
    assert not {*loaded.kinds[1:]} & NEVER_CLEAN


def test_a_worker_that_has_no_second_capture_is_named() -> None:
    place = copy_of(planted(framework="verl", captures=2))
    missing = sorted(place.rglob("*.2.sqlite"))[0]
    missing.unlink()
    first = rlviz.load(place).findings.row(0, named=True)
    assert first["kind"] == "incomplete-trace"
    assert "Capture 2" in first["text"]
    assert missing.name.replace(".2.", ".1.") in first["text"]
    assert first["row"] is not None


def test_a_run_whose_graphs_left_no_rows_says_so_first_and_nothing_of_that_pool() -> None:
    loaded = planted(graphs="lost", long_tail=True)
    assert loaded.kinds[0] == "incomplete-trace"
    assert loaded.findings[0]["lost_ns"] is None
    assert not {"long-tail", "exposed-generation", "training-waits"} & set(loaded.kinds)
    assert texts(loaded.run).count("generation 0") == 1


def test_a_report_without_gpu_rows_is_named_with_its_row() -> None:
    place = copy_of(planted())
    broken = sorted(place.rglob("*policy_worker*"))[1]
    with sqlite3.connect(broken) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'CUPTI%'")
        for (table,) in tables.fetchall():
            database.execute(f"DROP TABLE {table}")
    run = rlviz.load(place)
    first = run.findings.row(0, named=True)
    assert first["kind"] == "incomplete-trace"
    assert broken.name in first["text"]
    (row,) = run.rows.filter(~pl.col("gpu_data"))["row"]
    assert first["row"] == row


def test_a_report_that_cannot_be_read_makes_the_trace_incomplete() -> None:
    place = copy_of(planted(exposed_communication=True))
    broken = sorted(place.rglob("*policy_worker*"))[0]
    broken.write_bytes(broken.read_bytes()[:50_000])
    run = rlviz.load(place)
    assert run.findings["kind"][0] == "incomplete-trace"
    # The other ranks may be in collectives because they wait for this one.
    assert "exposed-communication" not in run.findings["kind"]


def test_a_file_that_is_no_report_makes_no_trace_incomplete() -> None:
    place = copy_of(planted())
    with sqlite3.connect(place / "users.sqlite") as database:
        database.execute("CREATE TABLE users (id)")
    run = rlviz.load(place)
    assert "not-an-export" in run.diagnostics["kind"]
    assert "incomplete-trace" not in run.findings["kind"]


def test_reports_of_one_pool_alone_say_that_the_other_is_not_there() -> None:
    run = rlviz.load(sorted(planted().folder.rglob("*policy_worker*")))
    assert run.findings["kind"].to_list() == ["incomplete-trace"]
    assert "generation" in run.findings["text"][0]


def test_hosts_that_are_set_apart_make_the_trace_incomplete() -> None:
    loaded = planted(identical_steps=True, clock_skew_ms=7_200_000.0, steps=3)
    assert "clock-ambiguous" in loaded.run.diagnostics["kind"]
    assert loaded.kinds[0] == "incomplete-trace"
    assert "set apart" in loaded.findings[0]["text"]
    shown = loaded.run.reports.filter(pl.col("status") != "apart")
    assert loaded.findings[0]["end_ns"] == shown["window_end_ns"].max()


@needs_shared
@pytest.mark.parametrize("marker", [None, "policy_worker/step *"])
def test_reports_without_gpu_rows_say_only_what_ranges_tell(marker: str | None) -> None:
    run = rlviz.load(REPORTS / "rl-run-2023.4", iteration_marker=marker)
    assert len(run.iterations) > 1
    assert run.findings["kind"][0] == "incomplete-trace"
    assert set(run.findings["kind"]) <= {"incomplete-trace", "refit-stall"}
    assert not re.search("comput|generat(es|ing) |wait", texts(run))


@needs_shared
@pytest.mark.parametrize("path", sorted(REPORTS.glob("[ep]*/*.sqlite")), ids=stem_of)
def test_a_single_report_of_anything_has_findings_or_none_but_no_error(path: Path) -> None:
    kinds = set(rlviz.load(path).findings["kind"])
    assert kinds <= {"incomplete-trace", "refit-stall"}


def test_a_finding_says_nothing_of_iterations_that_there_are_not() -> None:
    run = planted().run
    without = rlviz.load(planted().folder)
    without.story = replace(run.story, iterations=())
    assert find(without) == []
    assert isinstance(find(run)[0], Finding)


def test_a_worker_whose_gpu_rows_are_missing_from_its_report_is_named(tmp_path: Path) -> None:
    with Export(tmp_path / "vllm_worker_1.sqlite", pid=71) as export:
        export.gpu("gpu-71", "0000:19:00.0")
        for pid in (71, 72):
            export.push_pop(0, 900, "vllm_generation_worker/generate", pid=pid)
        export.kernel(100, 500)
    run = rlviz.load({"generation": tmp_path})
    ((row, label),) = run.rows.filter(pl.col("pid") == 72).select("row", "label").rows()
    found = run.findings.filter(row=row)
    assert found["kind"].to_list() == ["incomplete-trace"]
    assert found["text"][0].startswith(f"No GPU rows of {label}, ")

"""The foldable line below a chart: clocks of all reports, and what is wrong with them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

import rlviz
from rlviz.run.trust import ReportLine, Trouble, report_lines, troubles, trust_line
from rlviz.view.compose import compose
from rlviz.view.payload import payload
from rlviz.view.trust import Trust, trust_facts, trust_of
from tests.exports import SECRET
from tests.ranks import ends_of, rank, simulated
from tests.view.scenes import HOSTILE, scene

if TYPE_CHECKING:
    from pathlib import Path


def line_of(report: str) -> ReportLine:
    return ReportLine(report, "policy", "node-1", "utc", None, 0, None, 1, 2, "ok")


def test_a_line_says_how_many_reports_how_aligned_and_what_is_wrong() -> None:
    run = simulated(clock_skew_ms=250).run
    line = trust_line(run)
    assert line.startswith("Trust: 8 reports, UTC, node-2 -250.0")
    assert "hosts agree to" in line
    assert line.endswith(", 1 warning")


def test_reports_that_cannot_be_read_or_placed_are_counted_apart(tmp_path: Path) -> None:
    rank(tmp_path / "w_1.sqlite", ends_of(1)[0])
    (tmp_path / "w_2.sqlite").write_bytes(b"")
    assert trust_line(rlviz.load(tmp_path)).startswith("Trust: 1 of 2 reports, UTC, 1 error")
    run = simulated(identical_steps=True, steps=3, clock_skew_ms=7_200_000).run
    assert "8 reports, 4 set apart" in trust_line(run)


def test_every_report_has_its_method_offset_residual_and_anchors() -> None:
    run = simulated(clock_skew_ms=37).run
    found = trust_of(run).reports
    assert len(found) == len(run.reports) == 8
    for line, known in zip(found, run.reports.to_dicts(), strict=True):
        assert line.report == known["report"]
        assert line.clock is not None
        assert line.clock.startswith(known["alignment"])
        assert ("ms" in line.clock) == (known["offset_ns"] != 0)
        assert line.residual is not None
        assert line.anchors == known["anchors"] > 0


def test_a_run_without_collectives_has_no_residual_and_says_nothing_of_one(tmp_path: Path) -> None:
    rank(tmp_path / "w_1.sqlite", ends_of(1)[0])
    (line,) = report_lines(rlviz.load(tmp_path).reports)
    assert (line.clock, line.residual, line.anchors) == ("utc", None, 0)


def test_what_many_reports_have_in_common_is_said_once_and_worst_comes_first() -> None:
    lines = [
        ("info", f"r{n}", "unknown-role", f"What process {n} is for is unknown.", 1)
        for n in range(9)
    ]
    lines += [("warning", f"r{n}", "no-gpu-rows", "No GPU rows.", 1) for n in range(5)]
    lines += [("error", f"r{n}", "unreadable", "It is cut off.", 1) for n in range(3)]
    columns = ["severity", "report", "kind", "message", "count"]
    found = troubles(pl.DataFrame(lines, schema=columns, orient="row"))
    assert [one.severity for one in found] == ["error", "warning", *["info"] * 4]
    assert found[0].reports == "r0, r1, r2"  # each broken one is named
    assert found[1].reports == "r0 and 4 more"
    assert found[-1].message == "6 more of this kind; run.diagnostics has all."


def test_a_chart_of_a_run_holds_its_line_and_no_secret(tmp_path: Path) -> None:
    rank(tmp_path / "w_1.sqlite", ends_of(1)[0])
    facts = payload(compose(rlviz.load(tmp_path))).facts
    assert json.loads(facts)["trust"]["line"].startswith("Trust: 1 report, UTC")
    assert SECRET not in facts


def test_hostile_names_are_made_legible_and_long_lists_are_cut_and_counted() -> None:
    bad = Trust(
        HOSTILE[3],
        tuple(line_of(text) for text in HOSTILE) * 100,
        tuple(Trouble("warning", text, text, text) for text in HOSTILE) * 100,
    )
    facts = trust_facts(bad)
    assert facts is not None
    text = json.dumps(facts, ensure_ascii=False)
    assert len(text) < 300_000
    assert not set("\0\x1b\u202e\ud800") & set(text)
    assert facts["more_reports"] == 600 - len(facts["reports"]) > 0
    assert facts["more_troubles"] == 600 - len(facts["troubles"]) > 0
    json.loads(payload(replace(scene(2), trust=bad)).facts)


def test_a_scene_without_a_run_has_no_such_line() -> None:
    assert json.loads(payload(scene(2)).facts)["trust"] is None

"""The tables below a chart: all numbers of a summary, in units that are read, or why not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from rlviz.run.columns import COLUMNS, schema
from rlviz.view.headline import subtitle_of
from rlviz.view.numbers import Numbers, number_facts, numbers_of
from rlviz.view.payload import payload
from tests.ranks import ends_of, rank, simulated
from tests.view.scenes import HOSTILE, scene

if TYPE_CHECKING:
    from pathlib import Path


def facts_of(numbers: Numbers | None) -> dict[str, Any]:
    facts = number_facts(numbers)
    assert facts is not None
    return facts


def cells_of(facts: dict[str, Any], pool: str, iteration: str) -> dict[str, tuple[str, str]]:
    """Give text and hint of each cell of a line, by what stands above it."""
    (place,) = (
        i for i, line in enumerate(facts["lines"]) if line == {"iteration": iteration, "pool": pool}
    )
    found = {}
    for table in facts["tables"]:
        for head, (text, hint) in zip(table["heads"], table["cells"][place], strict=True):
            said = facts["reasons"][hint] if isinstance(hint, int) else hint
            found[f"{table['caption'].split(',')[0]}: {head['text']}"] = (text, said)
    return found


def line_of(iteration: int, pool: str = "generation", **known: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(schema("summary"))
    return nothing | {"iteration": iteration, "pool": pool, "gpus": 1, "partial": False} | known


def numbers(*lines: dict[str, Any], **reasons: str) -> Numbers:
    frame = pl.DataFrame(lines, schema=schema("summary"), orient="row")
    why = {name: "nobody knows" for name in frame.columns if frame[name].null_count()}
    return Numbers(frame, why | reasons, {3: HOSTILE[0]})


def test_no_number_of_a_summary_is_left_out() -> None:
    facts = facts_of(numbers_of(simulated().run))
    shown = {head["hint"] for table in facts["tables"] for head in table["heads"]}
    for name, column in COLUMNS["summary"].items():
        assert column.meaning in shown or name in ("iteration", "pool", "partial")


def test_every_iteration_of_every_pool_has_its_line_and_its_mean() -> None:
    run = simulated(steps=4).run
    lines = facts_of(numbers_of(run))["lines"]
    for pool in ("generation", "training"):
        told = [line["iteration"] for line in lines if line["pool"] == pool]
        summary = run.summary().filter(pl.col("pool") == pool)
        complete = summary.filter(~pl.col("partial"))
        assert told[0] == f"mean of {len(complete)}"
        assert [int(one.split()[0]) for one in told[1:]] == summary["iteration"].to_list()
        assert [one.endswith("(partial)") for one in told[1:]] == summary["partial"].to_list()


def test_means_are_those_of_the_line_above_the_chart() -> None:
    run = simulated(steps=4).run
    facts = facts_of(numbers_of(run))
    complete = run.summary().filter(~pl.col("partial"), pl.col("pool") == "generation")
    cells = cells_of(facts, "generation", f"mean of {len(complete)}")
    subtitle = subtitle_of(run, (), (0, 1))
    assert f"iterations: {cells['Iterations: length'][0]}" in subtitle
    assert f"exposed generation {cells['Iterations: exposed generation'][0]}" in subtitle
    assert f"refit {cells['Iterations: refit'][0]}" in subtitle
    bubbles = float(cells["GPU time: bubbles"][0].removesuffix(" %"))
    assert f"generation {bubbles:.0f} %" in subtitle


def test_shares_are_of_busy_and_idle_time_without_edges() -> None:
    one = line_of(
        4, busy_ns=6 * 10**9, idle_launch_ns=0, idle_short_ns=10**9, idle_wait_ns=3 * 10**9,
        edge_ns=5 * 10**9, bubble_ns=10**6, copy_only_ns=0,
    )  # fmt: skip
    cells = cells_of(facts_of(numbers(one)), "generation", "4")
    assert cells["GPU time: busy"] == ("60.0 %", "6.00 s of GPU time")
    assert cells["GPU time: bubbles"] == ("< 0.1 %", "1.0 ms of GPU time")
    assert cells["GPU time: only copies"] == ("0 %", "0 s of GPU time")
    assert cells["GPU time: edges, GPU time"] == ("5.00 s", "")


def test_an_unknown_number_is_called_so_with_its_reason_and_is_never_zero(tmp_path: Path) -> None:
    rank(tmp_path / "w_1.sqlite", ends_of(1)[0])
    run = rlviz.load(tmp_path)
    facts = facts_of(numbers_of(run))
    messages = " ".join(run.diagnostics["message"])
    unknown = 0
    for place, line in enumerate(run.summary().sort("pool", maintain_order=True).to_dicts()):
        cells = cells_of(facts, line["pool"], facts["lines"][place]["iteration"])
        text, hint = cells["Iterations: overlap"]
        assert (text == "unknown") == (line["overlap_ns"] is None)
        if text == "unknown":
            assert hint
            assert hint in messages
            unknown += 1
    assert unknown


def test_a_mean_with_an_unknown_part_is_unknown_but_for_refits_that_are_not_there() -> None:
    made = numbers(line_of(1, overlap_ns=2, refit_ns=10**9), line_of(2), overlap_ns="not captured")
    cells = cells_of(facts_of(made), "generation", "mean of 2")
    assert cells["Iterations: overlap"] == ("unknown", "not captured")
    assert cells["Iterations: refit"] == ("1.00 s", "")


def test_what_only_generation_has_is_not_called_unknown_for_training() -> None:
    cells = cells_of(facts_of(numbers(line_of(1, "training"))), "training", "1")
    assert cells["Iterations: tail"] == ("–", "a number of generation")
    assert cells["Iterations: straggler"] == ("unknown", "nobody knows")


def test_a_thousand_iterations_do_not_fill_the_page() -> None:
    facts = facts_of(numbers(*(line_of(i) for i in range(1000))))
    assert len(facts["lines"]) == len(facts["tables"][0]["cells"]) == 200
    assert facts["more"] == 801  # the mean is a line too
    assert len(json.dumps(facts)) < 200_000


def test_a_run_without_iterations_has_no_tables() -> None:
    assert number_facts(None) is None
    assert json.loads(payload(scene(2)).facts)["numbers"] is None


@pytest.mark.parametrize("row", [3, 99])
def test_a_straggler_is_named_as_its_row_and_hostile_names_stay_text(row: int) -> None:
    made = numbers(line_of(1, straggler_row=row))
    text, _ = cells_of(facts_of(made), "generation", "1")["Iterations: which"]
    assert text == ("99" if row == 99 else HOSTILE[0])
    assert json.loads(payload(replace(scene(2), numbers=made)).facts)["numbers"]["lines"]

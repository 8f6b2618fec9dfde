"""The numbers below a chart, in a browser: folded at first, and their texts are texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rlviz.run.columns import schema
from rlviz.view.numbers import Numbers
from rlviz.view.page import page
from tests.view.scenes import HOSTILE, scene

if TYPE_CHECKING:
    from tests.browser.conftest import Opener


def numbers(reason: str, label: str) -> Numbers:
    def line(iteration: int, pool: str) -> dict[str, Any]:
        nothing = dict.fromkeys(schema("summary"))
        known = {"duration_ns": 2 * 10**9, "gpus": 4, "straggler_row": 1, "partial": False}
        return nothing | {"iteration": iteration, "pool": pool} | known

    lines = [line(i, pool) for i in (1, 2) for pool in ("generation", "training")]
    frame = pl.DataFrame(lines, schema=schema("summary"), orient="row")
    return Numbers(frame, dict.fromkeys(frame.columns, reason), {1: label})


def test_a_line_unfolds_into_tables_with_a_line_an_iteration_and_pool(open_page: Opener) -> None:
    opened = open_page(page(replace(scene(2), numbers=numbers("not captured", "GPU 1"))))
    line = opened.locator(".rlviz-numbers summary")
    assert line.inner_text() == "Numbers: 2 iterations, generation and training"
    table = opened.locator(".rlviz-numbers table").first
    assert not table.is_visible()
    line.press("Enter")
    assert table.is_visible()
    assert table.locator("tbody th").all_inner_texts() == ["mean of 2", "1", "2"] * 2
    assert table.locator("tbody").first.locator("tr").nth(1).inner_text().split("\t")[2:5] == [
        "4", "2.00 s", "unknown",
    ]  # fmt: skip
    assert table.locator(".rlviz-unknown").first.get_attribute("title") == "not captured"


def test_hostile_names_in_it_run_nothing(open_page: Opener) -> None:
    hostile = "".join(HOSTILE)
    opened = open_page(page(replace(scene(2), numbers=numbers(hostile, hostile))))
    opened.locator(".rlviz-numbers summary").click()
    assert opened.evaluate("() => globalThis.__pwned") is None
    assert opened.locator(".rlviz-numbers img, .rlviz-numbers script").count() == 0
    wide = opened.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0

"""The foldable line below a chart, in a browser: closed at first, and its texts are texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rlviz.run.trust import ReportLine, Trouble
from rlviz.view.page import page
from rlviz.view.trust import Trust
from tests.view.scenes import HOSTILE, scene

if TYPE_CHECKING:
    from tests.browser.conftest import Opener


def trust(*names: str) -> Trust:
    lines = [
        ReportLine(n, n, n, "utc", "7 us, worst 25 us", 9, "0 to 9", 1, 2, "ok") for n in names
    ]
    return Trust(
        "Trust: 2 reports, UTC, 1 warning",
        tuple(lines),
        tuple(Trouble("warning", n, "bad-rows", n) for n in names),
    )


def test_a_line_says_it_all_and_unfolds_into_every_report(open_page: Opener) -> None:
    opened = open_page(page(replace(scene(2), trust=trust("w_1", "w_2"))))
    line = opened.locator(".rlviz-trust summary")
    assert line.inner_text().startswith("Trust: 2 reports, UTC, 1 warning")
    table = opened.locator(".rlviz-trust-reports")
    assert not table.is_visible()
    line.click()
    assert table.is_visible()
    assert table.locator("tbody tr").count() == 2
    assert table.locator("tbody td").nth(4).inner_text() == "7 us, worst 25 us"
    assert opened.locator(".rlviz-trust li").count() == 2
    assert opened.locator(".rlviz-caption").count() == 0  # it would say the same again


def test_hostile_names_in_it_run_nothing(open_page: Opener) -> None:
    opened = open_page(page(replace(scene(2), trust=trust(*HOSTILE))))
    opened.locator(".rlviz-trust summary").click()
    assert opened.evaluate("() => globalThis.__pwned") is None
    assert opened.locator(".rlviz-trust img, .rlviz-trust script").count() == 0
    wide = opened.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def test_a_chart_without_a_run_keeps_its_caption(open_page: Opener) -> None:
    opened = open_page(page(scene(2)))
    assert opened.locator(".rlviz-trust").count() == 0
    assert opened.locator(".rlviz-caption").inner_text().startswith("aligned by UTC")

"""The page's toolbar, its keys and its findings, with the network cut off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rlviz.levels.groups import KINDS
from rlviz.view.page import page
from rlviz.view.palette import COLORS, KERNELS, SURFACE
from tests.browser.charts import lens, pixel, place, rgb, window
from tests.browser.conftest import settle
from tests.view.scenes import scene

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Opener


def ticks(page: Page) -> list[float]:
    found: list[float] = lens(
        page, "[...lens.views.find_one(lens.main.below[0]).tick_coords.major[0]]"
    )
    return found


def frames(page: Page) -> Any:
    return lens(page, "[lens.frame.top, lens.frame.bottom, lens.main.y_range.end]")


def test_picking_an_iteration_moves_the_axis_and_no_row(chart: Page) -> None:
    rows = frames(chart)
    picker = chart.get_by_label("iteration", exact=True)
    assert picker.input_value() == "all"
    picker.select_option("iteration 4")
    settle(chart)
    assert window(chart) == (31.0, 62.0)
    assert all(31.0 <= at <= 62.0 for at in ticks(chart))
    assert frames(chart) == rows
    assert "Train 5" in lens(chart, "[...lens.labels.brackets.keys()].flatMap((s) => s.data.text)")
    picker.select_option("all iterations")
    assert window(chart) == (0.0, 96.0)


def test_the_picker_follows_what_is_shown(chart: Page) -> None:
    picker = chart.get_by_label("iteration", exact=True)
    chart.get_by_role("button", name="▶").click()
    settle(chart)
    assert picker.input_value() == "4"
    lens(chart, "lens.zoom(40, 50)")
    settle(chart)
    assert picker.input_value() == ""
    chart.get_by_role("button", name="◀").click()
    settle(chart)
    assert picker.input_value() == "4"


def test_partial_iterations_are_marked(open_page: Opener) -> None:
    drawn = scene(2, iterations=2)
    marked = tuple((n, a, b, n == 4) for n, a, b, _ in drawn.iterations)
    opened = open_page(page(replace(drawn, iterations=marked)))
    options = opened.get_by_label("iteration", exact=True).locator("option").all_inner_texts()
    assert options[:3] == ["all iterations", "iteration 3", "iteration 4 (partial)"]


def test_a_search_counts_outlines_and_goes_from_match_to_match(chart: Page) -> None:
    box = chart.get_by_role("searchbox")
    count = chart.locator(".rlviz-controls [role=status]")
    box.fill("WORKER_V2/TRAIN")
    assert count.inner_text() == "12"  # four rows, three iterations
    assert len(lens(chart, "[...lens.doc.get_model_by_name('matches').data.left]")) == 12
    lens(chart, "lens.zoom(60, 90)")
    chart.get_by_role("button", name="next match").click()
    settle(chart)
    assert count.inner_text() == "9 of 12"
    start, end = window(chart)
    assert (start + end) / 2 == pytest.approx(62.0 + 3.0 + 8.0 + 17.5 / 2)
    assert lens(chart, "[...lens.doc.get_model_by_name('place').data.left]") == [73.0]
    chart.get_by_role("button", name="previous match").click()
    assert count.inner_text() == "8 of 12"
    box.press("Enter")
    box.press("Shift+Enter")
    box.press("Shift+Enter")
    assert count.inner_text() == "7 of 12"
    box.fill("no such name")
    assert count.inner_text() == "none"
    assert chart.get_by_role("button", name="next match").is_disabled()
    box.press("Escape")
    assert count.inner_text() == ""
    assert lens(chart, "document.activeElement === lens.root")


def test_a_search_finds_kernels_and_dims_what_it_did_not_find(chart: Page) -> None:
    found, other = (5.0, 0, 0.9), (12.0, 5, 0.75)
    bright = pixel(chart, *place(chart, *found))
    chart.get_by_role("searchbox").fill("flash_fwd")
    settle(chart)
    assert chart.locator(".rlviz-controls [role=status]").inner_text() == "12"
    assert pixel(chart, *place(chart, *found)) == bright == rgb(COLORS["generation"])
    dimmed = pixel(chart, *place(chart, *other))
    band = rgb(SURFACE["light"]["band"])
    assert sum(abs(a - b) for a, b in zip(dimmed, band, strict=True)) < 140


def test_keys_search_and_go_back(chart: Page) -> None:
    chart.locator(".rlviz").focus()
    chart.keyboard.press("/")
    chart.keyboard.type("microbatch")
    chart.keyboard.press("Enter")
    first = window(chart)
    chart.locator(".rlviz").focus()
    chart.keyboard.press("n")
    chart.keyboard.press("n")
    assert chart.locator(".rlviz-controls [role=status]").inner_text() == "3 of 96"
    chart.keyboard.press("N")
    chart.keyboard.press("N")
    assert window(chart) == first
    chart.keyboard.press("0")
    assert window(chart) == (0.0, 96.0)
    assert chart.get_by_role("searchbox").input_value() == "microbatch"


def test_colours_are_of_phases_of_kinds_or_of_kernels(chart: Page) -> None:
    lens(chart, "lens.zoom(4, 16)")
    generates, trains, talks = (5.0, 0, 0.9), (12.5, 5, 0.9), (13.3, 5, 0.9)
    by = chart.get_by_label("colour by")
    by.select_option("kind of work")
    settle(chart)
    assert pixel(chart, *place(chart, *generates)) == rgb(COLORS["compute"])
    assert pixel(chart, *place(chart, *trains)) == rgb(COLORS["compute"])
    assert pixel(chart, *place(chart, *talks)) == rgb(COLORS["communication"])
    assert "compute" in chart.locator(".rlviz-legend").inner_text()
    by.select_option("kernel")
    settle(chart)
    assert pixel(chart, *place(chart, *generates)) == rgb(KERNELS[0])
    assert pixel(chart, *place(chart, *trains)) == rgb(KERNELS[1])
    assert pixel(chart, *place(chart, *talks)) == rgb(KERNELS[2])
    assert "flash_fwd_splitkv_kernel" in chart.locator(".rlviz-legend").inner_text()
    by.select_option("phase")
    settle(chart)
    assert pixel(chart, *place(chart, *generates)) == rgb(COLORS["generation"])
    assert KINDS[0] not in chart.locator(".rlviz-legend").inner_text()


def test_rows_of_a_role_are_hidden_and_keep_their_places(chart: Page) -> None:
    rows = frames(chart)
    chip = chart.get_by_role("button", name="policy", exact=True)
    chip.click()
    settle(chart)
    assert chip.get_attribute("aria-pressed") == "false"
    assert pixel(chart, *place(chart, 12.0, 5, 0.75)) == rgb(SURFACE["light"]["band"])
    assert pixel(chart, *place(chart, 5.0, 0, 0.9)) == rgb(COLORS["generation"])
    assert chart.locator(".rlviz-veil").count() == 4
    assert frames(chart) == rows
    chart.get_by_role("searchbox").fill("worker_v2/train")
    assert chart.locator(".rlviz-controls [role=status]").inner_text() == "none"
    chart.get_by_role("button", name="reset").click()
    settle(chart)
    assert chip.get_attribute("aria-pressed") == "true"
    assert chart.locator(".rlviz-veil").count() == 0


def test_a_finding_goes_to_its_place_and_one_without_a_place_is_no_button(chart: Page) -> None:
    findings = chart.get_by_role("region", name="findings")
    assert "2.10 s lost" in findings.inner_text()
    assert findings.get_by_role("button").count() == 1
    assert findings.locator("li").count() == 2
    findings.get_by_role("button").click()
    settle(chart)
    start, end = window(chart)
    assert start < 18.0 < 21.0 < end
    assert end - start < 5.0
    top, row = lens(
        chart, "[lens.doc.get_model_by_name('place').data.top[0], lens.facts.rows[1].top]"
    )
    assert top == row


def test_without_findings_nothing_is_shown(open_page: Opener) -> None:
    opened = open_page(page(scene(2, remarks=())))
    assert opened.locator(".rlviz-remarks").count() == 0


def test_every_control_has_a_name_and_is_reached_by_the_keyboard(chart: Page) -> None:
    nameless = chart.evaluate(
        """() => [...document.querySelectorAll("button, select, input")].filter((one) =>
          !(one.getAttribute("aria-label") ?? one.textContent).trim() || one.tabIndex < 0).length"""
    )
    assert nameless == 0
    assert "iterations" in (chart.get_by_role("button", name="keys").get_attribute("title") or "")

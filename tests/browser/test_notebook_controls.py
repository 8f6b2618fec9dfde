"""The controls above a chart in JupyterLab, with a real kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlviz.view.palette import KERNELS
from tests.browser.charts import lens, pixel, rgb
from tests.browser.conftest import settle
from tests.browser.notebooks import SETUP, eventually, middle, painted, run_cell, windows

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Opener


def picked(picker: Locator) -> str:
    text: str = picker.evaluate("(one) => one.selectedOptions[0]?.textContent ?? ''")
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_controls_of_a_notebook_and_its_chart_follow_each_other(open_notebook: Opener) -> None:
    page = open_notebook(
        "controls",
        SETUP,
        "one = timeline(scene(8)); one._show(); one",
        "one.zoom(iteration=4)",
        "print(one.window)",
    )
    painted(page, 1)
    # one of each: the chart has no toolbar of its own here
    assert page.locator(".rlviz-controls").count() == 0
    picker, color_by = page.locator(".widget-dropdown select").all()
    eventually(page, lambda: picked(picker), "iteration 4")

    # pick 3: the axis shows iteration 3, rows stay, labels can be read
    rows = lens(page, "[lens.frame.top, lens.frame.bottom, lens.main.y_range.end]")
    picker.select_option("iteration\N{NO-BREAK SPACE}3")
    eventually(page, lambda: windows(page)[0], [0.0, 31.0])
    settle(page)
    ticks = lens(page, "[...lens.views.find_one(lens.main.below[0]).tick_coords.major[0]]")
    assert ticks
    assert all(0.0 <= at <= 31.0 for at in ticks)
    assert lens(page, "[lens.frame.top, lens.frame.bottom, lens.main.y_range.end]") == rows
    labels = lens(page, "lens.labels.ranges.data.text")
    assert "dtensor_policy_worker_v2/train  [17.5 s]" in labels
    assert run_cell(page, 3).strip() == "(0.0, 31.0)"

    page.get_by_role("button", name="▶").click()
    eventually(page, lambda: picked(picker), "iteration 4")
    page.get_by_role("button", name="◀").click()
    eventually(page, lambda: windows(page)[0], [0.0, 31.0])

    # a person's move: the picker says that it is no iteration
    page.mouse.move(*middle(page, 0, 10.0, 0))
    page.mouse.wheel(0, -240)
    eventually(page, lambda: picked(picker), "")

    # search: the chart finds, the notebook counts
    page.locator(".widget-text input").fill("worker_v2/train")
    count = page.locator(".widget-label")
    eventually(page, lambda: "12" in count.all_inner_texts(), True)
    page.get_by_role("button", name="›").click()
    eventually(page, lambda: "1 of 12" in count.all_inner_texts(), True)
    start, end = windows(page)[0]
    assert start < 11.0 < 28.5 < end
    page.locator(".rlviz").focus()
    page.keyboard.press("n")
    eventually(page, lambda: "2 of 12" in count.all_inner_texts(), True)
    page.keyboard.press("N")
    page.keyboard.press("N")
    eventually(page, lambda: "12 of 12" in count.all_inner_texts(), True)
    page.locator(".widget-text input").fill("")

    # colours and rows
    page.get_by_role("button", name="reset").click()
    eventually(page, lambda: picked(picker), "all iterations")
    color_by.select_option("kernel")
    eventually(page, lambda: lens(page, "lens.controls.choices.color_by"), "kernel")
    settle(page)
    assert pixel(page, *middle(page, 0, 5.0, 0, 0.9)) == rgb(KERNELS[0])
    page.get_by_role("button", name="policy", exact=True).click()
    eventually(page, lambda: page.locator(".rlviz-veil").count(), 4)

    # a finding goes to its place, and the kernel hears of it
    page.get_by_role("region", name="findings").get_by_role("button").click()
    eventually(page, lambda: picked(picker), "")
    start, end = windows(page)[0]
    assert run_cell(page, 3).strip() == f"({start!r}, {end!r})"


def test_a_view_that_comes_later_shows_what_was_chosen(open_notebook: Opener) -> None:
    page = open_notebook(
        "later",
        SETUP,
        "one = timeline(scene(8)); one",
        "one._panel.color_by.value = 'kind'; one._panel.search.value = 'nccl'",
        "one",
    )
    painted(page, 2)
    for index in (0, 1):
        chosen = page.evaluate(
            "(i) => document.querySelectorAll('.rlviz')[i].rlviz.controls.choices", index
        )
        assert (chosen["color_by"], chosen["search"]) == ("kind", "nccl")


def test_hostile_names_in_controls_run_nothing(open_notebook: Opener) -> None:
    page = open_notebook("hostile-controls", SETUP, "timeline(hostile())")
    painted(page, 1)
    page.locator(".widget-text input").fill("script")
    for chip in page.locator(".widget-toggle-button").all():
        chip.click()
    for finding in page.get_by_role("region", name="findings").get_by_role("button").all():
        finding.click()
    settle(page)
    assert page.evaluate("() => globalThis.__pwned") is None
    assert page.locator(".jp-OutputArea img").count() == 0

"""Measuring on a chart with the pointer, and what the page tells of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rlviz.view.page import page
from tests.browser.charts import hover, lens, place, window
from tests.browser.conftest import settle
from tests.view.scenes import hostile, scene

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from rlviz.view.timeline import Timeline
    from tests.browser.conftest import Opener


@pytest.fixture
def chart(shared_chart: Page) -> Page:
    shared_chart.mouse.move(2, 2)
    lens(shared_chart, "(lens.measure.clear(), lens.measure.arm(false), lens.reset())")
    settle(shared_chart)
    return shared_chart


def drag(page: Page, start: float, end: float, row: int) -> None:
    first, middle, last = (place(page, at, row) for at in (start, (start + end) / 2, end))
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move(*middle)
    page.mouse.move(*last)
    page.mouse.up()


def words(page: Page) -> str:
    told = page.locator(".rlviz-measure-words")
    return told.inner_text() if told.is_visible() else ""


def answered(page: Page) -> None:
    page.locator(".rlviz-measure-words").get_by_text("training busy").wait_for()


def spaced(text: str) -> str:
    """Give a text as a browser shows it: with single spaces."""
    return " ".join(text.split())


def measured(page: Page) -> tuple[float, float]:
    start, end = lens(page, "[lens.measure.span.start, lens.measure.span.end]")
    return start, end


def busy_share(timeline: Timeline, rows: list[int], start: float, end: float) -> float:
    """Busy over window by the kernels and copies themselves; all of the demo is captured."""
    first, last = round(start * 1e9), round(end * 1e9)
    busy = timeline.run.busy(row=rows, start_ns=first, end_ns=last, by="row")
    return int((busy["end_ns"] - busy["start_ns"]).sum()) / (len(rows) * (last - first))


def test_a_drag_with_shift_measures_and_moves_nothing(chart: Page, timeline: Timeline) -> None:
    before = window(chart)
    start, end = before[0] + 4.0, before[0] + 9.0
    row = timeline.scene.rows[-1]
    chart.keyboard.down("Shift")
    drag(chart, start, end, row.row)
    chart.keyboard.up("Shift")
    assert window(chart) == before
    assert measured(chart) == pytest.approx((start, end), abs=0.1)
    answered(chart)
    start, end = measured(chart)
    told = words(chart)
    assert f"{start:.6f} s to {end:.6f} s" in told
    assert told.startswith(f"{end - start:.2f} s")
    for name, rows in (
        *(
            (pool.name, [r.row for r in timeline.scene.rows if r.pool == pool.name])
            for pool in timeline.scene.pools
            if pool.name != "other"
        ),
        (row.label, [row.row]),
    ):
        line = next(one for one in told.splitlines() if one.startswith(f"{spaced(name)} busy"))
        share = float(line.removeprefix(f"{spaced(name)} busy ").removesuffix(" %")) / 100
        assert share == pytest.approx(busy_share(timeline, rows, start, end), abs=0.006)


def test_a_plain_drag_still_moves_the_chart(chart: Page) -> None:
    start, end = window(chart)
    lens(chart, f"lens.zoom({start + 2}, {end - 2})")
    settle(chart)
    drag(chart, start + 8, start + 7, 0)
    settle(chart)
    assert window(chart)[0] == pytest.approx(start + 3, abs=0.1)
    assert words(chart) == ""


def test_what_is_measured_stays_on_the_time_axis_and_escape_takes_it_back(chart: Page) -> None:
    start, end = window(chart)
    chart.keyboard.down("Shift")
    drag(chart, start + 6, start + 4, 1)
    chart.keyboard.up("Shift")
    span = measured(chart)
    assert span[0] < span[1]
    lens(chart, f"lens.zoom({start + 3}, {start + 8})")
    settle(chart)
    box = chart.locator(".rlviz-measure").bounding_box()
    assert box is not None
    for at, edge in zip(span, (box["x"], box["x"] + box["width"]), strict=True):
        assert place(chart, at, 0)[0] == pytest.approx(edge, abs=1.5)
    lens(chart, f"lens.zoom({end - 2}, {end})")
    settle(chart)
    assert words(chart) == ""
    lens(chart, f"lens.zoom({start}, {end})")
    settle(chart)
    assert words(chart) != ""
    assert lens(chart, "document.activeElement === lens.root")
    chart.keyboard.press("Escape")
    assert words(chart) == ""
    assert not chart.locator(".rlviz-measure").is_visible()


def test_the_toolbar_and_a_key_switch_what_a_drag_does(chart: Page) -> None:
    before = window(chart)
    switch = chart.get_by_role("button", name="measure")
    assert switch.get_attribute("aria-pressed") == "false"
    switch.click()
    assert switch.get_attribute("aria-pressed") == "true"
    drag(chart, before[0] + 2, before[0] + 3, 0)
    assert window(chart) == before
    assert measured(chart) == pytest.approx((before[0] + 2, before[0] + 3), abs=0.1)
    chart.locator(".rlviz").focus()
    chart.keyboard.press("Escape")
    assert switch.get_attribute("aria-pressed") == "true"
    chart.keyboard.press("m")
    assert switch.get_attribute("aria-pressed") == "false"
    chart.keyboard.press("m")
    chart.keyboard.press("Escape")
    assert switch.get_attribute("aria-pressed") == "false"


def test_the_words_stay_inside_of_the_frame(chart: Page, timeline: Timeline) -> None:
    start, end = window(chart)
    last = timeline.scene.rows[-1].row
    for first, second, row in (
        (start + 0.1, start + 1, 0),
        (end - 1, end - 0.1, last),
        (start + 0.1, end - 0.1, last),
    ):
        chart.keyboard.down("Shift")
        drag(chart, first, second, row)
        chart.keyboard.up("Shift")
        answered(chart)
        inside = chart.evaluate(
            """() => {
              const { lens } = { lens: document.querySelector('.rlviz').rlviz };
              const plot = lens.view.el.getBoundingClientRect();
              const box = document.querySelector('.rlviz-measure-words').getBoundingClientRect();
              const { left, right, top, bottom } = lens.frame;
              return box.left >= plot.left + left && box.right <= plot.left + right
                && box.top >= plot.top + top - 1 && box.bottom <= plot.top + bottom + 1;
            }"""
        )
        assert inside


def test_a_press_without_a_drag_measures_nothing(chart: Page) -> None:
    chart.keyboard.down("Shift")
    chart.mouse.move(*place(chart, window(chart)[0] + 3, 0))
    chart.mouse.down()
    chart.mouse.up()
    chart.keyboard.up("Shift")
    assert words(chart) == ""
    assert lens(chart, "lens.measure.span") is None


def test_a_page_without_events_tells_the_times_alone(open_page: Opener) -> None:
    opened = open_page(page(scene(8)))
    opened.keyboard.down("Shift")
    drag(opened, 20.0, 24.0, 1)
    opened.keyboard.up("Shift")
    settle(opened)
    assert len(words(opened).splitlines()) == 2
    assert "busy" not in words(opened)


def test_hostile_names_of_a_row_are_text(open_page: Opener) -> None:
    opened = open_page(page(hostile()))
    lens(opened, "lens.detail.source = { busy: async () => ({ busy: [] }) }")
    opened.keyboard.down("Shift")
    drag(opened, 20.0, 24.0, 1)
    opened.keyboard.up("Shift")
    settle(opened)
    assert "<img src=x" in words(opened)
    assert opened.locator(".rlviz-measure-words img").count() == 0
    assert opened.evaluate("() => globalThis.__pwned") is None


def test_hover_does_not_answer_while_measuring(chart: Page) -> None:
    at = window(chart)[0] + 4
    assert hover(chart, at, 0, 0.9)
    chart.keyboard.down("Shift")
    chart.mouse.down()
    chart.mouse.move(*place(chart, at + 1, 0))
    settle(chart)
    assert not chart.locator(".rlviz-tip").is_visible()
    chart.mouse.up()
    chart.keyboard.up("Shift")


def test_of_compared_runs_each_is_measured_by_itself(open_page: Opener) -> None:
    base = scene(8)
    group = {row.row: "before" if row.row % 4 < 2 else "after" for row in base.rows}
    drawn = replace(
        base,
        rows=tuple(replace(row, group=group[row.row]) for row in base.rows),
        pools=tuple(
            replace(pool, group=name) for pool in base.pools for name in ("before", "after")
        ),
    )
    opened = open_page(page(drawn))
    busy = [[row.row, 1.0 if group[row.row] == "before" else 2.0] for row in base.rows]
    lens(opened, f"lens.detail.source = {{ busy: async () => ({{ busy: {busy} }}) }}")
    opened.keyboard.down("Shift")
    drag(opened, 20.0, 24.0, 1)
    opened.keyboard.up("Shift")
    settle(opened)
    told = words(opened).splitlines()
    span = measured(opened)[1] - measured(opened)[0]
    for name, seconds in (("before", 1.0), ("after", 2.0)):
        for pool in ("generation", "training"):
            assert f"{name}: {pool} busy {100 * seconds / span:.0f} %" in told
    assert told[-1].startswith("before: GPU 1 vllm 1 busy")

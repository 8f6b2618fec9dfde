"""The static page draws any window from what it holds, offline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rlviz
from rlviz.demo import write
from rlviz.view.detail import COLOR_OF_CODE
from rlviz.view.timeline import Timeline
from tests.browser.conftest import settle, watched_page
from tests.browser.test_static_page import hover, lens, place, window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.browser.conftest import Opener


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=1, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=12_000)
    return Timeline(rlviz.load(folder))


@pytest.fixture(scope="module")
def chart(
    browser: Browser, timeline: Timeline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("page")
    text = timeline.save(folder / "saved.html").read_text("utf-8")
    with watched_page(browser, folder / "page.html", text) as opened:
        opened.wait_for_function(
            "() => document.querySelector('.rlviz').rlviz.detail.ask !== undefined"
        )
        yield opened


def answer(chart: Page, start: float, end: float, width: int) -> dict[str, Any]:
    text = chart.evaluate(
        """async (asked) => {
          const plain = (_, one) => (ArrayBuffer.isView(one) ? Array.from(one) : one);
          const lens = document.querySelector('.rlviz').rlviz;
          return JSON.stringify(await lens.detail.ask(asked), plain);
        }""",
        {"start": start, "end": end, "width": width},
    )
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_buckets_are_those_that_a_kernel_would_send(
    chart: Page, timeline: Timeline, share: float
) -> None:
    first, last = timeline.window
    start, end = first, first + (last - first) * share
    sent = answer(chart, start, end, 700)["strips"]
    view = timeline.run.view(int(np.floor(start * 1e9)), int(np.ceil(end * 1e9)), 700)
    assert len(sent) == len(view.strips) == 4
    for got, wanted in zip(sent, view.strips, strict=True):
        assert (got["row"], got["width"]) == (wanted.row, wanted.width_ns / 1e9)
        lead = round((wanted.start_ns / 1e9 - got["start"]) / got["width"])
        own = slice(lead, lead + len(wanted.code))
        some = wanted.count > 0
        for key, column in (("coverage", wanted.coverage), ("count", wanted.count)):
            column_sent = np.array(got[key])
            np.testing.assert_array_equal(column_sent[own], column)
            assert column_sent.sum() == column.sum()
        color = np.array(got["color"])[own]
        timed = some & (wanted.code != 255)
        same = color[timed] == COLOR_OF_CODE[wanted.code][timed]
        # Of two activities with equal time either may tell.
        assert same.mean() > 0.999


def test_events_and_ranges_are_those_that_a_kernel_would_send(
    chart: Page, timeline: Timeline
) -> None:
    middle = sum(timeline.window) / 2
    sent = answer(chart, middle, middle + 1.5, 700)
    span = int(np.floor(middle * 1e9)), int(np.ceil((middle + 1.5) * 1e9))
    view = timeline.run.view(*span, 700)
    assert sent["strips"] == []
    assert sent["events"]["left"] == (view.event_start_ns / 1e9).tolist()
    assert sent["events"]["right"] == (view.event_end_ns / 1e9).tolist()
    assert sent["events"]["name"] == view.name.tolist()
    near = answer(chart, middle, middle + 0.5, 100_000_000)["overlays"]
    ranges = timeline.run.ranges(start_ns=span[0], end_ns=span[0] + 500_000_000)
    assert len(near["left"]) == len(ranges) > 0
    assert sorted(round(at * 1e9) for at in near["left"]) == sorted(ranges["start_ns"])


def test_a_wheel_leads_to_single_kernels_without_a_kernel_of_jupyter(
    chart: Page, timeline: Timeline
) -> None:
    lens(chart, "lens.reset()")
    first, last = window(chart)
    x, y = place(chart, first + (last - first) * 0.45, 2, 0.8)
    chart.mouse.move(x, y)
    for _ in range(60):
        chart.mouse.wheel(0, -360)
        chart.wait_for_timeout(60)
        settle(chart)
        start, end = window(chart)
        if end - start < 0.02:
            break
    assert lens(chart, "lens.detail.picture.strips.length") == 0
    left, right, row, name = (
        lens(chart, f"Array.from(lens.detail.picture.events.{key})")
        for key in ("left", "right", "row", "name")
    )
    start, end = window(chart)
    seen = [
        i
        for i in range(len(left))
        if row[i] == 2 and start < left[i] and right[i] < end and right[i] - left[i] > 1e-4
    ]
    assert seen
    at = (left[seen[0]] + right[seen[0]]) / 2
    assert timeline.run.events.names[int(name[seen[0]])] in hover(chart, at, 2, 0.8)


def test_a_page_over_its_budget_says_what_it_leaves_out(
    timeline: Timeline, open_page: Opener, tmp_path: Any
) -> None:
    text = timeline.save(tmp_path / "small.html", detail=0.01).read_text("utf-8")
    opened = open_page(text)
    assert "leaves out its" in opened.locator(".rlviz-note").last.inner_text()
    assert lens(opened, "lens.detail.ask === undefined")


def test_a_browser_that_cannot_unpack_shows_the_first_view_and_says_why(
    timeline: Timeline, browser: Browser, tmp_path: Any
) -> None:
    path = timeline.save(tmp_path / "page.html")
    context = browser.new_context(offline=True)
    try:
        context.add_init_script("delete globalThis.DecompressionStream")
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        page.get_by_text("cannot unpack the detail").wait_for()
        assert page.locator("[data-rlviz=painted]").count() == 1
        assert errors == []
    finally:
        context.close()

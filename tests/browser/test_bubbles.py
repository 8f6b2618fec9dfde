"""The marks of bubbles on a page: inside of their gaps, and beside no other label."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rlviz.view.page import page
from rlviz.view.scene import Bubble
from tests.browser.charts import lens, place, screenshot
from tests.browser.conftest import settle, watched_page
from tests.view.scenes import HOSTILE, scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.browser.conftest import Opener

TEXTS = ("bubble 7.40 s: training is active", "bubble 7.40 s", "7.40 s")
# One in white, one over a labelled range of the last row.
MARKS = (Bubble(1, 21.5, 28.9, TEXTS, 3), Bubble(7, 42.0, 59.5, TEXTS, 4))


@pytest.fixture(scope="module")
def chart(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("bubbles") / "page.html"
    with watched_page(browser, path, page(replace(scene(8), bubbles=MARKS))) as opened:
        yield opened


def written(page: Page) -> list[str]:
    found: list[str] = lens(page, "[...lens.labels.bubbles.data.text]")
    return found


def zoom(page: Page, start: float, end: float) -> None:
    lens(page, f"lens.zoom({start}, {end})")
    settle(page)


def test_as_much_is_said_as_fits_into_the_gap(chart: Page) -> None:
    for window, wanted in (
        ((20.0, 40.0), [TEXTS[0]]),
        ((0.0, 60.0), [TEXTS[1], TEXTS[0]]),
        ((-12.0, 98.0), [TEXTS[2], TEXTS[1]]),
        ((28.8, 38.8), []),
        ((61.0, 90.0), []),
    ):
        zoom(chart, *window)
        assert written(chart) == wanted


def test_an_arrow_points_from_the_text_to_both_ends(chart: Page) -> None:
    zoom(chart, 20.0, 30.0)
    x0, x1 = lens(chart, "[[...lens.labels.arrows.data.x0], [...lens.labels.arrows.data.x1]]")
    assert (min(x0), max(x0)) == (21.5, 28.9)
    assert min(x1) > 21.5
    assert max(x1) < 28.9
    image = screenshot(chart)
    (left, y), (right, _) = place(chart, 21.5, 1), place(chart, 28.9, 1)

    def red(x: int) -> bool:
        pixels = [image.getpixel((x, int(y) + dy)) for dy in (-1, 0, 1)]
        return any(r - b > 60 for r, _, b in pixels)  # type: ignore[misc]

    assert all(red(int(left) + dx) for dx in range(8, 20))
    assert all(red(int(right) - dx) for dx in range(8, 20))
    # Between letters there is no line.
    inked = [x for x in range(int(left) + 2, int(right) - 2) if red(x)]
    assert len(inked) < right - left - 50


def test_ranges_are_labelled_around_it(chart: Page) -> None:
    zoom(chart, 40.0, 60.0)
    boxes: list[dict[str, Any]] = chart.evaluate(
        """() => {
          const { labels, facts, frame, window: [start, end] } =
            document.querySelector('.rlviz').rlviz;
          const scale = frame.width / (end - start);
          const row = facts.rows.find((one) => one.row === 7);
          const of = ({ x, y, text }, middle) => [...x].map((at, i) => {
            const width = labels.small.width(text[i]);
            const left = (at - start) * scale - (middle ? width / 2 : -4);
            const top = (y[i] - row.top) * facts.row_px - (middle ? facts.label_px * 1.15 : -2);
            return { text: text[i], left, right: left + width, top, bottom: top + facts.label_px };
          }).filter(({ top }) => top > -3 && top < facts.row_px);
          return [...of(labels.bubbles.data, true), ...of(labels.ranges.data, false)];
        }"""
    )
    mark, *others = boxes
    assert mark["text"] == TEXTS[0]
    assert any("train" in one["text"] for one in others)
    for one in others:
        beside = one["right"] <= mark["left"] or one["left"] >= mark["right"]
        assert beside or one["bottom"] <= mark["top"] + 1 or one["top"] >= mark["bottom"] - 1


def test_a_hidden_row_has_none(chart: Page) -> None:
    zoom(chart, 0.0, 60.0)
    chart.get_by_role("button", name="policy", exact=True).click()
    settle(chart)
    assert written(chart) == [TEXTS[1]]
    chart.get_by_role("button", name="policy", exact=True).click()
    settle(chart)
    assert written(chart) == [TEXTS[1], TEXTS[0]]


def test_hostile_texts_are_painted_and_a_crowd_of_rows_stays_legible(open_page: Opener) -> None:
    marks = (Bubble(0, 21.5, 28.9, (HOSTILE[1], "7.40 s"), 3),)
    opened = open_page(page(replace(scene(128), bubbles=marks)))
    zoom(opened, 20.0, 30.0)
    assert len(written(opened)) == 1
    assert opened.locator("img").count() == 0
    assert opened.evaluate("() => globalThis.__pwned") is None

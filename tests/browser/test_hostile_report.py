"""A page made of hostile reports, used as a person uses it: by its own events, under its policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rlviz
from rlviz.view.timeline import Timeline
from tests.browser.charts import lens, place, window
from tests.browser.conftest import settle, watched_page
from tests.hostile import HOSTILE, MARK, write_hostile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

# Runs before the page: what the strings would do, and what the policy stops, is written down where
# the test can read it as text, so that nothing has to be evaluated while the page is used.
_WATCH = f"""
  addEventListener("securitypolicyviolation", (event) => {{
    document.documentElement.dataset.violation = event.violatedDirective + " " + event.blockedURI;
  }});
  Object.defineProperty(globalThis, "{MARK}", {{
    set() {{ document.documentElement.dataset.pwned = "yes"; }},
  }});
"""


@pytest.fixture(scope="module")
def chart(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("hostile")
    timeline = Timeline(rlviz.load(write_hostile(folder)))
    text = timeline.save(folder / "saved.html", expand=[0, 1]).read_text("utf-8")
    with watched_page(browser, folder / "page.html", text, scripts=(_WATCH,)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _nothing_ran(chart: Page) -> Iterator[None]:
    yield
    settle(chart)
    root = chart.locator("html")
    assert root.get_attribute("data-pwned") is None
    assert root.get_attribute("data-violation") is None
    # only what the lens itself makes
    assert chart.locator("img, iframe, object, embed, base, form, link, a[href]").count() == 0
    assert chart.locator("script").count() == 6  # one more for the threads of rows


def test_hovering_over_every_name_shows_text(chart: Page) -> None:
    told = []
    for number in range(len(HOSTILE)):
        for row in (0, 1):
            for height in (0.1, 0.9):
                at = (0.001 + 0.05 * number) + 0.011
                x, y = place(chart, at, row, height)
                chart.mouse.move(x - 2, y)
                chart.mouse.move(x, y)
                settle(chart)
                tip = chart.locator(".rlviz-tip")
                if tip.is_visible():
                    told.append(tip.inner_text())
    assert any("</script><script>" in text for text in told)
    assert any("onerror=" in text for text in told)
    assert any("1,000,000 characters" in text for text in told)
    assert any("⟨U+202E⟩" in text for text in told)


def test_threads_ranges_and_calls_of_expanded_rows_are_text(chart: Page) -> None:
    labels = chart.locator(".rlviz-threads").inner_text()
    assert "onerror=" in labels
    told = []
    for lane in lens(chart, "lens.threads.painter.lanes"):
        at = chart.evaluate(
            """({ top, bottom }) => {
              const lens = document.querySelector('.rlviz').rlviz;
              const box = lens.view.el.getBoundingClientRect();
              const { left, top: first, bottom: last, width } = lens.frame;
              const y = box.top + first + ((top + bottom) / 2 / lens.facts.height) * (last - first);
              return { left: box.left + left, width, y };
            }""",
            lane,
        )
        for share in range(1, 40, 2):
            chart.mouse.move(at["left"] + at["width"] * share / 40, at["y"])
            settle(chart)
            tip = chart.locator(".rlviz-tip")
            if tip.is_visible():
                told.append(tip.inner_text())
    assert any("</script><script>" in text for text in told)


def test_labels_of_rows_and_their_tips_are_text(chart: Page) -> None:
    for row in (0, 1):
        x, y = place(chart, window(chart)[0], row)
        for left in (20, 60, 100):
            chart.mouse.move(x - left, y)
            chart.mouse.move(x - left + 1, y)
            settle(chart)


def test_every_button_can_be_pressed_and_every_choice_made(chart: Page) -> None:
    for button in chart.get_by_role("button").all():
        if button.is_visible() and button.is_enabled():
            button.click()
    for select in chart.get_by_role("combobox").all():
        for index in range(select.locator("option").count()):
            if select.is_enabled() and select.locator("option").nth(index).is_enabled():
                select.select_option(index=index)
    chart.keyboard.press("Escape")


def test_names_are_searched_as_text(chart: Page) -> None:
    box = chart.get_by_role("searchbox")
    for text in ("<script>", "${", "{{", "\\", "[", "(", "*", "__proto__", "constructor", "$&"):
        box.fill(text)
        box.press("Enter")
        settle(chart)
    box.fill("")


def test_wheel_drag_keys_and_clicks_lead_to_single_events(chart: Page) -> None:
    x, y = place(chart, 0.06, 0, 0.9)
    chart.mouse.move(x, y)
    for _ in range(12):
        chart.mouse.wheel(0, -240)
        settle(chart)
    chart.mouse.click(x, y)
    chart.mouse.click(x, y, button="right")
    chart.mouse.down()
    chart.mouse.move(x + 80, y, steps=4)
    chart.mouse.up()
    chart.locator(".rlviz").focus()
    for key in ("w", "s", "a", "d", "[", "]", "/", "Escape", "0"):
        chart.keyboard.press(key)
    chart.mouse.dblclick(x, y)
    settle(chart)


def test_the_policy_of_the_page_stands_and_stops_what_is_put_into_it(chart: Page) -> None:
    content = chart.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert content is not None
    parts = [part.split() for part in content.split(";")]
    assert parts[0] == ["default-src", "'none'"]
    assert [part[0] for part in parts] == ["default-src", "script-src", "style-src", "img-src"]
    assert all(word.startswith("'sha256-") for word in parts[1][1:])
    assert parts[2:] == [["style-src", "'unsafe-inline'"], ["img-src", "data:", "blob:"]]


def test_nothing_of_a_hostile_page_leaves_its_frame(chart: Page) -> None:
    wide = lens(chart, "document.documentElement.scrollWidth <= innerWidth")
    assert wide

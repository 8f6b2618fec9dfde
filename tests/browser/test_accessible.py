"""The page without a pointer, without eyes, without a screen: axe, keys, paper."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from rlviz.view.held import Held
from rlviz.view.page import page
from rlviz.view.palette import SURFACE
from rlviz.view.scene import Remark
from tests.browser.charts import contrast, rgb
from tests.browser.conftest import settle, watched_page
from tests.browser.test_numbers import numbers
from tests.browser.test_trust import trust
from tests.view.scenes import scene

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.browser.conftest import Opener

LENS = "document.querySelector('.rlviz').rlviz"


def full_page(theme: Any = "auto") -> str:
    """Write a page that has all that a page can have."""
    told = replace(
        scene(8),
        numbers=numbers("not captured", "GPU 1"),
        trust=trust("w_1", "w_2"),
        remarks=(
            Remark("Generation waits", 1.5, 2.0, 4.0, 1),
            Remark("All is late", None, None, None, None),
        ),
    )
    return page(told, theme, Held(None, "This page leaves out its 9 single GPU events."))


def unfold(page: Page) -> None:
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.get_by_role("button", name="keys", exact=True).click()
    settle(page)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [700, 1400])
def test_axe_finds_nothing_wrong(browser: Browser, tmp_path: Path, dark: bool, width: int) -> None:
    pytest.importorskip("axe_playwright_python")
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    # Its script is none that the page allows: it is let in before the page's policy is there.
    with watched_page(
        browser, tmp_path / "page.html", full_page(), width=width, dark=dark, scripts=[axe]
    ) as opened:
        unfold(opened)
        found = opened.evaluate("() => axe.run(document)")
    told = [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes']]}"
        for one in found["violations"]
    ]
    assert told == []
    # Letters over a canvas: axe does not know what is painted there.
    assert {one["id"] for one in found["incomplete"]} <= {"color-contrast"}
    assert len(found["passes"]) > 20


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_letters_on_the_canvas_have_the_contrast_of_wcag_aa(theme: Any) -> None:
    surface = SURFACE[theme]
    for name in ("ink", "muted", "generation", "training", "colocated", "refit", "alert"):
        for ground in ("page", "band"):
            assert contrast(surface[name], surface[ground]) >= 4.5, (name, ground)


def test_the_plot_says_the_main_numbers_and_the_chart_its_keys(open_page: Opener) -> None:
    opened = open_page(full_page())
    told = opened.locator(".rlviz-plot").get_attribute("aria-label")
    assert told is not None
    base = scene(8)
    assert base.title in told
    assert base.subtitle in told
    chart = opened.locator(".rlviz")
    assert opened.evaluate(
        """() => document.getElementById(
          document.querySelector('.rlviz').getAttribute('aria-describedby')).textContent"""
    ).startswith("Keys: ")
    assert chart.get_attribute("role") == "region"
    assert opened.locator("[role=img] :is(a, button, input, select, [tabindex])").count() == 0


def test_every_control_is_reached_by_tab_in_the_order_of_the_page(open_page: Opener) -> None:
    opened = open_page(full_page())
    opened.evaluate("() => document.activeElement.blur()")
    wanted = opened.evaluate(
        """() => [...document.querySelectorAll(
             '.rlviz, .rlviz :is(button, input, select, summary)')]
           .filter((one) => !one.disabled && one.checkVisibility()).length"""
    )
    reached = []
    for _ in range(wanted):
        opened.keyboard.press("Tab")
        reached.append(
            opened.evaluate(
                """() => {
                  const one = document.activeElement;
                  const { outlineStyle, boxShadow } = getComputedStyle(one);
                  const all = [...document.querySelectorAll('*')];
                  return [all.indexOf(one), outlineStyle !== 'none' || boxShadow !== 'none'];
                }"""
            )
        )
    places = [place for place, _ in reached]
    assert places == sorted(set(places))
    assert all(visible for _, visible in reached)


def test_a_dark_page_prints_light_and_wide_with_its_tables_open(open_page: Opener) -> None:
    opened = open_page(full_page(), dark=True, width=1400)
    before = state(opened)
    opened.evaluate(
        # idle time of the first row: blank, as on screen
        """() => addEventListener('beforeprint', () => {
          const lens = document.querySelector('.rlviz').rlviz;
          const copy = document.querySelector('.rlviz-plot > canvas');
          const [start, end] = lens.window;
          const x = lens.frame.left + (25 - start) / (end - start) * lens.frame.width;
          const y = lens.frame.top + lens.facts.rows[0].bottom * lens.facts.row_px - 4;
          const pixel = copy.getContext('2d').getImageData(4 * x, 4 * y, 1, 1).data;
          globalThis.printed = {
            theme: document.body.dataset.theme,
            open: document.querySelectorAll('details:not([open])').length === 0,
            width: document.querySelector('.rlviz-plot').clientWidth,
            pixel: [...pixel],
          };
        })"""
    )
    pdf = opened.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert opened.evaluate("() => printed") == {
        "theme": "light",
        "open": True,
        "width": 960,
        "pixel": [*rgb(SURFACE["light"]["band"]), 255],
    }
    settle(opened)
    assert state(opened) == before


@pytest.mark.parametrize("rows", [8, 64])
def test_a_printed_chart_is_as_wide_and_high_as_its_place(rows: int, open_page: Opener) -> None:
    opened = open_page(page(scene(rows)), width=1400)
    opened.evaluate(
        """() => addEventListener('beforeprint', () => {
          const plot = document.querySelector('.rlviz-plot');
          const copies = [...plot.querySelectorAll(':scope > canvas')];
          globalThis.printed = {
            // Chromium prints at whole 64ths of a canvas's pixels.
            scales: copies.map(({ style, width }) => 64 * parseFloat(style.width) / width),
            widths: copies.map(({ style }) => parseFloat(style.width) - plot.clientWidth),
            left_over: [plot, copies[1]]
              .map((one) => one.getBoundingClientRect().bottom).reduce((all, own) => all - own),
          };
        })"""
    )
    opened.pdf(prefer_css_page_size=True)
    printed = opened.evaluate("() => printed")
    assert printed["scales"] == [16, 16]
    assert printed["widths"] == pytest.approx([0, 0], abs=1)
    assert printed["left_over"] == pytest.approx(0, abs=1)


def state(page: Page) -> Any:
    return page.evaluate(
        f"""() => ({{
          theme: document.body.dataset.theme,
          chart: {LENS}.root.dataset.theme,
          width: {LENS}.frame.width,
          ratio: devicePixelRatio,
          open: document.querySelectorAll('details[open]').length,
          canvases: document.querySelectorAll('.rlviz-plot > canvas').length,
        }})"""
    )


def test_paper_shows_no_controls(open_page: Opener) -> None:
    opened = open_page(full_page())
    opened.emulate_media(media="print")
    assert not opened.locator(".rlviz-controls").is_visible()
    assert opened.locator(".rlviz-legend").is_visible()


def test_what_was_left_out_is_told_in_readable_letters(open_page: Opener) -> None:
    note = open_page(full_page()).locator(".rlviz-note").last
    assert note.inner_text() == "This page leaves out its 9 single GPU events."
    assert note.evaluate("(one) => Number.parseFloat(getComputedStyle(one).fontSize)") >= 12

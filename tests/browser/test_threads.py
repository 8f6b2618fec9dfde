"""A row expands into its threads, by mouse and by keyboard, in a saved page and in JupyterLab."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import rlviz
from rlviz.run.rules import PHASES
from rlviz.view.palette import COLORS, SURFACE
from rlviz.view.timeline import Timeline
from tests.browser.charts import contrast, lens
from tests.browser.conftest import settle, watched_page
from tests.launching import write_run

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from rlviz.view.palette import Theme
    from tests.browser.conftest import Opener

ALERT = [176, 0, 32]
# Of a range's colour on the page, as lanes.js has it.
TINT = 0.55


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("run")
    timeline = Timeline(rlviz.load(write_run(folder), cache=False))
    return timeline.save(folder / "x.html", expand=[0, 1]).read_text("utf-8")


@pytest.fixture
def chart(open_page: Opener, saved: str) -> Page:
    page: Page = open_page(saved)
    painted(page)
    return page


def painted(page: Page) -> None:
    """Wait until the lanes of all open rows are there."""
    page.wait_for_function(
        """() => {
          const { threads } = document.querySelector('.rlviz').rlviz;
          return threads.picture !== null && threads.picture.rows === threads.rows.join();
        }"""
    )
    settle(page)


def tops(page: Page) -> list[float]:
    found: list[float] = lens(page, "lens.facts.rows.map(({ top }) => top)")
    return found


def pixel(page: Page, at: float, y: float) -> list[int]:
    """Give the colour that is painted at a moment and a height in row units."""
    found: list[int] = page.evaluate(
        """([at, y]) => {
          const lens = document.querySelector('.rlviz').rlviz;
          const [start, end] = lens.window;
          const { left, top, bottom, width } = lens.frame;
          const context = lens.view.canvas_view.primary.canvas.getContext('2d');
          const x = left + ((at - start) / (end - start)) * width;
          const down = top + (y / lens.facts.height) * (bottom - top);
          const where = [x, down].map((one) => one * devicePixelRatio);
          return [...context.getImageData(...where, 1, 1).data].slice(0, 3);
        }""",
        [at, y],
    )
    return found


def middle(page: Page, lane: int) -> float:
    found: float = page.evaluate(
        """(lane) => {
          const { lanes } = document.querySelector('.rlviz').rlviz.threads.painter;
          const { top, bottom } = lanes.find(({ row }) => row === lane);
          return (top + bottom) / 2;
        }""",
        lane,
    )
    return found


def expanders(page: Page) -> Any:
    return page.locator(".rlviz-expand")


def test_rows_that_were_expanded_when_saved_are_open_and_a_click_closes_them(chart: Page) -> None:
    assert [one.get_attribute("aria-expanded") for one in expanders(chart).all()] == ["true"] * 2
    opened, height = tops(chart), lens(chart, "lens.frame.height")
    expanders(chart).nth(0).click()
    settle(chart)
    assert expanders(chart).nth(0).get_attribute("aria-expanded") == "false"
    closed = tops(chart)
    assert closed[0] == opened[0]
    assert closed[1] < opened[1]
    assert lens(chart, "lens.frame.height") < height
    expanders(chart).nth(1).click()
    settle(chart)
    assert lens(chart, "lens.facts.height") == pytest.approx(
        lens(chart, "lens.threads.room.height")
    )
    assert lens(chart, "lens.threads.painter.lanes.length") == 0
    # And back.
    for button in expanders(chart).all():
        button.click()
    painted(chart)
    assert tops(chart) == opened


def test_the_keyboard_goes_from_row_to_row_and_opens_and_closes_them(chart: Page) -> None:
    first, second = expanders(chart).nth(0), expanders(chart).nth(1)
    first.focus()
    chart.keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    chart.keyboard.press("Enter")
    expect(second).to_have_attribute("aria-expanded", "false")
    chart.keyboard.press("Space")
    expect(second).to_have_attribute("aria-expanded", "true")
    assert [one.get_attribute("tabindex") for one in expanders(chart).all()] == ["-1", "0"]
    assert first.get_attribute("aria-label") == "threads of GPU 10:00  generation 0"


def test_what_is_painted_is_what_the_threads_did(chart: Page) -> None:
    outer, calls = middle(chart, 0), middle(chart, 3)
    band = [246, 247, 249]
    page = [255, 255, 255]
    # The outermost range is painted all along, and the sync call while the long kernel runs.
    assert pixel(chart, 0.2, outer) not in (page, band)
    assert pixel(chart, 0.2, calls) == [138, 48, 27]
    # Launch-bound while decoding, not while the long kernel runs.
    top = lens(chart, "lens.threads.painter.strips[0].top")
    height = lens(chart, "lens.facts.row_px")
    assert pixel(chart, 0.12, top + 1 / height) == ALERT
    assert pixel(chart, 0.21, top + 1 / height) != ALERT
    chart.evaluate("() => document.querySelector('.rlviz').rlviz.zoom(0.1001, 0.1003)")
    chart.wait_for_function(
        "() => document.querySelector('.rlviz').rlviz.threads.picture.many.strips.length === 0"
    )
    settle(chart)
    # Calls of 4 us every 20 us.
    launch = [3, 129, 159]
    assert [pixel(chart, 0.10014 + us * 1e-6, calls) == launch for us in (2, 10, 22, 30)] == [
        True,
        False,
        True,
        False,
    ]
    labels = lens(chart, "lens.threads.painter.labels")
    assert labels[:3] == ["vllm_generation_worker/generate", "decode token 0", "attention"]
    assert labels[3:] == ["policy_worker/train"]


def test_hover_tells_calls_buckets_ranges_and_stretches(chart: Page) -> None:
    def told(at: float, y: float) -> str:
        where = chart.evaluate(
            """([at, y]) => {
              const lens = document.querySelector('.rlviz').rlviz;
              const [start, end] = lens.window;
              const { left, top, bottom, width } = lens.frame;
              const box = lens.view.el.getBoundingClientRect();
              return [
                box.left + left + ((at - start) / (end - start)) * width,
                box.top + top + (y / lens.facts.height) * (bottom - top),
              ];
            }""",
            [at, y],
        )
        chart.mouse.move(*where)
        return chart.locator(".rlviz-tip").inner_text()

    assert "mostly sync call" in told(0.2, middle(chart, 3))
    assert "thread python3 4711 · NVTX ranges" in told(0.2, middle(chart, 0))
    strip = lens(
        chart, "(lens.threads.painter.strips[0].top + lens.threads.painter.strips[0].bottom) / 2"
    )
    assert "launch-bound for 40" in told(0.12, strip)
    assert "2,000 times idle until a launch came" in told(0.12, strip)


def test_a_search_and_an_outline_follow_the_rows_that_moved(chart: Page) -> None:
    chart.locator(".rlviz-search").fill("policy_worker/train")
    settle(chart)
    places = lens(chart, "lens.controls.search.places.filter(({ row }) => row === 1)")
    row = lens(chart, "lens.facts.rows[1]")
    assert places
    assert all(row["top"] - 1e-6 <= one["top"] <= row["bottom"] for one in places)
    outlined = lens(chart, "Array.from(lens.controls.matches.data.top)")
    assert all(row["top"] - 1e-6 <= top <= row["bottom"] for top in outlined)


def test_a_row_that_is_being_read_says_how_far_it_is(chart: Page) -> None:
    expanders(chart).nth(0).click()
    chart.evaluate(
        """() => {
          const { source } = document.querySelector('.rlviz').rlviz.threads;
          source.threads = (row, progress) => {
            progress({ calls: 1234567 });
            return new Promise((_, reject) => (globalThis.fail = () => reject(new Error('gone'))));
          };
        }"""
    )
    expanders(chart).nth(0).click()
    told = chart.locator(".rlviz-threads")
    expect(told).to_contain_text("Its reports are being read. 1,234,567 calls so far.")
    chart.evaluate("() => globalThis.fail()")
    expect(told).to_contain_text("Its threads could not be read: gone")


def test_nothing_expands_in_a_page_that_holds_no_threads(
    open_page: Opener, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bare")
    text = Timeline(rlviz.load(write_run(folder), cache=False)).save(folder / "x.html").read_text()
    assert expanders(open_page(text)).count() == 0


def test_a_row_expands_in_jupyterlab(
    open_notebook: Opener, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = write_run(tmp_path_factory.mktemp("lab"))
    notebook = open_notebook(
        "threads",
        f"import rlviz\ntimeline = rlviz.show({str(folder)!r}, cache=False)",
    )
    notebook.wait_for_selector("[data-rlviz=painted]", timeout=60_000)
    button = expanders(notebook).nth(0)
    button.wait_for(timeout=60_000)
    button.click()
    painted(notebook)
    assert lens(notebook, "lens.threads.painter.lanes.length") == 7
    assert "launch-bound for 40 ms" in notebook.locator(".rlviz-threads").inner_text()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "false")


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_wrong_with_expanded_rows(
    browser: Browser, tmp_path: Path, saved: str, dark: bool
) -> None:
    pytest.importorskip("axe_playwright_python")
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    with watched_page(browser, tmp_path / "page.html", saved, dark=dark, scripts=[axe]) as opened:
        painted(opened)
        found = opened.evaluate("() => axe.run(document)")
    assert [f"{one['id']}: {one['help']}" for one in found["violations"]] == []


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_labels_in_lanes_have_the_contrast_of_wcag_aa(theme: Theme) -> None:
    surface = SURFACE[theme]
    for phase in (*PHASES, "range"):
        parts = [
            round(TINT * int(COLORS[phase][i : i + 2], 16) + (1 - TINT) * int(page, 16))
            for i, page in ((i, surface["page"][i : i + 2]) for i in (1, 3, 5))
        ]
        assert contrast(surface["ink"], "#{:02x}{:02x}{:02x}".format(*parts)) >= 4.5, phase

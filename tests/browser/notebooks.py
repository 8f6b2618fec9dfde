"""What tests look at and do in a notebook of JupyterLab, and the charts that its cells make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.conftest import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

SETUP = """
from rlviz.view.timeline import Timeline
from tests.view.scenes import hostile, scene
from tests.view.stand_ins import timeline_of as timeline

Timeline._display_rich = lambda self: None
"""


PATIENCE_MS = 120_000


def painted(page: Page, charts: int) -> None:
    """Wait for so many charts, and for no more."""
    page.wait_for_function(
        """(charts) => document.querySelectorAll("[data-rlviz=painted]").length === charts
          && document.querySelectorAll(".rlviz").length === charts""",
        arg=charts,
        timeout=PATIENCE_MS,
    )
    settle(page)


def windows(page: Page) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(
        "() => [...document.querySelectorAll('.rlviz')].map((root) => root.rlviz.window)"
    )
    return found


def middle(page: Page, chart: int, at_s: float, row: int, height: float = 0.5) -> list[float]:
    """Give the pixel of a time and a row of a chart, scrolled into sight."""
    page.locator(".rlviz").nth(chart).scroll_into_view_if_needed()
    found: list[float] = page.evaluate(
        """([chart, at, row, height]) => {
          const lens = document.querySelectorAll(".rlviz")[chart].rlviz;
          const box = lens.view.el.getBoundingClientRect();
          const [start, end] = lens.window;
          const { top, bottom } = lens.facts.rows[row];
          const units = (top + (bottom - top) * height) / lens.facts.height;
          const frame = lens.frame;
          return [
            box.left + frame.left + ((at - start) / (end - start)) * frame.width,
            box.top + frame.top + units * (frame.bottom - frame.top),
          ];
        }""",
        [chart, at_s, row, height],
    )
    return found


def run_cell(page: Page, index: int) -> str:
    """Run one cell and give its text output."""
    page.evaluate(
        """async (index) => {
          const panel = jupyterapp.shell.currentWidget;
          panel.content.activeCellIndex = index;
          panel.content.deselectAll();
          await jupyterapp.commands.execute("notebook:run-cell");
        }""",
        index,
    )
    text: str = page.evaluate(
        """(index) => {
          const { outputs } = jupyterapp.shell.currentWidget.content.model.cells.get(index);
          return Array.from({ length: outputs.length }, (_, i) => outputs.get(i).toJSON())
            .map((output) => [].concat(output.text ?? output.data?.["text/plain"] ?? "").join(""))
            .join("");
        }""",
        index,
    )
    return text


def eventually(page: Page, look: Any, expected: Any) -> None:
    """Wait until `look` gives what is expected; say what it gave if it never does."""
    for _ in range(100):
        if look() == expected:
            return
        page.wait_for_timeout(100)
    assert look() == expected

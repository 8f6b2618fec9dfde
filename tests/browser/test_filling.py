"""A chart that comes up before GPU rows are read, and fills in, with a real kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlviz.demo
from tests.browser.conftest import settle

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.conftest import Opener

PATIENCE_MS = 120_000

# Reports arrive when the test says so: the kernel is busy all the time.
SHOW = """
import time
from pathlib import Path
import rlviz
from rlviz import filling

def arriving(found, *rest, read=filling.outcomes_of):
    for place, outcome in enumerate(read(found, *rest)):
        while not Path({folder!r}, f"go{{place}}").exists():
            time.sleep(0.01)
        yield outcome

filling.outcomes_of = arriving
filling._WORTH_FILLING = 0
filling._EVERY_S = 0.0
filling._SHARE = 1.0
timeline = rlviz.show({reports!r}, cache=False)
"""


def subtitle(page: Page) -> str:
    return page.locator(".rlviz-subtitle").inner_text()


def says(page: Page, start: str) -> None:
    page.wait_for_function(
        "(start) => document.querySelector('.rlviz-subtitle')?.textContent.startsWith(start)",
        arg=start,
        timeout=PATIENCE_MS,
    )
    settle(page)


def rows(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "() => document.querySelector('.rlviz').rlviz.facts.rows.map((row) => row.label)"
    )
    return found


def window(page: Page) -> list[float]:
    found: list[float] = page.evaluate("() => [...document.querySelector('.rlviz').rlviz.window]")
    return found


def test_a_chart_fills_in_while_its_kernel_is_busy(open_notebook: Opener, tmp_path: Path) -> None:
    rlviz.demo.write(tmp_path / "run", steps=2, kernels_per_gpu=400)
    page = open_notebook(
        "filling", SHOW.format(folder=str(tmp_path), reports=str(tmp_path / "run"))
    )
    page.wait_for_selector("[data-rlviz=painted]", timeout=PATIENCE_MS)
    says(page, "reading GPU rows: 0 of 8 reports")
    # Phases stand, and no number of what is not read.
    assert page.locator(".rlviz-legend").inner_text().count("being read") == 1
    labels = rows(page)
    assert len(labels) == 8
    assert all("GPU" in label for label in labels)
    # A person moves the view; it stays where it is.
    page.evaluate("() => document.querySelector('.rlviz').rlviz.zoom(10, 20)")
    settle(page)
    assert window(page) == [10.0, 20.0]
    for place in range(3):
        (tmp_path / f"go{place}").touch()
    says(page, "reading GPU rows: 3 of 8 reports")
    assert window(page) == [10.0, 20.0]
    assert rows(page) == labels
    for place in range(3, 8):
        (tmp_path / f"go{place}").touch()
    page.wait_for_function(
        "() => !document.querySelector('.rlviz-subtitle').textContent.startsWith('reading')",
        timeout=PATIENCE_MS,
    )
    settle(page)
    assert window(page) == [10.0, 20.0]
    assert rows(page) == labels
    assert "being read" not in page.locator(".rlviz-legend").inner_text()
    assert page.locator(".rlviz").count() == 1
    assert page.locator("[data-rlviz=painted]").count() == 1

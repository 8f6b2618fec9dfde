"""Timelines in JupyterLab, with a real kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.conftest import command
from tests.browser.notebooks import (
    PATIENCE_MS,
    SETUP,
    eventually,
    middle,
    painted,
    run_cell,
    windows,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Opener


def documents(page: Page) -> int:
    count: int = page.evaluate(
        "() => document.querySelector('.rlviz').rlviz.Bokeh.documents.length"
    )
    return count


def cells(page: Page) -> int:
    count: int = page.evaluate("() => jupyterapp.shell.currentWidget.content.model.cells.length")
    return count


def test_three_charts_under_run_all(open_notebook: Opener) -> None:
    page = open_notebook(
        "three",
        SETUP,
        "first = timeline(scene(2)); first._show(); first",
        "second = timeline(scene(2))\nsecond",
        "third = timeline(scene(4))\nthird._show()\nprint('a line below')",
        "print(*(one.window for one in (first, second, third)))",
        "second.zoom(iteration=4)",
        "second",
        run=False,
    )
    page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 4; }")
    command(page, "notebook:run-all-above")
    # shown and the last expression: once; assigned and named: once; in the middle of a cell: once
    painted(page, 3)
    assert page.evaluate("() => globalThis.Bokeh === undefined")

    # hover tells the range's name
    x, y = middle(page, 1, 15.0, 1, 0.02)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    tip = page.locator(".rlviz-tip:visible")
    assert "dtensor_policy_worker_v2/train" in tip.inner_text()

    # a person's wheel moves one view, and the kernel hears of it
    page.mouse.move(*middle(page, 1, 48.0, 0))
    page.mouse.wheel(0, -240)
    page.wait_for_timeout(400)
    first, second, third = windows(page)
    assert first == third == [0.0, 96.0]
    assert second != first
    told = f"(0.0, 96.0) ({second[0]!r}, {second[1]!r}) (0.0, 96.0)"
    assert run_cell(page, 4).strip() == told

    # keys belong to the chart that has the focus, not to the notebook around it
    before = cells(page)
    page.locator(".rlviz").nth(2).focus()
    for key in ("w", "a", "d", "d", "s", "a"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert cells(page) == before
    assert windows(page)[:2] == [first, second]
    assert windows(page)[2] != third

    # zoom() from a cell moves every view of its timeline, those of a later cell included
    run_cell(page, 5)
    eventually(page, lambda: windows(page)[1], [31.0, 62.0])
    assert windows(page)[0] == [0.0, 96.0]
    run_cell(page, 6)
    painted(page, 4)
    assert windows(page)[3] == [31.0, 62.0]
    page.evaluate("() => document.querySelectorAll('.rlviz')[3].rlviz.zoom(1, 2)")
    page.wait_for_timeout(300)
    assert windows(page)[1] == [31.0, 62.0]

    # the notebook's theme, without asking the kernel
    for name, theme in (("JupyterLab Dark", "dark"), ("JupyterLab Light", "light")):
        page.evaluate(
            "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })", name
        )
        eventually(page, lambda: page.locator(".rlviz").first.get_attribute("data-theme"), theme)


def test_reruns_leave_nothing_behind_and_a_restart_leaves_the_charts(
    open_notebook: Opener,
) -> None:
    page = open_notebook("again", SETUP, "timeline(scene(2))", "timeline(hostile())")
    painted(page, 2)
    before = documents(page)
    assert before == 2
    for _ in range(10):
        run_cell(page, 1)
        painted(page, 2)
    assert documents(page) == before
    assert page.locator(".rlviz-tip").count() == 2
    assert page.evaluate("() => globalThis.__rlviz_bokeh.size") == 2

    # hostile strings: shown, not run
    x, y = middle(page, 1, 15.0, 2, 0.02)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    assert "https://example.com" in page.locator(".rlviz-tip:visible").inner_text()
    assert page.evaluate("() => globalThis.__pwned") is None

    # without the kernel that made them
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    page.wait_for_timeout(1000)
    assert page.locator("[data-rlviz=painted]").count() == 2
    page.mouse.move(*middle(page, 0, 48.0, 0))
    page.mouse.wheel(0, -240)
    page.wait_for_timeout(300)
    assert windows(page)[0] != [0.0, 96.0]


BUSY = """
import time
chart = timeline(scene(2)); chart._show()
asked = []
parts = chart._widget._parts
for name, give in list(parts.items()):
    parts[name] = lambda name=name, give=give: (asked.append(name), give())[1]
"""


def test_a_chart_above_a_cell_that_keeps_the_kernel_busy_is_drawn(open_notebook: Opener) -> None:
    page = open_notebook("busy", SETUP, BUSY, "time.sleep(15)", "asked", "chart", "asked")
    # Both libraries and the figure came without being asked for.
    painted(page, 1)
    assert run_cell_state(page, 2) != ""
    page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'",
        timeout=PATIENCE_MS,
    )
    # Another view of the same chart does not ask for them either.
    painted(page, 2)
    assert run_cell(page, 5).strip() == "[]"


def run_cell_state(page: Page, index: int) -> str:
    """Tell what stands beside a cell: "*" while it waits or runs."""
    text: str = page.evaluate(
        """(index) => jupyterapp.shell.currentWidget.content.widgets[index].prompt""", index
    )
    return "*" if text == "*" else ""


RENEWED = """
def renew(rows, **options):
    chart.scene = scene(rows, **options)
    chart._widget.renew(chart.scene)
"""


def test_a_renewed_chart_keeps_window_and_choices(open_notebook: Opener) -> None:
    page = open_notebook(
        "renewed",
        SETUP,
        "chart = timeline(scene(2)); chart._show()",
        "chart",
        RENEWED + "renew(8)",
        "renew(4)",
        run=False,
    )
    page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 3; }")
    command(page, "notebook:run-all-above")
    painted(page, 2)
    before = documents(page)
    page.evaluate(
        """() => {
          const { rlviz: lens } = document.querySelector('.rlviz');
          lens.zoom(20, 30);
          lens.controls.choose({ color_by: "kind", search: "train" });
        }"""
    )
    run_cell(page, 3)
    rows = "() => [...document.querySelectorAll('.rlviz')].map((r) => r.rlviz.facts.rows.length)"
    eventually(page, lambda: page.evaluate(rows), [8, 8])
    painted(page, 2)
    # A person's window and choices stay, in the view where they were made.
    assert windows(page) == [[20, 30], [0.0, 96.0]]
    chosen = "() => document.querySelector('.rlviz').rlviz.controls.choices"
    assert page.evaluate(chosen)["color_by"] == "kind"
    assert page.evaluate(chosen)["search"] == "train"
    assert documents(page) == before
    assert page.locator(".rlviz-tip").count() == 2
    run_cell(page, 4)
    eventually(page, lambda: page.evaluate(rows), [4, 4])
    painted(page, 2)
    assert documents(page) == before
    # It is alive: a wheel moves it.
    page.mouse.move(*middle(page, 1, 48.0, 0))
    page.mouse.wheel(0, -240)
    eventually(page, lambda: windows(page)[1] != [0.0, 96.0], True)


SLOW = """
import time
from IPython.display import display
slow = timeline(scene(2))
part = slow._widget._parts["item"]
slow._widget._parts["item"] = lambda: (time.sleep(6), part())[1]
# Displayed by itself, it is not sent along: the view has to ask.
display(slow._widget)
"""


def test_a_chart_says_that_it_waits_for_a_busy_kernel(open_notebook: Opener) -> None:
    page = open_notebook("slow", SETUP, SLOW)
    page.get_by_text("The chart waits for the kernel.").wait_for(timeout=PATIENCE_MS)
    painted(page, 1)
    assert page.get_by_text("The chart waits for the kernel.").count() == 0

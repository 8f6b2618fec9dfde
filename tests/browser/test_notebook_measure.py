"""Measuring and the table of kernels in JupyterLab: the kernel answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.charts import lens
from tests.browser.notebooks import eventually, middle, painted, run_cell, windows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.conftest import Opener

SETUP = """
import rlviz
from rlviz.demo import write
from rlviz.view.timeline import Timeline
write({folder!r}, hosts=1, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=3_000)
Timeline._display_rich = lambda self: None
one = Timeline(rlviz.load({folder!r}))
"""
# What the table and the measurement must say, by the run's own frames.
TRUTH = """
at = [round(second * 1e9) for second in {span}]
busy = one.run.busy(start_ns=at[0], end_ns=at[1], by="row")
spent = (busy["end_ns"] - busy["start_ns"]).sum() / (4 * (at[1] - at[0]))
top = one.run.top_kernels(row={row}, start_ns=at[0], end_ns=at[1])
print(spent, len(top), *top.head(3)["short_name"])
"""


def test_a_notebook_measures_and_lists_kernels(open_notebook: Opener, tmp_path: Path) -> None:
    page = open_notebook("measure", SETUP.format(folder=str(tmp_path / "run")), "one", "pass")
    painted(page, 1)
    before = windows(page)
    start, end = before[0]

    # a drag with Shift
    first, last = (middle(page, 0, start + (end - start) * part, 1) for part in (0.3, 0.6))
    page.keyboard.down("Shift")
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move(*last)
    page.mouse.up()
    page.keyboard.up("Shift")
    words = page.locator(".rlviz-measure-words")
    words.get_by_text("training busy").wait_for()
    assert windows(page) == before
    shares = [
        float(line.split(" busy ")[1].removesuffix(" %"))
        for line in words.inner_text().splitlines()
        if line.startswith(("generation busy", "training busy"))
    ]
    span = lens(page, "[lens.measure.span.start, lens.measure.span.end]")
    page.evaluate(
        """(source) => {
          const { model } = jupyterapp.shell.currentWidget.content;
          model.cells.get(2).sharedModel.setSource(source);
        }""",
        TRUTH.format(span=span, row=None),
    )
    spent = float(run_cell(page, 2).split()[0])
    assert sum(shares) / 200 == pytest.approx(spent, abs=0.006)

    # both are there for those without a keyboard
    switch = page.get_by_role("button", name="measure", exact=True)
    switch.click()
    assert switch.get_attribute("aria-pressed") == "true"
    switch.click()

    # a click on a range: the kernel's answer, below the chart
    row, left, right = lens(
        page,
        """(() => {
          const { overlays } = lens.marks;
          const row = lens.facts.rows.at(-1).row;
          const own = lens.marks.overlayRows.get(row).filter((i) => overlays.count[i] === 1);
          const i = own.reduce((a, b) =>
            overlays.right[b] - overlays.left[b] > overlays.right[a] - overlays.left[a] ? b : a);
          return [row, overlays.left[i], overlays.right[i]];
        })()""",
    )
    page.mouse.click(*middle(page, 0, (left + right) / 2, 3, 0.03))
    table = page.get_by_role("region", name="kernels", exact=True)
    table.locator("tbody tr").first.wait_for()
    page.evaluate(
        """(source) => {
          const { model } = jupyterapp.shell.currentWidget.content;
          model.cells.get(2).sharedModel.setSource(source);
        }""",
        TRUTH.format(span=[left, right], row=row),
    )
    _, names, *top = run_cell(page, 2).split()
    assert table.locator("tbody td:first-child").all_inner_texts()[:3] == top
    more = max(int(names) - 20, 0)
    assert (f"{more} more name" in table.inner_text()) == (more > 0)

    # keys belong to the chart, not to JupyterLab; Escape takes both back
    page.locator(".rlviz").focus()
    page.keyboard.press("k")
    eventually(page, lambda: "Kernels of this window" in table.inner_text(), True)
    page.keyboard.press("Escape")
    assert not words.is_visible()
    assert table.is_visible()
    page.keyboard.press("Escape")
    assert not table.is_visible()

"""Detail at any zoom, asked of a real kernel by a real wheel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.browser.conftest import settle
from tests.browser.notebooks import PATIENCE_MS, middle, painted, windows

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Opener

RUN = """
import os, tempfile
# Charts and events of this run alone, not of a cache that others fill.
os.environ["RLVIZ_CACHE_DIR"] = tempfile.mkdtemp()
import rlviz
from rlviz.demo import write

folder = tempfile.mkdtemp()
write(folder, hosts=1, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=12_000)
run = rlviz.load(folder)
timeline = rlviz.show(run)
"""
DETAIL = "document.querySelector('.rlviz').rlviz.detail"


def detail(page: Page, expression: str) -> Any:
    return page.evaluate(f"() => {{ const detail = {DETAIL}; return {expression}; }}")


def detailed(page: Page) -> None:
    """Wait until the newest window is painted as finely as can be."""
    page.wait_for_function(
        f"""() => {{
          const detail = {DETAIL};
          return detail.waits === undefined && detail.resting === undefined
            && !detail.wanting() && (detail.covers || detail.enough);
        }}""",
        timeout=PATIENCE_MS,
    )
    settle(page)


def test_a_wheel_leads_from_the_run_to_its_single_kernels(open_notebook: Opener) -> None:
    page = open_notebook("zoom", RUN, "print(__import__('json').dumps(run.events.names.to_list()))")
    painted(page, 1)
    detailed(page)
    first, last = windows(page)[0]
    at = first + (last - first) * 0.45
    # The pointer stays where it is: a wheel zooms about it.
    x, y = middle(page, 0, at, 2, 0.8)
    page.mouse.move(x, y)

    kinds = []
    for _ in range(60):
        page.mouse.wheel(0, -360)
        detailed(page)
        start, end = windows(page)[0]
        if detail(page, "detail.picture !== null"):
            events = detail(page, "detail.picture.strips.length === 0")
            kinds.append("events" if events else "buckets")
            # Nothing vanishes on the way: what the picture holds of the window is painted.
            assert detail(page, "detail.painter.drawn") > 0
        if end - start < 0.02:
            break
    assert kinds[0] == "buckets"
    assert kinds[-1] == "events"
    # Once there are events, there are no buckets again.
    assert kinds == sorted(kinds)

    held = page.evaluate(
        f"""() => {{
          const {{ picture, lens }} = {DETAIL};
          const {{ left, right, row, name }} = picture.events;
          const [start, end] = lens.window;
          for (let i = 0; i < left.length; i++) {{
            const [from, until] = [Math.max(left[i], start), Math.min(right[i], end)];
            if ((until - from) / (end - start) > 0.02) {{
              const place = lens.facts.rows.findIndex((one) => one.row === row[i]);
              return [(from + until) / 2, name[i], place];
            }}
          }}
          return null;
        }}"""
    )
    assert held is not None
    x, y = middle(page, 0, held[0], held[2], 0.8)
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)
    told = page.locator(".rlviz-tip:visible").inner_text()
    name = page.evaluate(f"(code) => {DETAIL}.lens.facts.names[code]", held[1])
    assert name
    assert name in told
    output = page.evaluate(
        """() => jupyterapp.shell.currentWidget.content.model.cells.get(1).outputs.get(0)
          .toJSON().text"""
    )
    assert name in json.loads("".join(output))

    # Ten quick moves: one picture at the end, of the newest window, and few questions.
    asked = detail(page, "detail.asked")
    page.evaluate(
        f"""async ([first, last]) => {{
          for (let i = 1; i <= 10; i++) {{
            const start = first + (last - first) * 0.05 * i;
            {DETAIL}.lens.zoom(start, start + (last - first) * 0.1);
            await new Promise((done) => setTimeout(done, 5));
          }}
        }}""",
        [first, last],
    )
    detailed(page)
    start, end = windows(page)[0]
    assert detail(page, "detail.picture.start") <= start
    assert detail(page, "detail.picture.end") >= end
    assert detail(page, "detail.answered") == detail(page, "detail.state")
    assert detail(page, "detail.asked") - asked <= 6

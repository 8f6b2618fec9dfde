"""The figure that a saved notebook keeps: hidden while the chart lives, alive without a kernel."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

import rlviz
from rlviz.demo import write
from rlviz.view.rich import rich_output
from rlviz.view.timeline import Timeline
from tests.browser.conftest import command

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.browser.conftest import Lab, Opener

SMALL: dict[str, Any] = {
    "hosts": 1,
    "policy_gpus": 1,
    "generation_gpus": 1,
    "steps": 2,
    "kernels_per_gpu": 2_000,
}
STILL = {"rows": None, "width": None, "height": None, "title": None, "theme": "light"}


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("run")
    write(folder, **SMALL)
    timeline = Timeline(rlviz.load(folder))
    png = timeline._still("png", None, None, STILL | {"caption": True})
    return rich_output(timeline.run, timeline.scene, png, "0123456789abcdef")


def saved(figure: dict[str, str]) -> Any:
    """Give a notebook with the outputs of `show`."""
    make = nbformat.v4
    view = {"model_id": "0" * 32, "version_major": 2, "version_minor": 0}
    widget = {"text/plain": "Timeline()", "application/vnd.jupyter.widget-view+json": view}
    outputs = [make.new_output("display_data", data=data) for data in (widget, figure)]
    cell = make.new_code_cell("timeline = rlviz.show(run)", outputs=outputs, execution_count=1)
    notebook = make.new_notebook(cells=[cell])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    return notebook


def zoomed_in_its_frame(page: Page) -> None:
    """Turn the wheel over the page that took the place of the still."""
    page.locator(".rlviz-still iframe").wait_for(timeout=30_000)
    inside = page.frame_locator(".rlviz-still iframe")
    inside.locator("[data-rlviz=painted]").wait_for(timeout=30_000)
    page.locator(".rlviz-still img").wait_for(state="hidden")
    frame = page.frames[-1]
    window = "() => document.querySelector('.rlviz').rlviz.window"
    before = frame.evaluate(window)
    box = page.locator(".rlviz-still iframe").bounding_box()
    assert box is not None
    assert box["height"] > 200
    assert frame.evaluate("() => document.documentElement.scrollHeight <= innerHeight")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    page.mouse.wheel(0, -240)
    page.wait_for_timeout(600)
    start, end = frame.evaluate(window)
    assert end - start < before[1] - before[0]
    # The frame reaches nothing around it.
    assert frame.evaluate("() => origin") == "null"


@pytest.mark.parametrize("with_state", [False, True])
def test_a_notebook_turned_into_html_zooms_offline(
    browser: Browser, figure: dict[str, str], with_state: bool, tmp_path: Path
) -> None:
    exporter = pytest.importorskip("nbconvert").HTMLExporter()
    notebook = saved(figure)
    if with_state:
        model: dict[str, Any] = {"model_name": "LayoutModel", "state": {}}
        model |= {"model_module": "@jupyter-widgets/base", "model_module_version": "2.0.0"}
        state = {"version_major": 2, "version_minor": 0, "state": {"0" * 32: model}}
        notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    path = tmp_path / "notebook.html"
    path.write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, offline=True)
    try:
        page = context.new_page()
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        zoomed_in_its_frame(page)
    finally:
        context.close()


def test_without_scripts_the_still_is_there(browser: Browser, figure: dict[str, str]) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    try:
        page = context.new_page()
        page.set_content(re.sub(r"<script.*?</script>", "", figure["text/html"], flags=re.DOTALL))
        assert page.locator("img").is_visible()
        assert page.locator("img").get_attribute("alt")
        assert page.locator("body").inner_text().strip() == ""
    finally:
        context.close()


LIVE = f"""
import tempfile, rlviz
from rlviz.demo import write
folder = tempfile.mkdtemp()
write(folder, **{SMALL!r})
timeline = rlviz.show(folder)
"""


def test_the_live_chart_hides_it_with_all_of_its_place(open_notebook: Opener) -> None:
    page = open_notebook("rich", LIVE, "rlviz.show(timeline.run, static=True)")
    page.wait_for_selector("[data-rlviz=painted]", timeout=120_000)
    page.locator(".jp-OutputArea [data-rlviz-still]").first.wait_for(
        state="attached", timeout=60_000
    )
    page.wait_for_timeout(1000)
    first = page.locator(".jp-CodeCell").first
    outputs = first.locator(".jp-OutputArea-output:has([data-rlviz-still])")
    assert outputs.count() == 1
    assert not first.locator(".jp-OutputArea-child:has([data-rlviz-still])").is_visible()
    # static: there is only the page
    second = page.locator(".jp-CodeCell").nth(1)
    second.locator("iframe").wait_for(timeout=30_000)
    assert second.locator(".rlviz-still").count() == 1
    assert second.locator("[data-rlviz-live]").count() == 0


@pytest.mark.parametrize("trusted", [False, True])
def test_a_notebook_opened_without_its_kernel_shows_it(
    browser: Browser, lab: Lab, figure: dict[str, str], trusted: bool
) -> None:
    name = f"reopened-{trusted}"
    notebook = saved(figure)
    path = lab.folder / f"{name}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1500, "height": 1600})
    try:
        page = context.new_page()
        page.goto(f"{lab.url}/lab/workspaces/{name}/tree/{name}.ipynb?token={lab.token}")
        page.wait_for_selector(".rlviz-still img, img[alt]", state="attached", timeout=60_000)
        if trusted:
            command(page, "notebook:trust")
            page.locator(".jp-Dialog-button.jp-mod-accept").last.click(timeout=30_000)
            zoomed_in_its_frame(page)
        else:
            page.wait_for_timeout(1500)
            still = page.locator(".jp-OutputArea-output img[src^='data:image/png']")
            assert still.first.is_visible()
            assert page.locator(".jp-OutputArea iframe").count() == 0
    finally:
        context.close()

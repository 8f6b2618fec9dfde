"""Make the pictures of the docs: a page seen by a headless Chromium, and figures."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import rlviz
from rlviz import demo

_IMAGES = Path(__file__).with_name("images")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WIDTH_PX = 1_400
_SCALE = 2


def picture(page: Path, target: Path) -> None:
    """Write what a browser shows of `page` to `target`."""
    browser_path = next(filter(None, map(shutil.which, _NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(
            viewport={"width": _WIDTH_PX, "height": 1_200},
            device_scale_factor=_SCALE,
            color_scheme="light",
        )
        tab.goto(page.as_uri())
        tab.wait_for_selector("[data-rlviz=painted]")
        tab.wait_for_timeout(500)  # the last frame is painted after the mark
        tab.locator("#rlviz-chart").screenshot(path=target)
        browser.close()


def main() -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        run = rlviz.load(demo.write(Path(folder, "default")))
        page = rlviz.Timeline(run).save(Path(folder, "timeline.html"))
        _IMAGES.mkdir(exist_ok=True)
        picture(page, _IMAGES / "timeline.png")
        tailed = Path(folder, "long-tail")
        demo.write(tailed, long_tail=True)
        runs = {"before": rlviz.load(tailed), "after": run}
        rlviz.Comparison(runs).save(_IMAGES / "compare.png")


if __name__ == "__main__":
    main()

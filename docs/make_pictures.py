"""Make the pictures of the documentation, or with ``--check`` tell which are not true any more.

Every picture holds the words that stand in what it shows, beside its pixels: the check draws all of
them again, and compares words and a small copy of the pixels.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

import rlviz
from rlviz import demo
from rlviz.levels.codec import pack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlviz.view.scene import Scene

IMAGES = Path(__file__).with_name("images")

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WIDTH_PX = 1_400
_SCALE = 2
_WIDEST_PX, _HIGHEST_PX = 2_000, 1_500
_WORDS = "words"
_SMALL_PX = 160
# Of 255, in the mean over a small copy: another version of a font makes 1, another chart 5 or more.
_ALIKE = 2.5


def make(folder: Path) -> list[Path]:
    """Write all pictures to `folder`."""
    with tempfile.TemporaryDirectory() as scratch:
        run = rlviz.load(demo.write(Path(scratch, "default")), cache=False)
        tail = rlviz.load(demo.write(Path(scratch, "tail"), long_tail=True), cache=False)
        one = rlviz.Timeline(run)
        two = rlviz.Comparison({"before": tail, "after": run})
        few = demo.write(Path(scratch, "few"), hosts=1, policy_gpus=1, generation_gpus=1, steps=2)
        threads = rlviz.Timeline(rlviz.load(few, cache=False))
        mean = rlviz.Comparison({"before": tail, "after": run}, "mean")
        drawn = Path(scratch, "figure.png")
        pictures = {
            "timeline": (one, _seen(one.save(Path(scratch, "timeline.html")))),
            "cpu-side": (threads, _seen(threads.save(Path(scratch, "threads.html"), expand=[1]))),
            "iteration": (one, one.save(drawn, iteration=4).read_bytes()),
            "column": (one, one.save(drawn, width=85 / 25.4, theme="print").read_bytes()),
            "compare": (two, two.save(drawn).read_bytes()),
            "compare-mean": (mean, mean.save(drawn).read_bytes()),
        }
        return [
            _picture(folder / f"{name}.png", png, timeline.scene)
            for name, (timeline, png) in pictures.items()
        ]


def untrue(committed: Path, drawn: Path) -> str:
    """Say in what a picture differs from the one that was drawn now; "" where it does not."""
    if not committed.exists():
        return f"{committed.name}: it is not there"
    told, now = _words_of(committed), _words_of(drawn)
    if told != now:
        only = {"it says": told - now, "now": now - told}
        lists = (f"{what} {sorted(words)[:5]}" for what, words in only.items())
        return f"{committed.name}: {'; '.join(lists)}"
    apart = np.abs(_small(committed) - _small(drawn)).mean()
    return f"{committed.name}: it looks different ({apart:.1f} of 255)" if apart > _ALIKE else ""


def _seen(page: Path) -> bytes:
    """Give what a browser shows of the chart of `page`."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(
            viewport={"width": _WIDTH_PX, "height": 1_200},
            device_scale_factor=_SCALE,
            color_scheme="light",
        )
        tab.goto(page.as_uri())
        tab.wait_for_selector("[data-rlviz=painted]")
        tab.wait_for_timeout(1_000)  # the last frame is painted after the mark
        seen = tab.locator("#rlviz-chart").screenshot()
        browser.close()
    return seen


def _picture(target: Path, png: bytes, scene: Scene) -> Path:
    """Keep a picture in 256 colours, with the words that it shows."""
    words = PngInfo()
    words.add_text(_WORDS, json.dumps(sorted(set(_texts(pack(scene)[0])))), zip=True)
    with Image.open(BytesIO(png)) as image:
        image.thumbnail((_WIDEST_PX, _HIGHEST_PX))
        # Rare colours keep a place, and then frequent ones are made true.
        few = image.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
        )
    few.save(target, optimize=True, pnginfo=words)
    return target


def _texts(node: object) -> Iterable[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for one in node.values() if isinstance(node, dict) else node:
            yield from _texts(one)


def _words_of(picture: Path) -> set[str]:
    with Image.open(picture) as image:
        return set(json.loads(image.info.get(_WORDS, "[]")))


def _small(picture: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    with Image.open(picture) as image:
        return np.asarray(image.convert("L").resize((_SMALL_PX, _SMALL_PX)), dtype=np.float64)


def main() -> None:
    """Make all pictures, or check them."""
    if "--check" not in sys.argv[1:]:
        IMAGES.mkdir(exist_ok=True)
        make(IMAGES)
        return
    with tempfile.TemporaryDirectory() as scratch:
        told = [untrue(IMAGES / drawn.name, drawn) for drawn in make(Path(scratch))]
    faults = [one for one in told if one]
    if faults:
        sys.exit("\n".join([*faults, "run: make pictures"]))


if __name__ == "__main__":
    main()

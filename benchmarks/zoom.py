"""Time a wheel over a chart: in JupyterLab, where the kernel answers, and in a static page.

Real wheel events go through the browser. Of each two moments are taken, as times since the event
was made: when a frame shows the chart at the new window (the picture moves), and when a frame shows
it as finely as its pixels can (new detail, where the wheel needed any). A frame counts as shown
when the next one begins, so that every time is up to a frame too long and none is too short.

Examples
--------
$ python -m benchmarks.zoom --kernels 10_000_000 --reports 64 --page-kernels 1_000_000
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rlviz
from benchmarks.lab import chromium, notebook
from benchmarks.reports import write_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser, Page

SIZE = (1500, 1700)
_STEP = -240
_STEPS_DOWN = 9
_LENS = "document.querySelector('.rlviz').rlviz"
_PATIENCE_MS = 60_000

# At each painting of the bars, in which all of the chart is painted, it is noted what they show; at
# the begin of the next frame it has been shown.
_WATCH = """() => {
  const lens = LENS;
  const { detail } = lens;
  const { bars } = lens;
  const paint = bars._paint;
  const watch = (globalThis.rlvizWatch = { noted: null, wheel: null });
  bars._paint = (...given) => {
    paint(...given);
    watch.noted = { window: lens.window.join(), fine: !detail.wanting() };
  };
  lens.root.addEventListener("wheel", ({ timeStamp }) => {
    watch.wheel ??= { at: timeStamp, window: lens.window.join(), asked: detail.asked };
  }, { capture: true });
  const frame = () => {
    const { noted, wheel } = watch;
    watch.noted = null;
    if (noted !== null && wheel !== null && noted.window !== wheel.window) {
      const passed = performance.now() - wheel.at;
      wheel.moved ??= passed;
      if (noted.fine && detail.waits === undefined) wheel.fine ??= passed;
      if (wheel.fine !== undefined) wheel.answers = detail.asked - wheel.asked;
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}""".replace("LENS", _LENS)


class Wheel(NamedTuple):
    """Milliseconds from a wheel to the moved picture, and to all detail; was any asked for."""

    moved_ms: float
    fine_ms: float
    asked: bool


def wheels(page: Page, count: int, seed: int = 0) -> list[Wheel]:
    """Turn the wheel `count` times: from the whole run down to kernels, then again elsewhere."""
    page.evaluate(f"() => {{ {_LENS}.root.scrollIntoView(); }}")
    page.wait_for_timeout(1_000)
    page.evaluate(_WATCH)
    rng = random.Random(seed)
    found: list[Wheel] = []
    while len(found) < count:
        page.evaluate(f"() => {{ {_LENS}.home(); }}")
        page.wait_for_timeout(500)
        x, y = page.evaluate(
            f"""(share) => {{
              const {{ frame, view }} = {_LENS};
              const box = view.el.getBoundingClientRect();
              return [box.left + frame.left + frame.width * share, box.top + frame.top + 60];
            }}""",
            rng.uniform(0.1, 0.9),
        )
        page.mouse.move(x, y)
        for _ in range(min(_STEPS_DOWN, count - len(found))):
            page.evaluate("() => { rlvizWatch.wheel = null; }")
            page.mouse.wheel(0, _STEP)
            page.wait_for_function(
                "() => rlvizWatch.wheel?.answers !== undefined", timeout=_PATIENCE_MS
            )
            told: dict[str, Any] = page.evaluate("() => rlvizWatch.wheel")
            found.append(Wheel(told["moved"], told["fine"], told["answers"] > 0))
            page.wait_for_timeout(250)
    return found


def in_lab(browser: Browser, folder: Path, count: int) -> tuple[list[Wheel], str]:
    """Measure in JupyterLab."""
    cells = [f"import rlviz\nrun = rlviz.load({str(folder)!r})\nrlviz.show(run)"]
    with notebook(browser, cells, SIZE) as page:
        page.wait_for_timeout(5_000)
        return wheels(page, count), _seen(page)


def in_page(browser: Browser, path: Path, count: int) -> tuple[list[Wheel], str]:
    """Measure in a static page."""
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    page.goto(path.as_uri())
    page.wait_for_function(f"() => document.querySelector('.rlviz') && {_LENS}.detail?.source")
    found = wheels(page, count), _seen(page)
    page.close()
    return found


def _seen(page: Page) -> str:
    rows, ranges, labels = page.evaluate(
        f"""() => {{
          const lens = {_LENS};
          return [lens.facts.rows.length, lens.marks.overlays.left.length,
                  lens.labels.ranges.data.text.length];
        }}"""
    )
    return f"{rows} rows, at last {ranges:,} ranges and {labels} labels"


def line(where: str, events: int, found: Sequence[Wheel], extra: str) -> str:
    """Write a line of the table."""
    asked = [wheel.fine_ms for wheel in found if wheel.asked]
    moved = [wheel.moved_ms for wheel in found]
    numbers = [
        f"{np.median(of):.0f} / {np.percentile(of, 95):.0f} / {min(of):.0f} ms"
        for of in (moved, asked)
    ]
    return (
        f"| {where} | {events:,} | {len(found)} ({len(asked)}) | {' | '.join(numbers)} | {extra} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=10_000_000)
    parser.add_argument("--ranges", type=int, default=200_000)
    parser.add_argument("--reports", type=int, default=64)
    parser.add_argument("--page-kernels", type=int, default=1_000_000)
    parser.add_argument("--page-reports", type=int, default=16)
    parser.add_argument("--wheels", type=int, default=90)
    parser.add_argument("--folder", type=Path, help="reports of a run that was written before")
    options = parser.parse_args()
    print("| where | events | wheels (new detail) | picture moves | new detail | |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        if options.kernels:
            folder = options.folder or Path(temporary, "run")
            if options.folder is None:
                size = {"reports": options.reports, "ranges": options.ranges}
                write_run(folder, kernels=options.kernels, **size)
            found, seen = in_lab(browser, folder, options.wheels)
            print(line("JupyterLab", options.kernels, found, seen), flush=True)
        if options.page_kernels:
            path = _page(Path(temporary), options.page_kernels, options.page_reports)
            found, seen = in_page(browser, path, options.wheels)
            size_mb = path.stat().st_size / 1e6
            print(line("static page", options.page_kernels, found, f"{seen}, {size_mb:.1f} MB"))
    print(f"\nMedian / 95th percentile / least; {SIZE[0]} x {SIZE[1]} px.")


def _page(temporary: Path, kernels: int, reports: int) -> Path:
    write_run(temporary / "page", reports=reports, kernels=kernels, ranges=kernels // 50)
    timeline = rlviz.Timeline(rlviz.load(temporary / "page"))
    return timeline.save(temporary / "page.html", detail=20)


if __name__ == "__main__":
    main()

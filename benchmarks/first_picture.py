"""Time the first picture of a run in JupyterLab, and all of it.

From the call of `rlviz.show`, with nothing kept and rlviz not imported any further than by
``import rlviz``: until a frame shows the phases, and until one shows all GPU rows.

Examples
--------
$ python -m benchmarks.first_picture --reports 16 --kernels 4_000_000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.lab import chromium, notebook
from benchmarks.reports import write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_SIZE = (1500, 1700)
_PATIENCE_MS = 600_000
# Until the kernel is told, it waits: the page looks for the chart from then on.
_CELL = """
import rlviz, time
from pathlib import Path
Path({begun!r}).write_text(str(time.time()))
timeline = rlviz.show({folder!r}, cache={cache!r})
"""
_COMPLETE = """() => {
  const said = document.querySelector('.rlviz-subtitle')?.textContent;
  return said !== undefined && !said.startsWith('reading');
}"""

_IDLE = "() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"


class Pictures(NamedTuple):
    """Seconds from the call to the first picture, and to all of it; what the first one said."""

    first_s: float
    complete_s: float
    said: str


def pictures(browser: Browser, folder: Path) -> Pictures:
    """Show the run of a folder in a JupyterLab of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        begun = Path(temporary, "begun")
        cell = _CELL.format(
            begun=str(begun), folder=str(folder), cache=str(Path(temporary, "store"))
        )
        with notebook(browser, [cell], _SIZE) as page:
            first = time.time()
            said = page.locator(".rlviz-subtitle").first.text_content() or ""
            page.wait_for_function(_COMPLETE, timeout=_PATIENCE_MS)
            complete = time.time()
            # A server whose kernel is busy does not stop.
            page.wait_for_function(_IDLE, timeout=_PATIENCE_MS)
        start = float(begun.read_text())
    return Pictures(first - start, complete - start, said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=int, default=16)
    parser.add_argument("--kernels", type=int, default=4_000_000)
    parser.add_argument("--ranges", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="reports of a run that was written before")
    options = parser.parse_args()
    print("| reports | first picture | all of it | the first one says |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = options.folder or Path(temporary, "run")
        if options.folder is None:
            write_run(
                folder, reports=options.reports, kernels=options.kernels, ranges=options.ranges
            )
        for _ in range(options.times):
            took = pictures(browser, folder)
            told = f"{took.first_s:.1f} s | {took.complete_s:.1f} s | {took.said}"
            print(f"| {options.reports} | {told} |", flush=True)


if __name__ == "__main__":
    main()

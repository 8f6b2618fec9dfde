"""Measure everything and print ``docs/performance.md``: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.machine import machine

_PAGE = """\
# Performance

*Written by `python -m benchmarks > docs/performance.md`, on a machine that does nothing else.*

What was measured is the installed rlviz on simulated runs (`benchmarks/reports.py`): NeMo-RL's
names, a report a GPU, columns of nsys 2025.3, files in the page cache. Other work on the machine
hits all lines of a table alike, so ratios of one table can be trusted more than times.

{machine}

## Opening

From the call of `rlviz.load` to a chart that zooms: reports read, clocks aligned, numbers and
findings worked out, all levels made, everything written to the store; imports are not in it. *Scan*
is SQLite's own sum over five columns of the same kernels, the reports one after the other, and
*ratio* how many scans an opening takes: *by SQL alone* where no process reads pages by itself.
*Reopen* is a second process: it maps what the store holds. *Peak* is the memory of the process and
all that it started; pages that several share count once, and mapped pages of the store count too.
*Any window* is `run.view` at 2,000 px over all rows, 200 windows of random place and width, in a
process that has just opened the store.

{opening}
There is an NVTX range for every ten kernels, and a million at most. Small runs are bound by what is
done once.

## Zooming

Real wheel events in headless Chromium. *Picture moves*: from the event to the first frame that
shows the chart moved; *new detail*: to the frame that shows the detail of the new window.

{zoom}
## First picture

In JupyterLab, from the call of `rlviz.show`: to a frame that shows the phases, and to one that
shows all GPU rows. Nothing is kept, and of rlviz only `import rlviz` was run before. Browser,
server and kernel share the processors. About half of what the kernel computes before the first
picture is the import of polars, Bokeh and ipywidgets.

{first}
## A page from the command line

{export}"""


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, nargs="+", help="runs to open, written before")
    options = parser.parse_args()
    repeats = ["--repeats", str(options.repeats)]
    folders = ["--folder", *map(str, options.folder)] if options.folder else []
    parts = {
        "opening": ["opening", "--stdlib", *repeats, *folders],
        "zoom": ["zoom"],
        "first": ["first_picture"],
        "export": ["export", *repeats],
    }
    told = {name: _told(*command) for name, command in parts.items()}
    print(_PAGE.format(machine=f"Machine: {machine()}.", **told), end="")


def _told(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    return subprocess.check_output(command, text=True)


if __name__ == "__main__":
    main()

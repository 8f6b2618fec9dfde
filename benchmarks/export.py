"""Time ``rlviz export`` of one report of many kernels, beside SQLite's own scan of its columns.

Prints a part of ``docs/performance.md``. Every command runs in a process of its own, and both
commands take turns, so that what else the machine does hits both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SCAN = (
    'select count(*), sum(start), sum("end"), sum(deviceId), sum(streamId), sum(shortName) '
    "from CUPTI_ACTIVITY_KIND_KERNEL"
)
_SCAN_IN_PYTHON = (
    "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())"
)

PAGE = """\
The whole process, from the start of Python to the written page, for one report of {count:,} kernels
({size:.0f} MB, columns of nsys 2025.3), beside SQLite's own scan of five of its columns in the same
minutes. They took turns, {repeats} times each; the file was in the page cache.

| command | median | fastest | peak memory |
| --- | --- | --- | --- |
{table}

`rlviz export` took {ratio:.0f} times as long as the scan; its page has {page:.1f} MB.

The scan:

```sh
sqlite3 FILE '{scan}'
```
"""


class Cost(NamedTuple):
    """What one run of a command took."""

    seconds: float
    peak_mb: float


def run(command: list[str]) -> Cost:
    """Run `command`; give its wall time and its peak memory.

    Raises
    ------
    RuntimeError
        The command failed.
    """
    begin = time.perf_counter()
    # wait4 tells the peak of this child alone, getrusage the largest of all children so far.
    child = os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    seconds = time.perf_counter() - begin
    if status:
        message = f"{command[0]} failed with status {os.waitstatus_to_exitcode(status)}"
        raise RuntimeError(message)
    unit = 1 if sys.platform == "darwin" else 1024  # kilobytes, but bytes on macOS
    return Cost(seconds, used.ru_maxrss * unit / 1e6)


def measure(count: int, repeats: int) -> str:
    """Measure, and give the page."""
    with tempfile.TemporaryDirectory() as folder:
        report, page = Path(folder, "policy_worker.sqlite"), Path(folder, "timeline.html")
        # In a process of its own: a child's peak memory counts from what this process has.
        run([sys.executable, "-m", "benchmarks.kernels", str(report), "--kernels", str(count)])
        sqlite = shutil.which("sqlite3")
        in_python = [sys.executable, "-c", _SCAN_IN_PYTHON, str(report), SCAN]
        code = "from rlviz.cli import main; main()"
        commands = {
            "sqlite3, the scan": [sqlite, str(report), SCAN] if sqlite else in_python,
            "rlviz export": [sys.executable, "-c", code, "export", str(report), "-o", str(page)],
        }
        for command in commands.values():  # fills the page cache and Python's bytecode
            run(command)
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for _ in range(repeats):
            for name, command in commands.items():
                costs[name].append(run(command))
        scan, export = (statistics.median(cost.seconds for cost in own) for own in costs.values())
        return PAGE.format(
            count=count,
            size=report.stat().st_size / 1e6,
            repeats=repeats,
            table="\n".join(_line(name, own) for name, own in costs.items()),
            ratio=export / scan,
            page=page.stat().st_size / 1e6,
            scan=SCAN.replace("'", "'\\''"),
        )


def _line(name: str, costs: list[Cost]) -> str:
    seconds = [cost.seconds for cost in costs]
    peak = max(cost.peak_mb for cost in costs)
    return (
        f"| {name} | {statistics.median(seconds):.2f} s | {min(seconds):.2f} s | {peak:,.0f} MB |"
    )


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(measure(options.kernels, options.repeats), end="")


if __name__ == "__main__":
    main()

"""Time the reading of a kernel table's columns, beside SQLite's own scan of the same columns.

Every reading runs in a process of its own, and the ways take turns, so that what else the machine
does hits all of them. Prints a Markdown table.

Examples
--------
$ python -m benchmarks.read_columns --kernels 1_000_000 10_000_000
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from rlviz.reports import btree
from rlviz.reports.database import open_database

_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
_COLUMNS = (
    "start",
    "end",
    "deviceId",
    "streamId",
    "correlationId",
    "globalPid",
    "demangledName",
    "shortName",
    "graphNodeId",
)
_TOTALS = ", ".join(f'total("{column}")' for column in _COLUMNS)
_SCAN = f"SELECT {_TOTALS} FROM {_TABLE}"
_NEVER = sys.maxsize

# By name: how many pages SQLite gets at most, and threads.
_WAYS = {
    "SQLite's own scan": None,
    "through sqlite3": (_NEVER, 1),
    "from pages, one thread": (0, 1),
    "from pages, two threads": (0, 2),
}


def read(way: str, path: Path) -> None:
    """Read the file once; print the seconds, and the peak memory of this process in MB."""
    with open_database(path) as database:
        begin = time.perf_counter()
        if (limits := _WAYS[way]) is None:
            database.rows(_SCAN)
        else:
            few_pages, threads = limits
            with patch.multiple(btree, FEW_PAGES=few_pages, THREADS=threads):
                database.integers(_TABLE, _COLUMNS)
        seconds = time.perf_counter() - begin
    unit = 1 if sys.platform == "darwin" else 1024  # kilobytes, but bytes on macOS
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6)


def measure(kernels: int, repeats: int) -> str:
    """Measure one size, and give its lines of the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "worker.sqlite")
        _run("benchmarks.kernels", str(path), "--kernels", str(kernels))
        costs: dict[str, list[tuple[float, float]]] = {way: [] for way in _WAYS}
        for _ in range(repeats + 1):
            for way, own in costs.items():
                seconds, peak_mb = _run("benchmarks.read_columns", "--read", way, str(path)).split()
                own.append((float(seconds), float(peak_mb)))
    # The first round filled the page cache.
    fastest = {way: min(seconds for seconds, _ in own[1:]) for way, own in costs.items()}
    scan = next(iter(fastest.values()))
    return "\n".join(
        f"| {kernels:,} | {way} | {seconds:.2f} s | {seconds / scan:.2f} |"
        f" {max(peak for _, peak in costs[way]):,.0f} MB |"
        for way, seconds in fastest.items()
    )


def _run(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--read", nargs=2, metavar=("WAY", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        way, path = options.read
        read(way, Path(path))
        return
    print(f"{len(_COLUMNS)} columns, fastest of {options.repeats}:\n")
    print("| kernels | way | time | to the scan | peak memory |")
    print("| --- | --- | --- | --- | --- |")
    for kernels in options.kernels:
        print(measure(kernels, options.repeats), flush=True)


if __name__ == "__main__":
    main()

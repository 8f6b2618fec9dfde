"""Time the opening of runs of several sizes, beside SQLite's own scan of their kernels.

Prints tables in Markdown. Every opening runs in a process of its own, with the files in the page
cache; scan and opening take turns, so that what else the machine does hits both.

Examples
--------
$ python -m benchmarks.opening --runs 16:1_000_000 16:10_000_000
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.export import SCAN
from benchmarks.reports import write_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WINDOWS = 200
_WIDTH_PX = 2_000
_POLL_S = 0.05
# From here on one opening of each is enough, and the one by SQL alone would take minutes.
_LARGE = 20_000_000
_MOST_RANGES = 1_000_000
_PAGE_OF = 1_000_000


# What a machine does where the column reader refuses a file.
_SQL_ALONE = """
from rlviz.reports import btree
from rlviz.reports.pages import NotPlain

def refused(*_):
    raise NotPlain

btree.opened_table = refused
"""


class Opened(NamedTuple):
    """What one process took."""

    told: dict[str, Any]
    peak_mb: float


def scan(folder: Path) -> float:
    """Time SQLite's own scan of five columns of all kernels, one report after the other."""
    begin = time.perf_counter()
    for report in sorted(folder.rglob("*.sqlite")):
        subprocess.run([_sqlite(), str(report), SCAN], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def opened(folder: Path, store: Path, mode: str) -> Opened:
    """Open a run in a process of its own, and watch the memory of it and its children."""
    command = [sys.executable, "-m", "benchmarks.opening", "--in-process", mode, str(folder)]
    environment = {**os.environ, "RLVIZ_CACHE_DIR": str(store)}
    if mode == "stdlib":
        # Imported by every process at its start, also by those that read.
        hook = store.with_name("hook")
        hook.mkdir(exist_ok=True)
        (hook / "sitecustomize.py").write_text(_SQL_ALONE)
        environment["PYTHONPATH"] = os.pathsep.join([str(hook), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:
        peak = 0.0
        # To count its pages holds up a process that touches new ones: not while windows are timed.
        while mode != "queries" and child.poll() is None:
            peak = max(peak, _memory_mb(child.pid))
            time.sleep(_POLL_S)
        told = child.stdout.read() if child.stdout is not None else ""
    if child.returncode:
        message = f"opening {folder.name} ({mode}) failed with status {child.returncode}"
        raise RuntimeError(message)
    return Opened(json.loads(told.splitlines()[-1]), peak)


def in_process(mode: str, folder: str) -> dict[str, Any]:
    """Open a run, from the call to a chart that zooms; imports are told by themselves."""
    begin = time.perf_counter()
    import rlviz
    from rlviz.view.asked import window_asked
    from rlviz.view.detail import Detail
    from rlviz.view.payload import notebook_payload
    from rlviz.view.timeline import Timeline

    _ = rlviz.load  # what it needs is imported when it is named
    imports, begin = time.perf_counter() - begin, time.perf_counter()
    run = rlviz.load(folder, cache=mode != "page")
    timeline = Timeline(run)
    drawn = notebook_payload(run, timeline.scene)
    first, last = timeline.window
    ask = {"start": first, "end": first + (last - first) / 3, "width": _WIDTH_PX}
    Detail(run, timeline.scene).answer(window_asked(ask))
    told: dict[str, Any] = {"import_s": imports, "open_s": time.perf_counter() - begin}
    told["payload_mb"] = (len(drawn.item) + len(drawn.facts)) / 1e6
    if mode == "queries":
        told["query_ms"] = _queries(run)
    if mode == "page":
        page = timeline.save(Path(tempfile.gettempdir(), f"rlviz-{os.getpid()}.html"))
        told["page_mb"] = page.stat().st_size / 1e6
        page.unlink()
    return told


def _queries(run: Any) -> list[float]:  # noqa: ANN401
    """Time windows of any place and width, over all rows."""
    random = np.random.default_rng(0)
    tracks = run.tracks.values()
    first = min(int(track.start_ns[0]) for track in tracks)
    last = max(int(track.made.reach_ns[-1]) for track in tracks)
    times = []
    for _ in range(_WINDOWS):
        span = (last - first) * 10 ** random.uniform(-6, 0)
        start = random.uniform(first, last - span)
        begin = time.perf_counter()
        run.view(int(start), int(start + span) + 1, _WIDTH_PX)
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def _memory_mb(pid: int) -> float:
    """Memory of a process and all below it; pages that several share count once (PSS)."""
    total = 0.0
    with contextlib.suppress(OSError, ValueError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
        total += next(int(w.split()[1]) for w in rollup.splitlines() if w.startswith("Pss:")) / 1e3
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text("ascii").split()
            total += sum(_memory_mb(int(child)) for child in children)
    return total


def _sqlite() -> str:
    found = shutil.which("sqlite3")
    if found is None:
        message = "sqlite3, SQLite's command line, is not on the PATH"
        raise RuntimeError(message)
    return found


class Measured(NamedTuple):
    """A run, how long its first opening took, and its line of the table."""

    kernels: int
    first_s: float
    line: str


def measure(folder: Path, repeats: int, *, stdlib: bool) -> Measured:
    """Measure a run."""
    kernels = _kernels(folder)
    if kernels >= _LARGE:
        repeats, stdlib = 1, False
    scan(folder)  # fills the page cache
    scans, firsts, slow, peaks = [], [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        for repeat in range(repeats):
            scans.append(scan(folder))
            store = Path(temporary, str(repeat))
            first = opened(folder, store, "first")
            firsts.append(first.told["open_s"])
            peaks.append(first.peak_mb)
            if stdlib:
                slow.append(opened(folder, Path(temporary, f"s{repeat}"), "stdlib").told["open_s"])
            if repeat + 1 < repeats:
                shutil.rmtree(store)
        os.sync()  # gigabytes on their way to the disk hold up whoever touches their pages
        again = [opened(folder, store, "again") for _ in range(3)]
        queries = opened(folder, store, "queries").told["query_ms"]
        kept_mb = sum(f.stat().st_size for f in store.rglob("*") if f.is_file()) / 1e6
        page_mb = opened(folder, store, "page").told["page_mb"] if kernels <= _PAGE_OF else None
    whole, base = statistics.median(firsts), statistics.median(scans)
    reports = len(list(folder.rglob("*.sqlite")))
    line = (
        f"| {reports} / {kernels / 1e6:g} M | {base:.2f} s | {whole:.2f} s | {whole / base:.1f} "
        f"| {f'{statistics.median(slow) / base:.1f}' if slow else ''} "
        f"| {statistics.median(o.told['open_s'] for o in again):.2f} s "
        f"| {max(peaks):,.0f} MB | {max(o.peak_mb for o in again):,.0f} MB "
        f"| {statistics.median(queries):.1f} / {np.quantile(queries, 0.95):.1f} "
        f"/ {max(queries):.1f} ms | {kept_mb:,.0f} MB | {f'{page_mb:.1f} MB' if page_mb else ''} |"
    )
    return Measured(kernels, whole, line)


def growth(found: Sequence[Measured]) -> str:
    """Tell how much longer an opening takes from size to size."""
    pairs = [
        f"{later.kernels / one.kernels:g} times the kernels take "
        f"{later.first_s / one.first_s:.1f} times as long"
        for one, later in pairwise(found)
    ]
    return f"From size to size: {', '.join(pairs)}." if pairs else ""


def _kernels(folder: Path) -> int:
    count = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"
    reports = folder.rglob("*.sqlite")
    told = (subprocess.check_output([_sqlite(), str(one), count]) for one in reports)
    return sum(int(count) for count in told)


HEAD = """\
| reports / kernels | scan | first open | ratio | by SQL alone | reopen | peak | peak reopened \
| any window: median / 95 % / worst | store | page |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


# Reports and kernels of the runs that are measured.
_RUNS = [(16, 1_000_000), (16, 4_000_000), (16, 10_000_000), (64, 100_000_000)]


def _size(text: str) -> tuple[int, int]:
    reports, kernels = map(int, text.split(":"))
    return reports, kernels


def _written(runs: Sequence[tuple[int, int]]) -> Iterator[Path]:
    """Write one run after the other; each is gone when the next is asked for."""
    for reports, kernels in runs:
        with tempfile.TemporaryDirectory() as temporary:
            folder, ranges = Path(temporary, "run"), min(kernels // 10, _MOST_RANGES)
            write_run(folder, reports=reports, kernels=kernels, ranges=ranges)
            yield folder


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=_size, nargs="+", metavar="REPORTS:KERNELS", default=_RUNS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--stdlib", action="store_true", help="also without the column reader")
    parser.add_argument("--folder", type=Path, nargs="+", help="runs that were written before")
    parser.add_argument("--in-process", nargs=2, metavar=("MODE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        print(json.dumps(in_process(*options.in_process)))
        return
    print(HEAD)
    found: list[Measured] = []
    for folder in options.folder or _written(options.runs):
        found.append(measure(folder, options.repeats, stdlib=options.stdlib))
        print(found[-1].line, flush=True)
    print(f"\n{growth(found)}")


if __name__ == "__main__":
    main()

"""Open runs of odd shapes: many reports, threads, names or levels; time and memory of each.

Prints a table in Markdown. Each run is opened in a process of its own: loaded, its chart composed
and written for a browser, a window asked for, and a page and a figure saved. Then it is opened
again, from the store.

Examples
--------
$ python -m benchmarks.odd
$ python -m benchmarks.odd --share 0.01 --shapes threads nesting
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import machine
from rlviz.demo import Scenario, write

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SHAPES"]

_WIDTH_PX = 2_000
_POLL_S = 0.05
_STEPS = ("load", "scene", "payload", "detail", "page", "still", "summary")

_REPORTS, _THREADS, _NAMES, _LEVELS = 1_000, 100_000, 1_000_000, 10_000
_NESTS = 10
# Ids of names that the simulated run has stay below.
_FIRST_NAME = 1_000_000

_COUNT = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count})"


def tiny_reports(folder: Path, share: float) -> str:
    """Write a run of many reports of about a hundred kernels each."""
    gpus = max(2, int(_REPORTS * share))
    hosts, training = max(1, gpus // 8), gpus - gpus // 2
    scenario = Scenario(
        hosts=hosts,
        policy_gpus=training,
        generation_gpus=gpus // 2,
        steps=1,
        kernels_per_gpu=100,
    )
    write(folder, scenario)
    return f"{gpus:,} reports"


def many_threads(folder: Path, share: float) -> str:
    """Add named threads to a report; each has a range of its own, and one in it."""
    count = int(_THREADS * share)
    with closing(_report_in(folder)) as report:
        thread, duration = _thread_of(report), _duration_of(report)
        report.execute(
            _COUNT.format(count=count)
            + f" INSERT INTO StringIds SELECT {_FIRST_NAME} + i, 'thread ' || i FROM n"
        )
        report.execute(
            _COUNT.format(count=count) + " INSERT INTO ThreadNames (nameId, priority, globalTid)"
            f" SELECT {_FIRST_NAME} + i, 20, {thread} + 1000 + i FROM n"
        )
        for inset in (0, 1):
            _add_ranges(
                report,
                count,
                start=f"{duration} / {count + 2} * i + {inset * 100}",
                end=f"{duration} / {count + 2} * i + {duration // 50} - {inset * 100}",
                text="'work'",
                thread=f"{thread} + 1000 + i",
            )
        report.commit()
    return f"{count:,} threads"


def kernel_names(folder: Path, share: float) -> str:
    """Give a report kernels of which no two have the same name."""
    count = int(_NAMES * share)
    with closing(_report_in(folder)) as report:
        name = f"{_FIRST_NAME} + 2 * i"
        for own, text in ((0, "'kernel_' || i"), (1, "'void kernel_' || i || '<float>(T1 *)'")):
            report.execute(
                _COUNT.format(count=count)
                + f" INSERT INTO StringIds SELECT {name} + {own}, {text} FROM n"
            )
        table = "CUPTI_ACTIVITY_KIND_KERNEL"
        columns = [line[1] for line in report.execute(f"PRAGMA table_info({table})")]
        width = _duration_of(report) // (count + 1)
        begin = f"{width} * i"
        given = {
            "start": begin,
            "end": f"{begin} + {width * 3 // 4}",
            "shortName": name,
            "demangledName": f"{name} + 1",
        }
        values = ", ".join(given.get(column, f'"{column}"') for column in columns)
        report.execute(
            _COUNT.format(count=count)
            + f" INSERT INTO {table} SELECT {values} FROM n, (SELECT * FROM {table} LIMIT 1)"
        )
        report.commit()
    return f"{count:,} names of kernels"


def range_names(folder: Path, share: float) -> str:
    """Give a report ranges of which no two have the same name, one behind the other."""
    count = int(_NAMES * share)
    with closing(_report_in(folder)) as report:
        width = _duration_of(report) // (count + 1)
        _add_ranges(
            report,
            count,
            start=f"{width} * i",
            end=f"{width} * i + {width // 2}",
            text="'request ' || i",
            thread=f"{_thread_of(report)} + 1000",
        )
        report.commit()
    return f"{count:,} names of ranges"


def deep_nesting(folder: Path, share: float) -> str:
    """Nest ranges of one thread in each other, some times one after the other."""
    levels = int(_LEVELS * share)
    with closing(_report_in(folder)) as report:
        duration = _duration_of(report) // (_NESTS + 1)
        step = duration // (2 * levels + 2)
        for nest in range(_NESTS):
            begin = nest * duration
            _add_ranges(
                report,
                levels,
                start=f"{begin} + {step} * i",
                end=f"{begin + duration} - {step} * i",
                text="'level ' || i",
                thread=f"{_thread_of(report)} + 1000",
            )
        report.commit()
    return f"{levels:,} levels, {_NESTS} times"


SHAPES: dict[str, Callable[[Path, float], str]] = {
    "reports": tiny_reports,
    "threads": many_threads,
    "kernels": kernel_names,
    "ranges": range_names,
    "nesting": deep_nesting,
}
"""What writes a run of each shape into a new folder, so large a share of the largest; it says what
was written."""


def _report_in(folder: Path) -> sqlite3.Connection:
    """Write a small run, and open one of its reports to put more into it."""
    paths = write(folder, policy_gpus=1, generation_gpus=1, steps=1, kernels_per_gpu=100, hosts=1)
    report = sqlite3.connect(paths[0])
    report.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF")
    return report


def _thread_of(report: sqlite3.Connection) -> int:
    (thread,) = report.execute("SELECT min(globalTid) FROM ThreadNames").fetchone()
    return int(thread)


def _duration_of(report: sqlite3.Connection) -> int:
    (duration,) = report.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()
    return int(duration)


def _add_ranges(
    report: sqlite3.Connection, count: int, *, start: str, end: str, text: str, thread: str
) -> None:
    """Add push/pop ranges; each argument is SQL of the range's number, ``i``."""
    report.execute(
        _COUNT.format(count=count)
        + ' INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)'
        f" SELECT {start}, {end}, 59, {text}, {thread}, 0 FROM n"
    )


def in_process(folder: str) -> dict[str, float]:
    """Open a run, and time each step of it."""
    import rlviz
    from rlviz.view.asked import window_asked
    from rlviz.view.detail import Detail
    from rlviz.view.payload import payload

    took: dict[str, float] = {}
    begin = time.perf_counter()

    def lap(step: str) -> None:
        nonlocal begin
        took[step] = time.perf_counter() - begin
        begin = time.perf_counter()

    run = rlviz.load(folder)
    lap("load")
    timeline = rlviz.Timeline(run)
    scene = timeline.scene
    lap("scene")
    drawn = payload(scene)
    lap("payload")
    first, last = timeline.window
    ask = {"start": first, "end": first + (last - first) / 3, "width": _WIDTH_PX}
    Detail(run, scene).answer(window_asked(ask))
    lap("detail")
    with tempfile.TemporaryDirectory() as temporary:
        page = timeline.save(Path(temporary, "page.html"))
        lap("page")
        timeline.save(Path(temporary, "still.png"))
        lap("still")
        took["page_mb"] = page.stat().st_size / 1e6
    begin = time.perf_counter()
    run.summary()
    lap("summary")
    took["payload_mb"] = (len(drawn.item) + len(drawn.facts)) / 1e6
    return took


def opened(folder: Path, store: Path, limit_s: float) -> dict[str, float]:
    """Open a run in a process of its own; the memory is its and its children's at the most."""
    command = [sys.executable, "-m", "benchmarks.odd", "--in-process", str(folder)]
    environment = {**os.environ, "RLVIZ_CACHE_DIR": str(store)}
    begin, peak = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:
        while child.poll() is None:
            peak = max(peak, _memory_mb(child.pid))
            if time.perf_counter() - begin > limit_s:
                child.kill()
            time.sleep(_POLL_S)
        told = child.stdout.read() if child.stdout is not None else ""
    if child.returncode:
        message = f"opening {folder.name} failed with status {child.returncode}"
        raise RuntimeError(message)
    took: dict[str, Any] = json.loads(told.splitlines()[-1])
    return took | {"peak_mb": peak}


def _memory_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines()
        own = next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS")), 0.0)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    except OSError:
        return 0.0
    return own + sum(_memory_mb(int(child)) for child in children)


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the largest size")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--limit", type=float, default=600.0, help="seconds an opening may take")
    parser.add_argument("--in-process", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        print(json.dumps(in_process(options.in_process)))
        return
    steps = " | ".join(f"{step} (s)" for step in _STEPS)
    print(f"| run | opened | {steps} | payload (MB) | page (MB) | peak memory (MB) |")
    print("|---|---" + "|--:" * (len(_STEPS) + 3) + "|")
    for shape in options.shapes:
        with tempfile.TemporaryDirectory() as temporary:
            told = SHAPES[shape](Path(temporary, "run"), options.share)
            for when in ("first", "again"):
                try:
                    took = opened(Path(temporary, "run"), Path(temporary, "cache"), options.limit)
                except RuntimeError as error:
                    print(f"| {told} | {when} | {error} |", flush=True)
                    continue
                times = " | ".join(f"{took[step]:.2f}" for step in _STEPS)
                sizes = f"{took['payload_mb']:.2f} | {took['page_mb']:.2f} | {took['peak_mb']:.0f}"
                print(f"| {told} | {when} | {times} | {sizes} |", flush=True)
    print(f"\nMachine: {machine()}.")


if __name__ == "__main__":
    main()

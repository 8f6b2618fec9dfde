"""The process that works on cases, so that one that hangs or dies takes nothing else along.

It reads numbers of cases and writes a line of JSON when a case is built and when it is judged.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path
from typing import TextIO

import rlviz
from tests.fuzz.cases import build
from tests.fuzz.judge import Chart, Verdict, chart_of, judge, write_out

MEMORY = 1 << 30
_FAULT = os.environ.get("RLVIZ_FUZZ_FAULT", "")  # for the tests of the harness itself


def main(seed: int, bases: Path, folder: Path) -> None:
    """Judge the cases whose numbers come on standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing that a library prints is an answer
    reports = sorted(bases.glob("*.sqlite"))
    _import_all(reports[0])
    limit = _status("VmSize") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for line in sys.stdin:
        _clear(folder)
        case = build(seed, int(line), reports, folder / "case")
        whole = _chart_of_whole(case.base, case.good, folder)
        _tell(answers, {"case": case.number, "damage": case.damage, "base": case.base.name})
        _reset_peak()
        began, worked = time.perf_counter(), time.process_time()
        verdict = judge(case, whole, _FAULT)
        seconds, peak = time.perf_counter() - began, _status("VmHWM")
        worked = time.process_time() - worked
        if peak > MEMORY and verdict.outcome != "failed":
            verdict = Verdict("failed", f"took {peak >> 20} MiB")
        took = {"seconds": seconds, "worked_s": worked, "peak": peak}
        _tell(answers, {**verdict._asdict(), **took})


def _import_all(report: Path) -> None:
    """Write everything once, so that all is imported before memory is limited."""
    run = rlviz.load(report)
    chart_of(run)
    for number in range(8):
        write_out(run, number)


def _chart_of_whole(base: Path, good: Path | None, folder: Path) -> Chart:
    """Chart without damage; kept in a file, since children come and go."""
    kept = folder / f"{base.stem}-{'together' if good else 'alone'}.json"
    if not kept.exists():
        together = folder / "whole"
        shutil.rmtree(together, ignore_errors=True)
        together.mkdir(parents=True)
        for path in filter(None, (base, good)):
            shutil.copyfile(path, together / path.name)
        chart = chart_of(rlviz.load(together))
        kept.write_text(json.dumps([chart.events, sorted(chart.diagnostics)]))
    events, diagnostics = json.loads(kept.read_text())
    return Chart(events, frozenset(diagnostics))


def _clear(folder: Path) -> None:
    shutil.rmtree(folder / "case", ignore_errors=True)
    (folder / "case").mkdir(parents=True)


def _tell(answers: TextIO, line: dict[str, object]) -> None:
    print(json.dumps(line), file=answers, flush=True)


def _status(field: str) -> int:
    """Bytes of memory, as the system tells them."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) << 10


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))

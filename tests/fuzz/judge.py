"""What becomes of a damaged report: an error of ours that names it, or a chart."""

from __future__ import annotations

import hashlib
import os
import traceback
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Timer
from typing import TYPE_CHECKING, Literal, NamedTuple

import rlviz
from rlviz.errors import RlvizError, name_of
from rlviz.view.compose import compose
from rlviz.view.held import hold
from rlviz.view.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlviz.levels.query import ZoomableRun
    from tests.fuzz.cases import Case

__all__ = ["Chart", "Outcome", "Verdict", "chart_of", "judge", "write_out"]

Outcome = Literal["refused", "told", "same", "changed", "failed"]
_NOBODY = 65534
# Figures take longest: of some cases nothing is written.
_KINDS = ("html", "", "png", "parquet", "svg", "", "pdf", "pftrace")


class Verdict(NamedTuple):
    """What became of a case.

    refused: an error of ours that names the file. told: a chart, and a diagnostic that the whole
    report does not have. same: the chart of the whole report. changed: another chart, and nothing
    that says so, as where one number became another that could be true. failed: anything else.
    """

    outcome: Outcome
    detail: str


class Chart(NamedTuple):
    """What tells two charts apart."""

    events: str
    diagnostics: frozenset[str]


def judge(case: Case, whole: Chart, fault: str = "") -> Verdict:
    """Load a damaged report, draw it, ask for all it has.

    Parameters
    ----------
    case : Case
        The report.
    whole : Chart
        The chart without damage.
    fault : str
        Python to run before: a fault that has to be noticed.
    """
    with _hazards(case), warnings.catch_warnings():
        # An overflow that numpy only warns of is a wrong number.
        warnings.simplefilter("error", RuntimeWarning)
        # Whoever may not read the report may not write to this store either.
        warnings.filterwarnings("ignore", "Nothing can be kept", RuntimeWarning)
        run = None
        try:
            exec(fault)
            run = rlviz.load(case.asked)
            chart = chart_of(run)
            write_out(run, case.number)
        except RlvizError as error:
            return _refused(case, error, loaded=run is not None)
        except BaseException as error:
            return Verdict("failed", _where(error))
    return _judge_chart(case, run, chart, whole)


def write_out(run: ZoomableRun, number: int) -> None:
    """Write what a run is published as: of one case a page, of the next a figure, and so on."""
    kind = _KINDS[number % len(_KINDS)]
    with TemporaryDirectory(prefix="rlviz-written-") as folder:
        if kind == "parquet":
            run.to_parquet(Path(folder, "frames"))
        elif kind:
            path = Path(folder, f"x.{kind}")
            every_other = number // len(_KINDS) % 2
            rows = run.rows["row"].to_list()[:2] if every_other and kind != "pftrace" else None
            Timeline(run).save(path, expand=rows)


def chart_of(run: ZoomableRun) -> Chart:
    """Ask a run for all that it has, in the parts of it that a page holds, and in numbers."""
    hold(run, compose(run))
    run.summary()
    run.summary(by="gpu")
    frames = [run.kernels(), run.copies(), run.graphs(), run.ranges(projected=True), run.marks()]
    rows = [tuple(f.drop("row", "lane").hash_rows().sort().to_list()) for f in frames]
    told = {f"{line['kind']}: {line['message']}" for line in run.diagnostics.to_dicts()}
    assert len(run.findings) >= 0
    assert repr(run)
    events = hashlib.sha256(repr(rows).encode()).hexdigest()
    return Chart(events, frozenset(told))


def _refused(case: Case, error: RlvizError, *, loaded: bool) -> Verdict:
    name = name_of(case.path)
    if name not in str(error):
        return Verdict("failed", f"an error that does not name {name!r}: {error}")
    if case.good is not None and not loaded:
        return Verdict("failed", f"a good report was not loaded: {error}")
    return Verdict("refused", type(error).__name__)


def _judge_chart(case: Case, run: ZoomableRun, chart: Chart, whole: Chart) -> Verdict:
    status = dict(run.reports.select("report", "status").iter_rows())
    if case.good is not None and "good.sqlite" not in status:
        return Verdict("failed", f"the good report is not in the run: {status}")
    if status.get(name_of(case.path)) == "unreadable":
        return Verdict("refused", "beside a good report")
    if chart.diagnostics - whole.diagnostics:
        return Verdict("told", "")
    return Verdict("same" if chart.events == whole.events else "changed", "")


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/rlviz/" in frame.filename]
    last = ours[-1] if ours else frames[-1]
    place = f"{last.filename.rpartition('/rlviz/')[2]}:{last.lineno}"
    return f"{type(error).__name__} at {place}: {str(error)[:200]}"


@contextmanager
def _hazards(case: Case) -> Iterator[None]:
    """Do what can only be done while the report is read."""
    delay = Random(case.number).random() * 0.08
    timer = None
    if "vanishing" in case.damage:
        timer = Timer(delay, _vanish, [case.path])
    elif "cut_while_read" in case.damage:
        timer = Timer(delay, _cut, [case.path])
    # Root may read what nobody else may.
    as_nobody = "unreadable" in case.damage and os.geteuid() == 0
    if as_nobody:
        os.seteuid(_NOBODY)
    if timer:
        timer.start()
    try:
        yield
    finally:
        if timer:
            timer.cancel()
            timer.join()
        if as_nobody:
            os.seteuid(0)


def _vanish(path: Path) -> None:
    path.unlink(missing_ok=True)


def _cut(path: Path) -> None:
    with suppress(OSError):
        os.truncate(path, path.stat().st_size // 2)

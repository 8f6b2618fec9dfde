"""The front door: load reports, show a timeline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from rlviz.errors import NoReports, RlvizError, name_of
from rlviz.levels.memory import memory_of
from rlviz.levels.query import ZoomableRun
from rlviz.levels.store import store_of
from rlviz.loading import read_all
from rlviz.reports.find import expanded, find
from rlviz.run.anonymize import anonymous
from rlviz.run.assemble import assemble
from rlviz.run.rulebook import read_rules
from rlviz.run.rules import ROLES

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rlviz.levels.store import Cache
    from rlviz.reports.find import Reports
    from rlviz.run.rulebook import RuleSource
    from rlviz.view.comparison import Comparison
    from rlviz.view.timeline import Timeline

__all__ = ["compare", "load", "show"]

_NOTHING = (
    "Name a folder, a glob or files of nsys exports (.sqlite, made by: nsys export --type sqlite). "
    "Ray keeps reports in "
    "/tmp/ray/session_*/logs/nsight on every node; if they are missing there, workers were killed "
    "before nsys wrote them: for NeMo-RL capture with "
    'NRL_NSYS_EXTRA_OPTIONS=\'{"capture-range-end":"stop-shutdown"}\'.'
)


def load(
    reports: Reports,
    *,
    rules: RuleSource | None = None,
    iteration_marker: str | None = None,
    offsets: Mapping[str, float] | None = None,
    anonymize: bool = False,
    executor: Executor | None = None,
    cache: Cache = True,
) -> ZoomableRun:
    """Load the reports of one run; nothing is displayed, no input is changed.

    Parameters
    ----------
    reports : path, glob, iterable of these, or {role: any of these}
        nsys SQLite exports, or ``.nsys-rep`` captures, which are exported into the cache folder
        when nsys is on the PATH. Folders are searched recursively. Roles are policy, generation,
        reference, critic, reward, environment, controller.
    rules : path or mapping, optional
        Names of one's own for roles and phases, as the TOML files in ``rlviz/rules`` have them;
        they are asked before those.
    iteration_marker : str, optional
        Shell pattern of ranges that each mark one iteration, such as ``"policy_worker/step *"``;
        without it iterations are found by refits and phases.
    offsets : mapping of str to float, optional
        Seconds to add to the times of a host or of a report, by its name in ``run.reports``: for
        clocks that are wrong, and that nothing in the reports corrects.
    anonymize : bool
        Replace the names of hosts, users, GPUs and files wherever they stand, for what is to be
        shown to strangers.
    executor : concurrent.futures.Executor, optional
        What reads the reports, such as Dask's ``client.get_executor()``; it has to see reports
        and store under the same paths. By default processes of this machine, where it is worth it.
    cache : bool, str or Path
        Keep what was read in the cache folder, nowhere, or in another folder: a report that did
        not change is not read again.

    Returns
    -------
    ZoomableRun
        What could be read; ``run.diagnostics`` names what could not.

    Raises
    ------
    BadRules
        The rules cannot be understood.
    RlvizError
        The only report there is cannot be read.
    NoReports
        There is none, or none can be read; its `reasons` tell why.
    ValueError
        A role that is none, or an offset of something that is not there.

    Examples
    --------
    >>> import rlviz
    >>> rlviz.load("ray/session_latest/logs/nsight")  # doctest: +SKIP
    Run(8 rows, 8 reports, 160.2 s)
    """
    _check_roles(reports)
    names = read_rules(rules)
    found, errors = find(reports)
    failures = [(name_of(error.path), error) for error in errors]
    read, unreadable = read_all(found, executor, cache)
    failures += unreadable
    if not read:
        raise _none_read(reports, failures)
    if anonymize:
        named = anonymous(read, failures)
        read, failures, offsets = named.reports, named.failures, named.offsets(offsets)
    # All that the run depends on besides its reports.
    asked = names.text, iteration_marker, offsets, anonymize, failures
    memo = memory_of(store_of(cache), read, asked)
    return assemble(read, failures, names, iteration_marker, offsets, made=ZoomableRun, memo=memo)


def show(
    reports: Reports | ZoomableRun,
    *,
    rules: RuleSource | None = None,
    iteration_marker: str | None = None,
    offsets: Mapping[str, float] | None = None,
    anonymize: bool = False,
    executor: Executor | None = None,
    cache: Cache = True,
    static: bool = False,
) -> Timeline:
    """Show the timeline of a run, in a notebook.

    Parameters
    ----------
    reports : ZoomableRun, or what `load` takes
        The run.
    rules, iteration_marker, offsets, anonymize, executor, cache
        As for `load`; a run has its own already.
    static : bool
        Display only the figure that a saved notebook keeps: it needs no kernel, and Python does
        not move it.

    Returns
    -------
    Timeline
        Displayed already, once. Outside IPython one line says what to do with it.

    Examples
    --------
    >>> import rlviz
    >>> timeline = rlviz.show("ray/session_latest/logs/nsight")  # doctest: +SKIP
    """
    from rlviz.view.timeline import Timeline  # only drawing needs Bokeh

    if not isinstance(reports, ZoomableRun):
        reports = load(
            reports,
            rules=rules,
            iteration_marker=iteration_marker,
            offsets=offsets,
            anonymize=anonymize,
            executor=executor,
            cache=cache,
        )
    timeline = Timeline(reports)
    timeline._show(static=static)
    return timeline


def compare(
    *, iteration: int | Literal["mean"] | None = None, **runs: Reports | ZoomableRun
) -> Comparison:
    """Show runs below each other on one time axis, an iteration of each beginning at second 0.

    Parameters
    ----------
    iteration : int or "mean", optional
        The iteration to align them at. Default: the first that is complete in all of them, else the
        first that is in all of them. "mean": busy shares of pools, averaged over the complete
        iterations of each run.
    **runs : ZoomableRun, or what `load` takes
        Two or more, by any names; the first is what the others are compared with.

    Returns
    -------
    Comparison
        Displayed already, once, as of `show`; its `differences` are the numbers.

    Raises
    ------
    ValueError
        There is one run only, or no such iteration in all of them.
    RlvizError
        As of `load`.

    Examples
    --------
    >>> import rlviz
    >>> rlviz.compare(before="old/nsight", after="new/nsight")  # doctest: +SKIP
    Comparison(before, after; iteration 4, 16 rows)
    """
    from rlviz.view.comparison import Comparison  # only drawing needs Bokeh

    if len(runs) < 2:
        msg = "compare takes two runs or more, each with a name: before=..., after=..."
        raise ValueError(msg)
    loaded = {
        name: run if isinstance(run, ZoomableRun) else load(run) for name, run in runs.items()
    }
    comparison = Comparison(loaded, iteration)
    comparison._show()
    return comparison


def _check_roles(reports: Reports) -> None:
    if isinstance(reports, Mapping):
        for role in reports:
            if role not in ROLES:
                message = f"{role!r} is no role; roles are {', '.join(ROLES)}."
                raise ValueError(message)


def _is_one_file(reports: Reports) -> bool:
    return isinstance(reports, str | os.PathLike) and not expanded(reports).is_dir()


def _none_read(reports: Reports, failures: list[tuple[str, RlvizError]]) -> RlvizError:
    if len(failures) == 1 and _is_one_file(reports):
        return failures[0][1]
    problem = f"none of {len(failures)} reports can be read." if failures else "no reports found."
    asked = reports if isinstance(reports, str) else getattr(reports, "name", "reports")
    return NoReports(str(asked), problem, _NOTHING, tuple(error for _, error in failures))

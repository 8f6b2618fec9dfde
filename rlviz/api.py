"""The front door: load reports, show a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from rlviz.levels.query import ZoomableRun
from rlviz.opening import Wishes, opening_of
from rlviz.run.part import part_of
from rlviz.run.rules import ROLES

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rlviz.levels.store import Cache
    from rlviz.opening import Opening
    from rlviz.reports.find import Reports
    from rlviz.run.part import Numbers, Part, Words
    from rlviz.run.rulebook import RuleSource
    from rlviz.view.comparison import Comparison
    from rlviz.view.timeline import Timeline

__all__ = ["compare", "load", "show"]


def load(
    reports: Reports,
    *,
    rules: RuleSource | None = None,
    iteration_marker: str | None = None,
    offsets: Mapping[str, float] | None = None,
    anonymize: bool = False,
    executor: Executor | None = None,
    cache: Cache = True,
    steps: Numbers | None = None,
    ranks: Numbers | None = None,
    roles: Words | None = None,
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
    steps : int or iterable of int, optional
        Read only reports of these train steps: ``(3, 5)`` is 3 and 5, ``range(3, 6)`` is 3 to 5. A
        report whose name does not tell its steps is read, and so are all steps of a report that
        holds one of these.
    ranks : int or iterable of int, optional
        Read only reports of workers of these ranks, in whatever role. Roles none of whose reports
        tell a rank are read all.
    roles : str or iterable of str, optional
        Read only reports with a worker of one of these roles.

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
        There is none, none can be read, or none is of the steps, ranks and roles asked for; its
        `reasons` tell why.
    ValueError
        A role that is none, a number that is none, or an offset of something that is not there.

    Examples
    --------
    >>> import rlviz
    >>> rlviz.load("demo-reports")  # what `rlviz demo demo-reports` writes
    Run(8 rows, 8 reports, ... s, simulated)
    """
    part = part_of(steps, ranks, roles)
    opening = _opening(
        reports, rules, iteration_marker, offsets, executor, cache, part, anonymize=anonymize
    )
    return opening.run()


def show(
    reports: Reports | ZoomableRun,
    *,
    rules: RuleSource | None = None,
    iteration_marker: str | None = None,
    offsets: Mapping[str, float] | None = None,
    anonymize: bool = False,
    executor: Executor | None = None,
    cache: Cache = True,
    steps: Numbers | None = None,
    ranks: Numbers | None = None,
    roles: Words | None = None,
    static: bool = False,
) -> Timeline:
    """Show the timeline of a run, in a notebook.

    Where reading takes long, the chart comes up with the phases, and fills in while reports are
    read.

    Parameters
    ----------
    reports : ZoomableRun, or what `load` takes
        The run.
    rules, iteration_marker, offsets, anonymize, executor, cache, steps, ranks, roles
        As for `load`; a run has its own already. The first view shows the steps that were asked
        for.
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
    >>> timeline = rlviz.show("demo-reports")
    Timeline(8 rows, 8 reports, ... s): charts are shown in a notebook; ...
    """
    from rlviz.filling import fill, look_at, worth_filling
    from rlviz.view.cells import in_notebook

    live = not static and in_notebook()
    part = part_of(steps, ranks, roles)
    if isinstance(reports, ZoomableRun):
        run = reports
    else:
        opening = _opening(
            reports, rules, iteration_marker, offsets, executor, cache, part, anonymize=anonymize
        )
        if live and worth_filling(opening):
            return fill(opening)
        run = opening.run()
    from rlviz.view.timeline import Timeline  # only drawing needs Bokeh

    timeline = Timeline(run)
    look_at(timeline, part)
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
    >>> comparison = rlviz.compare(before="old/nsight", after="new/nsight")
    Comparison(before, after; iteration 4, 16 rows): charts are shown in a notebook; ...
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


def _opening(
    reports: Reports,
    rules: RuleSource | None,
    iteration_marker: str | None,
    offsets: Mapping[str, float] | None,
    executor: Executor | None,
    cache: Cache,
    part: Part,
    *,
    anonymize: bool,
) -> Opening:
    if isinstance(reports, Mapping):
        for role in reports:
            if role not in ROLES:
                message = f"{role!r} is no role; roles are {', '.join(ROLES)}."
                raise ValueError(message)
    wishes = Wishes(rules, iteration_marker, offsets, anonymize, executor, cache, part)
    return opening_of(reports, wishes)

"""Open a run: what was asked for, which reports that is, and the run that is made of them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlviz.errors import NoReports, name_of
from rlviz.levels.elsewhere import make_rows_in
from rlviz.levels.memory import memory_of
from rlviz.levels.query import ZoomableRun
from rlviz.levels.store import store_of
from rlviz.loading import read_all
from rlviz.pool import Processes
from rlviz.reports.find import expanded, find
from rlviz.run.anonymize import anonymous
from rlviz.run.assemble import assemble
from rlviz.run.memo import forgets
from rlviz.run.rulebook import read_rules
from rlviz.selection import choose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor

    from rlviz.errors import RlvizError
    from rlviz.levels.store import Cache, Store
    from rlviz.reports.find import Found, Reports
    from rlviz.reports.report import Report
    from rlviz.run.part import Part
    from rlviz.run.rulebook import RuleSource
    from rlviz.run.rules import Rules

__all__ = ["Opening", "Wishes", "opening_of"]

_NOTHING = (
    "Name a folder, a glob or files of nsys exports (.sqlite, made by: nsys export --type sqlite). "
    "Ray keeps reports in "
    "/tmp/ray/session_*/logs/nsight on every node; if they are missing there, workers were killed "
    "before nsys wrote them: for NeMo-RL capture with "
    'NRL_NSYS_EXTRA_OPTIONS=\'{"capture-range-end":"stop-shutdown"}\'.'
)


@dataclass(frozen=True)
class Wishes:
    """What a caller of `rlviz.load` says beside the reports."""

    rules: RuleSource | None
    iteration_marker: str | None
    offsets: Mapping[str, float] | None
    anonymize: bool
    executor: Executor | None
    cache: Cache
    part: Part


@dataclass(frozen=True)
class Opening:
    """A run that is to be opened.

    Parameters
    ----------
    asked : path, glob, iterable of these, or {role: any of these}
        The reports, as the caller named them.
    wishes : Wishes
        What was asked for; its part tells what was left out.
    rules : Rules
        What names mean.
    found : list of Found
        The reports to read.
    failures : list of (str, RlvizError)
        Name and error of what could not even be found.
    """

    asked: Reports
    wishes: Wishes
    rules: Rules
    found: list[Found]
    failures: list[tuple[str, RlvizError]]

    @property
    def store(self) -> Store | None:
        """Where reports are kept."""
        return store_of(self.wishes.cache)

    def run(self) -> ZoomableRun:
        """Read all reports, and make the run.

        Raises
        ------
        RlvizError
            Nothing could be read; it tells why.
        """
        with Processes() as processes:
            read = read_all(self.found, processes, self.wishes.executor, self.wishes.cache)
            run = self.run_of(*read)
            make_rows_in(processes, run)
        return run

    def run_of(
        self,
        read: Sequence[Report],
        unreadable: Sequence[tuple[str, RlvizError]],
        *,
        kept: bool = True,
    ) -> ZoomableRun:
        """Make the run.

        Parameters
        ----------
        read, unreadable
            As of `rlviz.loading.read_all`.
        kept : bool
            Whether what is worked out of it is worth keeping: it is all of the run.

        Raises
        ------
        RlvizError
            Nothing was read; it tells why.
        """
        wishes = self.wishes
        failures = [*self.failures, *unreadable]
        if not read:
            raise _none_read(self.asked, failures)
        offsets = wishes.offsets
        if wishes.anonymize:
            named = anonymous(read, failures)
            read, failures, offsets = named.reports, named.failures, named.offsets(offsets)
        # All that the run depends on besides its reports.
        asked = (
            self.rules.text,
            wishes.iteration_marker,
            offsets,
            wishes.anonymize,
            failures,
            wishes.part,
        )
        return assemble(
            read,
            failures,
            self.rules,
            wishes.iteration_marker,
            offsets,
            made=ZoomableRun,
            memo=memory_of(self.store, read, asked) if kept else forgets,
            part=wishes.part,
        )


def opening_of(reports: Reports, wishes: Wishes) -> Opening:
    """Find the reports of a run, and choose those that were asked for.

    Raises
    ------
    BadRules, NoReports
        As of `rlviz.load`.
    """
    rules = read_rules(wishes.rules)
    found, errors = find(reports)
    failures = [(name_of(error.path), error) for error in errors]
    chosen, part = choose(found, wishes.part, rules, store_of(wishes.cache))
    return Opening(reports, replace(wishes, part=part), rules, chosen, failures)


def _is_one_file(reports: Reports) -> bool:
    return isinstance(reports, str | os.PathLike) and not expanded(reports).is_dir()


def _none_read(reports: Reports, failures: list[tuple[str, RlvizError]]) -> RlvizError:
    if len(failures) == 1 and _is_one_file(reports):
        return failures[0][1]
    problem = f"none of {len(failures)} reports can be read." if failures else "no reports found."
    asked = reports if isinstance(reports, str) else getattr(reports, "name", "reports")
    return NoReports(str(asked), problem, _NOTHING, tuple(error for _, error in failures))

"""Choose among reports before their GPU rows are read: by names, then by what takes no time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlviz.errors import NoReports, RlvizError
from rlviz.levels.kept import sketched
from rlviz.reports.export import export_capture
from rlviz.reports.report import Diagnostic
from rlviz.run.hosts import find_machines, hosts_of
from rlviz.run.overlap import NO_GPUS
from rlviz.run.workers import find_workers, rank_told, role_told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlviz.levels.store import Store
    from rlviz.reports.find import Found
    from rlviz.reports.report import Report
    from rlviz.run.part import Part
    from rlviz.run.rules import Rules

__all__ = ["choose", "sketch"]


@dataclass(frozen=True)
class _Who:
    """Whose report it is: a role and a rank a worker."""

    workers: tuple[tuple[str, int | None], ...]


def sketch(one: Found, store: Store | None) -> Report:
    """Take a report from the store, else read who it is of and its NVTX rows.

    Raises
    ------
    RlvizError
        It cannot be read.
    """
    path = export_capture(one.path) if one.is_capture else one.path
    return sketched(store, path, one.key, one.role)


def choose(
    found: Sequence[Found], part: Part, rules: Rules, store: Store | None
) -> tuple[list[Found], Part]:
    """Choose the reports of a part of a run.

    Parameters
    ----------
    found : sequence of Found
        All reports.
    part : Part
        What was asked for.
    rules : Rules
        What names mean.
    store : Store or None
        Where reports may be kept.

    Returns
    -------
    found : list of Found
        Those to read. What cannot be read is among them, so that it is told.
    part : Part
        The same, with what was left out.

    Raises
    ------
    NoReports
        None is of that part; it lists what there is.
    """
    if part.everything or not found:
        return list(found), part
    of_steps = [one for one in found if _holds_steps(one, part, rules)]
    if not of_steps:
        raise _nothing(found, "steps", _steps_there(found, rules))
    chosen, unranked = of_steps, 0
    if part.roles is not None or part.ranks is not None:
        chosen, unranked = _of_workers(of_steps, part, rules, store)
    told = [*_left_out(len(found), len(chosen)), *_untold(chosen, part, rules, unranked)]
    return chosen, replace(part, told=tuple(told))


def _holds_steps(one: Found, part: Part, rules: Rules) -> bool:
    steps = rules.steps_of(one.path.stem)
    return steps is None or part.holds_steps(steps.start, steps.stop)


def _of_workers(
    found: Sequence[Found], part: Part, rules: Rules, store: Store | None
) -> tuple[list[Found], int]:
    """Choose by role and rank; tell of how many reports the rank is unknown."""
    whose = _whose(found, rules, store)
    ranked = {role for who in whose.values() for role, rank in who.workers if rank is not None}
    chosen, unranked, of_role, of_rank = [], 0, False, False
    for one in found:
        who = whose.get(one.key)
        if who is None:
            chosen.append(one)
            continue
        workers = [w for w in who.workers if part.roles is None or w[0] in part.roles]
        of_role |= bool(workers)
        told = [rank for role, rank in workers if role in ranked]
        meant = any(rank is not None and part.holds_rank(rank) for rank in told)
        of_rank |= meant or not ranked
        if meant or (workers and part.ranks is None):
            chosen.append(one)
        elif workers and len(told) < len(workers):
            # No report of the role tells a rank: which of them are meant cannot be known.
            chosen.append(one)
            unranked += 1
    if whose and not of_role:
        raise _nothing(found, "roles", _roles_there(whose.values()))
    if whose and part.ranks is not None and not of_rank:
        raise _nothing(found, "ranks", _ranks_there(whose.values(), part))
    return chosen, unranked


def _whose(found: Sequence[Found], rules: Rules, store: Store | None) -> dict[str, _Who]:
    """Tell whose the reports are, by key; those that cannot be read are not in it."""
    sketches: list[Report] = []
    for one in found:
        try:
            sketches.append(sketch(one, store))
        except RlvizError:
            continue  # it is told when it is read
    workers = find_workers(sketches, hosts_of(find_machines(sketches)), rules)
    known: dict[int, list[tuple[str, int | None]]] = {}
    for worker in workers:
        for index in worker.reports:
            known.setdefault(index, []).append((worker.role, worker.rank))
    return {
        report.key: _Who(
            tuple(known.get(index) or [(role_told(report, rules), rank_told(report, rules))])
        )
        for index, report in enumerate(sketches)
    }


def _left_out(there: int, chosen: int) -> list[Diagnostic]:
    if chosen == there:
        return []
    reports = "report" if there == 1 else "reports"
    message = (
        f"{there - chosen} of {there} {reports} were not asked for, and not read: their workers "
        "have no row and are in no number."
    )
    return [Diagnostic("info", "not-asked", message, count=there - chosen)]


def _untold(chosen: Sequence[Found], part: Part, rules: Rules, unranked: int) -> list[Diagnostic]:
    told = [
        Diagnostic(
            "info",
            kind,
            "Overlap, its GPU-second twin and exposed generation are unknown, not 0: no role of "
            f"the {pool} pool was asked for.",
        )
        for pool, kind in NO_GPUS.items()
        if not part.holds_pool(pool)
    ]
    if part.steps is not None:
        silent = sum(rules.steps_of(one.path.stem) is None for one in chosen)
        if silent:
            message = (
                f"The names of {silent} reports do not tell which steps they hold: they were read "
                "whole."
            )
            told.append(Diagnostic("info", "steps-untold", message, count=silent))
    if unranked:
        message = (
            f"Ranks were asked for, but {unranked} reports are of roles that tell no rank, neither "
            "by RANK in their environment nor by name: they were read all."
        )
        told.append(Diagnostic("info", "ranks-untold", message, count=unranked))
    return told


def _nothing(found: Sequence[Found], what: str, there: str) -> NoReports:
    problem = f"none of {len(found)} reports is of the {what} asked for."
    return NoReports("reports", problem, f"There are {there}.")


def _steps_there(found: Iterable[Found], rules: Rules) -> str:
    spans = {(s.start, s.stop) for one in found if (s := rules.steps_of(one.path.stem))}
    return "reports of " + ", ".join(_steps(*span) for span in sorted(spans))


def _steps(first: int, end: int) -> str:
    return f"step {first}" if end == first + 1 else f"steps {first} to {end - 1}"


def _roles_there(whose: Iterable[_Who]) -> str:
    roles = Counter(role for who in whose for role in {role for role, _ in who.workers})
    return ", ".join(f"{role} ({count})" for role, count in roles.most_common())


def _ranks_there(whose: Iterable[_Who], part: Part) -> str:
    ranks: dict[str, set[int]] = {}
    for who in whose:
        for role, rank in who.workers:
            if rank is not None and (part.roles is None or role in part.roles):
                ranks.setdefault(role, set()).add(rank)
    return "; ".join(f"{role}: ranks {_listed(own)}" for role, own in ranks.items())


def _listed(numbers: Iterable[int]) -> str:
    """Write numbers with runs of them as ``0 to 7``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in runs)

"""Pools whose numbers depend on a report that is there and cannot be used."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from rlviz.run.rules import pool_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlviz.run.rules import Rules

__all__ = ["UNREAD", "unread_pools"]

UNREAD = "unread-reports"

_NUMBER = re.compile(r"[0-9]+")
_UNFINISHED = ".qdstrm"  # what nsys left of a capture; it may never have been a worker's own


def unread_pools(reports: pl.DataFrame, rules: Rules) -> dict[str, int]:
    """Count the reports of each pool that could not be read, or have no place on the run's clock.

    What a worker did that was captured in vain belongs to its pool: nobody knows how long that was
    active. Workers that have no report at all are another matter: who captures some ranks of many
    has chosen them, and numbers are those of the ranks that left a report.

    Parameters
    ----------
    reports : polars.DataFrame
        As ``run.reports``.
    rules : Rules
        Which role a file name tells. Where it tells none, the roles of reports whose names differ
        in numbers only: a worker of verl can be of any of them.

    Returns
    -------
    dict of str to int
        By pool, generation or training.
    """
    apart = reports.filter(pl.col("status") == "apart")["role"].drop_nulls().to_list()
    failed = reports.filter(pl.col("status") == "unreadable")["report"]
    alike: defaultdict[str, set[str]] = defaultdict(set)
    for report, roles in reports.drop_nulls("role").select("report", "role").iter_rows():
        alike[_shape(report)].update(roles.split("+"))
    counts: defaultdict[str, int] = defaultdict(int)
    for roles in apart:
        for pool in _pools(roles.split("+")):
            counts[pool] += 1
    for report in failed:
        stem, _, suffix = report.rpartition("/")[2].rpartition(".")
        if f".{suffix}" == _UNFINISHED:
            continue
        role = rules.role((), (), stem)
        roles = alike[_shape(report)] if role == "unknown" else {role}
        for pool in _pools(roles):
            counts[pool] += 1
    return dict(counts)


def _pools(roles: Iterable[str]) -> set[str]:
    return {pool_of((one,)) for one in roles} - {"other"}


def _shape(report: str) -> str:
    return _NUMBER.sub("0", report.rpartition("/")[2])

"""What a finding is, and how numbers are said in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Finding", "Kind", "percent", "spoken"]

Kind: TypeAlias = Literal[
    "incomplete-trace",
    "training-straggler",
    "generation-straggler",
    "long-tail",
    "refit-stall",
    "exposed-communication",
    "exposed-generation",
    "training-waits",
]


@dataclass(frozen=True)
class Finding:
    """One thing that costs the run time, or that keeps its numbers from being known.

    Parameters
    ----------
    kind : Kind
        What it is; docs/reference/findings.md defines each.
    text : str
        One sentence with its numbers and the name of the row.
    lost_ns : int or None
        Wall-clock time that a complete iteration would be shorter without it, as a mean; None is
        unknown. It is what findings are ranked by.
    start_ns, end_ns : int or None
        Its place on the time axis: where it costs most. None when it has none.
    iteration : int or None
        Iteration that it is about; None: the whole run.
    row : int or None
        Row that it is about; None: the whole pool, or the whole run.
    """

    kind: Kind
    text: str
    lost_ns: int | None
    start_ns: int | None = None
    end_ns: int | None = None
    iteration: int | None = None
    row: int | None = None


def spoken(ns: float) -> str:
    """Say a length of time as people do.

    Examples
    --------
    >>> spoken(3_140_000_000), spoken(31_400_000_000), spoken(240_400_000), spoken(2_340_000)
    ('3.1 s', '31 s', '240 ms', '2.3 ms')
    """
    for unit, length in (("s", 1e9), ("ms", 1e6)):
        if round(ns / length, 2) >= 1:
            value = ns / length
            return f"{value:.0f} {unit}" if value >= 9.95 else f"{value:.1f} {unit}"
    return f"{ns / 1e3:.0f} us"


def percent(share: float) -> str:
    """Say a share.

    Examples
    --------
    >>> percent(0.086)
    '9 %'
    """
    return f"{100 * share:.0f} %"

"""What collectives say about several clocks at once: one correction for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.collectives import KINDS
from rlviz.run.links import find_link, link_near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.collectives import Kind, Series
    from rlviz.run.links import Link

    Int64 = NDArray[np.int64]

__all__ = ["NOISE_NS", "Party", "Verdict", "judge"]

NOISE_NS = 100_000
"""Ends of one collective are 20 to 50 us apart: a correction below this corrects nothing."""


@dataclass(frozen=True)
class Party:
    """A clock to be judged: that of a machine, or of one report.

    Parameters
    ----------
    series : mapping of str to sequence of Series
        Its collectives by the name of their kind, on that clock.
    weight : int
        How many reports keep to it: the majority is believed.
    fixed : bool
        True: it stays as it is, and has no say about others.
    known : bool
        False: its zero means nothing, so no offset is more likely than another.
    """

    series: Mapping[str, Sequence[Series]]
    weight: int
    fixed: bool = False
    known: bool = True


@dataclass
class Verdict:
    """What is known about a clock.

    Parameters
    ----------
    offset_ns : int
        What to add to its times; 0 where it is right up to noise.
    kind : Kind or None
        The collectives that told; None where it has none in common with the others.
    group : int
        Clocks of one group are compared with each other, others are not.
    rivals_ns : tuple of int
        Other offsets that fit nearly as well: then which one is right is not known.
    bias_ns : int
        By how much the offset can be wrong because ends need not agree.
    noise_ns : int
        An offset up to this is none.
    anchors : int
        How many of its collectives were matched.
    residuals_ns : ndarray of int64
        What stays between matched ends.
    """

    offset_ns: int = 0
    kind: Kind | None = None
    group: int = -1
    rivals_ns: tuple[int, ...] = ()
    bias_ns: int = 0
    noise_ns: int = NOISE_NS
    anchors: int = 0
    residuals_ns: Int64 = field(default_factory=lambda: np.empty(0, np.int64))


def judge(parties: Sequence[Party]) -> list[Verdict]:
    """Compare clocks by their collectives.

    Parties that have collectives in common, directly or by way of others, form a group. In each,
    the clock that most reports keep to is taken as right, and the others are corrected to it.

    Returns
    -------
    list of Verdict
        One a party, in their order.
    """
    verdicts = [Verdict() for _ in parties]
    free = [p for p in range(len(parties)) if not parties[p].fixed]
    order = sorted(free, key=lambda p: (not parties[p].known, -parties[p].weight, p))
    for number, root in enumerate(order):
        if verdicts[root].group < 0:
            verdicts[root].group = number
            links = _grow(parties, verdicts, root, order)
            _settle(parties, verdicts, [root, *(other for _, other, _ in links)])
            for one, other, link in links:
                if not verdicts[other].rivals_ns:
                    _note_residuals(verdicts, one, other, link)
    for fixed in set(range(len(parties))).difference(free):
        _check(parties, verdicts, fixed, order)
    return verdicts


def _check(
    parties: Sequence[Party], verdicts: list[Verdict], fixed: int, order: Sequence[int]
) -> None:
    """Measure how well a clock that stays as it is agrees with the others."""
    for kind in KINDS:
        for one in order:
            if verdicts[one].rivals_ns:
                continue
            ones, others = (parties[party].series[kind.name] for party in (one, fixed))
            link = link_near(ones, others, kind, -verdicts[one].offset_ns)
            if link is not None:
                _note_residuals(verdicts, one, fixed, link)
                return


def _grow(
    parties: Sequence[Party], verdicts: list[Verdict], root: int, order: Sequence[int]
) -> list[tuple[int, int, Link]]:
    """Take in every clock that has collectives in common with those that are in."""
    members = [root]
    links: list[tuple[int, int, Link]] = []
    for kind in KINDS:
        for base in members:  # grows while it is walked
            for other in order:
                if verdicts[other].group >= 0 or verdicts[base].rivals_ns:
                    continue
                ones, others = (parties[party].series[kind.name] for party in (base, other))
                expected = -verdicts[base].offset_ns if parties[other].known else None
                link = find_link(ones, others, kind, expected)
                if link is not None:
                    _take_in(verdicts[base], verdicts[other], link, known=parties[other].known)
                    links.append((base, other, link))
                    members.append(other)
    return links


def _take_in(base: Verdict, verdict: Verdict, link: Link, *, known: bool) -> None:
    verdict.group, verdict.kind, verdict.bias_ns = base.group, link.kind, link.bias_ns
    base.kind = base.kind or link.kind
    residual = float(np.median(np.abs(link.residuals_ns(link.offset_ns))))
    verdict.noise_ns = max(NOISE_NS, link.bias_ns, round(residual)) if known else -1
    verdict.offset_ns = base.offset_ns + link.offset_ns
    rivals = tuple(base.offset_ns + rival for rival in link.rivals_ns)
    # Of several offsets that fit, the one that agrees with UTC is right: something else tells.
    fits = (verdict.offset_ns, *rivals)
    agreeing = [offset for offset in fits if abs(offset) <= verdict.noise_ns]
    if agreeing:
        verdict.offset_ns = agreeing[0]
    else:
        verdict.rivals_ns = rivals


def _settle(parties: Sequence[Party], verdicts: list[Verdict], members: Sequence[int]) -> None:
    """Take the clock that most reports keep to as right; what is within noise of it is right."""
    sure = [m for m in members if parties[m].known and not verdicts[m].rivals_ns]
    if sure:
        zero = _middle([(verdicts[m].offset_ns, parties[m].weight) for m in sure])
        for member in members:
            verdicts[member].offset_ns -= zero
            verdicts[member].rivals_ns = tuple(r - zero for r in verdicts[member].rivals_ns)
    for member in members:
        verdict = verdicts[member]
        if abs(verdict.offset_ns) <= verdict.noise_ns:
            verdict.offset_ns = 0


def _middle(weighted: Sequence[tuple[int, int]]) -> int:
    """Weighted median; of two that are in the middle, the first one given."""
    total = sum(weight for _, weight in weighted)
    for value, _ in weighted:
        below = sum(weight for other, weight in weighted if other < value)
        above = sum(weight for other, weight in weighted if other > value)
        if 2 * below <= total and 2 * above <= total:
            return value
    return weighted[0][0]


def _note_residuals(verdicts: list[Verdict], one: int, other: int, link: Link) -> None:
    ones = {(id(pair.one), int(place)) for pair in link.pairs for place in pair.place}
    others = {(id(pair.other), int(place)) for pair in link.pairs for place in pair.other_place}
    residuals = link.residuals_ns(verdicts[other].offset_ns - verdicts[one].offset_ns)
    for party, anchors in ((one, ones), (other, others)):
        verdict = verdicts[party]
        verdict.anchors += len(anchors)
        verdict.residuals_ns = np.concatenate((verdict.residuals_ns, residuals))

"""Clocks that drift: what one offset says of hours, the collectives of each capture say better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.collectives import TOGETHER
from rlviz.run.consensus import NOISE_NS
from rlviz.run.links import find_link, link_near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.collectives import Series
    from rlviz.run.consensus import Party, Verdict
    from rlviz.run.links import Link

    Int64 = NDArray[np.int64]

__all__ = ["Drift", "find_drifts"]

# Two hours at 7 ppm, far more than a clock that NTP holds: what is further off is no drift.
_MOST_NS = 50_000_000
# A slope is one if it is this much larger than what the scatter of the ends makes likely.
_SIGNIFICANT = 6.0
_LEAST_ENDS = 12


@dataclass(frozen=True)
class Drift:
    """How a clock runs against the one that the others keep to.

    Parameters
    ----------
    change_ns : dict of int to int
        By report, what to add to the offset of its clock in its capture; reports without are right.
    residuals_ns : dict of int to ndarray of int64
        By report with collectives of its own, what stays between ends then.
    anchors : dict of int to int
        How many collectives of the report that is.
    ppm : float or None
        By how much it runs fast within captures, in millionths; None where nothing is seen.
    within_ns : int
        How far that carries it over the longest capture, to either side of its offset.
    """

    change_ns: dict[int, int]
    residuals_ns: dict[int, Int64]
    anchors: dict[int, int]
    ppm: float | None = None
    within_ns: int = 0


def find_drifts(
    parties: Sequence[Party],
    verdicts: Sequence[Verdict],
    windows_ns: Mapping[int, tuple[int, int]],
    reports: Sequence[Sequence[int]],
) -> list[Drift | None]:
    """Hold every capture of a clock against the clock that most reports of its group keep to.

    Parameters
    ----------
    parties, verdicts : sequence of Party, sequence of Verdict
        Clocks, and what is known of them.
    windows_ns : mapping of int to (int, int)
        By report, its capture window on its own clock.
    reports : sequence of sequence of int
        Reports of each clock.

    Returns
    -------
    list of Drift or None
        By clock; None where nothing drifts.
    """
    found: list[Drift | None] = []
    for number, verdict in enumerate(verdicts):
        root = _root(parties, verdicts, verdict.group)
        told = verdict.kind is TOGETHER and not verdict.rivals_ns
        if root is None or root == number or not told or parties[number].fixed:
            found.append(None)
            continue
        expected = verdict.offset_ns - verdicts[root].offset_ns
        own = {index: windows_ns[index] for index in reports[number]}
        found.append(_drift(parties[root], parties[number], expected, own))
    return found


def _root(parties: Sequence[Party], verdicts: Sequence[Verdict], group: int) -> int | None:
    members = [n for n, verdict in enumerate(verdicts) if verdict.group == group >= 0]
    known = [n for n in members if parties[n].known and not parties[n].fixed]
    return min(known, key=lambda n: (-parties[n].weight, n), default=None)


def _drift(
    root: Party, party: Party, expected_ns: int, windows_ns: Mapping[int, tuple[int, int]]
) -> Drift | None:
    links = _links(root, party, expected_ns, windows_ns)
    if not links:
        return None
    measured = {index: _rounded(link.offset_ns - expected_ns) for index, link in links.items()}
    change = {
        # A worker without collectives of its own drifts with the capture that is next to it.
        index: measured[min(links, key=lambda i: (_apart(windows_ns[i], window), i))]
        for index, window in windows_ns.items()
    }
    residuals = {index: link.residuals_ns(link.offset_ns) for index, link in links.items()}
    anchors = {
        index: len({(id(pair.other), int(at)) for pair in link.pairs for at in pair.other_place})
        for index, link in links.items()
    }
    ppm, within = _slope(links)
    moved = {index: ns for index, ns in change.items() if ns}
    return Drift(moved, residuals, anchors, ppm, within) if moved or ppm is not None else None


def _links(
    root: Party, party: Party, expected_ns: int, windows_ns: Mapping[int, tuple[int, int]]
) -> dict[int, Link]:
    """Link the capture of each report that has collectives in common with the root's."""
    ones = root.series[TOGETHER.name]
    by_report: dict[int, list[Series]] = {}
    for series in party.series[TOGETHER.name]:
        by_report.setdefault(series.report, []).append(series)
    links: dict[int, Link] = {}
    missed = []
    for index, own in by_report.items():
        beside = [one for one in ones if _apart(_moved(own[0], expected_ns), one.window_ns) == 0]
        link = link_near(beside, own, TOGETHER, expected_ns)
        if link is not None:
            links[index] = link
        else:
            missed.append((index, own, beside))
    # What is captured at a time at which others agree is of another communicator, and no drift.
    told = [windows_ns[index] for index in links]
    for index, own, beside in missed:
        if any(_apart(windows_ns[index], window) == 0 for window in told):
            continue
        link = find_link(beside, own, TOGETHER)
        drifted = link is not None and abs(link.offset_ns - expected_ns) <= _MOST_NS
        if link is not None and drifted and not link.rivals_ns:
            links[index] = link
    return links


def _rounded(change_ns: int) -> int:
    return 0 if abs(change_ns) <= NOISE_NS else change_ns


def _moved(series: Series, offset_ns: int) -> tuple[int, int]:
    first, last = series.window_ns
    return first + offset_ns - _MOST_NS, last + offset_ns + _MOST_NS


def _apart(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(one[0] - other[1], other[0] - one[1], 0)


def _slope(links: Mapping[int, Link]) -> tuple[float | None, int]:
    """Find by how much the clock runs fast within captures, in ppm, and how far that carries it."""
    at, late, longest = [], [], 0
    for link in links.values():
        for pair in link.pairs:
            times = pair.one.end_ns[pair.place]
            at.append(times - times.mean())
            late.append(pair.difference_ns - pair.difference_ns.mean())
            longest = max(longest, int(np.ptp(times)))
    x, y = np.concatenate(at), np.concatenate(late)
    spread = float((x**2).sum())
    if len(x) < _LEAST_ENDS or spread == 0:
        return None, 0
    slope = float((x * y).sum()) / spread
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / (len(x) - 2) / spread))
    within = round(abs(slope) * longest / 2)
    if abs(slope) <= _SIGNIFICANT * error or within <= NOISE_NS:
        return None, 0
    # The times of a clock that runs fast grow: less and less has to be added to them.
    return -slope * 1e6, within

"""How far two clocks are apart, told by collectives that end at the same time on both."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.collectives import TOGETHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rlviz.run.collectives import Kind, Series

    Int64 = NDArray[np.int64]

__all__ = ["Link", "Pair", "find_link", "link_near"]

# Ends of one collective on two ranks, on one clock, are up to this apart.
_JITTER_NS = 50_000

_LEAST_ANCHORS = 3
# Fewer can agree by chance. Of the collectives that both sides should have seen, this share has to
# match: two communicators that look alike are not one.
_LEAST_SHARE = 0.8
# Among all offsets that are tried, this is how often series with nothing in common may seem to
# agree, as a power of ten.
_CHANCE = -3
_VOTERS = 48
_CANDIDATES = 12
# Limits of time: 8 hosts of 8 ranks have 1,800 pairs of ranks, and a rank thousands of collectives.
_PAIRS = 32
_SEEDS = 20
_MANY = 400
_FEW = 16
# Another offset fits nearly as well if it matches nearly the same share of what both sides saw, at
# least two in five as many (a shift leaves less to compare), and leaves about the same residual.
# Layers of a model are alike, so a shift by one layer matches all but the last of each pass.
_RIVAL_SHARE = 0.97
_RIVAL_COUNT = 0.4
_RIVAL_LEAST = 2
_RIVAL_SPREAD = 2


@dataclass(frozen=True)
class Pair:
    """Two series at some offset: which members match, and by how much they miss each other."""

    one: Series
    other: Series
    place: Int64
    other_place: Int64
    difference_ns: Int64
    share: float

    @property
    def spread_ns(self) -> float:
        """Median distance from the pair's own median."""
        return float(np.median(np.abs(self.difference_ns - np.median(self.difference_ns))))


@dataclass(frozen=True)
class Link:
    """How far the second of two clocks is off the first.

    Parameters
    ----------
    kind : Kind
        The collectives that tell.
    offset_ns : int
        What to add to times of the second.
    rivals_ns : tuple of int
        Other offsets that fit nearly as well.
    bias_ns : int
        By how much the offset can be wrong because the ends need not agree; 0 where they do.
    pairs : tuple of Pair
        What matched, at that offset.
    """

    kind: Kind
    offset_ns: int
    rivals_ns: tuple[int, ...]
    bias_ns: int
    pairs: tuple[Pair, ...]

    def residuals_ns(self, offset_ns: int) -> Int64:
        """Tell what stays between the ends if the second clock is corrected by `offset_ns`."""
        return _differences(self.pairs) - offset_ns


def find_link(
    ones: Iterable[Series], others: Iterable[Series], kind: Kind, expected_ns: int | None = None
) -> Link | None:
    """Find how far the clock of `others` is off that of `ones`.

    The offset is looked for among the differences of all ends, so a clock may be hours off; the
    one at which most ends of matching series meet wins. Then it is the median of the differences.

    Parameters
    ----------
    ones, others : iterable of Series
        Collectives on either clock.
    kind : Kind
        What they are.
    expected_ns : int, optional
        The offset if both clocks are right: if it holds up to jitter, no other one is looked for.

    Returns
    -------
    Link or None
        None where the two have no collectives in common, or too few to tell.
    """
    pairs = _in_common(ones, others, kind)
    if expected_ns is not None:
        link = _link_near(pairs, expected_ns, kind)
        if link is not None and abs(link.offset_ns - expected_ns) <= _JITTER_NS:
            return link
    for seed in _seeds(pairs):
        # What one pair of ranks makes likely, others are tried at.
        candidates = _candidates(*seed, kind)
        tried = [*pairs[:_PAIRS], seed]
        fits = [_agreeing(tried, at, kind) for at in _likely(*seed, candidates, kind)]
        fits = [fit for fit in fits if fit and not _by_chance(fit, kind)]
        if fits:
            best = max(fits, key=lambda fit: (_matched(fit), -_spread(fit)))
            return _link(best, candidates, kind)
    return None


def link_near(
    ones: Iterable[Series], others: Iterable[Series], kind: Kind, expected_ns: int
) -> Link | None:
    """Find how far two clocks are off where the offset is known up to the kind's tolerance."""
    return _link_near(_in_common(ones, others, kind), expected_ns, kind)


def _link_near(pairs: Sequence[tuple[Series, Series]], expected_ns: int, kind: Kind) -> Link | None:
    fit = _agreeing(pairs[:_PAIRS], expected_ns, kind)
    return _link(fit, (), kind) if fit else None


def _in_common(
    ones: Iterable[Series], others: Iterable[Series], kind: Kind
) -> list[tuple[Series, Series]]:
    """Pair series of equal name and grid; likely partners first."""
    by_key: defaultdict[tuple[object, ...], list[tuple[int, Series]]] = defaultdict(list)
    for place, one in enumerate(ones):
        by_key[one.key].append((place, one))
    ranked = []
    for place, other in enumerate(others):
        for one_place, one in by_key.get(other.key, ()):
            size = min(len(one.end_ns), len(other.end_ns))
            if size >= _LEAST_ANCHORS:
                # Launchers number ranks alike on all hosts, and the longest series tells most.
                ranked.append((abs(place - one_place), -size, one_place, place, one, other))
    ranked.sort(key=lambda entry: entry[:4])
    return [_thinned(*entry[4:], kind) for entry in ranked[:_MANY]]


def _thinned(one: Series, other: Series, kind: Kind) -> tuple[Series, Series]:
    """Of long series, keep the ends that come after the longest gaps: they tell most."""
    gap = kind.alone_ns
    longer = max(one, other, key=lambda series: len(series.end_ns)).gap_ns
    # The same limit on both sides leaves the same collectives.
    while (longer >= gap).sum() > _MANY and (longer >= 2 * gap).sum() >= _FEW:
        gap *= 2
    return (one, other) if gap == kind.alone_ns else (one.after(gap), other.after(gap))


def _seeds(pairs: Sequence[tuple[Series, Series]]) -> list[tuple[Series, Series]]:
    """Choose the pairs that are tried first: likely partners, and all partners of one rank."""
    if len(pairs) <= _SEEDS:
        return list(pairs)
    one = pairs[0][0]
    partners = [p for p in pairs[1:] if p[0].report == one.report and p[0].key == one.key]
    return [*pairs[: _SEEDS // 4], *partners][:_SEEDS]


def _candidates(one: Series, other: Series, kind: Kind) -> list[int]:
    """Find offsets at which many ends of two series meet, the most frequent first."""
    few, many = sorted((one.end_ns, other.end_ns), key=len)
    voters = few[np.unique(np.linspace(0, len(few) - 1, _VOTERS).astype(np.int64))]
    votes = (voters[:, None] - many[None, :]).ravel()
    votes = np.sort(votes if few is one.end_ns else -votes)
    found: list[int] = []
    count = np.searchsorted(votes, votes + 2 * kind.apart_ns, side="right") - np.arange(len(votes))
    while len(found) < _CANDIDATES and count.any():
        first = int(np.argmax(count))
        offset = int(np.median(votes[first : first + count[first]]))
        found.append(offset)
        count[np.abs(votes - offset) <= 4 * kind.apart_ns] = 0
    return found


def _likely(one: Series, other: Series, candidates: Iterable[int], kind: Kind) -> list[int]:
    """Keep the candidates that a pair fits, about as well as the best of them."""
    tried = [(offset, _match(one, other, offset, kind)) for offset in candidates]
    counts = [(offset, len(p.place)) for offset, p in tried if p is not None and _fits(p, kind)]
    most = max((count for _, count in counts), default=0)
    return [offset for offset, count in counts if 2 * count >= most]


def _agreeing(
    pairs: Sequence[tuple[Series, Series]], offset_ns: int, kind: Kind
) -> tuple[Pair, ...]:
    """Match all pairs at an offset, and keep those that fit it."""
    tried = (_match(one, other, offset_ns, kind) for one, other in pairs)
    fitting = tuple(pair for pair in tried if pair is not None and _fits(pair, kind))
    return fitting if _matched(fitting) >= _LEAST_ANCHORS else ()


def _fits(pair: Pair, kind: Kind) -> bool:
    return pair.share >= _LEAST_SHARE and pair.spread_ns <= kind.sharp_ns


def _by_chance(pairs: tuple[Pair, ...], kind: Kind) -> bool:
    """Tell whether some offset would match as many ends of series with nothing in common.

    Any of ``n * m`` differences may be the offset; then each further end has to meet one by chance.
    """
    best = max(pairs, key=lambda pair: len(pair.place))
    ones, others = best.one.end_ns, best.other.end_ns
    density = max(len(ends) / max(int(ends[-1] - ends[0]), 1) for ends in (ones, others))
    chance = min(2 * kind.apart_ns * density, 1.0)
    tried = math.log10(len(ones)) + math.log10(len(others))
    return tried + (len(best.place) - 1) * math.log10(chance) > _CHANCE


def _match(one: Series, other: Series, offset_ns: int, kind: Kind) -> Pair | None:
    """Match the ends of two series that are nearest to each other, at an offset made better."""
    pair = None
    for _ in range(2):
        pair = _match_once(one, other, offset_ns, kind.apart_ns)
        if pair is None:
            return None
        offset_ns = round(float(np.median(pair.difference_ns)))
    return pair


def _match_once(one: Series, other: Series, offset_ns: int, apart_ns: int) -> Pair | None:
    first = max(one.window_ns[0], other.window_ns[0] + offset_ns) + apart_ns
    last = min(one.window_ns[1], other.window_ns[1] + offset_ns) - apart_ns
    moved = other.end_ns + offset_ns
    near = _nearest(one.end_ns, moved)
    back = _nearest(moved, one.end_ns)
    place = np.arange(len(moved))
    mutual = (back[near] == place) & (np.abs(one.end_ns[near] - moved) <= apart_ns)
    seen = max(
        _count_between(one.end_ns, first, last),
        _count_between(moved, first, last),
        int(mutual.sum()),
    )
    if not mutual.any():
        return None
    kept = near[mutual]
    difference = one.end_ns[kept] - other.end_ns[mutual]
    return Pair(one, other, kept, place[mutual], difference, len(kept) / seen)


def _nearest(among: Int64, values: Int64) -> Int64:
    place = np.searchsorted(among, values)
    left, right = np.maximum(place - 1, 0), np.minimum(place, len(among) - 1)
    nearer = np.abs(values - among[left]) <= np.abs(among[right] - values)
    return np.where(nearer, left, right)


def _count_between(values: Int64, first: int, last: int) -> int:
    return int(((values >= first) & (values <= last)).sum())


def _link(best: tuple[Pair, ...], candidates: Iterable[int], kind: Kind) -> Link:
    if kind is TOGETHER:
        best = _sharpest(best)
        offset, bias = round(float(np.median(_differences(best)))), 0
    else:
        offset, bias = _between_last(best, kind)
    rivals = tuple(
        other
        for other in candidates
        if abs(other - offset) > 4 * kind.apart_ns and _is_rival(best, other, kind)
    )
    return Link(kind, offset, rivals, bias, best)


def _sharpest(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Leave out ranks of other communicators, which end nearly together but less sharply."""
    sharpest = min(p.spread_ns for p in pairs if len(p.place) >= _LEAST_ANCHORS)
    return tuple(p for p in pairs if p.spread_ns <= _RIVAL_SPREAD * sharpest + _JITTER_NS)


def _between_last(pairs: tuple[Pair, ...], kind: Kind) -> tuple[int, int]:
    """Compare the ranks that are done last on either side: they are no root, which is done first.

    Returns
    -------
    offset_ns : int
        Median of the differences between them.
    bias_ns : int
        By how much different ranks tell different offsets. A side that has one rank only can be
        the root itself.
    """
    medians = {
        (pair.one.report, pair.other.report): float(np.median(pair.difference_ns)) for pair in pairs
    }
    last = max(medians, key=lambda ranks: medians[ranks])[0]
    offset = min(value for (one, _), value in medians.items() if one == last)
    bias = max(medians.values()) - min(medians.values())
    sides = [{ranks[side] for ranks in medians} for side in (0, 1)]
    if min(map(len, sides)) == 1:
        bias = max(bias, kind.apart_ns)
    return round(offset), round(bias)


def _is_rival(best: tuple[Pair, ...], offset_ns: int, kind: Kind) -> bool:
    """Tell whether the pairs that agree about the best offset fit another one nearly as well."""
    tried = (_match(pair.one, pair.other, offset_ns, kind) for pair in best)
    fitting = [pair for pair in tried if pair is not None and _fits(pair, kind)]
    matched = _matched(fitting)
    if matched < max(_RIVAL_LEAST, _RIVAL_COUNT * _matched(best)):
        return False
    return (
        _share(fitting) >= _RIVAL_SHARE * _share(best)
        and _spread(fitting) <= _RIVAL_SPREAD * _spread(best) + _JITTER_NS
    )


def _differences(pairs: Sequence[Pair]) -> Int64:
    return np.concatenate([pair.difference_ns for pair in pairs])


def _matched(pairs: Sequence[Pair]) -> int:
    return sum(len(pair.place) for pair in pairs)


def _share(pairs: Sequence[Pair]) -> float:
    matched = _matched(pairs)
    return matched / sum(len(pair.place) / pair.share for pair in pairs)


def _spread(pairs: Sequence[Pair]) -> float:
    return float(np.median([pair.spread_ns for pair in pairs]))

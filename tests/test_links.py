"""Offsets between clocks, from collectives at random times: right, ambiguous, or none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlviz.run.collectives import BROADCASTS, KINDS, TOGETHER, Series, series_of
from rlviz.run.consensus import Party, judge
from rlviz.run.links import find_link

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.run.collectives import Kind

    Int64 = NDArray[np.int64]

MS = 1_000_000
SECOND = 1_000_000_000
TENTH_MS = 100_000


def series(ends: Int64, key: str = "all_reduce", window: tuple[int, int] | None = None) -> Series:
    ends = np.sort(ends)
    window = window or (0, int(ends[-1]) + SECOND)
    return Series(0, (key,), ends, np.diff(ends, prepend=window[0]), window, 4 * MS)


def jittered(rng: np.random.Generator, ends: Int64) -> Int64:
    sign: Int64 = rng.choice(np.array([-1, 1]), len(ends))
    return ends + rng.integers(10_000, 25_000, len(ends)) * sign


def moved(one: Series, offset: int) -> Series:
    """Give what a clock that is `offset` behind says of a series."""
    first, last = one.window_ns
    return replace(one, end_ns=one.end_ns - offset, window_ns=(first - offset, last - offset))


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(8, 300),
    offset=st.integers(-(10**14), 10**14),
    cut=st.floats(0, 0.5),
    lost=st.floats(0, 0.1),
    kind=st.sampled_from(KINDS),
)
def test_an_offset_of_any_size_is_found_though_captures_differ_and_rows_are_lost(
    seed: int, count: int, offset: int, cut: float, lost: float, kind: Kind
) -> None:
    rng = np.random.default_rng(seed)
    true = SECOND + np.cumsum(rng.integers(2 * kind.alone_ns, 2 * SECOND, count))
    start = int(cut * true[-1])
    late = (start, int(true[-1]) + SECOND)
    seen = true[true > start]
    kept = seen[rng.random(len(seen)) >= lost]
    one = series(jittered(rng, true), window=(0, late[1]))
    other = moved(series(jittered(rng, kept), window=late), offset)
    if len(kept) < max(6, 0.85 * len(seen)):
        return  # too few to tell, or too many lost to be sure that they are the same
    link = find_link([one], [other], kind)
    assert link is not None
    assert abs(link.offset_ns - offset) < TENTH_MS
    assert not link.rivals_ns


@given(seed=st.integers(0, 2**32 - 1), periods=st.integers(3, 12), each=st.integers(1, 6))
def test_equal_periods_have_rivals_one_period_away(seed: int, periods: int, each: int) -> None:
    rng = np.random.default_rng(seed)
    inside = np.cumsum(rng.integers(100 * MS, 900 * MS, each))
    true = (np.arange(periods)[:, None] * 10 * SECOND + inside[None, :]).ravel()
    window = (-SECOND, periods * 10 * SECOND)
    ones, others = (series(jittered(rng, true), window=window) for _ in range(2))
    link = find_link([ones], [moved(others, 5 * MS)], TOGETHER)
    assert link is not None
    fits = {link.offset_ns, *link.rivals_ns}
    assert any(abs(fit - 5 * MS) < TENTH_MS for fit in fits)
    assert any(abs(abs(fit - 5 * MS) - 10 * SECOND) < TENTH_MS for fit in fits)


@pytest.mark.parametrize("uneven_ns", [MS, 20 * MS])
def test_periods_that_are_nearly_equal_have_none(uneven_ns: int) -> None:
    rng = np.random.default_rng(4)
    inside = np.cumsum(rng.integers(100 * MS, 900 * MS, 10))
    starts = np.arange(8) * 10 * SECOND + rng.integers(0, uneven_ns, 8)
    true = (starts[:, None] + inside[None, :]).ravel()
    window = (-SECOND, 80 * SECOND)
    ones, others = (series(jittered(rng, true), window=window) for _ in range(2))
    link = find_link([ones], [moved(others, 5 * MS)], TOGETHER)
    assert link is not None
    assert abs(link.offset_ns - 5 * MS) < TENTH_MS
    assert not link.rivals_ns


def test_layers_that_take_equally_long_make_nothing_ambiguous() -> None:
    # sharded training gathers the weights of each layer: a shift by a layer matches nearly all
    rng = np.random.default_rng(5)
    passes = SECOND + np.cumsum(rng.integers(900 * MS, 1100 * MS, 40))
    layers = (np.arange(32) * 8 * MS)[None, :] + rng.integers(-20_000, 20_000, (40, 32))
    true = (passes[:, None] + layers).ravel()
    ones, others = (series(jittered(rng, true)) for _ in range(2))
    link = find_link([ones], [moved(others, 37 * MS)], TOGETHER)
    assert link is not None
    assert abs(link.offset_ns - 37 * MS) < TENTH_MS
    assert not link.rivals_ns


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(10, 200))
def test_series_that_have_nothing_in_common_are_not_linked(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    ones, others = (series(np.cumsum(rng.integers(10 * MS, 2 * SECOND, count))) for _ in range(2))
    assert find_link([ones], [others], TOGETHER) is None


def test_engines_that_start_together_after_a_refit_are_not_linked() -> None:
    # they do not talk to each other: each goes on when it is ready, some ms apart
    rng = np.random.default_rng(6)
    true = np.arange(1, 40) * 3 * SECOND + rng.integers(0, SECOND, 39)
    ones, others = (series(true + rng.integers(0, 4 * MS, 39)) for _ in range(2))
    assert find_link([ones], [others], TOGETHER) is None


def test_ranks_of_one_communicator_tell_and_their_neighbours_do_not_blur_it() -> None:
    # four groups across two hosts; each ends up to 0.4 ms after the others
    rng = np.random.default_rng(7)
    true = SECOND + np.cumsum(rng.integers(100 * MS, 2 * SECOND, 60))
    groups = [true + rng.integers(0, 400_000, 60) for _ in range(4)]
    ones = [series(jittered(rng, group)) for group in groups]
    others = [moved(series(jittered(rng, group)), 12 * MS) for group in groups[::-1]]
    link = find_link(ones, others, TOGETHER)
    assert link is not None
    assert abs(link.offset_ns - 12 * MS) < 20_000
    assert {pair.one.end_ns[0] - pair.other.end_ns[0] < 13 * MS for pair in link.pairs} == {True}


def test_drift_shows_in_the_residual() -> None:
    rng = np.random.default_rng(8)
    true = SECOND + np.cumsum(rng.integers(100 * MS, 2 * SECOND, 100))
    other = true + (true * 5e-6).astype(np.int64)  # 5 us a second
    link = find_link([series(true)], [series(other)], TOGETHER)
    assert link is not None
    residuals = np.abs(link.residuals_ns(link.offset_ns))
    assert np.median(residuals) > 50_000
    assert residuals.max() < MS


def test_collectives_close_to_the_one_before_are_left_out() -> None:
    end = np.array([10, 12, 14, 40, 41, 90]) * MS
    rows = pl.DataFrame(
        {
            "start": end - MS,
            "end": end,
            "pid": 1,
            "device": 0,
            "stream": 20,
            "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            **{f"grid_{axis}": [24, 24, 24, 24, 24, 24] for axis in "xyz"},
        }
    )
    (found,) = series_of(3, rows, 100 * MS, (100 * MS, 300 * MS), TOGETHER)
    assert found.end_ns.tolist() == [110 * MS, 140 * MS, 190 * MS]
    assert found.length_ns == MS
    assert not series_of(3, rows, 0, (0, 200 * MS), BROADCASTS)


def party(one: Series | None, weight: int = 1, *, fixed: bool = False) -> Party:
    own = {kind.name: [one] if one is not None and kind is TOGETHER else [] for kind in KINDS}
    return Party(own, weight, fixed)


def test_hosts_that_share_collectives_only_by_way_of_others_come_to_one_clock() -> None:
    rng = np.random.default_rng(9)
    first, second = (SECOND + np.cumsum(rng.integers(100 * MS, 2 * SECOND, 50)) for _ in range(2))
    middle = {
        "collectives": [
            moved(series(jittered(rng, first), "a"), 3 * MS),
            moved(series(jittered(rng, second), "b"), 3 * MS),
        ],
        "broadcasts": [],
    }
    verdicts = judge(
        [
            party(series(jittered(rng, first), "a"), 9),
            Party(middle, 1),
            party(moved(series(jittered(rng, second), "b"), -8 * MS), 1),
            party(None),
        ]
    )
    assert [round(verdict.offset_ns / TENTH_MS) for verdict in verdicts] == [0, 30, -80, 0]
    assert len({verdict.group for verdict in verdicts[:3]}) == 1
    assert verdicts[3].group != verdicts[0].group
    assert verdicts[3].kind is None


def test_what_the_user_fixed_is_not_moved_and_moves_nobody() -> None:
    rng = np.random.default_rng(10)
    true = SECOND + np.cumsum(rng.integers(100 * MS, 2 * SECOND, 50))
    wrong = party(moved(series(jittered(rng, true)), 500_000), 50, fixed=True)
    others = [party(series(jittered(rng, true))) for _ in range(2)]
    verdicts = judge([wrong, *others])
    assert [verdict.offset_ns for verdict in verdicts] == [0, 0, 0]
    assert np.median(np.abs(verdicts[0].residuals_ns)) == pytest.approx(500_000, abs=TENTH_MS)


def test_long_series_are_thinned_alike_on_both_sides() -> None:
    # five thousand gathers 6 to 30 ms apart, the second capture sees the last third of them
    rng = np.random.default_rng(11)
    true = SECOND + np.cumsum(rng.integers(6 * MS, 30 * MS, 5_000))
    one = series(jittered(rng, true), window=(0, int(true[-1]) + SECOND))
    late = true[3_400:]
    other = series(jittered(rng, late), window=(int(late[0]) - 5 * MS, int(true[-1]) + SECOND))
    link = find_link([one], [moved(other, 3_600 * SECOND)], TOGETHER)
    assert link is not None
    assert abs(link.offset_ns - 3_600 * SECOND) < TENTH_MS
    assert not link.rivals_ns


def test_partners_are_found_whatever_the_order_of_ranks() -> None:
    rng = np.random.default_rng(12)
    groups = [SECOND + np.cumsum(rng.integers(6 * MS, SECOND, 60)) for _ in range(24)]
    ones = [replace(series(jittered(rng, group)), report=at) for at, group in enumerate(groups)]
    others = [moved(series(jittered(rng, groups[at])), 9 * MS) for at in rng.permutation(16)]
    link = find_link(ones, others, TOGETHER)
    assert link is not None
    assert abs(link.offset_ns - 9 * MS) < TENTH_MS

"""What is drawn of a window, held against a search over all events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlviz
from rlviz.demo import write
from rlviz.levels import made, query, track
from rlviz.levels.groups import Groups
from rlviz.levels.query import MARKS, Strip, ZoomableRun, strips_of
from rlviz.levels.tally import NOTHING
from rlviz.levels.track import Track
from rlviz.run.phases import ACTIVITY
from tests.exports import Export

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

S = 1_000_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ZoomableRun:
    folder = tmp_path_factory.mktemp("run")
    write(folder, steps=2, kernels_per_gpu=4_000)
    return rlviz.load(folder)


def check_strip(strip: Strip, track: Track) -> None:
    """Compare the buckets of a strip with the events of its row."""
    width = strip.width_ns
    for i in range(0, len(strip), max(len(strip) // 40, 1)):
        left = strip.start_ns + i * width
        start, end = track.start_ns, track.end_ns
        reaches = ((start >= left) & (start < left + width)) | ((start < left) & (end > left))
        assert strip.count[i] == reaches.sum()
        busy = track.coverage.between(np.array([left, left + width]))[0]
        share = int(strip.coverage[i])
        assert (share > 0) == bool(reaches.any())
        assert abs(share / 255 - busy / width) <= 1 / 255 + 1e-9
        cut = np.minimum(end, left + width) - np.maximum(start, left)
        by_code = np.bincount(
            track.code[reaches], weights=np.maximum(cut, 0)[reaches], minlength=len(ACTIVITY)
        )
        assert strip.code[i] == (by_code.argmax() if by_code.any() else NOTHING)


@pytest.mark.parametrize("width_px", [200, 1_400, 2_000])
@pytest.mark.parametrize("share", [1.0, 0.7, 0.31])
def test_strips_are_exact_on_their_own_edges(run: ZoomableRun, share: float, width_px: int) -> None:
    random = np.random.default_rng(int(100 * share))
    for at in random.uniform(0, 60, 3):
        view = run.view(int(at * S), int((at + 70 * share) * S), width_px)
        pixel = 70 * share * S / width_px
        for strip in view.strips:
            assert pixel / 4 < strip.width_ns <= pixel
            check_strip(strip, run.tracks[strip.row])


def test_a_view_has_marks_or_strips_and_never_too_many(run: ZoomableRun) -> None:
    random = np.random.default_rng(2)
    kinds = set()
    for _ in range(60):
        start, span = random.uniform(-5, 70), 10 ** random.uniform(-5, 2)
        view = run.view(int(start * S), int((start + span) * S) + 1, 1_400)
        assert len(view.row) <= MARKS
        assert not (view.strips and len(view.row))
        assert all(len(strip) <= 2 * 1_400 + 2 for strip in view.strips)
        kinds.add(bool(view.strips))
    assert kinds == {True, False}


def test_the_events_of_a_view_are_those_of_the_window(run: ZoomableRun) -> None:
    start, end = 10 * S, 10 * S + 300_000_000
    view = run.view(start, end, 1_400, rows=[1, 5])
    assert set(view.row) == {1, 5}
    expected = [
        (row, s, e)
        for frame in (run.kernels, run.copies, run.graphs)
        for row, s, e in frame(row=[1, 5], start_ns=start, end_ns=end)
        .select("row", "start_ns", "end_ns")
        .iter_rows()
    ]
    found = zip(view.row.tolist(), view.event_start_ns, view.event_end_ns, strict=True)
    assert sorted(found) == sorted(expected)


def test_a_lone_kernel_of_two_microseconds_in_a_minute_stays_visible(tmp_path: Path) -> None:
    with Export(tmp_path / "w.sqlite", duration_ns=70 * S) as export:
        for at in range(MARKS + 10):
            export.kernel(at * 1_000, at * 1_000 + 500)
        export.kernel(30 * S, 30 * S + 2_000)
    view = rlviz.load(tmp_path).view(0, 60 * S, 1_000)
    (strip,) = view.strips
    place = (30 * S - strip.start_ns) // strip.width_ns
    assert strip.coverage[place] == 1
    assert strip.count[place] == 1
    assert (strip.coverage[place + 1 :] == 0).all()


@pytest.fixture(scope="module", autouse=True)
def _short_strides() -> Iterator[None]:
    """Let stretches of events end among few of them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (made, track):
            patch.setattr(module, "STRIDE", 3)
        yield


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 900), st.integers(0, 200)), min_size=1, max_size=30),
    st.integers(-50, 900),
    st.integers(1, 600),
    st.integers(1, 90),
    st.sampled_from([3, 1_000]),
)
def test_any_window_of_any_track_equals_a_sweep(
    drawn: list[tuple[int, int]], at: int, span: int, width_px: int, most: int
) -> None:
    table = np.array(sorted(drawn), np.int64)
    start, end = table[:, 0], table[:, 0] + table[:, 1]
    code = (np.arange(len(start)) % len(ACTIVITY)).astype(np.uint8)
    name = np.arange(len(start), dtype=np.int32)
    none = np.zeros(len(start), np.uint8)
    groups = Groups((), none, none, (0,))
    own = Track.of(0, start, end, name, code, groups)
    later = Track.of(1, start + 7, end + 7, name, code, groups)
    pixel_ns = max(span // width_px, 1)
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("_MOST_FRESH", "_BATCH"):
            patch.setattr(query, limit, most)
        both = strips_of([own, later], at, at + span, pixel_ns)
    assert all(strip.width_ns <= (2 if most == 3 else 1) * pixel_ns for strip in both)
    for strip, its in zip(both, (own, later), strict=True):
        check_strip(strip, its)
    reaches = ((start >= at) & (start < at + span)) | ((start < at) & (end > at))
    assert own.inside(at, at + span).tolist() == np.flatnonzero(reaches).tolist()


@pytest.mark.parametrize(("start", "end", "width"), [(5, 5, 100), (5, 4, 100), (0, 5, 0)])
def test_a_window_without_width_is_an_error(
    run: ZoomableRun, start: int, end: int, width: int
) -> None:
    with pytest.raises(ValueError, match="no width"):
        run.view(start, end, width)

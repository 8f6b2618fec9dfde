"""Traces for Perfetto: everything is in them, on its track, at its time, and nothing private."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlviz
from rlviz import Timeline
from rlviz.demo import write
from rlviz.errors import RlvizError, UnreadableReport
from rlviz.out import packets
from rlviz.out.tracks import nested
from rlviz.run.nesting import depth
from tests.exports import SECRET, UTC_NS, Export
from tests.hostile import HOSTILE, write_hostile
from tests.traces import Slice, Trace, read_trace, trace_pb2

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.levels.query import ZoomableRun


def saved(run: ZoomableRun, folder: Path) -> Trace:
    return read_trace(Timeline(run).save(folder / "x.pftrace").read_bytes())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ZoomableRun:
    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=2, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=900)
    return rlviz.load(folder)


@pytest.fixture(scope="module")
def trace(run: ZoomableRun, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return saved(run, tmp_path_factory.mktemp("trace"))


def row_names(run: ZoomableRun) -> dict[int, str]:
    """Name of each row's track."""
    return {
        row: " ".join(f"{label} · {host}".split())
        for row, label, host in run.rows.select("row", "label", "host").iter_rows()
    }


def of(trace: Trace, *track: str) -> list[Slice]:
    """Slices of the tracks whose last name begins so, below a track of each other name."""
    return [
        one
        for one in trace.slices
        if one.track[-1].startswith(track[-1]) and set(track[:-1]) <= set(one.track)
    ]


def test_every_kernel_is_on_the_track_of_its_row_and_stream(run: ZoomableRun, trace: Trace) -> None:
    names = row_names(run)
    expected = Counter(
        (names[one["row"]], f"Stream {one['stream']}", one["short_name"], one["name"], *_times(one))
        for one in run.kernels().iter_rows(named=True)
    )
    found = Counter(
        (s.track[1], s.track[2], s.name, s.full_name or s.name, s.start_ns, s.end_ns)
        for s in of(trace, "Stream ")
        if ":" not in s.track[2]
    )
    assert found == expected


def test_every_copy_is_there_and_no_kernel_is_among_them(run: ZoomableRun, trace: Trace) -> None:
    expected = Counter((c["name"], *_times(c)) for c in run.copies().iter_rows(named=True))
    found = [s for s in of(trace, "Stream ") if s.track[2].endswith(": copies")]
    assert Counter((s.name, s.start_ns, s.end_ns) for s in found) == expected
    assert {s.category for s in found} == {"copy"}


def test_kernels_that_communicate_are_told_from_those_that_compute(trace: Trace) -> None:
    kernels = [s for s in of(trace, "Stream ") if ":" not in s.track[2]]
    assert {s.category for s in kernels} == {"compute", "communication"}
    assert {s.category for s in kernels if "nccl" in s.name} == {"communication"}


def test_ranges_nest_as_they_did(run: ZoomableRun, trace: Trace) -> None:
    names = row_names(run)
    expected = Counter(
        (names[one["row"]], one["name"], one["domain"] or "nvtx", one["depth"], *_times(one))
        for one in run.ranges().iter_rows(named=True)
    )
    found = Counter(
        (s.track[1], s.name, s.category, s.depth, s.start_ns, s.end_ns) for s in of(trace, "NVTX")
    )
    assert found == expected
    threads = {s.track[2] for s in of(trace, "NVTX")}
    assert any("pt_autograd_0" in one for one in threads)


def test_iterations_phases_and_windows_have_tracks(run: ZoomableRun, trace: Trace) -> None:
    iterations = run.iterations
    assert [s.name for s in of(trace, "Iterations")] == [
        "Iteration 3 (partial)",
        "Iteration 4",
        "Iteration 5",
    ]
    assert [s.name for s in of(trace, "Iterations", "Train")] == ["Train 3", "Train 4", "Train 5"]
    assert [s.name for s in of(trace, "Iterations", "Gen")] == ["Gen 2", "Gen 3", "Gen 4"]
    refits = [(s.start_ns, s.end_ns) for s in of(trace, "Iterations", "Refit")]
    assert refits == list(iterations.select("refit_start_ns", "refit_end_ns").iter_rows())
    phases = Counter((s.name, s.start_ns, s.end_ns) for s in of(trace, "Phases"))
    assert phases == Counter((p["phase"], *_times(p)) for p in run.phases().iter_rows(named=True))
    windows = run.reports.select("window_start_ns", "window_end_ns").iter_rows()
    assert sorted((s.start_ns, s.end_ns) for s in of(trace, "Captured")) == sorted(windows)
    assert {s.name for s in of(trace, "Findings")} == set(run.findings["text"])


def test_pools_and_rows_stand_in_the_order_of_the_chart(run: ZoomableRun, trace: Trace) -> None:
    tops = [d for d in trace.descriptors.values() if not d.parent_uuid]
    tops.sort(key=lambda one: one.sibling_order_rank)
    assert [d.name for d in tops] == ["Iterations", "Pool: generation", "Pool: training"]
    rows = [d for u, d in trace.descriptors.items() if len(trace.tracks[u]) == 2]
    rows = [d for d in rows if d.name.startswith("GPU")]
    assert [d.name for d in rows] == list(row_names(run).values())
    assert all(
        f"host {host}" in d.description for d, host in zip(rows, run.rows["host"], strict=True)
    )


def test_busy_shares_are_those_of_the_run(run: ZoomableRun, trace: Trace) -> None:
    for pool in ("generation", "training"):
        counter = trace.counters[f"Pool: {pool}",]
        times, values = np.array(counter).T
        busy = run.busy(by="row").join(run.rows.select("row", "pool"), on="row")
        own = busy.filter(pl.col("pool") == pool).select(pl.col("end_ns") - pl.col("start_ns"))
        gpus = (run.rows["pool"] == pool).sum()
        summed = (values[:-1] * np.diff(times)).sum() / 100 * gpus
        assert summed == pytest.approx(own.sum().item(), rel=1e-3)
        assert values[-1] == 0


def test_a_gpu_that_was_not_captured_then_is_not_taken_for_idle(tmp_path: Path) -> None:
    for pid, start_ns in ((1, 0), (2, 600_000_000)):
        path = tmp_path / f"dtensor_policy_worker_{pid}:4_{pid}.sqlite"
        with Export(path, pid=pid, utc_ns=UTC_NS + start_ns, duration_ns=400_000_000) as export:
            export.gpu(f"gpu-{pid}", f"0000:1{pid}:00.0")
            export.kernel(0, 400_000_000)
            export.push_pop(0, 400_000_000, "policy_worker/train")
    run = rlviz.load(tmp_path)
    assert set(run.rows["pool"]) == {"training"}
    counter = saved(run, tmp_path).counters["Pool: training",]
    assert {round(value) for time, value in counter if time < 399_000_000} == {100}
    assert {round(value) for time, value in counter if 600_000_000 < time < 999_000_000} == {100}


def test_a_row_without_gpu_data_says_so(tmp_path: Path) -> None:
    with Export(tmp_path / "policy_worker_1.sqlite") as export:
        export.push_pop(0, 100, "policy_worker/train")
    trace = saved(rlviz.load(tmp_path), tmp_path)
    told = [one.description for one in trace.descriptors.values()]
    assert sum("its busy time is unknown" in one for one in told) == 1
    assert not trace.counters


def test_utc_of_second_0_is_told(run: ZoomableRun, trace: Trace) -> None:
    assert trace.clocks == {6: 0, 1: run.start_utc_ns}


def test_what_comes_before_the_run_has_a_time_too(tmp_path: Path) -> None:
    with Export(tmp_path / "a.sqlite", utc_ns=UTC_NS) as export:
        export.push_pop(0, 500, "early")
    with Export(tmp_path / "b.sqlite", pid=2, utc_ns=UTC_NS + 2_000) as export:
        export.gpu("a-uuid", "0000:19:00.0")
        export.kernel(0, 10)
    run = rlviz.load(tmp_path)
    assert run.ranges()["start_ns"].to_list() == [-2_000]
    trace = saved(run, tmp_path)
    assert [(s.start_ns, s.end_ns) for s in of(trace, "NVTX")] == [(0, 500)]
    assert [(s.start_ns, s.end_ns) for s in of(trace, "Stream")] == [(2_000, 2_010)]
    assert trace.clocks == {6: 2_000, 1: run.start_utc_ns}


def test_what_overlaps_on_a_stream_is_kept_apart_under_one_name(tmp_path: Path) -> None:
    spans = [(0, 100), (50, 150), (60, 70), (100, 100), (100, 120), (150, 160)]
    with Export(tmp_path / "a.sqlite") as export:
        export.gpu("a-uuid", "0000:19:00.0")
        for start, end in spans:
            export.kernel(start, end)
            export.start_end(start, end, "loose")
    trace = saved(rlviz.load(tmp_path), tmp_path)
    for track in ("Stream", "NVTX: start/end"):
        found = of(trace, track)
        assert sorted((s.start_ns, s.end_ns) for s in found) == sorted(spans)
        assert {s.depth for s in found} == {0}
        assert len({s.track for s in found}) == 1
    assert len([1 for names in trace.tracks.values() if names[-1].startswith("Stream")]) == 3


def test_marks_and_ranges_without_length_nest(tmp_path: Path) -> None:
    with Export(tmp_path / "a.sqlite") as export:
        export.gpu("a-uuid", "0000:19:00.0")
        export.kernel(0, 10)
        export.push_pop(0, 100, "outer")
        export.push_pop(0, 50, "inner")
        export.push_pop(50, 50, "empty")
        export.push_pop(50, 100, "next")
        export.mark(50, "mark")
    trace = saved(rlviz.load(tmp_path), tmp_path)
    found = {s.name: (s.start_ns, s.end_ns, s.depth) for s in of(trace, "NVTX")}
    assert found == {
        "outer": (0, 100, 0),
        "inner": (0, 50, 1),
        "next": (50, 100, 1),
        "empty": (50, 50, 2),
        "mark": (50, None, 2),
    }


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=12), st.data())
def test_nested_events_open_and_close_as_depths_are_counted(
    tops: list[tuple[int, int]], data: st.DataObject
) -> None:
    spans = _nest(tops, data)
    start, end = (np.array([s[i] for s in spans], np.int64) for i in (0, 1))
    record, time, kind = nested(np.zeros(len(spans), int), start, end, np.zeros(len(spans), bool))
    open_now: list[int] = []
    depths = {}
    assert (np.diff(time) >= 0).all()
    for own, what in zip(record.tolist(), kind.tolist(), strict=True):
        if what == packets.BEGIN:
            depths[own] = len(open_now)
            open_now.append(own)
        else:
            # Ends have no names: of two that close together it does not matter which is first.
            assert spans[open_now.pop()][1] == spans[own][1]
    expected = depth(np.zeros(len(spans), np.int64), start, end)
    solid = [i for i, (s, e) in enumerate(spans) if e > s]
    assert sorted((spans[i], depths[i]) for i in solid) == sorted(
        (spans[i], int(expected[i])) for i in solid
    )


def _nest(tops: list[tuple[int, int]], data: st.DataObject) -> list[tuple[int, int]]:
    """Lay spans one after the other, and some inside of them."""
    spans, at = [], 0
    for gap, length in tops:
        start = at + gap
        at = start + length
        spans.append((start, at))
        inner = start
        while inner < at and data.draw(st.booleans()):
            end = data.draw(st.integers(inner, at))
            spans.append((inner, end))
            inner = end if end > inner else at
    return sorted(spans, key=lambda one: (one[0], -one[1]))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**62),
            st.sampled_from([packets.BEGIN, packets.END, packets.INSTANT]),
            st.integers(1, 2**40),
            st.integers(0, 2**21),
            st.integers(1, 300),
            st.integers(0, 2**33),
        ),
        max_size=8,
    )
)
def test_numbers_of_any_size_are_encoded_as_the_library_decodes_them(
    events: list[tuple[int, ...]],
) -> None:
    columns = [np.array(column, np.int64) for column in zip(*events, strict=True)]
    encoded = b"".join(packets.event_packets(*columns)) if events else b""
    found = []
    for packet in trace_pb2.Trace.FromString(encoded).packet:
        event = packet.track_event
        full = [one.string_value_iid for one in event.debug_annotations]
        named = event.type != packets.END
        found.append((packet.timestamp, event.type, event.track_uuid, event.name_iid))
        assert list(event.category_iids) == ([events[len(found) - 1][4]] if named else [])
        assert full == ([events[len(found) - 1][5]] if named and events[len(found) - 1][5] else [])
    assert found == [(*e[:3], e[3] if e[1] != packets.END else 0) for e in events]


def test_the_same_run_gives_the_same_bytes(run: ZoomableRun, tmp_path: Path) -> None:
    first, second = (Timeline(run).save(tmp_path / f"{n}.pftrace") for n in (1, 2))
    assert first.read_bytes() == second.read_bytes()


def test_hostile_names_are_text(tmp_path: Path) -> None:
    run = rlviz.load(write_hostile(tmp_path / "reports"))
    names = {s.name for s in of(saved(run, tmp_path), "NVTX")}
    plain = {name for name in HOSTILE if "\0" not in name and name.strip()}
    assert plain <= names


def test_nothing_of_the_machine_or_its_environment_is_in_it(tmp_path: Path) -> None:
    with Export(tmp_path / "reports" / "policy_worker_1.sqlite") as export:
        export.gpu("a-uuid", "0000:19:00.0")
        export.kernel(0, 10)
        export.push_pop(0, 100, "policy_worker/train")
    data = Timeline(rlviz.load(tmp_path / "reports")).save(tmp_path / "x.pftrace").read_bytes()
    assert SECRET.encode() not in data
    assert str(tmp_path).encode() not in data
    assert b".sqlite" not in data


def test_an_anonymous_run_has_no_names_of_hosts(tmp_path: Path) -> None:
    with Export(tmp_path / "a.sqlite", host="secret-host") as export:
        export.gpu("secret-uuid", "0000:19:00.0")
        export.kernel(0, 10)
    run = rlviz.load(tmp_path, anonymize=True)
    assert b"secret-" not in Timeline(run).save(tmp_path / "x.pftrace").read_bytes()


def test_a_report_that_is_gone_leaves_no_half_trace(tmp_path: Path) -> None:
    write(tmp_path / "run", hosts=1, policy_gpus=1, generation_gpus=1, steps=1, kernels_per_gpu=200)
    timeline = Timeline(rlviz.load(tmp_path / "run"))
    max((tmp_path / "run").rglob("*.sqlite")).unlink()
    (tmp_path / "x.pftrace").write_text("an earlier one")
    with pytest.raises(UnreadableReport):
        timeline.save(tmp_path / "x.pftrace")
    assert (tmp_path / "x.pftrace").read_text() == "an earlier one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "x.pftrace"]


def test_a_trace_takes_no_options_and_a_comparison_makes_none(
    run: ZoomableRun, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="a trace shows the whole run and takes no iteration"):
        Timeline(run).save(tmp_path / "x.pftrace", iteration=4)
    with pytest.raises(ValueError, match="only a page takes detail"):
        Timeline(run).save(tmp_path / "x.pftrace", detail=False)
    with pytest.raises(RlvizError, match=r"cannot save as \.pftrace"):
        rlviz.Comparison({"a": run, "b": run}).save(tmp_path / "x.pftrace")


def test_its_own_trace_processor_reads_it(run: ZoomableRun, tmp_path: Path) -> None:
    """The package downloads its program, so it is asked only where there is one already."""
    program = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if program is None:
        pytest.skip("no trace_processor_shell on the PATH; tests/browser asks the one of the UI")
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    path = Timeline(run).save(tmp_path / "x.pftrace")
    processor: Any = TraceProcessor(str(path), config=TraceProcessorConfig(bin_path=program))
    (counted,) = processor.query("select count(*) n from slice where category = 'compute'")
    processor.close()
    kinds = run.rules.communication.matches(run.kernels()["short_name"])
    assert counted.n == (~kinds).sum()


def _times(one: dict[str, Any]) -> tuple[int, int]:
    return one["start_ns"], one["end_ns"]

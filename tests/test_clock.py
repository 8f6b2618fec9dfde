"""One clock: reports of several hosts stand where they were, or it is said that nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from tests.exports import UTC_NS, Export
from tests.extremes import least, most
from tests.ranks import MS, SECOND, Simulated, ends_of, rank, simulated
from tests.shared import REPORTS, needs_shared, truth
from tests.small_reports import told

if TYPE_CHECKING:
    from pathlib import Path

HOUR_MS = 3_600_000
TENTH_MS = 100_000
NEW = "3.25.0"  # has the system clock
IDENTICAL = {"identical_steps": True, "steps": 3}


def places(run: rlviz.Run) -> dict[str, int]:
    """Where each report starts, by its first kernel's known host."""
    return dict(run.reports.select("report", "window_start_ns").iter_rows())


def methods(run: rlviz.Run) -> list[str]:
    found: list[str] = run.reports["alignment"].to_list()
    return found


# -- skews between hosts, against the truth of simulated runs -------------------------------------


@pytest.mark.parametrize(
    ("skew_ms", "straggler"),
    [
        *((skew, None) for skew in (0.3, 12, 37, 250, -37, 2 * HOUR_MS, -2 * HOUR_MS)),
        *((skew, 2) for skew in (0.3, 12, 37, 250, 2 * HOUR_MS)),
        (37, 0),
    ],
)
def test_a_skew_between_hosts_is_taken_out_to_a_tenth_of_a_millisecond(
    skew_ms: float, straggler: int | None
) -> None:
    loaded = simulated(clock_skew_ms=skew_ms, slow_training_rank=straggler)
    assert max(map(abs, loaded.errors_ns().values())) < TENTH_MS
    lines = loaded.run.reports.filter(pl.col("host") == "node-2")
    assert set(lines["alignment"]) == {"collectives"}
    assert most((lines["offset_ns"] + round(skew_ms * MS)).abs()) < TENTH_MS
    assert most(lines["residual_median_ns"]) < 50_000
    assert most(lines["residual_worst_ns"]) < TENTH_MS
    assert least(lines["anchors"]) >= 20
    (line,) = told(loaded.run, "clock-corrected")
    assert line["severity"] == ("warning" if abs(skew_ms) > 50 else "info")
    assert "node-2" in line["message"]
    assert "node-2" in loaded.run.clock


@pytest.mark.parametrize(
    "options",
    [
        {"framework": "verl", "captures": 2},
        {"colocated": True},
        {"graphs": "lost"},
        {"nsys": "2026.2"},
        {"missing_rank": 1},
        {"exposed_communication": True},
        {"framework": "rlinf"},
        {"steps": 1},
        {"hosts": 4},
    ],
    ids=str,
)
def test_a_skew_is_taken_out_of_runs_of_every_kind(options: dict[str, Any]) -> None:
    loaded = simulated(clock_skew_ms=37, **options)
    assert max(map(abs, loaded.errors_ns().values())) < TENTH_MS
    assert "collectives" in methods(loaded.run)


@needs_shared
def test_the_skew_of_a_run_by_other_hands_is_taken_out() -> None:
    folder, answer = truth("nemo_skew")
    loaded = Simulated(folder, rlviz.load(folder), answer)
    assert max(map(abs, loaded.errors_ns().values())) < TENTH_MS
    offsets = dict(loaded.run.reports.group_by("host").agg(pl.col("offset_ns").unique()).rows())
    assert offsets["node-1"] == [0]
    assert abs(offsets["node-2"][0] + 37_200_000) < TENTH_MS


@pytest.mark.parametrize("options", [{}, {"nsys": "2026.2"}, {"framework": "verl"}], ids=str)
def test_utc_that_is_right_stays_as_it_is_to_the_nanosecond(options: dict[str, Any]) -> None:
    # ends of collectives jitter by 20 to 50 us: to correct by that would be to add an error
    loaded = simulated(**options)
    assert set(loaded.errors_ns().values()) == {0}
    assert set(loaded.run.reports["offset_ns"]) == {0}
    assert set(methods(loaded.run)) <= {"utc", "system_clock"}
    gpu = loaded.run.reports.filter(pl.col("role") != "controller")
    assert gpu["residual_median_ns"].is_between(5_000, 50_000).all()
    assert not told(loaded.run, "clock-corrected")
    assert "hosts agree to" in loaded.run.clock


def test_hosts_that_most_reports_agree_with_are_right() -> None:
    loaded = simulated(
        hosts=4, policy_gpus=4, generation_gpus=4, clock_skew_ms={"node-1": -90.0, "node-3": 5.0}
    )
    assert max(map(abs, loaded.errors_ns().values())) < TENTH_MS
    offset = dict(loaded.run.reports.select("host", "offset_ns").iter_rows())
    assert offset["node-2"] == offset["node-4"] == 0
    assert abs(offset["node-1"] - 90 * MS) < TENTH_MS
    assert abs(offset["node-3"] + 5 * MS) < TENTH_MS


# -- ambiguous ------------------------------------------------------------------------------------


@pytest.mark.parametrize("skew_ms", [37, 2 * HOUR_MS, -2 * HOUR_MS])
def test_equal_steps_make_a_wrong_clock_ambiguous_and_set_it_apart(skew_ms: float) -> None:
    loaded = simulated(**IDENTICAL, clock_skew_ms=skew_ms)
    lines = loaded.run.reports.filter(pl.col("host") == "node-2")
    assert set(lines["alignment"]) == {"ambiguous"}
    assert set(lines["status"]) == {"apart"}
    assert lines["window_start_ns"].null_count() == lines["offset_ns"].null_count() == len(lines)
    named = [line["report"] for line in told(loaded.run, "clock-ambiguous")]
    assert sorted(named) == sorted(lines["report"])
    assert "ambiguous" in loaded.run.clock
    # nothing of it is on the axis, so the chart is not hours wide
    assert set(loaded.run.rows["host"]) == {"node-1"}
    windows = loaded.run.reports
    span = most(windows["window_end_ns"]) - least(windows["window_start_ns"])
    assert span < 120 * SECOND
    assert most(loaded.run.kernels()["end_ns"]) < 120 * SECOND
    assert set(loaded.errors_ns().values()) == {0}


def test_equal_steps_are_not_ambiguous_where_utc_is_right() -> None:
    loaded = simulated(**IDENTICAL)
    assert set(methods(loaded.run)) == {"utc"}
    assert set(loaded.errors_ns().values()) == {0}


def test_an_ambiguous_clock_is_placed_by_what_the_user_says() -> None:
    loaded = simulated(**IDENTICAL, clock_skew_ms=2 * HOUR_MS)
    run = rlviz.load(loaded.folder, offsets={"node-2": -7200.0})
    corrected = Simulated(loaded.folder, run, loaded.truth)
    assert set(corrected.errors_ns().values()) == {0}
    assert len(corrected.errors_ns()) == 8
    assert methods(run) == ["utc"] * 4 + ["user"] * 4
    assert set(run.rows["host"]) == {"node-1", "node-2"}


# -- what the user says ---------------------------------------------------------------------------


def test_an_offset_of_a_report_or_of_its_host_is_added_in_seconds(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        rank(tmp_path / f"w_{number}.sqlite", ends_of(0)[0], pid=number, host=f"node-{number}")
    plain = places(rlviz.load(tmp_path))
    assert set(plain.values()) == {0}
    run = rlviz.load(tmp_path, offsets={"node-2": 1.5, "w_3.sqlite": 2})
    assert places(run) == {"w_1.sqlite": 0, "w_2.sqlite": 1_500_000_000, "w_3.sqlite": 2 * SECOND}
    assert run.reports["offset_ns"].to_list() == [0, 1_500_000_000, 2 * SECOND]
    assert methods(run) == ["utc", "user", "user"]
    assert len(told(run, "clock-by-hand")) == 2


def test_the_user_has_the_last_word_and_the_residual_says_how_well_it_fits() -> None:
    loaded = simulated(clock_skew_ms=37)
    run = rlviz.load(loaded.folder, offsets={"node-2": -0.0365})
    lines = run.reports.filter(pl.col("host") == "node-2")
    assert set(lines["offset_ns"]) == {-36_500_000}
    assert set(run.reports.filter(pl.col("host") == "node-1")["offset_ns"]) == {0}
    assert lines["residual_median_ns"].to_list() == pytest.approx([500_000] * 4, abs=TENTH_MS)


@pytest.mark.parametrize(
    ("offsets", "problem"),
    [
        ({"node-9": 1.0}, "no host and no report; there are node-1, w.sqlite"),
        ({"node-1": -37_200_000}, "looks like nanoseconds"),
        ({"node-1": float("nan")}, "no number of seconds"),
        ({"node-1": float("inf")}, "no number of seconds"),
        ({"node-1": "2 h"}, "no number of seconds"),
        ({"node-1": True}, "no number of seconds"),
        ({"node-1": None}, "no number of seconds"),
        ({"node-1": 10**400}, "no number of seconds"),
    ],
    ids=str,
)
def test_an_offset_that_cannot_be_is_refused(
    tmp_path: Path, offsets: dict[str, Any], problem: str
) -> None:
    rank(tmp_path / "w.sqlite", ends_of(0)[0])
    with pytest.raises(ValueError, match=problem):
        rlviz.load(tmp_path, offsets=offsets)


# -- the system clock -----------------------------------------------------------------------------


def test_a_step_of_utc_between_reports_of_one_host_changes_nothing_where_nsys_is_new() -> None:
    loaded = simulated(nsys="2026.2", hosts=1, utc_step_ms=80)
    assert set(methods(loaded.run)) == {"system_clock"}
    assert set(loaded.errors_ns().values()) == {0}
    (line,) = told(loaded.run, "utc-stepped")
    assert "node-1" in line["message"]


def test_the_system_clock_of_older_nsys_is_the_launch_of_a_session_and_no_clock(
    tmp_path: Path,
) -> None:
    # startTime 20 s apart, both capture at once: adding it would put them 20 s apart
    for number, launch in ((1, 2 * SECOND), (2, 22 * SECOND)):
        rank(tmp_path / f"w_{number}.sqlite", ends_of(0)[0], pid=number, launch_ns=launch)
    run = rlviz.load(tmp_path)
    assert places(run) == {"w_1.sqlite": 0, "w_2.sqlite": 0}
    assert methods(run) == ["utc", "utc"]


def test_two_machines_do_not_share_a_system_clock(tmp_path: Path) -> None:
    # one name, boots a day apart: by system clock they would stand a day apart
    day = 86_400 * SECOND
    for number in (1, 2):
        path = tmp_path / f"w_{number}.sqlite"
        clock_ns = number * day
        rank(path, ends_of(0)[0], pid=number, schema=NEW, system_clock_ns=clock_ns)
    run = rlviz.load(tmp_path)
    assert places(run) == {"w_1.sqlite": 0, "w_2.sqlite": 0}
    assert methods(run) == ["utc", "utc"]
    assert run.rows["host"].to_list() == ["node-1", "node-1 (2)"]


@needs_shared
@pytest.mark.parametrize("folder", ["rl-run-2022.4", "rl-run-2023.4"])
def test_real_reports_of_older_nsys_stand_by_utc_and_it_is_said(folder: str) -> None:
    run = rlviz.load(REPORTS / folder)
    assert set(methods(run)) == {"utc"}
    assert run.clock == "Clock: UTC"
    assert (run.reports["window_start_ns"] + run.start_utc_ns).to_list() == run.reports[
        "utc_start_ns"
    ].to_list()


# -- without collectives --------------------------------------------------------------------------


def test_hosts_without_collectives_stand_by_utc_and_it_is_said(tmp_path: Path) -> None:
    for number in (1, 2):
        path = tmp_path / f"w_{number}.sqlite"
        with Export(path, pid=number, host=f"node-{number}", utc_ns=UTC_NS + number) as export:
            export.kernel(100, 200)
    run = rlviz.load(tmp_path)
    assert places(run) == {"w_1.sqlite": 0, "w_2.sqlite": 1}
    assert methods(run) == ["utc", "utc"]
    assert run.reports["residual_median_ns"].null_count() == 2
    assert run.reports["anchors"].to_list() == [0, 0]
    (line,) = told(run, "clock-by-utc")
    assert "node-1, node-2" in line["message"]
    assert run.clock == "Clock: UTC, nothing tells how well hosts agree"


@pytest.mark.parametrize("gap_s", [-7200, 7200])
def test_a_clock_that_is_hours_off_and_cannot_be_checked_is_set_apart(
    tmp_path: Path, gap_s: int
) -> None:
    for number, gap in ((1, 0), (2, 0), (3, gap_s)):
        path = tmp_path / f"w_{number}.sqlite"
        utc_ns = UTC_NS + gap * SECOND + number
        with Export(path, pid=number, host=f"node-{number}", utc_ns=utc_ns) as export:
            export.kernel(100, 200)
    run = rlviz.load(tmp_path)
    assert methods(run) == ["utc", "utc", "far"]
    assert run.reports["status"].to_list() == ["partial", "partial", "apart"]
    assert most(run.kernels()["end_ns"]) < SECOND
    assert [line["report"] for line in told(run, "clock-far")] == ["w_3.sqlite"]
    # unless the user says that it is right
    run = rlviz.load(tmp_path, offsets={"node-3": 0})
    assert methods(run) == ["utc", "utc", "user"]
    assert run.rows.height == 3


def test_reports_of_runs_on_different_days_are_told(tmp_path: Path) -> None:
    for pid, days in ((1, 0), (2, 1), (3, 400)):
        at = UTC_NS + days * 86_400 * SECOND
        rank(tmp_path / f"w_{pid}.sqlite", ends_of(pid)[0], pid=pid, utc_ns=at)
    (line,) = told(rlviz.load(tmp_path), "long-pause")
    assert line["report"] == "w_3.sqlite"
    assert "399.0 days after w_2.sqlite" in line["message"]


def test_hosts_captured_minutes_apart_are_not_set_apart(tmp_path: Path) -> None:
    for number, gap in ((1, 0), (2, 300)):
        path = tmp_path / f"w_{number}.sqlite"
        utc_ns = UTC_NS + gap * SECOND
        with Export(path, pid=number, host=f"node-{number}", utc_ns=utc_ns) as export:
            export.kernel(100, 200)
    assert rlviz.load(tmp_path).rows.height == 2


def test_a_report_without_start_time_is_placed_by_its_collectives(tmp_path: Path) -> None:
    ends = ends_of(3)
    rank(tmp_path / "w_1.sqlite", ends[0], pid=1, host="node-1")
    late = 7 * SECOND
    rank(tmp_path / "w_2.sqlite", ends[1], pid=2, host="node-2", start_ns=late, utc_ns=None)
    run = rlviz.load(tmp_path)
    assert abs(places(run)["w_2.sqlite"] - late) < TENTH_MS
    assert methods(run) == ["utc", "collectives"]
    assert run.reports["offset_ns"].to_list() == [0, None]
    assert not told(run, "not-aligned")


def test_a_report_without_start_time_takes_the_place_that_the_user_gives(tmp_path: Path) -> None:
    rank(tmp_path / "w_1.sqlite", ends_of(3)[0], pid=1)
    rank(tmp_path / "w_2.sqlite", ends_of(4)[0], pid=2, utc_ns=None)
    run = rlviz.load(tmp_path)
    assert methods(run) == ["utc", "none"]
    assert [line["report"] for line in told(run, "not-aligned")] == ["w_2.sqlite"]
    run = rlviz.load(tmp_path, offsets={"w_2.sqlite": 3.25})
    assert places(run)["w_2.sqlite"] == 3_250_000_000
    assert methods(run) == ["utc", "user"]
    assert not told(run, "not-aligned")


def test_a_start_time_that_no_clock_shows_is_none(tmp_path: Path) -> None:
    rank(tmp_path / "w_1.sqlite", ends_of(3)[0], pid=1)
    rank(tmp_path / "w_2.sqlite", ends_of(4)[0], pid=2, utc_ns=2**63 - 1)
    assert methods(rlviz.load(tmp_path)) == ["utc", "none"]

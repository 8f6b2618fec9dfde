"""The run's frames: their columns, their types, and that every real report gives one."""

from __future__ import annotations

import gc
import hashlib
import re
import sqlite3
import warnings
from contextlib import suppress
from functools import cache
from itertools import permutations
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import pytest
from polars.testing import assert_frame_equal

import rlviz
from rlviz.errors import RlvizError
from rlviz.run.columns import schema
from tests.exports import SECRET, UTC_NS, Export
from tests.leaks import leaks
from tests.schema import GENERATIONS
from tests.shared import REPORTS, SIM, needs_shared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl

    from rlviz import Run

FRAMES = [
    "reports",
    "rows",
    "diagnostics",
    "kernels",
    "copies",
    "graphs",
    "ranges",
    "marks",
    "busy",
    "phases",
    "iterations",
    "summary",
    "summary_by_gpu",
    "gaps",
    "top_kernels",
]
TIMED = ["kernels", "copies", "graphs", "ranges", "marks", "busy"]
CALLED: dict[str, Callable[[Run], pl.DataFrame]] = {
    **{name: methodcaller(name) for name in (*TIMED, "phases", "gaps", "summary", "top_kernels")},
    "summary_by_gpu": lambda run: run.summary(by="gpu"),
}
every_frame = pytest.mark.parametrize("name", FRAMES)
real = sorted(
    [*REPORTS.glob("public/*.sqlite"), *REPORTS.glob("edge/*.sqlite"), *REPORTS.glob("rl-run-*")]
)
every_real_report = pytest.mark.parametrize("path", real, ids=lambda path: path.name)


def frame(run: Run, name: str) -> pl.DataFrame:
    made: pl.DataFrame = CALLED[name](run) if name in CALLED else getattr(run, name)
    return made


@cache
def load(path: Path) -> Run:
    return rlviz.load(path)


def write(path: Path, **settings: Any) -> Path:
    with Export(path, **settings) as export:
        export.gpu(f"gpu-{export.pid}", f"0000:{export.pid:02x}:00.0")
        export.domain(1, "NCCL")
        export.kernel(100, 200)
        export.copy(150, 300)
        export.graph(400, 500)
        export.push_pop(90, 210, "train")
        export.start_end(95, 260, "request", domain=1)
        export.mark(300, "done")
    return path


def nothing(path: Path) -> Path:
    with Export(path):
        pass
    return path


# -- columns ---------------------------------------------------------------------------------


@every_frame
@pytest.mark.parametrize("fill", [write, nothing])
def test_columns_and_types_are_the_documented_ones(
    tmp_path: Path, name: str, fill: Callable[[Path], Path]
) -> None:
    run = rlviz.load(fill(tmp_path / "vllm_generation_worker_1.sqlite"))
    assert dict(frame(run, name).schema) == schema(name)
    assert list(frame(run, name).columns) == list(schema(name))
    if name in TIMED:
        assert frame(run, name).is_empty() == (fill is nothing)


@pytest.mark.parametrize("name", TIMED)
def test_a_window_or_row_without_events_gives_the_same_columns(tmp_path: Path, name: str) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite"))
    ask = getattr(run, name)
    windows: list[dict[str, Any]] = [
        {"row": []},
        {"row": 99},
        {"start_ns": 10**12},
        {"end_ns": -1},
    ]
    for asked in windows:
        found = ask(**asked)
        assert found.is_empty()
        assert dict(found.schema) == schema(name)


@pytest.mark.parametrize("name", TIMED)
def test_arguments_go_by_name_only(tmp_path: Path, name: str) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite"))
    with pytest.raises(TypeError):
        getattr(run, name)(0)


def test_busy_by_something_else_is_an_error(tmp_path: Path) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite"))
    with pytest.raises(ValueError, match="stream"):
        run.busy(by="stream")  # type: ignore[arg-type]


def test_a_role_that_is_none_is_an_error_that_lists_the_roles(tmp_path: Path) -> None:
    path = write(tmp_path / "w.sqlite")
    with pytest.raises(ValueError, match=r"rollout.*generation"):
        rlviz.load({"rollout": path})


# -- what a run is ---------------------------------------------------------------------------


def test_a_run_is_the_same_in_whatever_order_reports_are_named(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{name}_{pid}.sqlite", pid=pid, utc_ns=UTC_NS + 1000 * pid)
        for pid, name in [(3, "dtensor_policy_worker"), (1, "vllm_generation_worker"), (2, "w")]
    ]
    first, *others = (rlviz.load(list(order)) for order in permutations(paths))
    for other in others:
        assert other.start_utc_ns == first.start_utc_ns
        for name in FRAMES:
            assert_frame_equal(
                frame(other, name), frame(first, name), check_row_order=name != "diagnostics"
            )


def test_frames_that_are_given_away_cannot_change_the_run(tmp_path: Path) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite"))
    given = run.kernels()
    given[0, "start_ns"] = -1
    assert run.kernels()["start_ns"].to_list() == [100]


@pytest.mark.parametrize("change", ["written again", "gone"])
def test_a_report_that_changes_after_loading_is_not_mixed_into_the_run(
    tmp_path: Path, change: str
) -> None:
    path = write(tmp_path / "w.sqlite")
    run = rlviz.load(path)
    path.unlink()
    if change == "written again":
        with Export(path) as export:
            export.kernel(7000, 8000)
            export.kernel(9000, 9500)
    with suppress(RlvizError):  # to refuse is as good
        assert run.kernels()["start_ns"].to_list() == [100]


def test_a_run_says_in_one_line_what_it_is(tmp_path: Path) -> None:
    run = rlviz.load(write(tmp_path / "w.sqlite"))
    assert re.fullmatch(r"Run\(.*1 row.*\)", repr(run))
    assert str(tmp_path) not in repr(run)


def test_no_file_stays_open(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", pid=1)
    (tmp_path / "b.sqlite").write_text("no database")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        rlviz.load(tmp_path)
        gc.collect()
    assert not [str(warning.message) for warning in caught]


# -- what must not happen to the input, and to secrets ---------------------------------------


@pytest.mark.parametrize("generation", list(GENERATIONS))
def test_secrets_of_the_environment_stay_in_the_report(
    tmp_path: Path, generation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    variables = {"XRANK": SECRET, "RANK_TOKEN": SECRET, "RANK": "3", "WANDB_API_KEY": SECRET}
    path = write(tmp_path / "logs" / "w.sqlite", schema=generation, environment=variables)
    assert SECRET.encode() in path.read_bytes()
    run = rlviz.load(path)
    assert run.rows["rank"].to_list() == [3]
    assert not leaks(run, SECRET)
    for cached in (tmp_path / "cache").rglob("*"):
        assert cached.is_dir() or SECRET.encode() not in cached.read_bytes()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_loading_changes_no_input_and_leaves_nothing_beside_it(
    tmp_path: Path, journal: str
) -> None:
    path = write(tmp_path / "logs" / "w.sqlite")
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.close()
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        run = rlviz.load(path.parent)
        assert run.kernels().height == 1
        assert hashlib.sha256(path.read_bytes()).hexdigest() == before
        assert [file.name for file in path.parent.iterdir()] == ["w.sqlite"]
    finally:
        path.parent.chmod(0o755)


# -- every real report -----------------------------------------------------------------------


@needs_shared
@every_real_report
def test_every_real_report_gives_rows_or_a_diagnostic(path: Path) -> None:
    run = load(path)
    assert not run.rows.is_empty() or not run.diagnostics.is_empty()
    assert set(run.reports["status"]) <= {"ok", "partial", "empty"}
    assert not run.simulated


@needs_shared
@every_real_report
@every_frame
def test_every_real_report_gives_the_documented_columns(path: Path, name: str) -> None:
    assert dict(frame(load(path), name).schema) == schema(name)


@needs_shared
@pytest.mark.parametrize("path", [*real, *SIM.glob("*_*")], ids=lambda path: path.name)
def test_every_event_has_a_row_a_lane_and_a_time(path: Path) -> None:
    run = load(path)
    lanes = set(run.rows.select("row", "lane").rows())
    for name in TIMED:
        found = frame(run, name)
        assert set(found.select("row", "lane").unique().rows()) <= lanes
        assert found["start_ns"].null_count() == found["end_ns"].null_count() == 0
        assert (found["start_ns"] <= found["end_ns"]).all()
        assert found.select("row", "lane", "start_ns").rows() == sorted(
            found.select("row", "lane", "start_ns").rows()
        )
    for name in ("kernels", "copies", "graphs", "ranges", "marks"):
        assert frame(run, name)["name"].null_count() == 0


@needs_shared
@every_real_report
def test_diagnostics_say_what_kind_how_bad_and_what_to_do(path: Path) -> None:
    run = load(path)
    for line in run.diagnostics.to_dicts():
        assert line["severity"] in ("error", "warning", "info")
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", line["kind"])
        assert len(line["message"]) > 20
        assert line["report"] in (None, *run.reports["report"])
        assert line["count"] is None or line["count"] > 0


@needs_shared
def test_all_edge_cases_load_as_one_run_too() -> None:
    run = load(REPORTS / "edge")
    assert run.reports.height == 8
    captures = [
        lane["report"]
        for lane in run.rows.to_dicts()
        if any("capture_nvtx_repeat" in report for report in lane["report"])
    ]
    # one process, captured twice
    assert [sorted(reports) for reports in captures] == [
        ["capture_nvtx_repeat.1.sqlite", "capture_nvtx_repeat.2.sqlite"]
    ]


@needs_shared
def test_processes_of_one_real_report_have_a_lane_each() -> None:
    run = load(REPORTS / "edge" / "mp_spawn_one_report.sqlite")
    assert sorted(run.rows["pid"]) == [32148, 32156, 32157]
    assert run.rows["row"].n_unique() == 3

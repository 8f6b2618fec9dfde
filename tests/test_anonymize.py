"""A run that is to be shown to strangers names no host, user, GPU or file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from rlviz.errors import NoReports
from rlviz.reports.find import _keys
from rlviz.view.threads import Threads
from rlviz.view.timeline import Timeline
from tests.exports import UTC_NS, Export
from tests.leaks import leaks

if TYPE_CHECKING:
    from rlviz.levels.query import ZoomableRun

MS = 1_000_000
NAMING = ("secrethost", "mallory", "hidden-run", "umbra", "aaaa-bbbb")


def write(folder: Path) -> Path:
    """Write two reports that name host, user, file and GPU wherever a report can."""
    logs = folder / "home" / "mallory" / "hidden-run"
    for number, (role, text) in enumerate(
        [("vllm_generation", "vllm_generation_worker/generate"), ("dtensor_policy", "train")]
    ):
        with Export(
            logs / f"{role}_worker_umbra_{number}.sqlite",
            pid=10 + number,
            host=f"secrethost-{number + 2}.corp.example",
            utc_ns=UTC_NS + number,
        ) as export:
            export.gpu(f"aaaa-bbbb-{number}", None)
            export.thread(10 + number, "loader of mallory on SECRETHOST-2")
            export.process(10 + number, "/home/mallory/venv/bin/python3")
            export.domain(1, "mallory's domain")
            launched = export.kernel(10 * MS, 20 * MS, "gemm</home/mallory/kernels/gemm.cu>")
            export.runtime(9 * MS, 10 * MS, correlation=launched)
            export.push_pop(5 * MS, 30 * MS, text)
            export.push_pop(6 * MS, 29 * MS, "save /home/mallory/hidden-run/model.pt now")
            export.push_pop(7 * MS, 28 * MS, "secrethost-3 waits, mallory@corp.example told")
            export.push_pop(8 * MS, 27 * MS, "mine", domain=1)
            export.mark(9 * MS, "of mallory")
    return logs


def everything(run: ZoomableRun, folder: Path) -> str:
    """All that a person may see or send: frames, page, figure, messages."""
    timeline = Timeline(run)
    frames = [
        *(run.reports, run.rows, run.diagnostics, run.findings, run.iterations, run.phases()),
        *(run.kernels(), run.copies(), run.graphs(), run.ranges(), run.marks(), run.summary()),
    ]
    files = [timeline.save(folder / name) for name in ("page.html", "still.svg")]
    files += [timeline.save(folder / f"open-{f.name}", expand=[0, 1]) for f in files]
    trace = timeline.save(folder / "trace.pftrace").read_bytes().decode("utf-8", "replace")
    frames += [run.calls(), run.launch_bound()]
    frames += [pl.read_parquet(path) for path in run.to_parquet(folder / "frames")]
    lanes = [Threads(run, timeline.scene).of(row) for row in (0, 1)]
    parts = [*(frame.write_json() for frame in frames), *(f.read_text("utf-8") for f in files)]
    parts += [trace, repr(lanes)]
    return "\n".join([*parts, repr(run), repr(timeline), run.clock, *run.events.names])


def test_without_being_asked_hosts_are_named_and_paths_are_in_no_exported_file(
    tmp_path: Path,
) -> None:
    run = rlviz.load(write(tmp_path))
    timeline = Timeline(run)
    for name in ("page.html", "still.svg"):
        for text in (
            timeline.save(tmp_path / name).read_text("utf-8"),
            timeline.save(tmp_path / name, expand=[0, 1]).read_text("utf-8"),
        ):
            assert str(tmp_path) not in text
            assert "secrethost-2" in text
    trace = timeline.save(tmp_path / "trace.pftrace").read_bytes()
    assert str(tmp_path).encode() not in trace
    assert b"secrethost-2" in trace
    for path in run.to_parquet(tmp_path / "frames"):
        assert not leaks(pl.read_parquet(path), str(tmp_path))
        assert str(tmp_path).encode() not in path.read_bytes()


def test_reports_that_share_no_folder_go_by_as_little_of_their_paths_as_tells_them_apart() -> None:
    one, other, third = Path("/tmp/mallory/a/x"), Path("/srv/b/x"), Path("/srv/b/y")
    assert set(_keys([one, third]).values()) == {"x", "y"}
    assert set(_keys([one, other]).values()) == {"a/x", "b/x"}
    assert set(_keys([other, third]).values()) == {"x", "y"}
    assert _keys([]) == {}


def test_an_anonymous_run_names_nobody(tmp_path: Path) -> None:
    text = everything(rlviz.load(write(tmp_path), anonymize=True), tmp_path)
    for name in (*NAMING, str(tmp_path)):
        assert name not in text.lower()


def test_no_frame_of_an_anonymous_timeline_leads_to_a_name(tmp_path: Path) -> None:
    run = rlviz.load(write(tmp_path), anonymize=True)
    for frame in (run.reports, run.rows, run.diagnostics, run.events.names, Timeline(run).scene):
        for name in NAMING:
            assert leaks(frame, name) == []


def test_numbers_roles_rows_and_ranges_are_those_of_the_run_with_names(tmp_path: Path) -> None:
    logs = write(tmp_path)
    named, anonymous = rlviz.load(logs), rlviz.load(logs, anonymize=True)
    assert anonymous.rows["host"].to_list() == ["host-1", "host-2"]
    assert anonymous.reports["report"].to_list() == ["report-1", "report-2"]
    kept = ["row", "lane", "role", "pool", "pid", "gpu_data"]
    assert anonymous.rows.select(kept).equals(named.rows.select(kept))
    assert anonymous.summary().equals(named.summary())
    assert anonymous.busy().equals(named.busy())
    times = ["row", "lane", "start_ns", "end_ns", "depth", "pid", "truncated"]
    assert anonymous.ranges().select(times).equals(named.ranges().select(times))
    assert anonymous.kernels().height == named.kernels().height == 2
    assert "vllm_generation_worker/generate" in anonymous.ranges()["name"].to_list()


def test_one_name_is_replaced_by_one_name_everywhere(tmp_path: Path) -> None:
    run = rlviz.load(write(tmp_path), anonymize=True)
    texts = set(run.ranges()["name"])
    assert "save path now" in texts
    assert "host-2 waits, user told" in texts
    assert set(run.ranges()["thread"]) == {"loader of user on host-1"}
    assert set(run.ranges()["domain"].drop_nulls()) == {"user's domain"}


@pytest.mark.parametrize(
    "text",
    ["vllm_genertion_worker/generate", "a / b", "and/or", "step 3/8", "http", "ncclAllReduce(f32)"],
)
def test_what_is_no_path_is_kept(tmp_path: Path, text: str) -> None:
    with Export(tmp_path / "w.sqlite", host="n1") as export:
        export.push_pop(1, 2, text)
    assert rlviz.load(tmp_path, anonymize=True).ranges()["name"].to_list() == [text]


def test_reports_that_cannot_be_read_are_told_without_their_names(tmp_path: Path) -> None:
    logs = write(tmp_path)
    (logs / "umbra_bad.sqlite").write_text("no database")
    text = everything(rlviz.load(logs, anonymize=True), tmp_path)
    assert "report-3" in text
    assert not [name for name in NAMING if name in text.lower()]


def test_offsets_are_given_by_the_names_that_the_caller_knows(tmp_path: Path) -> None:
    logs = write(tmp_path)
    offsets = {"secrethost-3.corp.example": 2.0}
    named = rlviz.load(logs, offsets=offsets)
    anonymous = rlviz.load(logs, offsets=offsets, anonymize=True)
    assert anonymous.kernels()["start_ns"].equals(named.kernels()["start_ns"])


def test_a_folder_without_reports_is_the_same_error(tmp_path: Path) -> None:
    with pytest.raises(NoReports):
        rlviz.load(tmp_path, anonymize=True)


def test_the_command_line_can_write_an_anonymous_page(tmp_path: Path, capsys: Any) -> None:
    from rlviz.cli import app

    page = tmp_path / "page.html"
    command = ["export", str(write(tmp_path)), "-o", str(page), "--anonymize"]
    app(command, standalone_mode=False)
    text = page.read_text("utf-8")
    assert not [name for name in NAMING if name in text.lower()]
    assert json.dumps("host-1") in text
    capsys.readouterr()

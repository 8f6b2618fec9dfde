"""The command line in pipes and scripts: what ``rlviz summary`` says, and what nobody asked for."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from rlviz.demo import write
from rlviz.run.columns import COLUMNS
from tests.commands import MAIN, at_terminal, here, process
from tests.exports import Export

if TYPE_CHECKING:
    from rlviz.levels.query import ZoomableRun

COMMANDS = ("demo", "check", "summary", "export", "compare", "to-sqlite", "cache info")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=1, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=600)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> ZoomableRun:
    return rlviz.load(folder)


@pytest.fixture
def warned(tmp_path: Path) -> Path:
    """Report of a worker without GPU rows: there are warnings, and unknown numbers."""
    with Export(tmp_path / "reports" / "dtensor_policy_worker_1:4_7.sqlite") as export:
        for step in range(3):
            export.push_pop(step * 10**8, step * 10**8 + 10**7, "policy_worker/train")
    return export.path.parent


@pytest.mark.parametrize("by", ["pool", "gpu"])
def test_json_has_the_numbers_of_the_run(by: Any, run: ZoomableRun, folder: Path) -> None:
    told = here("summary", folder, "--json", "--by", by)
    assert (told.exit_code, told.stderr) == (0, "")
    assert json.loads(told.stdout) == run.summary(by=by).to_dicts()


@pytest.mark.parametrize("by", ["pool", "gpu"])
def test_csv_has_the_numbers_of_the_run(by: Any, run: ZoomableRun, folder: Path) -> None:
    told = here("summary", folder, "--csv", "--by", by)
    assert (told.exit_code, told.stderr) == (0, "")
    frame = run.summary(by=by)
    found = pl.read_csv(io.StringIO(told.stdout), schema=frame.schema)
    assert found.equals(frame)


def test_the_table_has_the_numbers_of_the_run_in_seconds(run: ZoomableRun, folder: Path) -> None:
    told = here("summary", folder)
    _, head, *lines = told.stdout.splitlines()
    assert head.split() == [
        "iteration",
        "pool",
        "gpus",
        "duration",
        "busy",
        "bubble",
        "longest",
        "gap",
        "overlap",
        "exposed",
        "refit",
        "stall",
        "straggler",
        "tail",
    ]
    for line, one in zip(lines, run.summary().iter_rows(named=True), strict=True):
        iteration, pool, gpus, *numbers = line.split()
        assert (int(iteration), pool, int(gpus)) == (one["iteration"], one["pool"], one["gpus"])
        assert (numbers[-1] == "partial") == one["partial"]
        names = ("duration", "busy", "bubble", "longest_gap", "overlap", "exposed_generation")
        for name, number in zip(names, numbers, strict=False):
            assert float(number) == pytest.approx(one[f"{name}_ns"] / 1e9, abs=6e-4)


def test_unknown_is_empty_or_null_or_a_dash_and_never_0(warned: Path) -> None:
    summary = rlviz.load(warned).summary()
    unknown = [c for c in summary.columns if summary[c].null_count() == len(summary)]
    assert {"busy_ns", "bubble_ns", "overlap_ns"} <= set(unknown)
    (first, *_) = json.loads(here("summary", warned, "--json").stdout)
    (row, *_) = csv.DictReader(io.StringIO(here("summary", warned, "--csv").stdout))
    assert {c for c, value in first.items() if value is None} >= set(unknown)
    assert {c for c, value in row.items() if value == ""} >= set(unknown)
    assert list(first) == list(row) == list(COLUMNS["summary"])
    assert here("summary", warned).stdout.splitlines()[2].split()[4:8] == ["-"] * 4


def test_without_iterations_there_is_nothing_and_no_error(tmp_path: Path) -> None:
    with Export(tmp_path / "a.sqlite") as export:
        export.gpu("a-uuid", "0000:19:00.0")
        export.kernel(0, 10)
    assert "No iteration" in here("summary", tmp_path).stdout
    assert json.loads(here("summary", tmp_path, "--json").stdout) == []
    assert here("summary", tmp_path, "--csv").stdout.count("\n") == 1


@pytest.mark.parametrize("options", [["--json", "--csv"], ["--by", "rank"], ["--steps", "x"]])
def test_a_wrong_summary_is_a_usage_error(options: list[str], folder: Path) -> None:
    told = here("summary", folder, *options)
    assert (told.exit_code, told.stdout) == (2, "")
    assert "Usage: " in told.stderr


def test_names_in_a_report_cannot_steer_the_terminal_by_a_summary(tmp_path: Path) -> None:
    hostile = '\x1b[31m\u202eevil,"x"\n=cmd()'
    with Export(tmp_path / "a.sqlite", host=hostile) as export:
        export.gpu(hostile, hostile, name=hostile)
        for step in range(3):
            export.push_pop(step * 10**8, step * 10**8 + 10**7, "policy_worker/train")
            export.kernel(step * 10**8, step * 10**8 + 10**6)
    for options in ([], ["--json"], ["--csv"]):
        told = here("summary", tmp_path, "--by", "gpu", *options)
        assert told.exit_code == 0
        assert not any(ord(c) < 32 and c != "\n" for c in told.output)
        assert "\u202e" not in told.output


def test_a_pipe_gets_the_result_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    environment = os.environ | {"RLVIZ_CACHE_DIR": str(tmp_path / "cache")}
    for command in (["check"], ["summary"], ["summary", "--csv"]):
        told = process(*command, folder, env=environment)
        assert (told.returncode, told.stderr) == (0, "")
        assert "\x1b" not in told.stdout
        assert "%|" not in told.stdout


def test_warnings_are_told_to_a_person_and_not_to_a_log(warned: Path, tmp_path: Path) -> None:
    told = process("export", warned, "-o", tmp_path / "x.svg")
    assert (told.returncode, told.stdout, told.stderr) == (0, f"{tmp_path / 'x.svg'}\n", "")
    assert (
        b"warnings: rlviz check tells which."
        in at_terminal("export", warned, "-o", tmp_path / "y.svg").text
    )


@pytest.mark.parametrize("command", [["check"], ["summary"], ["summary", "--json"]])
def test_a_reader_that_has_enough_ends_the_command_quietly(
    command: list[str], folder: Path
) -> None:
    child = subprocess.Popen(
        [*MAIN, *command, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.close()
    _, stderr = child.communicate(timeout=60)
    assert (child.returncode, stderr) == (0, b"")


def test_an_interrupt_is_quiet() -> None:
    code = "import os, signal, rlviz.cli as cli, rlviz.cli.summary as s\n"
    code += "def stop(*a, **k): os.kill(os.getpid(), signal.SIGINT)\n"
    code += "s.load_run = stop; cli.main()"
    asked = [sys.executable, "-c", code, "summary", "x"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (128 + signal.SIGINT, "")
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    "command", [[], *([name.split()[0]] for name in COMMANDS), ["cache", "info"]]
)
def test_help_is_on_standard_output(command: list[str]) -> None:
    told = here(*command, "--help")
    assert (told.exit_code, told.stderr) == (0, "")
    assert "Usage: " in told.stdout
    assert "\x1b" not in told.stdout


@pytest.mark.parametrize("command", ["check", "summary", "export", "compare", "to-sqlite", ""])
def test_help_tells_the_exit_status(command: str) -> None:
    assert "Exit status" in here(*command.split(), "--help").stdout


@pytest.mark.parametrize(
    "command", [*(c for c in COMMANDS if c != "cache info"), "bogus", "cache bogus"]
)
def test_a_wrong_command_has_status_2_and_no_traceback(command: str) -> None:
    told = here(*command.split(), "--bogus")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "Traceback" not in told.stderr


def test_frames_and_a_trace_are_exported_together(folder: Path, tmp_path: Path) -> None:
    trace, frames = tmp_path / "x.pftrace", tmp_path / "frames"
    told = here("export", folder, "-o", trace, "--parquet", frames)
    assert told.exit_code == 0
    lines = [Path(line) for line in told.stdout.splitlines()]
    assert lines[0] == trace
    assert frames / "kernels.parquet" in lines
    assert all(path.is_file() for path in lines)


def test_a_trace_a_page_and_a_figure_take_each_its_own_options(
    folder: Path, tmp_path: Path
) -> None:
    files = [tmp_path / f"x{suffix}" for suffix in (".pftrace", ".html", ".svg")]
    given = [word for path in files for word in ("-o", path)]
    told = here("export", folder, *given, "--iteration", 4, "--detail", "none")
    assert (told.exit_code, told.stdout.split()) == (0, [str(path) for path in files])


def test_export_without_a_file_to_write_is_a_usage_error(folder: Path) -> None:
    told = here("export", folder)
    assert (told.exit_code, told.stdout) == (2, "")
    assert "--output" in told.stderr

"""The command line: what it prints, what it never prints, and its exit status."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlviz import __version__
from rlviz.cli.demo import demo
from rlviz.demo import Scenario, write
from tests.commands import at_terminal, here, process
from tests.exports import SECRET, Export
from tests.ranks import simulated

HOSTILE = "[red]\x1b]0;owned\x07\x1b[31m[/nope]\u202etrain"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run that lacks nothing."""
    folder = tmp_path_factory.mktemp("sound")
    write(folder, hosts=1, policy_gpus=2, generation_gpus=2, steps=2, kernels_per_gpu=600)
    return folder


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """One report of a policy worker; there are warnings about what the others would tell."""
    with Export(tmp_path / "reports" / "dtensor_policy_worker_1:4_7.sqlite") as export:
        export.gpu(uuid="a-uuid", bus="0000:19:00.0")
        export.kernel(100_000_000, 300_000_000)
        export.push_pop(50_000_000, 400_000_000, "policy_worker/train")
    return export.path


def test_a_sound_run_is_clean(sound: Path) -> None:
    told = here("check", sound)
    assert (told.exit_code, told.stderr) == (0, ""), told.output
    head, clock, columns, *lines = told.stdout.splitlines()
    assert head == "4 reports, 4 rows, simulated, second 0 is 2026-09-21 14:13:20 UTC"
    assert clock.startswith("Trust: ")
    assert ", UTC, no warnings" in clock
    assert " ".join(columns.split()) == "report role host clock window, s kernels ranges status"
    assert [line.split()[1] for line in lines] == ["policy"] * 2 + ["generation"] * 2
    assert all(line.endswith("  ok") for line in lines)


def test_a_line_tells_what_a_report_holds(report: Path) -> None:
    line = " ".join(here("check", report).stdout.splitlines()[3].split())
    assert line == f"{report.name} policy node-1 utc 0.000 to 1.000 1 1 ok"


def test_check_tells_how_every_report_came_to_its_place() -> None:
    told = here("check", simulated(clock_skew_ms=37).folder)
    assert told.exit_code == 0
    columns, *lines = told.stdout.split("\n\n")[0].splitlines()[2:]
    assert {"clock", "residual", "anchors"} <= set(columns.split())
    moved = [line for line in lines if " node-2 " in line]
    assert len(moved) == 4
    assert all("collectives -37.0" in line and " us, worst " in line for line in moved)


def test_check_tells_warnings_from_errors_by_its_exit_status(report: Path) -> None:
    with Export(report.parent / "another.sqlite", pid=8) as export:
        export.push_pop(0, 10, "policy_worker/train")
    warned = here("check", report.parent)
    assert (warned.exit_code, "no-gpu-rows" in warned.stdout) == (1, True)
    (report.parent / "broken.sqlite").write_text("no database")
    failed = here("check", report.parent)
    assert failed.exit_code == 2
    assert "not-an-export" in failed.stdout
    assert report.name in failed.stdout  # the others are told all the same


@pytest.mark.parametrize("command", ["check", "export"])
def test_an_input_that_cannot_be_read_is_an_error_of_two_lines(
    command: str, tmp_path: Path
) -> None:
    wrong = tmp_path / "worker.sqlite"
    wrong.write_text("no database")
    output = ["--output", tmp_path / "x.html"] if command == "export" else []
    told = here(command, wrong, *output)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("worker.sqlite: ")
    assert len(told.stderr.splitlines()) == 2
    assert not (tmp_path / "x.html").exists()


def test_names_in_a_report_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with Export(tmp_path / "a.sqlite", host=HOSTILE) as export:
        export.push_pop(0, 10, HOSTILE)
    (tmp_path / "b\x1b[31m[bold]x.sqlite").write_text("no database")
    for told in (here("check", tmp_path), here("check", tmp_path / "b\x1b[31m[bold]x.sqlite")):
        assert not any(ord(c) < 32 and c != "\n" for c in told.output)
        assert "\u202e" not in told.output
        assert "[bold]x.sqlite" in told.output  # markup is shown, not obeyed


def test_a_terminal_gets_colours_of_rlviz_and_none_of_the_report(tmp_path: Path) -> None:
    with Export(tmp_path / "a.sqlite", host=HOSTILE) as export:
        export.push_pop(0, 10, HOSTILE)
    status, shown = at_terminal("check", tmp_path)
    assert status == 1
    assert b"warning" in shown
    assert b"\x1b]0;owned" not in shown
    assert "\u202e".encode() not in shown


def test_the_environment_is_never_printed(report: Path) -> None:
    report.with_name("worse.sqlite").write_bytes(report.read_bytes()[:5_000])
    assert SECRET not in here("check", report.parent).output


def test_a_page_is_written_and_named(sound: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    told = process("export", sound, "-o", page)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"{page}\n", "")
    assert "dtensor_policy_worker_v2/train" in page.read_text("utf-8")


def test_a_page_without_some_reports_says_so(sound: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.sqlite").write_text("no database")
    told = here("export", sound, tmp_path / "broken.sqlite", "-o", tmp_path / "x.html")
    assert (told.exit_code, told.stdout) == (0, f"{tmp_path / 'x.html'}\n")
    assert told.stderr == "1 error: rlviz check tells which.\n"


@pytest.mark.parametrize("name", ["x.docx", "no/such/folder/x.html"])
def test_a_page_that_cannot_be_written_is_an_error(name: str, report: Path, tmp_path: Path) -> None:
    told = here("export", report, "-o", tmp_path / name)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith(Path(name).name)


def test_a_simulated_run_is_written_and_told_to_be_simulated(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ["--steps", 1, "--kernels-per-gpu", 200, "--clock-skew-ms", "node-2=40"]
    told = here("demo", folder, *options)
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("8 simulated reports, ")
    assert len(list(folder.rglob("*.sqlite"))) == 8
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    assert truth["simulated"] is True
    assert "40" in json.dumps(truth["clock"])
    assert ", simulated, " in here("check", folder).stdout.splitlines()[0]


def test_no_file_of_somebody_else_is_overwritten_by_a_simulated_run(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text("mine")
    told = here("demo", tmp_path, "--steps", 1, "--kernels-per-gpu", 200)
    assert told.exit_code == 2
    assert (tmp_path / "truth.json").read_text() == "mine"


@pytest.mark.parametrize("options", [["--hosts", "0"], ["--clock-skew-ms", "much"]])
def test_options_that_make_no_run_are_told_without_a_traceback(
    options: list[str], tmp_path: Path
) -> None:
    told = here("demo", tmp_path / "run", *options)
    assert told.exit_code == 2
    assert "Invalid value" in told.stderr
    assert not (tmp_path / "run").exists()


def test_every_option_of_a_simulated_run_is_on_the_command_line() -> None:
    told = {name: p.default for name, p in inspect.signature(demo).parameters.items()}
    del told["folder"]
    assert told.pop("clock_skew_ms") is None  # 0, or a number a host
    fields = {field.name: field.default for field in dataclasses.fields(Scenario)}
    del fields["clock_skew_ms"]
    assert told == fields


def test_help_is_there_at_once() -> None:
    code = (
        "import sys; sys.argv = ['rlviz', '--help']; from rlviz.cli import app;"
        "app(standalone_mode=False); print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(told.stdout.splitlines()[-1].split())
    assert not modules & {"polars", "numpy", "bokeh", "ipywidgets", "matplotlib"}


def test_a_log_gets_no_progress_bar() -> None:
    code = (
        "import sys; sys.argv = ['rlviz', '--version']\n"
        "from rlviz.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "from tqdm.auto import tqdm; print(tqdm([]).disable)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == [__version__, "True"]


def test_a_name_that_the_terminal_cannot_show_does_not_stop_it(tmp_path: Path) -> None:
    with Export(tmp_path / "訓練.sqlite", host="訓練") as export:
        export.push_pop(0, 10, "policy_worker/train")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    told = process("check", tmp_path, env=environment)
    assert told.returncode == 1
    assert "\\u8a13\\u7df4.sqlite" in told.stdout

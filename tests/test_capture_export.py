"""Captures (``.nsys-rep``) and ``rlviz to-sqlite``: with a fake nsys, and with the real one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rlviz
from tests.commands import MAIN, at_terminal, here, process
from tests.small_reports import pids, write

if TYPE_CHECKING:
    from collections.abc import Callable

COPIES = """#!/bin/sh
printf '\\rExporting 700 events: [==57%%  ]' >&2
sleep {sleep}
cp '{export}' "$5"
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put an nsys on the PATH that gives one export, after some time."""

    def fake(script: str = COPIES, sleep: float = 0) -> Path:
        export = write(tmp_path / "made" / "export.sqlite", 77)
        nsys = tmp_path / "bin" / "nsys"
        nsys.parent.mkdir(exist_ok=True)
        nsys.write_text(script.format(sleep=sleep, export=export))
        nsys.chmod(0o755)
        monkeypatch.setenv("PATH", f"{nsys.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
        return nsys

    return fake


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Folder of two captures, one of them below another folder."""
    for name in ("a.nsys-rep", "node-2/b:3.nsys-rep"):
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path / "logs"


def names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_captures_are_exported_where_told_and_named(
    fake: Callable[..., Path], logs: Path, tmp_path: Path
) -> None:
    fake()
    out = tmp_path / "out"
    told = here("to-sqlite", logs, "-o", out)
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.splitlines() == [str(out / "a.sqlite"), str(out / "node-2" / "b:3.sqlite")]
    assert names(out) == ["a.sqlite", "node-2/b:3.sqlite"]
    assert names(logs) == ["a.nsys-rep", "node-2/b:3.nsys-rep"]
    assert pids(rlviz.load(out / "a.sqlite")) == [77]


def test_without_a_folder_they_go_where_load_finds_them(
    fake: Callable[..., Path], logs: Path
) -> None:
    nsys = fake()
    told = here("to-sqlite", logs)
    assert told.exit_code == 0
    assert [Path(line).name for line in told.stdout.splitlines()] == ["a.sqlite", "b:3.sqlite"]
    nsys.unlink()
    assert pids(rlviz.load(logs)) == [77]
    assert names(logs) == ["a.nsys-rep", "node-2/b:3.nsys-rep"]


def test_no_export_is_overwritten_and_the_others_are_made(
    fake: Callable[..., Path], logs: Path, tmp_path: Path
) -> None:
    fake()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.sqlite").write_text("mine")
    told = here("to-sqlite", logs, "-o", tmp_path / "out")
    assert told.exit_code == 2
    assert told.stdout == f"{tmp_path / 'out' / 'node-2' / 'b:3.sqlite'}\n"
    assert told.stderr.startswith("a.sqlite: is there already")
    assert (tmp_path / "out" / "a.sqlite").read_text() == "mine"


def test_what_nsys_says_is_told_in_short_and_without_folders(
    fake: Callable[..., Path], logs: Path, tmp_path: Path
) -> None:
    fake(
        "#!/bin/sh\nprintf 'half' > \"$5\"\necho 'Exporting: [1%]' >&2\n"
        "echo \"Exportation error: cannot read '$6'.\" >&2\nexit 1\n"
    )
    told = here("to-sqlite", logs / "a.nsys-rep", "-o", tmp_path / "out")
    assert told.exit_code == 2
    assert told.stderr.splitlines() == [
        "a.nsys-rep: nsys export failed: cannot read 'a.nsys-rep'.",
        "Run it to see more: nsys export --type sqlite -o a.sqlite a.nsys-rep",
    ]
    assert names(tmp_path / "out") == []


@pytest.mark.parametrize("output", [True, False])
def test_an_interrupt_leaves_no_half_file_and_no_nsys(
    fake: Callable[..., Path], logs: Path, tmp_path: Path, *, output: bool
) -> None:
    fake('#!/bin/sh\nprintf half > "$5"\necho $$ > {export}.pid\nsleep 60\n')
    asked = ["to-sqlite", str(logs / "a.nsys-rep"), *(["-o", str(tmp_path / "out")] * output)]
    child = subprocess.Popen([*MAIN, *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    started = tmp_path / "made" / "export.sqlite.pid"
    while not (started.exists() and started.read_text()):
        assert child.poll() is None
        time.sleep(0.02)
    # Between the start of nsys and the watch over it lies a moment, long on a busy machine.
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=30)
    assert child.returncode == 130
    assert stdout == b""
    assert b"Traceback" not in stderr
    assert not list(tmp_path.glob("out/**/*.sqlite"))
    assert not list(tmp_path.glob("cache/**/*.sqlite"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_a_terminal_shows_how_far_nsys_is_and_a_pipe_does_not(
    fake: Callable[..., Path], logs: Path, tmp_path: Path
) -> None:
    # nsys says 57 % first, and tqdm waits for a second.
    fake(COPIES.replace("sleep {sleep}", "sleep 1.2; printf '\\r[==58%% ]' >&2; sleep 0.3"))
    piped = process("to-sqlite", logs / "a.nsys-rep", "-o", tmp_path / "one")
    assert (piped.returncode, piped.stderr) == (0, "")
    status, shown = at_terminal("to-sqlite", logs / "a.nsys-rep", "-o", tmp_path / "two")
    assert status == 0
    assert b"exporting a.nsys-rep:  58%" in shown
    assert f"{tmp_path / 'two' / 'a.sqlite'}\r\n".encode() in shown


def test_what_nsys_quotes_of_an_environment_is_not_told(
    fake: Callable[..., Path], logs: Path
) -> None:
    fake(
        "#!/bin/sh\n"
        'echo \'Error: cannot parse "HF_TOKEN=hf_S3cr3tS3cr3t" in /home/someone/a.nsys-rep, '
        "line 12 (AKIAIOSFODNN7EXAMPLE): unexpected value.' >&2; exit 3\n"
    )
    told = here("to-sqlite", logs / "a.nsys-rep")
    assert told.exit_code == 2
    assert told.stderr.startswith(
        "a.nsys-rep: nsys export failed: cannot parse … in a.nsys-rep, line 12 … unexpected value."
    )


@pytest.mark.parametrize(
    ("files", "status", "told"),
    [
        ([], 2, "There is no capture (.nsys-rep) in there."),
        (["a.sqlite"], 0, ""),
        (["a.nsys-rep", "a.sqlite"], 0, ""),
        (["a.nsys-rep"], 2, "there is no nsys on the PATH"),
        (["a.qdstrm"], 2, "an unfinished capture"),
    ],
)
def test_what_is_no_capture_needs_no_nsys(
    files: list[str], status: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in files:
        (folder / name).write_bytes(b"NVIDIA")
    result = here("to-sqlite", folder)
    assert (result.exit_code, result.stdout) == (status, "")
    assert told in result.stderr
    assert bool(result.stderr) == bool(told)


REAL = """
import nvtx, time
for _ in range(3):
    with nvtx.annotate("policy_worker/train"):
        with nvtx.annotate("inner"):
            time.sleep(0.002)
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture of the real nsys."""
    nsys = shutil.which("nsys")
    if nsys is None:
        pytest.skip("the real nsys is not installed")
    pytest.importorskip("nvtx", reason="the package nvtx is not installed")
    folder = tmp_path_factory.mktemp("capture")
    (folder / "work.py").write_text(REAL)
    asked = [nsys, "profile", "-s", "none", "--cpuctxsw", "none", "-t", "nvtx"]
    asked += ["-o", str(folder / "dtensor_policy_worker_1:4_77"), sys.executable, "work.py"]
    # A capture holds the whole environment of the process.
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    try:
        subprocess.run(asked, cwd=folder, env=clean, check=True, capture_output=True, timeout=120)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"nsys cannot profile here: {type(error).__name__}")
    return folder / "dtensor_policy_worker_1:4_77.nsys-rep"


def test_a_capture_of_the_real_nsys_loads(capture: Path, tmp_path: Path) -> None:
    run = rlviz.load(capture, cache=tmp_path)
    names_ = run.ranges()["name"].to_list()
    assert names_.count("policy_worker/train") == names_.count("inner") == 3
    assert run.rows["role"].to_list() == ["policy"]
    assert [path.name for path in capture.parent.iterdir() if path.suffix == ".sqlite"] == []


def test_the_real_nsys_exports_and_says_why_it_cannot(capture: Path, tmp_path: Path) -> None:
    broken = tmp_path / "logs" / "broken.nsys-rep"
    broken.parent.mkdir()
    broken.write_bytes(capture.read_bytes()[:60_000])
    told = here("to-sqlite", capture, broken, "-o", tmp_path / "out")
    assert told.exit_code == 2
    assert len(told.stdout.splitlines()) == 1
    assert told.stderr.startswith("broken.nsys-rep: nsys export failed: ")
    assert str(tmp_path) not in told.stderr
    assert len(names(tmp_path / "out")) == 1

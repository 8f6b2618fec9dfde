"""Secrets stand in every report: none may come out of it, and only what is needed comes in."""

from __future__ import annotations

import base64
import gzip
import logging
import os
import re
import sqlite3
import traceback
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from IPython.core.interactiveshell import InteractiveShell

import rlviz
from rlviz.cli import app
from rlviz.errors import RlvizError
from rlviz.levels import memory
from rlviz.reports.identity import ALLOWED_VARIABLES
from rlviz.view.asked import window_asked
from rlviz.view.detail import Detail
from rlviz.view.timeline import Timeline
from tests.exports import SECRET, Export
from tests.leaks import leaks
from tests.schema import GENERATIONS
from tests.shared import needs_shared, oracle, stems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MS = 1_000_000
_ANY_HEADER = 47  # of zlib's two
ENVIRONMENT = {
    "RANK": "3",
    "XRANK": SECRET,
    "RANK_TOKEN": SECRET,
    "MULTILINE": f"a\nRANKS={SECRET}",
}

every_generation = pytest.mark.parametrize("generation", list(GENERATIONS))


def plant(path: Path, generation: str = "3.20.2") -> Path:
    """Write a report with the secret in every place where nsys keeps environments and arguments."""
    with Export(path, generation, environment=ENVIRONMENT) as export:
        for number in range(3):  # of every process of the machine
            export.string(f"PATH=/bin\0HF_TOKEN={SECRET}\0N={number}\0")
            export.string(f"/usr/bin/python3\0train.py\0--token={SECRET}\0{number}")
        export.string(SECRET)
        export.process(4711, f"/usr/bin/python3 train.py --token={SECRET}")
        export.process(4712, f"ray::Worker\0--token={SECRET}")
        for name in ("PROCESS_0:ARGUMENTS", "COMMAND_LINE", "CUSTOM", "SIMULATED"):
            export.row("META_DATA_CAPTURE", name=name, value=f"--token={SECRET}")
        for name in ("Environment", "KernelCommandLine", "DeviceEnvironment"):
            export.row("TARGET_INFO_SYSTEM_ENV", name=name, value=f"X=1\nTOKEN={SECRET}\nY=2")
        export.row("META_DATA_EXPORT", name="EXPORT_COMMAND", value=SECRET)
        export.gpu("gpu-a", "0000:19:00.0")
        export.thread(4711, "python3")
        export.domain(1, "NCCL")
        launched = export.kernel(10 * MS, 20 * MS, "gemm")
        export.runtime(9 * MS, 10 * MS, correlation=launched)
        export.copy(20 * MS, 30 * MS)
        export.graph(30 * MS, 40 * MS)
        export.push_pop(5 * MS, 50 * MS, "dtensor_policy_worker/train")
        export.push_pop(6 * MS, 7 * MS, "ncclAllReduce", domain=1, registered=True)
        export.mark(8 * MS, "step done")
    assert SECRET.encode() in path.read_bytes()
    return path


def put_nsys(folder: Path, command: str) -> Path:
    """Put a program of nsys's name into a folder; its fifth argument is the export to make."""
    folder.mkdir(exist_ok=True)
    nsys = folder / "nsys"
    nsys.write_text(f"#!/bin/sh\n{command}\n")
    nsys.chmod(0o755)
    return nsys


def ask_everything(run: rlviz.Run) -> list[Any]:
    """Ask for all that a run has; rows in full are read from the file again."""
    frames = [run.kernels(), run.copies(), run.graphs(), run.ranges(projected=True), run.marks()]
    frames += [run.calls(), run.launch_bound(), run.findings, run.summary(), run.top_kernels()]
    return [*frames, run.diagnostics, repr(run)]


@every_generation
def test_no_secret_is_in_anything_that_comes_out_of_a_report(
    tmp_path: Path,
    generation: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    caplog.set_level(logging.DEBUG)
    run = rlviz.load(plant(tmp_path / "logs" / "dtensor_policy_worker_3.sqlite", generation))
    timeline = Timeline(run)
    frames = ask_everything(run)
    assert not [
        leak for thing in (run, timeline, timeline.scene, *frames) for leak in leaks(thing, SECRET)
    ]
    for name in ("page.html", "still.svg", "still.png", "still.pdf"):
        expanded = timeline.save(tmp_path / name, expand=[0]).read_bytes()
        for content in (timeline.save(tmp_path / name).read_bytes(), expanded):
            assert SECRET.encode() not in unpacked(content)
    assert SECRET.encode() not in timeline.save(tmp_path / "trace.pftrace").read_bytes()
    for path in run.to_parquet(tmp_path / "frames"):
        assert SECRET.encode() not in path.read_bytes()
        assert not leaks(pl.read_parquet(path), SECRET)
    for cached in (tmp_path / "cache").rglob("*"):
        assert cached.is_dir() or SECRET.encode() not in cached.read_bytes()
    written = capfd.readouterr()
    assert SECRET not in written.out + written.err + caplog.text


def test_no_secret_is_in_what_the_store_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_WORTH_KEEPING", 1)
    for number in range(2):
        plant(tmp_path / "logs" / f"dtensor_policy_worker_{number}.sqlite")
    for _ in range(2):
        run = rlviz.load(tmp_path / "logs", cache=tmp_path / "store")
        timeline = Timeline(run)
        answer = Detail(run, timeline.scene).answer(
            window_asked({"start": 0, "end": 0.05, "width": 900})
        )
        things = (run, timeline, timeline.scene, answer, *ask_everything(run))
        assert not [leak for thing in things for leak in leaks(thing, SECRET)]
    kept = {path.name for path in (tmp_path / "store").iterdir()}
    remembered = {name.split("-")[1] for name in kept if "-" in name}
    assert remembered >= {"clock", "ranges", "story", "row", "scene", "findings"}
    assert len(kept) == 2 + len(remembered)
    for file in (tmp_path / "store").rglob("*"):
        assert SECRET not in file.name
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()


def test_no_secret_is_in_a_notebook_that_was_executed(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="the package nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="the package nbclient is not installed")
    plant(tmp_path / "logs" / "dtensor_policy_worker_0.sqlite")
    (tmp_path / "logs" / "b.sqlite").write_bytes(b"no database, and " + SECRET.encode())
    cells = (
        "import rlviz",
        "timeline = rlviz.show('logs', cache='store')",
        "run = timeline.run; run",
        "run.summary()",
        "run.findings",
        "run.reports",
        "run.rows",
        "run.diagnostics",
        "run.ranges()",
        "run.kernels()",
        "timeline",
        "rlviz.load('logs/b.sqlite')",
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=where, allow_errors=True
    ).execute()
    errors = [o for cell in notebook.cells for o in cell.outputs if o.output_type == "error"]
    assert [error.ename for error in errors] == ["NotAnExport"]
    written = nbformat.writes(notebook)
    packed = re.findall(r'class=\\"rlviz-packed\\">([^<]+)<', written)
    assert packed
    pages = [gzip.decompress(base64.b64decode(one)) for one in packed]
    assert all(page.startswith(b"<!DOCTYPE html>") for page in pages)
    images = [base64.b64decode(one) for one in re.findall(r'"image/png": "([^"\\]+)', written)]
    assert images
    for content in (written.encode(), *pages, *images):
        assert SECRET.encode() not in unpacked(content)


def test_no_secret_is_in_what_commands_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    logs = tmp_path / "logs"
    plant(logs / "dtensor_policy_worker_0.sqlite")
    (logs / "bad.sqlite").write_bytes(b"no database, and " + SECRET.encode())
    (logs / "bad.nsys-rep").write_bytes(b"NVIDIA " + SECRET.encode())
    put_nsys(tmp_path / "bin", f'cp "{logs}/dtensor_policy_worker_0.sqlite" "$5"')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    said = ""
    for command in (
        *("summary", "summary --by gpu", "summary --json", "summary --csv", "check"),
        *("to-sqlite", f"export --parquet {tmp_path}/frames"),
        f"export -o {tmp_path}/page.html --expand 0",
    ):
        name, *options = command.split()
        with suppress(SystemExit):
            app([name, str(logs), *options], standalone_mode=True)
        written = capfd.readouterr()
        assert written.out, command
        said += written.out + written.err
    assert "bad.sqlite" in said
    assert SECRET not in said


def test_no_secret_is_in_what_the_magic_says(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "bad.sqlite").write_bytes(b"no database, and " + SECRET.encode())
    plant(tmp_path / "w.sqlite")
    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]
    shell.run_line_magic("load_ext", "rlviz")
    for line in ("bad.sqlite", "w.sqlite --iteration 99", "w.sqlite --rows 99 --save x.png"):
        result = shell.run_cell(f"%rlviz {tmp_path}/{line}")
        assert result.error_in_exec is not None
        assert not leaks(str(result.error_in_exec), SECRET)
    written = capsys.readouterr()
    assert "bad.sqlite" in written.out + written.err
    assert SECRET not in written.out + written.err


def test_no_secret_is_in_what_a_notebook_gets(tmp_path: Path) -> None:
    timeline = Timeline(rlviz.load(plant(tmp_path / "w.sqlite")))
    sent: list[Any] = [timeline._panel, timeline._widget.get_state(), repr(timeline)]
    sent += [gzip.decompress(part()) for part in timeline._widget._parts.values()]
    assert not [leak for thing in sent for leak in leaks(thing, SECRET)]


def unpacked(content: bytes) -> bytes:
    """Give a file's bytes, and behind them those of every compressed stream in it."""
    found = [content]
    for text in re.findall(rb"[A-Za-z0-9+/]{100,}={0,2}", content):
        with suppress(ValueError, zlib.error):  # what looks like it, and is not
            packed = base64.b64decode(text + b"=" * (-len(text) % 4))
            found.append(zlib.decompressobj(_ANY_HEADER).decompress(packed))
    for piece in content.split(b"stream\n")[1:]:
        decompress = zlib.decompressobj()
        try:
            found.append(decompress.decompress(piece))
        except zlib.error:
            continue
    return b"\n".join(found)


def damaged(whole: bytes) -> Iterator[bytes]:
    """Damage a report where an error could quote what stands in it."""
    pages = len(whole) // 4096
    for page in range(1, pages):  # what belongs into one page stands in the schema's
        yield whole[:100] + whole[page * 4096 + 100 : (page + 1) * 4096] + whole[4096:]
    yield whole[: len(whole) // 2]
    yield whole.replace(b"CREATE TABLE", b"CREATE \xdd\xfeBLE")
    yield whole.replace(b'CREATE TABLE "StringIds"', f"CREATE TABLE {SECRET[:11]}".encode())
    yield whole.replace(b"CREATE TABLE", SECRET[:12].encode())
    yield b"no database, and " + SECRET.encode()


def test_no_error_quotes_a_secret(tmp_path: Path) -> None:
    whole = plant(tmp_path / "whole.sqlite").read_bytes()
    errors: list[RlvizError] = []
    for number, content in enumerate(damaged(whole)):
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(content)
        try:
            run = rlviz.load(path)
        except RlvizError as error:
            errors.append(error)
        else:
            assert not leaks(run.diagnostics, SECRET)
    assert len(errors) > 5
    for one in errors:
        told = "".join(traceback.format_exception(one))
        assert SECRET[:11] not in f"{one} {one!r} {told}"
        assert not leaks(one, SECRET[:11])


class Listener(sqlite3.Connection):
    """A connection that remembers every value that it gives."""

    given: list[object]

    def execute(self, *query: Any) -> Any:
        rows = super().execute(*query).fetchall()
        self.given += [value for row in rows for value in row]
        return Rows(rows)


class Rows(list[Any]):
    def fetchall(self) -> list[Any]:
        return self

    def fetchone(self) -> Any:
        return self.pop(0) if self else None


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every value that SQLite gives while reports are read."""
    values: list[object] = []
    connect = sqlite3.connect

    def listen(*where: Any, **how: Any) -> Any:
        connection = connect(*where, **how, factory=Listener)
        connection.given = values
        return connection

    monkeypatch.setattr(sqlite3, "connect", listen)
    return values


@every_generation
def test_no_secret_ever_enters_python(tmp_path: Path, generation: str, given: list[object]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.undo()
        path = plant(tmp_path / "w.sqlite", generation)
    del given[:]
    ask_everything(rlviz.load(path))
    texts = [str(value) for value in given]
    assert "gemm" in texts
    assert not [text for text in texts if SECRET in text]


@needs_shared
@pytest.mark.parametrize("stem", stems()[::4])
def test_of_a_real_environment_only_allowed_values_enter_python(
    stem: str, given: list[object]
) -> None:
    path, _ = oracle(stem)
    values = environment_of(path)
    del given[:]
    ask_everything(rlviz.load(path))
    assert not values & {str(value) for value in given}


def environment_of(path: Path) -> set[str]:
    """Values of the variables in a report that are long enough to be nothing else."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        blocks = connection.execute(
            "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'DeviceEnvironment'"
        ).fetchall()
    except sqlite3.Error:
        blocks = []
    finally:
        connection.close()
    lines = [line for (block,) in blocks for line in str(block).replace("\0", "\n").splitlines()]
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    return {
        value
        for name, value in variables.items()
        if len(value) >= 8 and name not in (*ALLOWED_VARIABLES, "HOSTNAME")
    }


def test_a_process_is_known_by_its_program_without_its_arguments(tmp_path: Path) -> None:
    from rlviz.reports.read import read_report

    identity = read_report(plant(tmp_path / "w.sqlite")).identity
    assert identity.processes == {4711: "/usr/bin/python3", 4712: "ray::Worker"}


def test_a_copy_in_the_cache_is_the_only_file_that_may_hold_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report that nsys exported is in the cache whole: its folder is its owner's alone."""
    from rlviz.reports.export import export_capture

    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    plant(tmp_path / "made.sqlite")
    nsys = put_nsys(tmp_path, f'cp "{tmp_path}/made.sqlite" "$5"')
    (tmp_path / "a.nsys-rep").write_bytes(b"NVIDIA")
    export = export_capture(tmp_path / "a.nsys-rep", lambda _: str(nsys))
    assert export.parent.stat().st_mode & 0o077 == 0

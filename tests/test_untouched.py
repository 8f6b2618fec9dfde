"""Reports cost GPU hours: they are only ever read, and nothing is written where they lie."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from rlviz.cli import app
from rlviz.errors import UnreadableReport
from rlviz.folders import cache_folder
from rlviz.reports.export import export_capture
from tests.small_reports import pids, told
from tests.test_schemas import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A cache that cannot be written is told, and that is all.
told_only = pytest.mark.filterwarnings("ignore:Nothing can be kept in the store:RuntimeWarning")

ROOT = Path(__file__).parents[1]
NOBODY = 65534


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    for number in range(2):
        write(folder / f"vllm_generation_worker_{number}.sqlite", pid=10 + number)
    (folder / "bad.sqlite").write_bytes(b"SQLite format 3\0" + bytes(200))
    return folder


def state(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Content, size and times of all that lies in a folder, and of the folder itself."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.stat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        place = str(path.relative_to(folder))
        found[place] = (content, status.st_size, status.st_mtime_ns, status.st_mode)
    return found


def load(logs: Path, _: Path) -> None:
    run = rlviz.load(logs)
    for frame in (run.kernels, run.copies, run.graphs, run.marks):
        frame()
    run.ranges(projected=True)


def show(logs: Path, elsewhere: Path) -> None:
    timeline = rlviz.show(logs)
    for name in ("page.html", "still.svg", "still.png", "still.pdf"):
        timeline.save(elsewhere / name)


def export(logs: Path, elsewhere: Path) -> None:
    app(["export", str(logs), "-o", str(elsewhere / "x.html")], standalone_mode=False)


def check(logs: Path, _: Path) -> None:
    app(["check", str(logs)], standalone_mode=False)


@pytest.mark.parametrize("use", [load, show, export, check])
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_no_use_changes_a_report_or_writes_beside_it(
    logs: Path, tmp_path: Path, use: Callable[[Path, Path], None], journal: str
) -> None:
    if journal == "wal":  # such a file makes SQLite write beside it, unless it is told not to
        for path in logs.glob("vllm*"):
            whole = bytearray(path.read_bytes())
            whole[18:20] = b"\2\2"
            path.write_bytes(whole)
    before = state(logs)
    use(logs, tmp_path)
    assert state(logs) == before


@pytest.fixture
def nobodys_place() -> Iterator[Path]:
    """A folder that everybody may look into."""
    folder = Path(tempfile.mkdtemp(prefix="rlviz-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@told_only
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders are read-only in another way")
@pytest.mark.parametrize("use", [load, export])
def test_a_folder_that_may_only_be_read_is_enough(
    nobodys_place: Path, use: Callable[[Path, Path], None]
) -> None:
    logs = nobodys_place / "logs"
    write(logs / "w.sqlite")
    elsewhere = nobodys_place / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    use(logs, elsewhere)  # what is imported only now may be root's alone
    (logs / "w.sqlite").chmod(0o444)
    logs.chmod(0o555)
    before = state(logs)
    root = os.geteuid() == 0
    try:
        if root:  # root may write anywhere
            os.seteuid(NOBODY)
        for file in elsewhere.iterdir():
            assert root or os.access(file, os.R_OK)
        with pytest.raises(OSError, match="ermission"):
            (logs / "probe").touch()
        use(logs, Path(tempfile.mkdtemp(dir=elsewhere)))
    finally:
        if root:
            os.seteuid(0)
    assert state(logs) == before


def without_home(code: str, folder: Path) -> str:
    """Run Python for a user who has no home and no name."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH")}
    nameless = (
        "import os, pwd\n"
        "def nobody(*_): raise KeyError('no such user')\n"
        "pwd.getpwuid = pwd.getpwnam = nobody\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", nameless + code],
        cwd=folder,
        env=kept | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_user_without_a_home_loads_and_exports_and_gets_no_folder_named_tilde(
    logs: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    code = (
        "import rlviz; from rlviz.folders import cache_folder\n"
        f"run = rlviz.load({str(logs)!r}, anonymize=True); print(run)\n"
        "rlviz.show(run).save('x.html')\n"
        "cache_folder().mkdir(exist_ok=True, parents=True); print(cache_folder())\n"
        "import rlviz.errors\n"
        "try: rlviz.load('~/logs')\n"
        "except rlviz.errors.RlvizError as error: print(error)\n"
    )
    told = without_home(code, here)
    assert told.startswith("Run(")
    assert "logs: no such file or folder." in told
    assert [path.name for path in here.iterdir()] == ["x.html"]
    made = Path(told.splitlines()[2])
    assert made.is_absolute()
    assert not made.exists()  # it went with its process


def test_the_cache_folder_is_the_chosen_one(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


# -- a cache that cannot be written ----------------------------------------------------------


@pytest.fixture(params=["a file in its place", "full"])
def no_cache(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(cache))
    if request.param == "full":
        make = Path.mkdir

        def full(path: Path, *how: Any, **named: Any) -> None:
            if path.is_relative_to(cache):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            make(path, *how, **named)

        monkeypatch.setattr(Path, "mkdir", full)
    else:
        cache.write_bytes(b"")


@told_only
@pytest.mark.usefixtures("no_cache")
def test_reports_load_without_a_cache(logs: Path) -> None:
    assert pids(rlviz.load(logs)) == [10, 11]


@told_only
@pytest.mark.usefixtures("no_cache")
def test_a_capture_that_cannot_be_exported_is_told_and_the_others_load(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys = tmp_path / "bin" / "nsys"
    nsys.parent.mkdir()
    nsys.write_text("#!/bin/sh\nexit 1\n")
    nsys.chmod(0o755)
    monkeypatch.setenv("PATH", str(nsys.parent))
    (logs / "c.nsys-rep").write_bytes(b"NVIDIA")
    run = rlviz.load(logs)
    assert pids(run) == [10, 11]
    (line,) = told(run, "export-needed")
    assert line["report"] == "c.nsys-rep"
    assert "RLVIZ_CACHE_DIR" in line["message"]
    assert "nsys export --type sqlite" in line["message"]
    assert str(tmp_path) not in line["message"]


def test_an_export_that_fills_the_disk_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVIZ_CACHE_DIR", str(tmp_path / "cache"))
    nsys = tmp_path / "nsys"
    nsys.write_text('#!/bin/sh\nprintf half > "$5"\necho "No space left on device" >&2\nexit 1\n')
    nsys.chmod(0o755)
    (tmp_path / "a.nsys-rep").write_bytes(b"NVIDIA")
    with pytest.raises(UnreadableReport):
        export_capture(tmp_path / "a.nsys-rep", lambda _: str(nsys))
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]

"""Reports are read beside each other, and whoever dies or is killed leaves no harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from polars.testing import assert_frame_equal

import rlviz
from rlviz import loading
from rlviz.errors import NotAnExport, UnreadableReport
from rlviz.levels import kept
from rlviz.levels.store import Store
from rlviz.pool import Processes
from rlviz.processors import processors
from rlviz.reports.read import sketch_report
from tests.killed import kill_writers
from tests.small_reports import told, write

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import rlviz, sys
from rlviz import loading
loading._WORTH_PROCESSES = 0
loading.processors = lambda: 2
run = rlviz.load(sys.argv[1])
print(len(run.rows))
"""


def reports(folder: Path, count: int) -> Path:
    for pid in range(4711, 4711 + count):
        write(folder / f"w{pid}.sqlite", pid=pid)
    return folder


def script(*arguments: str | Path, cache: Path, code: str = SCRIPT) -> list[str]:
    return ["env", f"RLVIZ_CACHE_DIR={cache}", sys.executable, "-c", code, *map(str, arguments)]


@pytest.fixture
def _processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(loading, "processors", lambda: 2)


def test_there_is_a_processor() -> None:
    assert 1 <= processors() <= (os.cpu_count() or 1)


@pytest.mark.usefixtures("_processes")
@pytest.mark.parametrize("cache", [True, False])
def test_processes_read_what_one_would_read(tmp_path: Path, cache: bool) -> None:
    folder = reports(tmp_path / "reports", 3)
    (folder / "odd\udcff.sqlite").write_bytes((folder / "w4711.sqlite").read_bytes())
    (folder / "bad.sqlite").write_bytes(b"no database at all")
    run = rlviz.load(folder, cache=tmp_path / "cache" if cache else False)
    one = rlviz.load(folder, cache=False, executor=ThreadPoolExecutor(1))
    assert_frame_equal(run.rows, one.rows)
    assert_frame_equal(run.reports, one.reports)
    assert_frame_equal(run.diagnostics, one.diagnostics)
    (error,) = told(run, "not-an-export")
    assert error["report"] == "bad.sqlite"
    assert "Export it again" in error["message"]


def test_a_plain_script_needs_no_main_guard(tmp_path: Path) -> None:
    folder = reports(tmp_path / "reports", 2)
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    command = ["env", f"RLVIZ_CACHE_DIR={tmp_path / 'cache'}", sys.executable, str(file)]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr
    assert Store(tmp_path / "cache" / "store").info().entries == 2


def test_errors_come_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "bad.sqlite"
    path.write_bytes(b"no database at all")
    with Processes(1) as processes:
        ((number, error),) = processes.read({7: path}, tmp_path / "store")
    assert number == 7
    assert isinstance(error, NotAnExport)
    assert error.path == path
    assert error.remedy


def test_a_sketch_of_another_process_is_that_of_this_one(tmp_path: Path) -> None:
    paths = dict(enumerate(sorted(reports(tmp_path / "reports", 2).iterdir())))
    store = Store(tmp_path / "store")
    with Processes(1) as processes:
        assert dict(processes.sketch(paths, store.folder)) == {0: None, 1: None}
    for path in paths.values():
        known, here = kept.kept_sketch(store, path), sketch_report(path)
        assert known.unread
        assert known.entry is None
        for name in ("activity", "ranges", "marks", "devices", "sums", "collectives"):
            one, other = getattr(known, name), getattr(here, name)
            assert (one is None) == (other is None), name
            if one is not None:
                assert_frame_equal(one, other)
        assert known.identity == here.identity
        assert (known.names, known.start, known.key) == (here.names, here.start, here.key)
    # Nobody takes a sketch for the report.
    assert kept.kept_report(store, paths[0]) is None


def test_a_process_that_dies_costs_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = reports(tmp_path / "reports", 3)
    # What is imported first in a worker kills it at one report, as the system does without memory.
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(
        "import os, signal, rlviz.levels.kept as kept\n"
        "keep = kept.keep\n"
        "def dying(store, path):\n"
        "    if path.name == 'w4712.sqlite': os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return keep(store, path)\n"
        "kept.keep = dying\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hook"))
    paths = dict(enumerate(sorted(folder.iterdir())))
    with Processes(1) as processes:
        outcomes = dict(processes.read(paths, tmp_path / "store"))
    assert outcomes[0] is None
    assert outcomes[2] is None
    assert isinstance(outcomes[1], UnreadableReport)
    assert "status -9" in outcomes[1].problem


def test_an_executor_that_fails_costs_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = reports(tmp_path / "reports", 2)
    keep = kept.keep

    def failing(store: Store, path: Path) -> None:
        if path.name == "w4712.sqlite":
            raise MemoryError
        keep(store, path)

    monkeypatch.setattr(loading, "keep", failing)
    with ThreadPoolExecutor(2) as executor:
        run = rlviz.load(folder, executor=executor, cache=tmp_path / "store")
    assert len(run.rows) == 1
    assert "MemoryError" in told(run, "unreadable")[0]["message"]


@pytest.mark.slow
def test_eight_processes_that_load_the_same_leave_one_entry(tmp_path: Path) -> None:
    path = write(tmp_path / "w.sqlite")
    started = [
        subprocess.Popen(script(path, cache=tmp_path / "cache"), stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    assert [one.communicate()[0] for one in started] == ["1\n"] * 8
    assert len(list((tmp_path / "cache" / "store").iterdir())) == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_whoever_is_killed_leaves_a_store_that_works(tmp_path: Path) -> None:
    folder, cache = reports(tmp_path / "reports", 2), tmp_path / "cache"
    for _ in kill_writers(folder, cache / "store", 20):
        assert len(rlviz.load(folder, cache=cache / "store").rows) == 2
    Store(cache / "store").clear()
    rlviz.load(folder, cache=cache / "store")
    assert len(list((cache / "store").iterdir())) == 2


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_stops_within_a_second(tmp_path: Path) -> None:
    folder = reports(tmp_path / "reports", 2)
    # Workers that are busy in C for a minute, and tell that they are.
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'serve' in ' '.join(sys.orig_argv):\n"
        "    import ctypes, os, rlviz.levels.kept as kept\n"
        "    def slow(store, path):\n"
        f"        open({str(tmp_path / 'busy')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "        ctypes.PyDLL(None).sleep(60)\n"
        "    kept.keep = slow\n"
    )
    command = script(folder, cache=tmp_path / "cache")
    command.insert(1, f"PYTHONPATH={tmp_path / 'hook'}")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    busy = tmp_path / "busy"
    while process.poll() is None and (not busy.exists() or len(busy.read_text().split()) < 2):
        time.sleep(0.01)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 3  # a busy machine; without workers it is a tenth of that
    assert "KeyboardInterrupt" in errors
    for pid in map(int, busy.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert len(rlviz.load(folder, cache=tmp_path / "cache" / "store").rows) == 2


@pytest.mark.slow
def test_dask_reads_reports(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    folder = reports(tmp_path / "reports", 4)
    (folder / "bad.sqlite").write_bytes(b"no database at all")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        run = rlviz.load(folder, executor=client.get_executor(), cache=tmp_path / "store")
    assert_frame_equal(run.rows, rlviz.load(folder, cache=False).rows)
    assert told(run, "not-an-export")
    assert Store(tmp_path / "store").info().entries == 4

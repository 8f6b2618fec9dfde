"""Kill processes while they write to a store; by hand as often as one likes.

``python -m tests.killed 200`` kills as many that write small entries, and as many that load a run
of some megabytes by processes of their own; it fails when a store is not whole.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rlviz
import rlviz.demo
from rlviz.levels import memory
from rlviz.levels.store import Store
from rlviz.view.compose import compose
from tests.small_reports import write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["kill_loads", "kill_writers"]

_WRITER = """
import sys
from pathlib import Path
from rlviz.levels.kept import keep
from rlviz.levels.store import Store

store = Store(Path(sys.argv[1]))
print(flush=True)
while True:
    for path in Path(sys.argv[2]).iterdir():
        keep(store, path)
    store.clear()
"""

# Reports are read and rows worked out by other processes; what is worked out is kept as well.
_LOADER = """
import sys
import rlviz
from rlviz import loading
from rlviz.levels import elsewhere, memory
from rlviz.view.compose import compose

loading._WORTH_PROCESSES = elsewhere._WORTH_PROCESSES = memory._WORTH_KEEPING = 1
print(flush=True)
compose(rlviz.load(sys.argv[2], cache=sys.argv[1]))
"""

_UNFINISHED = "unfinished-"
_A_FEW_NAMES = 4_096
_TOLD_EVERY = 20


def kill_writers(reports: Path, store: Path, times: int) -> Iterator[int]:
    """Kill one writer after another at a random moment; give the turn after each."""
    moments = random.Random(0)
    for turn in range(times):
        victim = _started(_WRITER, store, reports)
        time.sleep(moments.random() * 0.05)
        victim.kill()
        victim.communicate()
        yield turn


def kill_loads(reports: Path, store: Path, times: int) -> Iterator[int]:
    """Kill one process after another that loads a run; give how many entries each had kept.

    Every other time those that read for it are killed as well. Of the store in which it begins each
    entry is there or not. After each turn the run is opened and must be what it is without a store,
    and the store hold no more than when nobody is killed.
    """
    moments, chances = random.Random(0), random.Random(1)
    with_nothing = _told(reports, cache=False)
    whole = store.with_name("whole")
    began = time.monotonic()
    assert _told(reports, cache=whole) == with_nothing
    takes_s = (time.monotonic() - began) * 1.2
    kept = _sizes(whole)
    for turn in range(times):
        for folder in _entries(store):
            if chances.random() < 0.7:
                Store(store).remove(folder.name)  # at once: the last turn's readers may still run
        victim = _started(_LOADER, store, reports)
        time.sleep(moments.random() * takes_s)
        readers = _children(victim.pid) if turn % 2 else ()
        for pid in (victim.pid, *readers):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        victim.communicate()
        found = len(_entries(store))
        assert _told(reports, cache=store) == with_nothing
        now = _sizes(store)
        # What something that is kept was made of need not be kept as well.
        assert {key for key in kept if "-" not in key} <= set(now) <= set(kept)
        # What is worked out after other things knows of a few more names.
        assert all(abs(kept[key] - size) < _A_FEW_NAMES for key, size in now.items()), now
        # What the last turn's left, and no earlier one's: two readers and who started them.
        assert len(_left(store)) <= 3, _left(store)
        yield found


def write_run(folder: Path) -> None:
    """Write a run of four reports, of 6 MB together."""
    size: dict[str, Any] = {"policy_gpus": 2, "generation_gpus": 2, "hosts": 2, "steps": 2}
    rlviz.demo.write(folder, kernels_per_gpu=15_000, **size)


def _started(program: str, store: Path, reports: Path) -> subprocess.Popen[bytes]:
    """Start a process, and wait until it has imported what it needs."""
    victim = subprocess.Popen(
        [sys.executable, "-c", program, store, reports],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert victim.stdout is not None
    victim.stdout.readline()
    return victim


def _told(reports: Path, cache: Any) -> str:
    """Tell all of a run in a few letters: its chart, its events and its numbers."""
    worth, memory._WORTH_KEEPING = memory._WORTH_KEEPING, 1
    try:
        run = rlviz.load(reports, cache=cache)
        scene = compose(run)
    finally:
        memory._WORTH_KEEPING = worth
    digest = hashlib.sha256(repr(scene.rows).encode())
    for column in (scene.bars.name, scene.bars.left, scene.overlays.left, scene.overlays.name):
        digest.update(column.tobytes())
    for frame in (run.kernels(), run.ranges(), run.summary(), run.findings, run.diagnostics):
        digest.update(frame.write_json().encode())
    for track in run.tracks.values():
        digest.update(track.start_ns.tobytes() + track.end_ns.tobytes() + track.name.tobytes())
    return digest.hexdigest()


def _children(pid: int) -> list[int]:
    """Find the processes that a process has started, where the system tells."""
    return [
        int(child)
        for told in Path("/proc", str(pid), "task").glob("*/children")
        for child in told.read_text("ascii").split()
    ]


def _entries(store: Path) -> list[Path]:
    folders = store.iterdir() if store.exists() else ()
    return [path for path in folders if not path.name.startswith(_UNFINISHED)]


def _left(store: Path) -> list[Path]:
    return list(store.glob(f"{_UNFINISHED}*"))


def _sizes(store: Path) -> dict[str, int]:
    """Bytes of every entry."""
    return {
        entry.name: sum(file.stat().st_size for file in entry.iterdir())
        for entry in _entries(store)
    }


def _main(times: int, kinds: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "writers" in kinds:
            reports, store = Path(folder, "reports"), Path(folder, "store")
            for pid in (4711, 4712):
                write(reports / f"w{pid}.sqlite", pid=pid)
            for _ in kill_writers(reports, store, times):
                assert len(rlviz.load(reports, cache=store).rows) == 2
                # Two entries, and at most what the last one who was killed left.
                assert len(list(store.iterdir())) <= 3
            sys.stdout.write(f"{times} writers killed\n")
        if "loads" in kinds:
            reports, store = Path(folder, "run"), Path(folder, "kept")
            write_run(reports)
            found: Counter[int] = Counter()
            for turn, entries in enumerate(kill_loads(reports, store, times), 1):
                found[entries] += 1
                if not turn % _TOLD_EVERY:
                    sys.stdout.write(f"{turn} of {times} loads killed\n")
                    sys.stdout.flush()
            sys.stdout.write(
                f"{times} loads killed, with so many entries: {sorted(found.items())}\n"
            )
            Store(store).clear()
            assert not list(store.iterdir())


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:] or ["writers", "loads"])

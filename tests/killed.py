"""Kill processes while they write to a store; by hand as often as one likes.

``python -m tests.killed 200`` tells how many were killed; it fails when a store is not whole.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rlviz
from tests.small_reports import write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["kill_writers"]

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


def kill_writers(reports: Path, store: Path, times: int) -> Iterator[int]:
    """Kill one writer after another at a random moment; give the turn after each."""
    moments = random.Random(0)
    for turn in range(times):
        victim = subprocess.Popen(
            [sys.executable, "-c", _WRITER, store, reports], stdout=subprocess.PIPE
        )
        assert victim.stdout is not None
        victim.stdout.readline()
        time.sleep(moments.random() * 0.05)
        victim.kill()
        victim.communicate()
        yield turn


def _main(times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        reports, store = Path(folder, "reports"), Path(folder, "store")
        for pid in (4711, 4712):
            write(reports / f"w{pid}.sqlite", pid=pid)
        for _ in kill_writers(reports, store, times):
            assert len(rlviz.load(reports, cache=store).rows) == 2
            # Two entries, and at most what the last one who was killed left.
            assert len(list(store.iterdir())) <= 3
    sys.stdout.write(f"{times} killed\n")


if __name__ == "__main__":
    _main(int(sys.argv[1]))

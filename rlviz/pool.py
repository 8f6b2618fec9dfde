"""Processes that read reports into a store.

They are started as programs of their own: nothing is forked, since polars has threads, and the
caller's script is not imported again, so that it needs no main guard.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rlviz.errors
from rlviz.errors import RlvizError, UnreadableReport
from rlviz.processors import processors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["read_in_processes", "serve"]

_STOP_S = 5.0


def read_in_processes(
    paths: Mapping[int, Path], folder: Path, count: int | None = None
) -> Iterator[tuple[int, RlvizError | None]]:
    """Read reports into the store in `folder`; tell of each when it is done.

    Parameters
    ----------
    paths : mapping of int to Path
        The reports, each with a number.
    folder : Path
        The store's.
    count : int, optional
        How many processes; by default one a processor.

    Yields
    ------
    number : int
        Whose turn it was.
    error : RlvizError or None
        Why it could not be read. A process that dies costs the report that it read, no other.
    """
    count = min(count or processors(), len(paths))
    largest_first = sorted(paths, key=lambda number: -_size(paths[number]))
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in largest_first:
        waiting.put(number)
    pool = _Pool(paths, folder.absolute(), waiting, max(1, processors() // count))
    threads = [threading.Thread(target=pool.drive, daemon=True) for _ in range(count)]
    try:
        for thread in threads:
            thread.start()
        for _ in paths:
            number, outcome = pool.next_outcome()
            if outcome is not None and not isinstance(outcome, RlvizError):
                raise outcome
            yield number, outcome
    finally:
        pool.stop()
        for thread in threads:
            thread.join(_STOP_S)


class _Pool:
    def __init__(
        self, paths: Mapping[int, Path], folder: Path, waiting: queue.SimpleQueue[int], threads: int
    ) -> None:
        self._paths = paths
        self._folder = folder
        self._waiting = waiting
        self._threads = threads
        self._done: queue.SimpleQueue[tuple[int, Exception | None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def next_outcome(self) -> tuple[int, Exception | None]:
        while True:
            try:  # with a limit: an interrupt is seen only between two waits on some systems
                return self._done.get(timeout=0.2)
            except queue.Empty:
                continue

    def drive(self) -> None:
        """Give one process after another report until none is left; runs in a thread."""
        process: subprocess.Popen[str] | None = None
        while not self._stopped:
            try:
                number = self._waiting.get_nowait()
            except queue.Empty:
                break
            try:
                process = process or self._start()
                answer = None if process is None else self._ask(process, number)
                if answer is None:
                    outcome: Exception | None = self._death(process, self._paths[number])
                    process = None
                else:
                    outcome = _understood(answer, self._paths[number])
            except Exception as error:
                outcome = error
            self._done.put((number, outcome))
        if process is not None:
            self._end(process)

    def stop(self) -> None:
        """Kill all processes, whatever they do."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()

    def _start(self) -> subprocess.Popen[str] | None:
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            "from rlviz.pool import serve; serve(sys.argv[1])"
        )
        with self._lock:
            if self._stopped:
                return None
            process = subprocess.Popen(
                [sys.executable, "-c", code, str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="ascii",
                env={**os.environ, "POLARS_MAX_THREADS": str(self._threads)},
                start_new_session=True,  # an interrupt is for the caller alone, which kills them
            )
            self._processes.add(process)
        return process

    def _ask(self, process: subprocess.Popen[str], number: int) -> dict[str, Any] | None:
        """Have a process read a report; None when it died."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(str(self._paths[number].absolute())) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            return None
        return json.loads(line) if line.endswith("\n") else None

    def _death(self, process: subprocess.Popen[str] | None, path: Path) -> RlvizError:
        status = None if process is None else self._end(process)
        problem = f"the process that read it died (status {status})."
        remedy = "It may have run out of memory: load fewer reports, or on a larger machine."
        return UnreadableReport(path, problem, remedy)

    def _end(self, process: subprocess.Popen[str]) -> int:
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:  # what it did not read is of no use any more
                continue
        status = process.wait()
        with self._lock:
            self._processes.discard(process)
        return status


def serve(folder: str) -> None:
    """Read reports whose paths come line by line, until there are no more."""
    from rlviz.levels.kept import keep
    from rlviz.levels.store import Store

    # Whatever else is printed must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    store = Store(Path(folder))
    for line in sys.stdin:
        answer: dict[str, Any] = {}
        try:
            keep(store, Path(json.loads(line)))
        except RlvizError as error:
            answer = {
                "error": type(error).__name__,
                "problem": error.problem,
                "remedy": error.remedy,
            }
        except MemoryError:
            os._exit(1)
        except Exception as error:
            answer = {"unexpected": type(error).__name__}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _understood(answer: dict[str, Any], path: Path) -> Exception | None:
    if "unexpected" in answer:
        return RuntimeError(f"{answer['unexpected']} while {path.name} was read")
    if "error" in answer:
        kind: type[RlvizError] = getattr(rlviz.errors, answer["error"])
        return kind(path, answer["problem"], answer["remedy"])
    return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

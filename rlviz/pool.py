"""Processes that read reports, and work rows out, into a store.

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
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

__all__ = ["Processes", "serve"]

_STOP_S = 5.0
_GENTLE = 10  # what the command nice adds


class Processes:
    """Processes of this machine; they are started when there is work, and end with the context.

    Parameters
    ----------
    count : int, optional
        How many; by default one a processor.
    gentle : bool
        Whether they give way to whatever else runs on the machine, such as a browser that draws.
    """

    def __init__(self, count: int | None = None, *, gentle: bool = False) -> None:
        self._gentle = gentle
        self._count = count or processors()
        self._threads = max(1, processors() // self._count)
        self._lock = threading.Lock()
        self._all: set[subprocess.Popen[str]] = set()
        self._idle: queue.SimpleQueue[subprocess.Popen[str]] = queue.SimpleQueue()
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def read(
        self, paths: Mapping[int, Path], folder: Path
    ) -> Iterator[tuple[int, RlvizError | None]]:
        """Begin to read reports into the store in `folder`; tell of each when it is done.

        Parameters
        ----------
        paths : mapping of int to Path
            The reports, each with a number.
        folder : Path
            The store's.

        Yields
        ------
        number : int
            Whose turn it was.
        error : RlvizError or None
            Why it could not be read. A process that dies costs the report that it read, no other.
        """
        return self._read("read", paths, folder, self._count)

    def sketch(
        self, paths: Mapping[int, Path], folder: Path
    ) -> Iterator[tuple[int, RlvizError | None]]:
        """Read what takes no time of reports, as of `rlviz.levels.kept.keep_sketch`; as `read`.

        One processor is left to the caller, who has something else to do meanwhile.
        """
        return self._read("sketch", paths, folder, max(1, self._count - 1))

    def _read(
        self, what: str, paths: Mapping[int, Path], folder: Path, count: int
    ) -> Iterator[tuple[int, RlvizError | None]]:
        store = str(folder.absolute())
        jobs = {
            number: {"store": store, what: str(paths[number].absolute())}
            for number in sorted(paths, key=lambda number: -_size(paths[number]))
        }
        answers = self._done(jobs, count)
        return ((number, _understood(answer, paths[number])) for number, answer in answers)

    def make_rows(self, rows: Sequence[int], memory: str, folder: Path) -> Iterator[int]:
        """Begin to work rows out into the store in `folder`, as of `rlviz.levels.elsewhere`.

        Parameters
        ----------
        rows : sequence of int
            The rows.
        memory : str
            Key of the memory of their run, which has the plan of them.
        folder : Path
            The store's.

        Yields
        ------
        int
            A row that was worked out, or that a process gave up.
        """
        store = str(folder.absolute())
        jobs = {row: {"store": store, "memory": memory, "row": row} for row in rows}
        return (row for row, _ in self._done(jobs, self._count))

    def _done(
        self, jobs: Mapping[int, dict[str, Any]], count: int
    ) -> Iterator[tuple[int, dict[str, Any] | int]]:
        """Begin jobs in their order; give the answer to each, or the status of who died of it."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in jobs:
            waiting.put(number)
        done: queue.SimpleQueue[tuple[int, dict[str, Any] | int | Exception]] = queue.SimpleQueue()
        threads = [
            threading.Thread(target=self._drive, args=(jobs, waiting, done), daemon=True)
            for _ in range(min(count, len(jobs)))
        ]
        for thread in threads:
            thread.start()
        return self._answers(len(jobs), threads, done)

    def _answers(
        self,
        count: int,
        threads: list[threading.Thread],
        done: queue.SimpleQueue[tuple[int, dict[str, Any] | int | Exception]],
    ) -> Iterator[tuple[int, dict[str, Any] | int]]:
        complete = False
        try:
            for _ in range(count):
                number, answer = _next_of(done)
                if isinstance(answer, Exception):
                    raise answer
                yield number, answer
            complete = True
        finally:
            if not complete:
                self._stop()
            for thread in threads:
                thread.join(_STOP_S)

    def _drive(
        self,
        jobs: Mapping[int, dict[str, Any]],
        waiting: queue.SimpleQueue[int],
        done: queue.SimpleQueue[tuple[int, dict[str, Any] | int | Exception]],
    ) -> None:
        """Give one process job after job until none is left; runs in a thread."""
        process: subprocess.Popen[str] | None = None
        while not self._stopped:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                break
            try:
                process = process or self._any()
                answer: dict[str, Any] | int | None = _ask(process, jobs[number])
                if answer is None:
                    answer, process = self._end(process), None
                done.put((number, answer))
            except Exception as error:
                done.put((number, error))
        if process is not None:
            self._idle.put(process)

    def _any(self) -> subprocess.Popen[str]:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._start()

    def _start(self) -> subprocess.Popen[str]:
        begin = f"serve(gentle={self._gentle})"
        code = f"import sys; sys.path[:] = {sys.path!r}; from rlviz.pool import serve; {begin}"
        with self._lock:
            if self._stopped:
                message = "the processes were stopped"
                raise RuntimeError(message)
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="ascii",
                env={**os.environ, "POLARS_MAX_THREADS": str(self._threads)},
                start_new_session=True,  # an interrupt is for the caller alone, which kills them
            )
            self._all.add(process)
        return process

    def _stop(self) -> None:
        """Kill all processes, whatever they do."""
        with self._lock:
            self._stopped = True
            for process in self._all:
                process.kill()
        while not self._idle.empty():
            self._end(self._idle.get())

    def _end(self, process: subprocess.Popen[str]) -> int:
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:  # what it did not read is of no use any more
                continue
        status = process.wait()
        with self._lock:
            self._all.discard(process)
        return status


def serve(*, gentle: bool) -> None:
    """Do the jobs that come line by line, until there are no more."""
    if gentle and hasattr(os, "nice"):
        os.nice(_GENTLE)
    from rlviz.levels.elsewhere import make_planned_row
    from rlviz.levels.kept import keep, keep_sketch
    from rlviz.levels.store import Store

    # Whatever else is printed must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    stores: dict[str, Store] = {}
    for line in sys.stdin:
        job = json.loads(line)
        # One a folder: it knows how much room there is.
        store = stores.setdefault(job["store"], Store(Path(job["store"])))
        answer: dict[str, Any] = {}
        try:
            if "read" in job:
                keep(store, Path(job["read"]))
            elif "sketch" in job:
                keep_sketch(store, Path(job["sketch"]))
            else:
                make_planned_row(store, job["memory"], job["row"])
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


def _next_of(
    done: queue.SimpleQueue[tuple[int, dict[str, Any] | int | Exception]],
) -> tuple[int, dict[str, Any] | int | Exception]:
    while True:
        try:  # with a limit: an interrupt is seen only between two waits on some systems
            return done.get(timeout=0.2)
        except queue.Empty:
            continue


def _ask(process: subprocess.Popen[str], job: dict[str, Any]) -> dict[str, Any] | None:
    """Have a process do a job; None when it died."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        return None
    return json.loads(line) if line.endswith("\n") else None


def _understood(answer: dict[str, Any] | int, path: Path) -> RlvizError | None:
    if isinstance(answer, int):
        problem = f"the process that read it died (status {answer})."
        remedy = "It may have run out of memory: load fewer reports, or on a larger machine."
        return UnreadableReport(path, problem, remedy)
    if "unexpected" in answer:
        message = f"{answer['unexpected']} while {path.name} was read"
        raise RuntimeError(message)
    if "error" in answer:
        kind: type[RlvizError] = getattr(rlviz.errors, answer["error"])
        return kind(path, answer["problem"], answer["remedy"])
    return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

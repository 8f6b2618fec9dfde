"""Run cases in a process of their own, with limits, and count what becomes of them."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Tally", "run_cases"]

SECONDS = 10.0
"""No case takes more of a processor, or waits for longer while it takes none."""

_BUILD_SECONDS = 120.0  # to build a case is no work of rlviz, and the first one waits for imports
_RENEW_AFTER = 1000
_LOOK_EVERY_S = 0.2
_ROOT = Path(__file__).parents[2]


@dataclass
class Tally:
    """What became of cases.

    Parameters
    ----------
    outcomes : Counter of str
        How many cases ended how, as of `tests.fuzz.judge.Verdict`.
    by_damage : dict of str to Counter
        The same, by what was done.
    failures : list of dict
        Each case that failed, hung, or killed its process.
    slowest_s, worked_s, largest : float, float, int
        The longest time, the most of a processor and the most memory (bytes) that a case took.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    by_damage: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    slowest_s: float = 0.0
    worked_s: float = 0.0
    largest: int = 0

    def add(self, line: dict[str, Any]) -> None:
        """Count a case."""
        self.outcomes[line["outcome"]] += 1
        for damage in set(line["damage"]):
            self.by_damage.setdefault(damage, Counter())[line["outcome"]] += 1
        if line["outcome"] == "failed":
            self.failures.append(line)
        self.slowest_s = max(self.slowest_s, line.get("seconds", 0.0))
        self.worked_s = max(self.worked_s, line.get("worked_s", 0.0))
        self.largest = max(self.largest, line.get("peak", 0))


def run_cases(
    seed: int, numbers: Iterable[int], bases: Path, folder: Path, log: Path | None = None
) -> Tally:
    """Judge cases one after the other.

    Parameters
    ----------
    seed : int
        With the number of a case, it tells all about it.
    numbers : iterable of int
        Cases.
    bases : Path
        Folder of whole reports, as of `tests.fuzz.bases.gather`.
    folder : Path
        Where reports are damaged.
    log : Path, optional
        File to which a line is added for each case.
    """
    tally = Tally()
    child = _Child(seed, bases, folder)
    try:
        for done, number in enumerate(numbers):
            if child.is_over or (done and not done % _RENEW_AFTER):
                child.end()
                child = _Child(seed, bases, folder)
            line = child.judge(number)
            tally.add(line)
            if log is not None:
                with log.open("a") as file:
                    print(json.dumps(line), file=file)
    finally:
        child.end()
    return tally


class _Child:
    def __init__(self, seed: int, bases: Path, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.fuzz.child", str(seed), str(bases), str(folder)]
        environment = os.environ | {"RLVIZ_CACHE_DIR": str(folder / "cache")}
        self._process = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=environment | {"TQDM_DISABLE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self._ready = selectors.DefaultSelector()
        for name in ("stdout", "stderr"):
            stream = getattr(self._process, name)
            os.set_blocking(stream.fileno(), False)
            self._ready.register(stream, selectors.EVENT_READ, name)
        self._read = {"stdout": b"", "stderr": b""}

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def judge(self, number: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n".encode())
        built = self._answer(_BUILD_SECONDS)
        if isinstance(built, str):
            return {"case": number, "damage": ["build"], "outcome": "failed", "detail": built}
        verdict = self._answer(SECONDS)
        if isinstance(verdict, str):
            return {**built, "outcome": "failed", "detail": verdict}
        return {**built, **verdict}

    def _answer(self, seconds: float) -> dict[str, Any] | str:
        """Give the child's next line; or why there is none, and then it is ended."""
        spent, seen, used = 0.0, time.monotonic(), self._used()[0]
        while b"\n" not in self._read["stdout"]:
            if spent > seconds:
                self.end()
                return f"hung: more than {seconds:.0f} s"
            ready = self._ready.select(_LOOK_EVERY_S)
            now, (more, waits) = time.monotonic(), self._used()
            # On a machine with other things to do, time passes by itself.
            spent += now - seen if waits else more - used
            seen, used = now, more
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                if not piece:
                    self._ready.unregister(key.fileobj)
                self._read[key.data] += piece
            if not self._ready.get_map():
                status = self._process.wait()
                last = self._read["stderr"].decode(errors="replace").strip().splitlines()[-3:]
                return f"died with status {status}: {' | '.join(last)}"
        line, _, self._read["stdout"] = self._read["stdout"].partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _used(self) -> tuple[float, bool]:
        """Tell how much of a processor the child has used, and whether it waits for something.

        It does not while a thread of it is ready, or waits for a disk: others have them.
        """
        own = Path(f"/proc/{self._process.pid}")
        fields = (own / "stat").read_text().rpartition(") ")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        states = set()
        for thread in own.glob("task/*/stat"):
            with suppress(OSError):  # a thread that has ended
                states.add(thread.read_text().rpartition(") ")[2][:1])
        return ticks / os.sysconf("SC_CLK_TCK"), not states & {"R", "D"}

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

"""Reports of ranks that take part in collectives, on hosts whose clocks are off."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import rlviz
import rlviz.demo
from tests.exports import UTC_NS, Export

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ALL_REDUCE", "BROADCAST", "MS", "SECOND", "Simulated", "ends_of", "rank", "simulated"]

MS = 1_000_000
SECOND = 1_000_000_000
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
BROADCAST = "ncclDevKernel_Broadcast_RING_LL"
_folders: list[TemporaryDirectory[str]] = []


def rank(
    path: Path,
    ends: NDArray[np.int64],
    *,
    host: str = "node-1",
    pid: int = 1,
    start_ns: int = 0,
    error_ns: int = 0,
    system_clock_ns: int | None = None,
    name: str = ALL_REDUCE,
    grid: int = 24,
    stream: int = 20,
    more: tuple[tuple[NDArray[np.int64], str, int, int], ...] = (),
    **settings: Any,
) -> Path:
    """Write the report of a rank whose collectives end at these times, after 0 of true time.

    Parameters
    ----------
    ends : ndarray of int64
        Ends, of kernels of 4 ms.
    start_ns : int
        When the collection starts.
    error_ns : int
        How far the host's UTC is ahead.
    system_clock_ns : int, optional
        The host's system clock at 0 of true time; needs a schema from 3.24.7 on.
    more : tuple of (ends, name, grid, stream)
        Further series.
    """
    settings = {"duration_ns": 200 * SECOND, **settings}
    utc_ns = settings.pop("utc_ns", UTC_NS + start_ns + error_ns)
    with Export(path, pid=pid, host=host, utc_ns=utc_ns, **settings) as export:
        if system_clock_ns is not None:
            (session,) = export._rows["TARGET_INFO_SESSION_START_TIME"]
            session["systemClockNs"] = system_clock_ns + start_ns
        export.gpu(f"gpu-{host}-{pid}", f"0000:{pid:02x}:00.0")
        export.push_pop(0, SECOND, "dtensor_policy_worker_v2/train")
        for times, kernel, size, of_stream in ((ends, name, grid, stream), *more):
            for end in (times - start_ns).tolist():
                export.kernel(end - 4 * MS, end, kernel, short=kernel, stream=of_stream)
                export._rows["CUPTI_ACTIVITY_KIND_KERNEL"][-1] |= {
                    "gridX": size,
                    "gridY": 1,
                    "gridZ": 1,
                }
    return path


def ends_of(seed: int, count: int = 40, ranks: int = 2) -> list[NDArray[np.int64]]:
    """Ends of collectives at uneven times, on each rank 10 to 25 us early or late."""
    rng = np.random.default_rng(seed)
    true = 2 * SECOND + np.cumsum(rng.integers(30 * MS, 4 * SECOND, count))
    early = rng.integers(10_000, 25_000, (ranks, count)) * rng.choice([-1, 1], (ranks, count))
    return list((true + early).astype(np.int64))


@dataclass(frozen=True)
class Simulated:
    """A simulated run and its known answers."""

    folder: Path
    run: rlviz.Run
    truth: dict[str, Any]

    def errors_ns(self) -> dict[str, int]:
        """By how much each report with GPU rows that is placed stands at a wrong place.

        A constant that all have in common is nobody's error: the median is taken out.
        """
        known = {key.rpartition("/")[2]: one for key, one in self.truth["reports"].items()}
        known |= self.truth["reports"]
        off = {
            line["report"]: line["window_start_ns"]
            - known[line["report"]]["add_to_reach_run_clock_ns"]
            for line in self.run.reports.to_dicts()
            if known[line["report"]]["gpu"] and line["window_start_ns"] is not None
        }
        middle = sorted(off.values())[len(off) // 2]
        return {report: value - middle for report, value in off.items()}


@cache
def _simulated(options: str) -> Simulated:
    _folders.append(TemporaryDirectory())
    folder = Path(_folders[-1].name)
    rlviz.demo.write(folder, **json.loads(options))
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    return Simulated(folder, rlviz.load(folder), truth)


def simulated(**options: Any) -> Simulated:
    """Simulate a small run and load it, once for all tests."""
    return _simulated(json.dumps({"steps": 2, "kernels_per_gpu": 400} | options, sort_keys=True))

"""A small run with launch-bound time, nested ranges, and more threads than are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.exports import UTC_NS, Export

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["US", "eager", "launch", "write_run"]

US = 1_000
_MS = 1_000_000


def launch(export: Export, call_ns: int, start_ns: int, end_ns: int, tid: int = 4711) -> None:
    """Write a kernel and the call of 4 us that launched it."""
    correlation = export.kernel(start_ns, end_ns)
    export.runtime(call_ns, call_ns + 4 * US, correlation=correlation, tid=tid)


def eager(export: Export, at_ns: int, kernels: int, tid: int = 4711) -> int:
    """Write short kernels that each wait for their launch; give when the last one ends.

    Each runs for 5 us and starts 2 us after its call of 4 us; calls come every 20 us. So the GPU
    idles for 15 us between two, of which 13 us are the thread's and 2 us are latency.
    """
    for _ in range(kernels):
        launch(export, at_ns, at_ns + 6 * US, at_ns + 11 * US, tid)
        at_ns += 20 * US
    return at_ns - 9 * US


def write_run(folder: Path, *, tokens: int = 50) -> Path:
    """Write a run of a generation and a policy worker, the first of them launch-bound.

    Its decoding takes `tokens` ranges of 40 kernels each, from 100 ms on; then it waits in a sync
    for one long kernel of 100 ms. Five threads more make a call each. The other worker has no calls
    in its report.
    """
    with Export(folder / "vllm_generation_worker_0.sqlite", pid=4711, utc_ns=UTC_NS) as export:
        export.gpu("gpu-0", "0000:10:00.0")
        export.thread(4711, "python3")
        export.push_pop(90 * _MS, 400 * _MS, "vllm_generation_worker/generate")
        at = 100 * _MS
        for token in range(tokens):
            export.push_pop(at - US, at + 798 * US, f"decode token {token}")
            export.push_pop(at, at + 300 * US, "attention")
            eager(export, at, 40)
            at += 800 * US
        launch(export, at, at + 6 * US, at + 100 * _MS)
        export.runtime(at + 10 * US, at + 100 * _MS, "cudaStreamSynchronize_v3020", tid=4711)
        for tid in range(5):
            call = at + tid * _MS
            export.thread(4720 + tid, f"helper-{tid}")
            export.runtime(call, call + 500 * US, "cudaMalloc_v3020", tid=4720 + tid)
    with Export(folder / "dtensor_policy_worker_0.sqlite", pid=4800, utc_ns=UTC_NS) as export:
        export.gpu("gpu-1", "0000:20:00.0")
        export.push_pop(90 * _MS, 400 * _MS, "policy_worker/train")
        export.kernel(100 * _MS, 390 * _MS)
    return folder

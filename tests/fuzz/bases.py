"""Whole reports to damage: simulated ones, those of the tests' writer, and real ones."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rlviz.demo import write as write_demo
from tests.exports import Export
from tests.schema import GENERATIONS
from tests.shared import REPORTS

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["gather"]

_MS = 1_000_000
_LARGEST = 700_000
_DEMO = {"policy_gpus": 1, "generation_gpus": 1, "hosts": 1, "steps": 1, "kernels_per_gpu": 200}


def gather(folder: Path) -> list[Path]:
    """Put whole reports into `folder`, in an order that only depends on which there are."""
    for schema in GENERATIONS:
        for lazy in (True, False):
            _write(folder / f"written-{schema}-{'lazy' if lazy else 'whole'}.sqlite", schema, lazy)
    for framework in ("nemo_rl", "verl"):
        run = folder / framework
        write_demo(run, framework=framework, **_DEMO)  # type: ignore[arg-type]
        for number, path in enumerate(sorted(run.rglob("*.sqlite"))):
            path.replace(folder / f"demo-{framework}-{number}.sqlite")
        shutil.rmtree(run)
    real = (path for path in REPORTS.rglob("*.sqlite") if path.stat().st_size < _LARGEST)
    for number, path in enumerate(sorted(real)):
        shutil.copyfile(path, folder / f"real-{number:03d}.sqlite")
    return sorted(folder.glob("*.sqlite"))


def _write(path: Path, schema: str, lazy: bool) -> None:
    with Export(path, schema, duration_ns=400 * _MS, lazy=lazy) as export:
        export.gpu("gpu-a", "0000:19:00.0")
        export.gpu("gpu-b", "0000:3a:00.0", number=1, device=1)
        export.thread(4711, "python3")
        export.domain(1, "NCCL")
        for step in range(20):
            start = (10 + 18 * step) * _MS
            launched = export.kernel(
                start, start + 5 * _MS, "void gemm<float>(T1 *)", short="gemm", device=step % 2
            )
            export.runtime(start - _MS, start, correlation=launched)
            export.kernel(start + _MS, start + 9 * _MS, f"softmax_{step}", stream=13, graph_node=5)
            export.kernel(start + 9 * _MS, start + 10 * _MS, "ncclDevKernel_AllReduce_Sum_bf16")
            export.copy(start + 10 * _MS, start + 11 * _MS, kind=step % 12)
            export.memset(start + 11 * _MS, start + 12 * _MS)
            export.graph(start + 12 * _MS, start + 14 * _MS, graph_id=step)
            export.push_pop(start - _MS, start + 15 * _MS, f"dtensor_policy_worker/step {step}")
            export.push_pop(start, start + 4 * _MS, "inner", registered=True)
            export.push_pop(start, start + _MS, "ncclAllReduce", domain=1, registered=True)
            export.start_end(start, None if step == 19 else start + 16 * _MS, "request")
            export.mark(start, None if step % 2 else "step done")

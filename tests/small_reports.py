"""Reports of one kernel and one range, and what is asked of a run made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from tests.exports import UTC_NS, Export

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz import Run
    from rlviz.errors import RlvizError

__all__ = ["pids", "refused", "told", "write"]


def write(path: Path, pid: int = 4711, **settings: Any) -> Path:
    """Write a report with one kernel; its UTC differs from that of other processes."""
    with Export(path, pid=pid, **({"utc_ns": UTC_NS + pid} | settings)) as export:
        export.gpu(f"gpu-{pid}", f"0000:{pid % 256:02x}:00.0")
        export.kernel(100, 200)
        export.push_pop(90, 210, "some range")
    return path


def pids(run: Run) -> list[int]:
    return sorted(run.rows["pid"])


def told(run: Run, kind: str) -> list[dict[str, Any]]:
    return [line for line in run.diagnostics.to_dicts() if line["kind"] == kind]


def refused(reports: Any, kind: type[RlvizError]) -> str:
    """Load what cannot be loaded; give the message."""
    with pytest.raises(kind) as caught:
        rlviz.load(reports)
    return str(caught.value)

"""How many processors there are to work with."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["processors"]

_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")


def processors() -> int:
    """Count the processors that this process may use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = _CPU_LIMIT.read_text("ascii").split()
        limit = int(quota) / int(period)
    except (OSError, ValueError):  # no such file, or "max"
        return count or 1
    return max(1, min(count or 1, round(limit)))

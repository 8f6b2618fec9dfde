"""Tell on what machine something was measured."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib.metadata import version

__all__ = ["machine"]


def machine() -> str:
    """Name processors, memory, and versions of what the time depends on."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    used = [f"{name} {version(name)}" for name in ("polars", "numpy", "bokeh")]
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory_gb:.0f} GB of memory, "
        f"{platform.system()}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, {', '.join(used)}"
    )

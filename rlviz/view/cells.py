"""Whether a notebook is there to show a chart, and which of its cells is running."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["in_notebook", "running_cell"]


def in_notebook() -> bool:
    """Tell whether a cell of a notebook is running, below which a chart can be displayed."""
    return running_cell() is not None


def running_cell() -> int | None:
    """Give the number of the running cell; None where no notebook can display a widget."""
    ipython: Any = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    count: int = shell.execution_count
    return count

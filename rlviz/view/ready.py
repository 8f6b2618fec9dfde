"""Detail made ready while the kernel has nothing else to do, before a view asks for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable

    from rlviz.view.detail import Detail

__all__ = ["ready_soon"]

# A cell that is done has told so by then.
_IDLE_S = 0.2


def ready_soon(detail: weakref.WeakMethod[Callable[[], Detail]]) -> None:
    """Make what all answers share once the running cell is done; outside a notebook, do nothing."""
    with suppress(RuntimeError):  # no event loop is running
        asyncio.get_running_loop().call_later(_IDLE_S, _make_ready, detail)


def _make_ready(detail: weakref.WeakMethod[Callable[[], Detail]]) -> None:
    give = detail()
    # What fails here fails again when a view asks, which is told then.
    with suppress(Exception):
        if give is not None:
            give().prepare()

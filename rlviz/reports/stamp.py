"""What tells two states of a file apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlviz.errors import UnreadableReport

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["stamp_of"]


def stamp_of(path: Path) -> tuple[int, ...]:
    """Give what tells two states of a file apart: device, inode, size and time of change.

    Raises
    ------
    UnreadableReport
        The file is not there.
    """
    try:
        status = path.stat()
    except OSError as error:
        problem = f"it cannot be opened ({error.strerror})."
        raise UnreadableReport(path, problem, "Check that the file is there.") from None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

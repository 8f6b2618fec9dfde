"""Export a ``.nsys-rep`` with the nsys that is installed, into the cache folder."""

from __future__ import annotations

import hashlib
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rlviz.errors import ExportNeeded, UnreadableReport
from rlviz.folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["export_capture"]


def export_capture(capture: Path, which: Callable[[str], str | None] = shutil.which) -> Path:
    """Give the SQLite export of a capture; nothing is written beside the capture.

    Parameters
    ----------
    capture : Path
        A ``.nsys-rep``.
    which : callable
        Finds a program on the PATH.

    Returns
    -------
    Path
        The export in the cache folder; made only once as long as the capture does not change.

    Raises
    ------
    ExportNeeded
        There is no nsys on the PATH, or no room in the cache folder.
    UnreadableReport
        nsys could not export it.
    """
    target = _target(capture)
    if target.exists():
        return target
    nsys = which("nsys")
    command = f"nsys export --type sqlite -o {capture.stem}.sqlite {capture.name}"
    if nsys is None:
        raise ExportNeeded(
            capture,
            "it is not exported yet, and there is no nsys on the PATH.",
            f"Run, where nsys is installed: {command}",
        )
    try:
        _export(nsys, capture, target, command)
    except OSError as error:
        raise ExportNeeded(
            capture,
            f"it cannot be exported into the cache folder ({error.strerror}).",
            f"Name another one as RLVIZ_CACHE_DIR, or run: {command}",
        ) from None
    return target


def _export(nsys: str, capture: Path, target: Path, command: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.parent.chmod(stat.S_IRWXU)  # the environment of the profiled process is in an export
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        # Renamed when complete: an export that is cut off must never look like one.
        unfinished = Path(folder, target.name)
        done = subprocess.run(
            [nsys, "export", "--type", "sqlite", "-o", str(unfinished), str(capture.absolute())],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode or not unfinished.exists():
            problem = f"nsys export failed with status {done.returncode}."
            raise UnreadableReport(capture, problem, f"Run it to see why: {command}")
        unfinished.replace(target)


def _target(capture: Path) -> Path:
    try:
        status = capture.stat()
    except OSError as error:
        problem = f"it cannot be opened ({error.strerror})."
        raise UnreadableReport(capture, problem, "Check that the file is there.") from None
    sign = f"{capture.absolute()}\0{status.st_size}\0{status.st_mtime_ns}"
    digest = hashlib.sha256(sign.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_folder() / "exports" / digest / f"{capture.stem}.sqlite"

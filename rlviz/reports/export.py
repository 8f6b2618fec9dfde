"""Export a ``.nsys-rep`` with the nsys that is installed: into the cache folder, or where told."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tqdm.auto import tqdm

from rlviz.errors import ExportNeeded, RlvizError, UnreadableReport, name_of
from rlviz.folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["export_capture", "export_to"]

# "Exporting 700 events: [====57%   ]", drawn anew with carriage returns.
_PERCENT = re.compile(rb"(\d{1,3})%")
_REASON = re.compile(r"[Ee]rror:\s*(.+)")
_FOLDERS = re.compile(r"/\S*/")
# A word or a small number. What else nsys quotes may be from the environment that a capture holds.
_PLAIN = re.compile(r"[\"'(]?([A-Za-z]{1,15}|\d{1,4})[\"')]?[.,;:!]?")
_LONGEST_REASON = 200
_LAST_WORDS = 4_000


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
    nsys = _nsys(capture, which)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The environment of the profiled process is in an export.
        target.parent.chmod(stat.S_IRWXU)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            _export(nsys, capture, Path(folder, target.name)).replace(target)
    except OSError as error:
        raise ExportNeeded(
            capture,
            f"it cannot be exported into the cache folder ({error.strerror}).",
            f"Name another one as RLVIZ_CACHE_DIR, or run: {_command(capture)}",
        ) from None
    finally:
        if not target.exists():
            _remove_empty(target.parent)
    return target


def export_to(
    capture: Path, target: Path, which: Callable[[str], str | None] = shutil.which
) -> None:
    """Export a capture to a file that is not there yet.

    Parameters
    ----------
    capture : Path
        A ``.nsys-rep``.
    target : Path
        The export to make; its folder is made too.
    which : callable
        Finds a program on the PATH.

    Raises
    ------
    RlvizError
        The file is there already, or cannot be written.
    ExportNeeded, UnreadableReport
        As of `export_capture`.
    """
    if os.path.lexists(target):
        raise RlvizError(target, "is there already, and is left as it is.", "Name another folder.")
    if not capture.is_file():
        raise UnreadableReport(capture, "it cannot be opened.", "Check that the file is there.")
    nsys = _nsys(capture, which)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".rlviz-") as folder:
            _export(nsys, capture, Path(folder, target.name)).rename(target)
    except OSError as error:
        raise RlvizError(target, f"cannot be written: {error.strerror}.") from None


def _nsys(capture: Path, which: Callable[[str], str | None]) -> str:
    nsys = which("nsys")
    if nsys is None:
        raise ExportNeeded(
            capture,
            "it is not exported yet, and there is no nsys on the PATH.",
            f"Run, where nsys is installed: {_command(capture)}",
        )
    return nsys


def _command(capture: Path) -> str:
    return f"nsys export --type sqlite -o {capture.stem}.sqlite {capture.name}"


def _export(nsys: str, capture: Path, unfinished: Path) -> Path:
    """Export to a name that is not the final one: what is cut off must never look complete."""
    asked = [nsys, "export", "--type", "sqlite", "-o", str(unfinished), str(capture.absolute())]
    said = b""
    with subprocess.Popen(
        asked,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            if process.stderr is not None:
                said = _watched(process.stderr, name_of(capture))
            status = process.wait()
        except BaseException:
            # It would go on after an interrupt; nsys may be a script that has started another.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if status or not unfinished.exists():
        problem = f"nsys export failed: {_reason(said, capture.name) or f'status {status}'}."
        raise UnreadableReport(capture, problem, f"Run it to see more: {_command(capture)}")
    return unfinished


def _watched(stream: IO[bytes], name: str) -> bytes:
    """Show how far nsys is, by what it says; give its last words."""
    said = b""
    bar = "exporting {desc}: {percentage:3.0f}%|{bar}| {elapsed}"
    with tqdm(total=100, desc=name, leave=False, delay=1, bar_format=bar) as progress:
        while part := os.read(stream.fileno(), 1 << 16):
            said = (said + part)[-_LAST_WORDS:]
            if told := _PERCENT.findall(part):
                progress.update(min(int(told[-1]), 100) - progress.n)
    return said


def _reason(said: bytes, name: str) -> str:
    """Give what nsys said of its failure, as far as it is plain words and the capture's name."""
    reasons = _REASON.findall(said.decode("utf-8", "replace").replace("\r", "\n"))
    words = _FOLDERS.sub("", reasons[-1]).split() if reasons else []
    plain = (_PLAIN.fullmatch(word) or word.strip("'\"().,;:") == name for word in words)
    told = " ".join(word if known else "…" for word, known in zip(words, plain, strict=True))
    return told.rstrip(".")[:_LONGEST_REASON]


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # it holds something, or was never made


def _target(capture: Path) -> Path:
    try:
        status = capture.stat()
    except OSError as error:
        problem = f"it cannot be opened ({error.strerror})."
        raise UnreadableReport(capture, problem, "Check that the file is there.") from None
    sign = f"{capture.absolute()}\0{status.st_size}\0{status.st_mtime_ns}"
    digest = hashlib.sha256(sign.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_folder() / "exports" / digest / f"{capture.stem}.sqlite"

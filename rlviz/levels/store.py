"""Keep frames on disk, so that what was worked out once is opened, not worked out again.

An entry is a folder of uncompressed Arrow files, which are memory-mapped, and a file of facts. It
is written under another name and renamed when complete: whoever is killed leaves no half entry.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import time
import warnings
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rlviz.folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Entry", "Store", "StoreInfo"]

_LAYOUT = 1  # of the folder of an entry; another number is never read
_FACTS = "facts.json"
_UNFINISHED = "unfinished-"
_CHECKED = 1 << 16
_ABANDONED_S = 24 * 3600.0
_MOST_BYTES = 20 << 30
_DISK_SHARE = 0.25
_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError)


@dataclass(frozen=True)
class Entry:
    """What is kept under one key.

    Parameters
    ----------
    folder : Path
        Where its files are.
    facts : dict
        What was kept besides frames.
    """

    folder: Path
    facts: dict[str, Any]

    def frame(self, name: str) -> pl.DataFrame:
        """Map a frame into memory; nothing of it is copied."""
        # One file, one batch: its columns are NumPy views.
        return pl.read_ipc(self.folder / f"{name}.arrow")


@dataclass(frozen=True)
class StoreInfo:
    """How much a store holds, and how much it may."""

    folder: Path
    entries: int
    size_bytes: int
    most_bytes: int


class Store:
    """A folder of entries; those that were not used for longest go first when it is full.

    Parameters
    ----------
    folder : Path, optional
        By default ``store`` in the cache folder. It need not exist.
    most_bytes : int, optional
        What it may hold; by default 20 GiB, at most a quarter of the disk.

    Notes
    -----
    Any number of processes may use it at once. It never raises for the state of the disk: what
    cannot be read is absent, what cannot be written is told once and gone without.
    """

    def __init__(self, folder: Path | None = None, most_bytes: int | None = None) -> None:
        self.folder = folder if folder is not None else cache_folder() / "store"
        self._most_bytes = most_bytes
        self._told = False

    def get(self, key: str) -> Entry | None:
        """Open an entry; None when it is absent or damaged, and then it is removed."""
        folder = self.folder / key
        try:
            kept = json.loads((folder / _FACTS).read_bytes())
        except FileNotFoundError:
            if folder.is_dir():
                self._remove(folder)
            return None
        except (OSError, ValueError):
            kept = {}
        if not _is_whole(folder, kept):
            warnings.warn(
                f"An entry of the store was damaged and is made again: {folder.name}.",
                RuntimeWarning,
                stacklevel=2,
            )
            self._remove(folder)
            return None
        with suppress(OSError):  # a store that may only be read is used all the same
            os.utime(folder / _FACTS)
        return Entry(folder, kept["facts"])

    def put(
        self, key: str, frames: Mapping[str, pl.DataFrame], facts: Mapping[str, Any]
    ) -> Entry | None:
        """Keep frames and facts; None when they cannot be written.

        Where another process was faster, its entry is taken.
        """
        unfinished: Path | None = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
            prefix = f"{_UNFINISHED}{_host()}-{os.getpid()}-"
            unfinished = Path(tempfile.mkdtemp(prefix=prefix, dir=self.folder))
            _write(unfinished, frames, facts)
            # Renaming a folder fails where one is that is not empty: the first one stays.
            with suppress(FileExistsError, PermissionError):
                unfinished.rename(self.folder / key)
        except (OSError, pl.exceptions.PolarsError) as error:
            # ENOTEMPTY has no class of its own; whether somebody was faster, get() tells.
            if not (self.folder / key / _FACTS).exists():
                self._tell(error)
                return None
        finally:
            if unfinished is not None and unfinished.exists():
                shutil.rmtree(unfinished, ignore_errors=True)
        self._bound(key)
        return self.get(key)

    def info(self) -> StoreInfo:
        """Count entries and bytes."""
        sizes = [size for _, size, _ in self._entries()]
        return StoreInfo(self.folder, len(sizes), sum(sizes), self._most())

    def clear(self) -> int:
        """Remove all entries; give the bytes that were freed."""
        freed = 0
        for folder, size, _ in list(self._entries()):
            self._remove(folder)
            freed += size
        self._sweep()
        return freed

    def _most(self) -> int:
        if self._most_bytes is not None:
            return self._most_bytes
        try:
            return min(_MOST_BYTES, int(shutil.disk_usage(self.folder).total * _DISK_SHARE))
        except OSError:
            return _MOST_BYTES

    def _entries(self) -> Iterator[tuple[Path, int, float]]:
        """Folder, bytes and time of last use of every entry."""
        try:
            folders = [path for path in self.folder.iterdir() if (path / _FACTS).is_file()]
        except OSError:
            return
        for folder in folders:
            if folder.name.startswith(_UNFINISHED):
                continue
            with suppress(OSError):  # somebody may remove it meanwhile
                used = (folder / _FACTS).stat().st_mtime
                yield folder, sum(file.stat().st_size for file in folder.iterdir()), used

    def _bound(self, key: str) -> None:
        entries = sorted(self._entries(), key=lambda entry: entry[2])
        too_much = sum(size for _, size, _ in entries) - self._most()
        for folder, size, _ in entries:
            if too_much <= 0:
                return
            if folder.name != key:
                self._remove(folder)
                too_much -= size

    def _remove(self, folder: Path) -> None:
        # Out of sight at once: nobody opens an entry of which half is gone.
        away = folder.with_name(f"{_UNFINISHED}{_host()}-{os.getpid()}-{folder.name[:8]}")
        with suppress(OSError):
            shutil.rmtree(away, ignore_errors=True)
            folder.rename(away)
            shutil.rmtree(away, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what writers that were killed left behind."""
        for path in self.folder.glob(f"{_UNFINISHED}*"):
            with suppress(OSError, ValueError):
                if time.time() - path.stat().st_mtime > _ABANDONED_S or _left_by_the_dead(path):
                    shutil.rmtree(path, ignore_errors=True)

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            warnings.warn(
                f"Nothing can be kept in the store ({type(error).__name__}: "
                f"{getattr(error, 'strerror', None) or 'not written'}): reports are read anew "
                "each time. Set RLVIZ_CACHE_DIR to a folder that can be written, or pass cache=.",
                RuntimeWarning,
                stacklevel=3,
            )


def _write(folder: Path, frames: Mapping[str, pl.DataFrame], facts: Mapping[str, Any]) -> None:
    files = {}
    for name, frame in frames.items():
        file = folder / f"{name}.arrow"
        # Rows of one batch lie side by side; LargeUtf8 is what can be mapped without conversion.
        rows = max(len(frame), 1)
        frame.rechunk().write_ipc(file, compression="uncompressed", record_batch_size=rows)
        files[file.name] = [file.stat().st_size, _checksum(file)]
    text = json.dumps({"layout": _LAYOUT, "files": files, "facts": facts})
    sign = zlib.crc32(text.encode())
    (folder / _FACTS).write_text(json.dumps({"sign": sign, "text": text}), "utf-8")


def _checksum(file: Path) -> int:
    """Sum up both ends of a file: hashing all of it would cost more than it saves."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        first = stream.read(_CHECKED)
        stream.seek(max(0, size - _CHECKED))
        return zlib.crc32(stream.read(_CHECKED), zlib.crc32(first))


def _is_whole(folder: Path, kept: Any) -> bool:  # noqa: ANN401  - whatever JSON has
    try:
        if zlib.crc32(kept["text"].encode()) != kept["sign"]:
            return False
        inner = json.loads(kept["text"])
        kept["facts"] = inner["facts"]
        return inner["layout"] == _LAYOUT and all(
            (folder / name).stat().st_size == size and _checksum(folder / name) == checksum
            for name, (size, checksum) in inner["files"].items()
        )
    except _DAMAGED:
        return False


def _host() -> str:
    return "".join(c for c in socket.gethostname() if c.isalnum())[:40] or "host"


def _left_by_the_dead(path: Path) -> bool:
    host, pid = path.name.removeprefix(_UNFINISHED).split("-")[:2]
    if os.name != "posix" or host != _host():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False

"""Keep frames on disk, so that what was worked out once is opened, not worked out again.

An entry is a folder: all columns of numbers in one file, which is memory-mapped, others as Arrow
files, and a file of facts. It is written under another name and renamed when complete: whoever is
killed leaves no half entry.
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
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
import polars as pl

from rlviz.folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["NOT_UNDERSTOOD", "Cache", "Entry", "Store", "StoreInfo", "store_of"]

Cache: TypeAlias = bool | str | Path
"""Where to keep what was worked out: in the user's store, nowhere, or in a folder."""

_LAYOUT = 2  # of the folder of an entry; another number is never read
_FACTS = "facts.json"
_NUMBERS = "numbers.bin"
_ALIGNED = 64
_UNFINISHED = "unfinished-"
_CHECKED = 1 << 16
_WORTH_MAPPING = 1 << 18
_ABANDONED_S = 24 * 3600.0
_MOST_BYTES = 20 << 30
_DISK_SHARE = 0.25
_WRITERS = 16
NOT_UNDERSTOOD = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    pl.exceptions.PolarsError,
)
"""What is raised when what was kept is not what it should be."""


@dataclass(frozen=True)
class Entry:
    """What is kept under one key.

    Parameters
    ----------
    folder : Path
        Where its files are.
    facts : dict
        What was kept besides frames.
    frames : dict of str to list of (str, (str, int, int) or None)
        Columns of each frame; of those that are mapped, type, place in the file and length.
    """

    folder: Path
    facts: dict[str, Any]
    frames: dict[str, list[tuple[str, tuple[str, int, int] | None]]]

    def frame(self, name: str) -> pl.DataFrame:
        """Map a frame into memory; its numbers are not copied."""
        columns = self.frames[name]
        others = self.folder / _arrow(name)
        rest = pl.read_ipc(others) if others.exists() else pl.DataFrame()
        return pl.DataFrame(
            [
                rest[column] if place is None else pl.Series(column, self._column(*place))
                for column, place in columns
            ]
        )

    def _column(self, dtype: str, first: int, count: int) -> NDArray[Any]:
        kind = np.dtype(dtype)
        return self._numbers[first : first + count * kind.itemsize].view(kind)

    @cached_property
    def _numbers(self) -> NDArray[np.uint8]:
        # One mapping an entry: each holds its file open, and a process may hold about a thousand.
        file = self.folder / _NUMBERS
        if file.stat().st_size < _WORTH_MAPPING:
            return np.fromfile(file, np.uint8)
        return np.asarray(np.memmap(file, np.uint8, mode="r"))


def store_of(cache: Cache) -> Store | None:
    """Give the store that a caller asks for: the user's own, none, or one in a folder."""
    if isinstance(cache, bool):
        return Store() if cache else None
    return Store(Path(cache).expanduser())


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
        self.folder: Path = folder if folder is not None else cache_folder() / "store"
        self._most_bytes = most_bytes
        self._told = False
        # Bytes that may be written before all entries are counted again; None: never counted.
        self._uncounted: int | None = None

    def get(self, key: str) -> Entry | None:
        """Open an entry; None when it is absent or damaged, and then it is removed."""
        folder = self.folder / key
        try:
            kept = json.loads((folder / _FACTS).read_bytes())
        except FileNotFoundError:
            if folder.is_dir():
                self._remove(folder)
            return None
        except (NotADirectoryError, PermissionError):  # no store, or somebody else's
            return None
        except (OSError, ValueError):
            kept = {}
        if not _is_whole(folder, kept):
            self.discard(key)
            return None
        with suppress(OSError):  # a store that may only be read is used all the same
            os.utime(folder / _FACTS)
        return Entry(folder, kept["facts"], kept["frames"])

    def discard(self, key: str) -> None:
        """Remove an entry that cannot be understood, and tell it."""
        warnings.warn(
            f"An entry of the store was damaged and is made again: {key}.",
            RuntimeWarning,
            stacklevel=3,
        )
        self._remove(self.folder / key)

    def remove(self, key: str) -> None:
        """Remove an entry that is of no use any more."""
        self._remove(self.folder / key)

    def put(
        self, key: str, frames: Mapping[str, pl.DataFrame], facts: Mapping[str, Any]
    ) -> Entry | None:
        """Keep frames and facts; None when they cannot be written.

        Where another process was faster, its entry is taken.
        """
        unfinished: Path | None = None
        size = 0
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._uncounted is None:
                self._sweep()
            prefix = f"{_UNFINISHED}{_host()}-{os.getpid()}-"
            unfinished = Path(tempfile.mkdtemp(prefix=prefix, dir=self.folder))
            _write(unfinished, frames, facts)
            size = _size(unfinished)
            # Renaming a folder fails where one is that is not empty: the first one stays.
            with suppress(FileExistsError, PermissionError):
                unfinished.rename(self.folder / key)
        except (OSError, pl.exceptions.PolarsError) as error:
            # ENOTEMPTY has no class of its own; whether somebody was faster, get() tells.
            # pathlib's raises an error where the store may not be looked into
            if not os.path.exists(self.folder / key / _FACTS):  # noqa: PTH110
                self._tell(error)
                return None
        finally:
            if unfinished is not None and unfinished.exists():
                shutil.rmtree(unfinished, ignore_errors=True)
        self._bound(key, size)
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
                yield folder, _size(folder), used

    def _bound(self, key: str, written: int) -> None:
        if self._uncounted is not None and written <= self._uncounted:
            self._uncounted -= written
            return
        entries = sorted(self._entries(), key=lambda entry: entry[2])
        most = self._most()
        total = sum(size for _, size, _ in entries)
        for folder, size, _ in entries:
            if total <= most:
                break
            if folder.name != key:
                self._remove(folder)
                total -= size
        # To count takes as long as there are entries: not for each of a thousand small ones. Others
        # write as well, so that not all the room that is left is this one's.
        self._uncounted = max(0, most - total) // _WRITERS

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
    columns: dict[str, list[tuple[str, tuple[str, int, int] | None]]] = {}
    with (folder / _NUMBERS).open("wb") as numbers:
        for name, frame in frames.items():
            mapped = {c.name: _append(numbers, c) for c in frame if _can_be_mapped(c)}
            columns[name] = [(column, mapped.get(column)) for column in frame.columns]
            if rest := [column for column in frame.columns if column not in mapped]:
                frame.select(rest).write_ipc(folder / _arrow(name), compression="uncompressed")
    files = {file.name: [file.stat().st_size, _checksum(file)] for file in folder.iterdir()}
    text = json.dumps({"layout": _LAYOUT, "files": files, "frames": columns, "facts": facts})
    sign = zlib.crc32(text.encode())
    (folder / _FACTS).write_text(json.dumps({"sign": sign, "text": text}), "utf-8")


def _can_be_mapped(column: pl.Series) -> bool:
    # A null has no place among numbers.
    return column.dtype.is_numeric() and not column.null_count() and len(column) > 0


def _append(file: BinaryIO, column: pl.Series) -> tuple[str, int, int]:
    """Write a column behind the others; give its type, place and length."""
    values = np.ascontiguousarray(column.to_numpy())
    file.write(bytes(-file.tell() % _ALIGNED))
    first = file.tell()
    file.write(values.data)
    return values.dtype.str, first, len(values)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def _arrow(frame: str) -> str:
    return f"{frame}.arrow"


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
        kept["facts"], kept["frames"] = inner["facts"], inner["frames"]
        return inner["layout"] == _LAYOUT and all(
            (folder / name).stat().st_size == size and _checksum(folder / name) == checksum
            for name, (size, checksum) in inner["files"].items()
        )
    except NOT_UNDERSTOOD:
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

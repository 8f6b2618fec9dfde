"""Damage to the bytes of a file, to what lies beside it, and to what it is."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import struct
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

__all__ = ["BYTE_DAMAGE", "PLACE_DAMAGE"]

_HEADER = 100
_PAGE = 4096


def _flip(path: Path, random: Random, first: int, last: int, bits: int) -> None:
    whole = bytearray(path.read_bytes())
    for _ in range(bits):
        place = random.randrange(first, max(min(last, len(whole)), first + 1))
        if place < len(whole):
            whole[place] ^= 1 << random.randrange(8)
    path.write_bytes(whole)


def flipped_header(path: Path, random: Random) -> None:
    _flip(path, random, 0, _HEADER, random.choice([1, 2, 8]))


def flipped_schema(path: Path, random: Random) -> None:
    _flip(path, random, _HEADER, _PAGE, random.choice([1, 4, 32]))


def flipped_pages(path: Path, random: Random) -> None:
    _flip(path, random, _HEADER, path.stat().st_size, random.choice([1, 16, 256, 2048]))


def flipped_page_heads(path: Path, random: Random) -> None:
    """Where a page says what it is, and how many cells it has where."""
    pages = path.stat().st_size // _PAGE
    for _ in range(random.choice([1, 4, 16])):
        at = random.randrange(max(pages, 1)) * _PAGE
        _flip(path, random, at, at + 40, random.choice([1, 4]))


def truncated(path: Path, random: Random) -> None:
    size = path.stat().st_size
    cuts = (
        random.randrange(size + 1),
        random.randrange(size // _PAGE + 1) * _PAGE,
        max(size - 1, 0),
    )
    os.truncate(path, random.choice([*cuts, random.randrange(200)]))


def zeroed_header(path: Path, random: Random) -> None:
    many = random.choice([16, _HEADER, _PAGE, 3 * _PAGE])
    path.write_bytes(bytes(many) + path.read_bytes()[many:])


def zeroed_pages(path: Path, random: Random) -> None:
    whole = bytearray(path.read_bytes())
    for _ in range(random.choice([1, 5, 20])):
        at = random.randrange(len(whole) // _PAGE + 1) * _PAGE
        noise = bytes(_PAGE) if random.random() < 0.5 else random.randbytes(_PAGE)
        whole[at : at + _PAGE] = noise[: len(whole) - at]
    path.write_bytes(whole)


def swapped_pages(path: Path, random: Random) -> None:
    whole = bytearray(path.read_bytes())
    pages = len(whole) // _PAGE
    for _ in range(random.choice([1, 5])):
        one, other = (random.randrange(1, max(pages, 2)) * _PAGE for _ in range(2))
        whole[one : one + _PAGE], whole[other : other + _PAGE] = (
            whole[other : other + _PAGE],
            whole[one : one + _PAGE],
        )
    path.write_bytes(whole)


def grown(path: Path, random: Random) -> None:
    with path.open("ab") as file:
        file.write(random.randbytes(random.choice([1, _PAGE, 100_000])))


def empty(path: Path, _: Random) -> None:
    path.write_bytes(b"")


def text(path: Path, random: Random) -> None:
    lines = ("SELECT 1;\n", "SQLite format 3\n", "SQLite format 3\0", "version https://git-lfs\n")
    path.write_text(random.choice(lines) * random.choice([1, 1000]))


def compressed(path: Path, _: Random) -> None:
    path.write_bytes(gzip.compress(path.read_bytes(), 1))


def noise(path: Path, random: Random) -> None:
    magic = random.choice([b"", b"SQLite format 3\0"])
    path.write_bytes(magic + random.randbytes(random.choice([1, 84, 10_000])))


def wal_beside(path: Path, random: Random) -> None:
    """A log of newer pages: nsys leaves none, somebody who altered the export may."""
    wal = path.with_name(f"{path.name}-wal")
    kind = random.randrange(4)
    if kind == 0:
        wal.write_bytes(random.randbytes(random.choice([0, 32, 50_000])))
    elif kind == 1:
        frame = struct.pack(">8I", 0x377F0682, 3007000, _PAGE, 0, 1, 2, 0, 0)
        wal.write_bytes(frame + random.randbytes(24 + _PAGE))
    elif kind == 2:
        path.with_name(f"{path.name}-journal").write_bytes(random.randbytes(2000))
        path.with_name(f"{path.name}-shm").write_bytes(random.randbytes(2000))
    else:
        _leave_wal(path)


def _leave_wal(path: Path) -> None:
    copy = path.with_name("copy")
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE newer (id)")
            shutil.copyfile(path, copy)  # before closing brings the log home
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    except (sqlite3.Error, OSError, UnicodeDecodeError):
        return
    copy.replace(path)
    path.with_name("copy-wal").replace(f"{path}-wal")


BYTE_DAMAGE = {
    damage.__name__: damage
    for damage in (
        *(flipped_header, flipped_schema, flipped_pages, flipped_page_heads, truncated),
        *(zeroed_header, zeroed_pages, swapped_pages, grown, empty, text, compressed, noise),
        wal_beside,
    )
}


# -- what is in its place --------------------------------------------------------------------


def symlink_loop(path: Path, _: Random) -> None:
    path.unlink()
    other = path.with_name("other.sqlite")
    other.symlink_to(path)
    path.symlink_to(other)


def dangling_link(path: Path, _: Random) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def fifo(path: Path, _: Random) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path, random: Random) -> None:
    path.unlink()
    path.symlink_to(random.choice(["/dev/zero", "/dev/null", "/dev/full"]))


def folder(path: Path, _: Random) -> None:
    path.unlink()
    path.mkdir()


def folder_that_holds_itself(path: Path, _: Random) -> None:
    inner = path.with_name("nested")
    inner.mkdir()
    (inner / "again").symlink_to(path.parent)


def unreadable(path: Path, _: Random) -> None:
    path.chmod(0)


def vanishing(path: Path, _: Random) -> None:
    """Gone while it is read: `tests.fuzz.judge` takes it away."""


def cut_while_read(path: Path, _: Random) -> None:
    """Cut off while it is read: `tests.fuzz.judge` does it."""


PLACE_DAMAGE = {
    damage.__name__: damage
    for damage in (
        *(symlink_loop, dangling_link, fifo, device, folder, folder_that_holds_itself, unreadable),
        *(vanishing, cut_while_read),
    )
}

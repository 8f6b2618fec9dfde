"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from rlviz.errors import RlvizError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

__all__ = ["whole_file", "whole_folder"]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes its name when it is complete.

    Parameters
    ----------
    path : Path
        What it is called then; a file of that name stays as it is until then.

    Raises
    ------
    RlvizError
        It cannot be written.
    """
    beside = _beside(path)
    try:
        with _reasons_told(path):
            with beside.open("wb") as file:
                yield file
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, ours: Collection[str]) -> Iterator[Path]:
    """Give a folder to write to, which takes its name when it is complete.

    Parameters
    ----------
    path : Path
        What it is called then. A folder of that name is replaced if it holds nothing but `ours`.
    ours : collection of str
        Names of the files that it may hold.

    Raises
    ------
    RlvizError
        It cannot be written, or there is something else of that name.
    """
    with _reasons_told(path):
        if os.path.lexists(path) and not (path.is_dir() and not path.is_symlink()):
            raise RlvizError(path, "is there already, and no folder.", "Name another one.")
        if path.is_dir() and {own.name for own in path.iterdir()} - set(ours):
            raise RlvizError(
                path, "holds files that are not of an earlier export.", "Name another folder."
            )
    beside, before = _beside(path), _beside(path, "old")
    try:
        with _reasons_told(path):
            beside.mkdir()
            yield beside
            if path.is_dir():
                path.replace(before)
            beside.replace(path)
    except BaseException:
        if before.is_dir() and not path.exists():
            before.replace(path)
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)


def _beside(path: Path, what: str = "part") -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{what}")


@contextmanager
def _reasons_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RlvizError(path, f"cannot be written: {reason}.") from error

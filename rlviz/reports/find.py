"""Find the reports that a caller means: folders, globs, files, lists, roles."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rlviz.errors import RlvizError, UnfinishedCapture, written

__all__ = ["Found", "Reports", "Source", "expanded", "find"]

Source: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"
Reports: TypeAlias = "Source | Mapping[str, Source]"

_EXPORT = ".sqlite"
_CAPTURES = (".nsys-rep", ".qdrep")  # the second up to nsys 2021.2
_UNFINISHED = ".qdstrm"
_SUFFIXES = (_EXPORT, *_CAPTURES, _UNFINISHED)


@dataclass(frozen=True)
class Found:
    """A report to load.

    Parameters
    ----------
    path : Path
        An export, or a capture (``.nsys-rep``) that has no newer export beside it.
    key : str
        Its name in the run: the path below the folder that all found reports share, as text.
    role : str or None
        Role that the caller gave.
    """

    path: Path
    key: str
    role: str | None

    @property
    def is_capture(self) -> bool:
        """True: it has to be exported first."""
        return self.path.suffix in _CAPTURES


def find(reports: Reports) -> tuple[list[Found], list[RlvizError]]:
    """Find reports.

    Parameters
    ----------
    reports : path, glob, iterable of these, or {role: any of these}
        Folders are searched recursively, links followed. A path that exists is no glob.

    Returns
    -------
    found : list of Found
        Each file once, however often it was reached; ordered by key.
    errors : list of RlvizError
        One for each path that does not exist and each unfinished capture.

    Examples
    --------
    >>> find("no/such/folder")[0]
    []
    """
    errors: list[RlvizError] = []
    roles: dict[Path, str | None] = {}
    seen: set[tuple[int, int] | Path] = set()
    for role, source in _sources(reports):
        for path in _paths(source, errors):
            identity = _identity(path)
            if identity in seen:
                continue
            seen.add(identity)
            if path.suffix == _UNFINISHED:
                errors.append(_unfinished(path))
            else:
                roles[path] = role
    for capture in [path for path in roles if path.suffix in _CAPTURES]:
        if export := _newer_export(capture):
            role = roles.pop(capture)
            if _identity(export) not in seen:
                seen.add(_identity(export))
                roles[export] = role
    keys = _keys(list(roles))
    found = [Found(path, keys[path], role) for path, role in roles.items()]
    return sorted(found, key=lambda report: report.key), errors


def expanded(path: str | os.PathLike[str]) -> Path:
    """Give a path with the home in place of ``~``, which stays where there is no home."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  - pathlib's raises an error then


def _sources(reports: Reports) -> Iterator[tuple[str | None, str | os.PathLike[str]]]:
    if isinstance(reports, Mapping):
        for role, source in reports.items():
            yield from ((role, path) for _, path in _sources(source))
    elif isinstance(reports, str | os.PathLike):
        yield None, reports
    else:
        for source in reports:
            yield None, source


def _paths(source: str | os.PathLike[str], errors: list[RlvizError]) -> Iterator[Path]:
    path = expanded(source)
    if path.is_dir():
        yield from _below(path)
    elif os.path.lexists(path):
        yield Path(os.path.abspath(path))  # noqa: PTH100  - resolve() follows links
    elif matches := sorted(glob.glob(str(path), recursive=True)):  # noqa: PTH207  - absolute patterns
        for match in matches:
            yield from _paths(match, errors)
    elif glob.has_magic(str(path)):
        errors.append(RlvizError(path, "nothing matches.", "Check the pattern."))
    else:
        errors.append(RlvizError(path, "no such file or folder.", "Check the path."))


def _below(folder: Path) -> Iterator[Path]:
    visited = set()
    for root, folders, files in os.walk(os.path.abspath(folder), followlinks=True):  # noqa: PTH100
        # A link that leads back up would be walked for ever.
        real = os.path.realpath(root)
        if real in visited:
            folders.clear()
            continue
        visited.add(real)
        # Ray's session_latest is a link: a report goes by the session's own name, so links last.
        links = {name for name in folders if Path(root, name).is_symlink()}
        folders.sort(key=lambda name, links=links: (name in links, name))  # type: ignore[misc]
        for name in sorted(files):
            if name.endswith(_SUFFIXES):
                yield Path(root, name)


def _identity(path: Path) -> tuple[int, int] | Path:
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino


def _newer_export(capture: Path) -> Path | None:
    """Give the export beside a capture, if there is one and it is not older."""
    export = capture.with_suffix(_EXPORT)
    try:
        return export if export.stat().st_mtime_ns >= capture.stat().st_mtime_ns else None
    except OSError:
        return None


def _unfinished(path: Path) -> UnfinishedCapture:
    return UnfinishedCapture(
        path,
        "an unfinished capture: nsys was killed before it wrote the report.",
        "Let nsys finish before the workers die, for NeMo-RL with "
        'NRL_NSYS_EXTRA_OPTIONS=\'{"capture-range-end":"stop-shutdown"}\', and capture again.',
    )


def _keys(paths: list[Path]) -> dict[Path, str]:
    """Name reports by their place below the folder that all share."""
    shared = Path(os.path.commonpath([path.parent for path in paths])) if paths else Path()
    first = len(shared.parts)
    if shared == Path(shared.anchor):
        # They share nothing: where they lie is private, so as little of it as tells them apart.
        first = -1
        while len({path.parts[first:] for path in paths}) < len(paths):
            first -= 1
    return {path: written("/".join(path.parts[first:])) for path in paths}

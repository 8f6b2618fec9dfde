"""A report in the store, and out of it again: all that was read, and nothing of where it lies."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import polars as pl

import rlviz.reports
from rlviz.errors import RlvizError, UnreadableReport, name_of
from rlviz.levels.sources import digest_of
from rlviz.levels.store import NOT_UNDERSTOOD
from rlviz.reports.identity import ray_node
from rlviz.reports.read import read_report, sketch_report
from rlviz.reports.report import Communicator, Diagnostic, Gpu, Identity, Report, Start
from rlviz.reports.stamp import stamp_of

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.levels.store import Entry, Store

__all__ = [
    "keep",
    "keep_sketch",
    "kept_report",
    "kept_sketch",
    "key_of",
    "read_through",
    "sketched",
]

_FORMAT = 6  # goes up when what is kept of a report changes
_ENDS = 1 << 16
_NAMES = "names"
_FRAMES = ("activity", "devices", "sums", "ranges", "marks", "collectives")


def key_of(path: Path) -> str:
    """Give the key under which a report is kept: what tells its content, not where it lies.

    Raises
    ------
    UnreadableReport
        The file cannot be read.
    """
    try:
        status = path.stat()
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(_ENDS))
            file.seek(max(0, status.st_size - _ENDS))
            digest.update(file.read(_ENDS))
    except OSError as error:
        problem = f"it cannot be opened ({error.strerror})."
        raise UnreadableReport(path, problem, "Check that the file is there.") from None
    digest.update(
        f"{status.st_size} {status.st_mtime_ns} {_FORMAT} {digest_of(rlviz.reports)}".encode()
    )
    return digest.hexdigest()[:32]


def read_through(
    store: Store | None, path: Path, key: str | None = None, role: str | None = None
) -> Report:
    """Take a report from the store, else read it and keep it there.

    Parameters
    ----------
    store : Store or None
        None: read it.
    path, key, role
        As for `rlviz.reports.read.read_report`, whose errors it raises.
    """
    if store is None or not path.is_file():  # what is no file has no content to tell it by
        return read_report(path, key, role)
    return kept_report(store, path, key, role) or keep(store, path, key, role)


def kept_report(
    store: Store, path: Path, key: str | None = None, role: str | None = None
) -> Report | None:
    """Take a report from the store; None when it is not there. No SQLite is touched."""
    content = key_of(path)
    entry = store.get(content)
    if entry is None:
        return None
    try:
        return _opened(entry, path, key, role)
    except NOT_UNDERSTOOD:
        store.discard(content)
        return None


def sketched(
    store: Store | None, path: Path, key: str | None = None, role: str | None = None
) -> Report:
    """Take a report from the store, else read what takes no time; its GPU rows are not read.

    Parameters
    ----------
    store, path, key, role
        As for `read_through`.
    """
    kept = kept_report(store, path, key, role) if store is not None and path.is_file() else None
    return kept or sketch_report(path, key, role)


def keep(store: Store, path: Path, key: str | None = None, role: str | None = None) -> Report:
    """Read a report, and keep it in the store where that can be written."""
    before = key_of(path)
    report = read_report(path, key, role)
    try:
        unchanged = key_of(path) == before and stamp_of(path) == report.stamp
    except RlvizError:  # it changed while it was read
        unchanged = False
    if not unchanged:  # it is what was read, but nobody's copy
        return report
    entry = _put(store, before, report)
    # The mapped columns replace those in memory, which can go.
    return report if entry is None else _opened(entry, path, key, role)


def keep_sketch(store: Store, path: Path) -> None:
    """Read what `sketched` reads, for the process that `kept_sketch` is called in."""
    _put(store, _sketch_of(path), sketch_report(path))


def kept_sketch(
    store: Store, path: Path, key: str | None = None, role: str | None = None
) -> Report:
    """Take what `keep_sketch` has put into a store, else read it."""
    entry = store.get(_sketch_of(path))
    return sketch_report(path, key, role) if entry is None else _opened(entry, path, key, role)


def _sketch_of(path: Path) -> str:
    return f"{key_of(path)}-sketch"


def _put(store: Store, key: str, report: Report) -> Entry | None:
    frames = {name: getattr(report, name) for name in _FRAMES}
    present = {name: frame for name, frame in frames.items() if frame is not None}
    # Not among the facts: JSON would make six letters of one that is not printed.
    texts = pl.DataFrame({"text": report.names}, schema={"text": pl.String})
    return store.put(key, {**present, _NAMES: texts}, _facts(report, list(present)))


def _facts(report: Report, frames: list[str]) -> dict[str, Any]:
    identity = report.identity
    folder = ray_node(report.path)
    return {
        "frames": frames,
        "unread": report.unread,
        "start": asdict(report.start),
        "diagnostics": [asdict(found) for found in report.diagnostics],
        "identity": {
            # A host that only the folder tells is told by the folder where the file lies next.
            "host": None if identity.host == folder else identity.host,
            "environment": identity.environment,
            "processes": list(identity.processes.items()),
            "threads": list(identity.threads.items()),
            "gpus": [[pid, device, asdict(gpu)] for (pid, device), gpu in identity.gpus.items()],
            "machine_gpus": [asdict(gpu) for gpu in identity.machine_gpus],
            "communicators": [asdict(one) for one in identity.communicators],
            "nsys_version": identity.nsys_version,
            "schema_version": identity.schema_version,
            "simulated": identity.simulated,
        },
    }


def _opened(entry: Entry, path: Path, key: str | None, role: str | None) -> Report:
    facts = entry.facts
    frames: dict[str, pl.DataFrame | None] = {
        name: entry.frame(name) if name in facts["frames"] else None for name in _FRAMES
    }
    return Report(
        path=path,
        stamp=stamp_of(path),
        key=key or name_of(path),
        role=role,
        start=Start(**facts["start"]),
        identity=_identity(facts["identity"], path),
        names=entry.frame(_NAMES)["text"].to_list(),
        activity=frames["activity"],
        devices=frames["devices"],
        ranges=frames["ranges"],
        marks=frames["marks"],
        diagnostics=tuple(Diagnostic(**found) for found in facts["diagnostics"]),
        sums=frames["sums"],
        collectives=frames["collectives"],
        unread=facts["unread"],
        entry=None if facts["unread"] else entry.folder.name,
    )


def _identity(facts: dict[str, Any], path: Path) -> Identity:
    return Identity(
        host=facts["host"] or ray_node(path),
        environment=facts["environment"],
        processes=dict(facts["processes"]),
        threads=dict(facts["threads"]),
        gpus={(pid, device): Gpu(**gpu) for pid, device, gpu in facts["gpus"]},
        machine_gpus=tuple(Gpu(**gpu) for gpu in facts["machine_gpus"]),
        communicators=tuple(Communicator(**one) for one in facts["communicators"]),
        nsys_version=facts["nsys_version"],
        schema_version=facts["schema_version"],
        simulated=facts["simulated"],
    )

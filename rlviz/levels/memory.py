"""What is worked out of a run, in the store: a run that is opened again is not worked out again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, TypeVar, cast

import rlviz
from rlviz.errors import RlvizError
from rlviz.levels.codec import pack, unpack
from rlviz.levels.kept import key_of
from rlviz.levels.sources import digest_of
from rlviz.levels.store import NOT_UNDERSTOOD
from rlviz.run.memo import forgets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlviz.levels.store import Entry, Store
    from rlviz.reports.report import Report
    from rlviz.run.memo import Memo

__all__ = ["memory_of"]

T = TypeVar("T")

# Events and ranges: below this, working it out takes no longer than looking for it.
_WORTH_KEEPING = 100_000


def memory_of(store: Store | None, reports: Sequence[Report], asked: Sequence[object]) -> Memo:
    """Give the memory of a run; one that forgets where there is little to remember.

    Nothing is kept either of a report that is not what it was any more.

    Parameters
    ----------
    store : Store or None
        Where it is kept.
    reports : sequence of Report
        The reports of the run.
    asked : sequence of object
        All else that the run depends on: rules, offsets and the like; told apart by their `repr`.
    """
    if store is None or sum(_size(report) for report in reports) < _WORTH_KEEPING:
        return forgets
    digest = hashlib.sha256(digest_of(rlviz).encode())
    try:
        for report in reports:
            told = key_of(report.path), report.key, report.role, str(report.path), report.stamp
            digest.update(repr(told).encode())
    except RlvizError:
        return forgets
    digest.update(repr(asked).encode())
    return _Memory(store, digest.hexdigest()[:32])


def _size(report: Report) -> int:
    return report.gpu_rows + (0 if report.ranges is None else len(report.ranges))


class _Memory:
    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key

    def __call__(self, name: str, classes: Sequence[type], make: Callable[[], T]) -> T:
        key = f"{self._key}-{name}"
        entry = self._store.get(key)
        if entry is not None:
            try:
                return cast("T", self._opened(entry, classes))
            except NOT_UNDERSTOOD:
                self._store.discard(key)
        value = make()
        json, frames = pack(value)
        facts: dict[str, Any] = {"value": json}
        entry = self._store.put(key, frames, facts)
        if entry is None:
            return value
        # The mapped columns replace those in memory, which can go.
        return cast("T", self._opened(entry, classes))

    @staticmethod
    def _opened(entry: Entry, classes: Sequence[type]) -> Any:  # noqa: ANN401  - what was made
        return unpack(entry.facts["value"], entry.frame, classes)

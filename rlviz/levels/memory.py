"""What is worked out of a run, in the store: a run that is opened again is not worked out again."""

from __future__ import annotations

import hashlib
from contextlib import suppress
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

    from rlviz.levels.store import Store
    from rlviz.reports.report import Report
    from rlviz.run.memo import Memo

__all__ = ["Memory", "memory_of"]

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
    return Memory(store, digest.hexdigest()[:32])


def _size(report: Report) -> int:
    return report.gpu_rows + (0 if report.ranges is None else len(report.ranges))


class Memory:
    """What is kept of one run, each value under a name.

    Parameters
    ----------
    store : Store
        Where.
    key : str
        What tells the run from any other.
    """

    def __init__(self, store: Store, key: str) -> None:
        self.store = store
        self.key = key

    def __call__(self, name: str, classes: Sequence[type], make: Callable[[], T]) -> T:
        """Give a value, as of `rlviz.run.memo.Memo`."""
        with suppress(LookupError):
            return cast("T", self.value(name, classes))
        value = make()
        if not self.keep(name, value):
            return value
        # The mapped columns replace those in memory, which can go.
        with suppress(LookupError):
            return cast("T", self.value(name, classes))
        return value

    def holds(self, name: str) -> bool:
        """Tell whether there is a value, whole."""
        return self.store.get(self._key_of(name)) is not None

    def value(self, name: str, classes: Sequence[type]) -> Any:  # noqa: ANN401  - what was kept
        """Give a value.

        Raises
        ------
        LookupError
            There is none, or it cannot be understood any more.
        """
        entry = self.store.get(self._key_of(name))
        if entry is None:
            raise LookupError(name)
        try:
            return unpack(entry.facts["value"], entry.frame, classes)
        except NOT_UNDERSTOOD:
            self.store.discard(self._key_of(name))
            raise LookupError(name) from None

    def keep(self, name: str, value: object) -> bool:
        """Keep a value; False when that cannot be."""
        json, frames = pack(value)
        facts: dict[str, Any] = {"value": json}
        return self.store.put(self._key_of(name), frames, facts) is not None

    def forget(self, name: str) -> None:
        """Remove a value."""
        self.store.remove(self._key_of(name))

    def _key_of(self, name: str) -> str:
        return f"{self.key}-{name}"

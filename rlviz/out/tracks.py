"""The tracks of a trace: which there are, how they stand below each other, and their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.out.packets import BEGIN, END, INSTANT, event_packets, interned, track_descriptor

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

__all__ = ["Tracks", "flat", "nested"]


class Tracks:
    """Writes tracks and their events; each name travels once.

    Parameters
    ----------
    write : callable
        Takes bytes.
    base_ns : int
        The trace's time of the run's start: what comes earlier has a time too.
    """

    def __init__(self, write: Callable[[bytes], object], base_ns: int) -> None:
        self._write = write
        self._base_ns = base_ns
        self._uuids: dict[Hashable, int] = {}
        self._children: dict[int, int] = {}
        self._known: dict[str, _Numbers] = {kind: _Numbers() for kind in _KINDS}

    def track(
        self,
        key: Hashable,
        name: str,
        parent: int = 0,
        *,
        description: str = "",
        unit: str | None = None,
    ) -> int:
        """Give the number of a track, which is written when it is first asked for.

        Parameters
        ----------
        key : hashable
            What it is known by.
        name, parent, description, unit
            As of `rlviz.out.packets.track_descriptor`; it comes behind the siblings there are.
        """
        if key not in self._uuids:
            # 0 is no track.
            self._uuids[key] = uuid = len(self._uuids) + 1
            rank = self._children[parent] = self._children.get(parent, 0) + 1
            self._write(
                track_descriptor(uuid, name, parent, rank, description=description, unit=unit)
            )
        return self._uuids[key]

    def events(
        self,
        time_ns: Int64,
        kind: Int64,
        track: Int64,
        name: pl.Series,
        category: pl.Series,
        full_name: pl.Series | None = None,
    ) -> None:
        """Write events in their order.

        Parameters
        ----------
        time_ns : ndarray of int64, shape (n,)
            On the run's clock.
        kind, track : ndarray of int64, shape (n,)
            As of `rlviz.out.packets.event_packets`.
        name, category : polars.Series of String
            Texts; what is null has none.
        full_name : polars.Series of String, optional
            What the name is short for; null where it is the name.
        """
        names, new_names = self._known["name"].of(name)
        categories, new_categories = self._known["category"].of(category)
        if full_name is None:
            full_name = pl.repeat(None, len(time_ns), dtype=pl.String, eager=True)
        full_names, new_full_names = self._known["full_name"].of(full_name)
        self._write(interned(new_names, new_categories, new_full_names))
        time = time_ns + self._base_ns
        for encoded in event_packets(time, kind, track, names, categories, full_names):
            self._write(encoded)


_KINDS = ("name", "category", "full_name")


class _Numbers:
    """Numbers of texts, from 1 in the order in which they come."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}

    def of(self, texts: pl.Series) -> tuple[Int64, list[tuple[int, str]]]:
        """Give the number of each text (0 for null), and the texts that are new."""
        different = texts.unique(maintain_order=True).drop_nulls()
        new = [one for one in different if one not in self._of]
        first = len(self._of) + 1
        self._of |= {one: first + place for place, one in enumerate(new)}
        numbers = [self._of[one] for one in different]
        if not numbers:
            return np.zeros(len(texts), np.int64), []
        found = texts.replace_strict(different, numbers, default=0, return_dtype=pl.Int64)
        return found.to_numpy(), [(self._of[one], one) for one in new]


def flat(start: Int64, end: Int64) -> Iterator[Int64]:
    """Order what does not overlap on its track: give record, time and kind of each event.

    Parameters
    ----------
    start, end : ndarray of int64, shape (n,)
        Sorted by start on each track.
    """
    count = len(start)
    yield np.repeat(np.arange(count), 2)
    yield np.column_stack((start, end)).ravel()
    yield np.tile([BEGIN, END], count)


def nested(track: Int64, start: Int64, end: Int64, instant: NDArray[np.bool_]) -> Iterator[Int64]:
    """Order what nests on its track: give record, time and kind of each event.

    Parameters
    ----------
    track, start, end : ndarray of int64, shape (n,)
        Push/pop ranges.
    instant : ndarray of bool, shape (n,)
        True: a mark, which has no end.
    """
    index = np.arange(len(start))
    empty = end == start
    # As depths are counted: what ends at a time comes before what starts then, the longer of two
    # that start together is outside, and what has no length stands inside of it.
    begins = np.column_stack((track, start, np.where(empty, 2, 1), -end, index))
    ends = np.column_stack((track, end, np.where(empty, 2, 0), -end, index))[~instant]
    keys = np.concatenate((begins, ends))
    kind = np.concatenate((np.where(instant, INSTANT, BEGIN), np.full(len(ends), END)))
    order = np.lexsort((kind, keys[:, 4], keys[:, 3], keys[:, 2], keys[:, 1], keys[:, 0]))
    yield keys[order, 4]
    yield keys[order, 1]
    yield kind[order]

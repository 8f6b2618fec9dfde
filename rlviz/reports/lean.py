"""GPU rows gathered block by block: no more is in memory than is kept, and one block."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    Device: TypeAlias = tuple[int | None, int]

__all__ = ["LeanRows", "process_ids"]

_NO_PROCESS = -1
_GROWTH = 1.5
_DTYPES = {"start": np.int64, "end": np.int64, "name": np.int32, "kind": np.uint8}


class LeanRows:
    """Rows as of `rlviz.reports.gpu_rows`, in any order until `finish` sorts them."""

    def __init__(self) -> None:
        self._columns = {name: np.empty(0, dtype) for name, dtype in _DTYPES.items()}
        self._rows = 0
        self._devices: dict[Device, int] = {}
        # Of each block, the numbers of its rows' devices: one for all, or one a row.
        self._of_device: list[tuple[int, int | Int32]] = []

    def add(self, kind: int, columns: Mapping[str, Int64], name: Int32) -> None:
        """Take a block in: its start, end, globalPid and deviceId, and codes of names."""
        count = len(name)
        if not count:
            return
        until = self._rows + count
        for column, values in (
            ("start", columns["start"]),
            ("end", columns["end"]),
            ("name", name),
            ("kind", kind),
        ):
            self._with_room(column, until)[self._rows : until] = values
        self._rows = until
        device = self._number_devices(columns["globalPid"], columns["deviceId"])
        before = self._of_device[-1][1] if self._of_device else None
        if isinstance(device, int) and isinstance(before, int) and before == device:
            count += self._of_device.pop()[0]
        self._of_device.append((count, device))

    def finish(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Sort by process, device and start; give the rows, and how many each device has.

        Nothing can be added afterwards.
        """
        devices = sorted(self._devices, key=lambda device: (device[0] is not None, device))
        counts = self._sort(devices)
        rows = {name: self._columns.pop(name)[: self._rows] for name in _DTYPES}
        pids, numbers = [pid for pid, _ in devices], [number for _, number in devices]
        held = {"pid": pids, "device": numbers, "rows": counts}
        return pl.DataFrame(rows), pl.DataFrame(held, schema=dict.fromkeys(held, pl.Int64))

    def _with_room(self, column: str, rows: int) -> NDArray[np.generic]:
        room = self._columns[column]
        if rows > len(room):
            # What is not written to yet takes no memory.
            more = np.empty(int(_GROWTH * rows), room.dtype)
            more[: self._rows] = room[: self._rows]
            self._columns[column] = room = more
        return room

    def _number_devices(self, global_pids: Int64, devices: Int64) -> int | Int32:
        pids, of_pid = _distinct(global_pids)
        numbers, of_number = _distinct(devices)
        if len(pids) == len(numbers) == 1:
            return self._number(pids[0], numbers[0])
        pairs, of_pair = _distinct(of_pid * len(numbers) + of_number)
        known = [self._number(pids[p // len(numbers)], numbers[p % len(numbers)]) for p in pairs]
        return np.array(known, np.int32)[of_pair]

    def _number(self, global_pid: np.int64, device: np.int64) -> int:
        pid = int(process_ids(np.array([global_pid]), _NO_PROCESS)[0])
        key = (None if pid == _NO_PROCESS else pid, int(device))
        return self._devices.setdefault(key, len(self._devices))

    def _sort(self, devices: list[Device]) -> list[int]:
        if len(devices) < 2:
            _sort_by(self._order(0, self._rows), self._columns, self._rows)
            return [self._rows] * len(devices)
        place = np.empty(len(devices), np.min_scalar_type(len(devices)))
        place[[self._devices[device] for device in devices]] = np.arange(len(devices))
        of_row = np.empty(self._rows, place.dtype)
        first = 0
        for count, device in self._of_device:
            of_row[first : first + count] = place[device]
            first += count
        # Numbers of up to two bytes are sorted without comparing them.
        _sort_by(np.argsort(of_row, kind="stable"), self._columns, self._rows)
        counts = np.bincount(of_row, minlength=len(devices)).tolist()
        first = 0
        for count in counts:
            own = {name: column[first : first + count] for name, column in self._columns.items()}
            _sort_by(self._order(first, first + count), own, count)
            first += count
        return [int(count) for count in counts]

    def _order(self, first: int, last: int) -> Int64 | None:
        start = self._columns["start"][first:last]
        # nsys writes kernels by start; where nothing else is there, sorting would be for nothing.
        if (start[1:] >= start[:-1]).all():
            return None
        return np.argsort(start, kind="stable")


def process_ids(global_pids: Int64, absent: int) -> Int64:
    """Take the process out of globalPid; `absent` where there is none."""
    return np.where(global_pids <= NOT_INTEGER, absent, (global_pids >> 24) & 0xFFFFFF)


def _distinct(values: Int64) -> tuple[Int64, Int64]:
    """Give the distinct values, sorted, and the place of each value among them."""
    if (values == values[0]).all():
        return values[:1], np.zeros(len(values), np.int64)
    distinct = pl.Series(values).unique().sort().to_numpy()
    return distinct, np.searchsorted(distinct, values)


def _sort_by(order: Int64 | None, columns: Mapping[str, NDArray[np.generic]], rows: int) -> None:
    """Bring columns into an order, one after the other."""
    if order is None:
        return
    for column in columns.values():
        column[:rows] = column[:rows][order]

"""Collective kernels of a report: few rows, with all that tells one communicator from another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.btree import NOTHING_MORE, More
from rlviz.reports.database import NOT_INTEGER
from rlviz.reports.table import nullable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rlviz.reports.database import Database
    from rlviz.reports.table import Window

    Int64 = NDArray[np.int64]

__all__ = ["Collectives"]

_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRID = ("gridX", "gridY", "gridZ")
_READ_OF_ALL = ("start", "end", "globalPid", "deviceId", "shortName")

# Only these libraries reach other hosts. SQL compares the names, so that no other text of the
# string table, which holds the environment, enters Python.
_OF_LIBRARIES = (
    "SELECT id, CAST(value AS TEXT) FROM StringIds WHERE value GLOB 'nccl*' OR value GLOB 'rccl*'"
)


class Collectives:
    """Gathers the NCCL and RCCL kernels of a report while its kernels are read.

    Parameters
    ----------
    database : Database
        The report.

    Attributes
    ----------
    more : More
        What has to be read of them besides `start`, `end`, `globalPid`, `deviceId` and `shortName`.
    """

    def __init__(self, database: Database) -> None:
        self._names: dict[int, str] = {}
        self._blocks: list[Mapping[str, Int64]] = []
        self.more = NOTHING_MORE
        if database.has(_TABLE, "start", "end", "shortName") and database.has(
            "StringIds", "id", "value"
        ):
            found = database.rows(_OF_LIBRARIES)
            self._names = {key: str(name) for key, name in found if isinstance(key, int)}
            if self._names:
                self.more = More(("streamId", *_GRID), "shortName", tuple(self._names))

    def add(self, columns: Mapping[str, Int64], window: Window) -> None:
        """Take rows in, those left out that cannot be true."""
        start, end = columns["start"], columns["end"]
        timed = (start > NOT_INTEGER) & (end > NOT_INTEGER) & (end >= start) & (end != 0)
        good = timed & ~window.far_outside(start, end)
        if good.any():
            self._blocks.append({name: values[good] for name, values in columns.items()})

    def frame(self) -> pl.DataFrame:
        """Give all that came.

        Returns
        -------
        polars.DataFrame
            start, end (ns on the report's clock), pid, device, stream, name (text), grid_x, grid_y,
            grid_z (null when not recorded); by start.
        """
        if not self._blocks:
            return _EMPTY
        wanted = (*_READ_OF_ALL, *self.more.columns)
        columns = {name: np.concatenate([block[name] for block in self._blocks]) for name in wanted}
        pid = columns["globalPid"]
        pid = np.where(pid <= NOT_INTEGER, pid, (pid >> 24) & 0xFFFFFF)
        names = pl.Series(columns["shortName"])
        return pl.DataFrame(
            {
                "start": columns["start"],
                "end": columns["end"],
                "pid": nullable("pid", pid),
                "device": nullable("device", columns["deviceId"]),
                "stream": nullable("stream", columns["streamId"]),
                "name": names.replace_strict(self._names, return_dtype=pl.String),
                "grid_x": nullable("grid_x", columns["gridX"]),
                "grid_y": nullable("grid_y", columns["gridY"]),
                "grid_z": nullable("grid_z", columns["gridZ"]),
            },
            schema=_EMPTY.schema,
        ).sort("start")


_EMPTY = pl.DataFrame(
    schema={
        "start": pl.Int64,
        "end": pl.Int64,
        "pid": pl.Int64,
        "device": pl.Int64,
        "stream": pl.Int64,
        "name": pl.String,
        "grid_x": pl.Int64,
        "grid_y": pl.Int64,
        "grid_z": pl.Int64,
    }
)

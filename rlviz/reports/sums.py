"""What each name of a report's GPU rows adds up to: known without a look at the rows."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["name_sums"]

_KINDS = 4


def name_sums(activity: pl.DataFrame, devices: pl.DataFrame) -> pl.DataFrame:
    """Sum up GPU rows by device, kind and name.

    Parameters
    ----------
    activity, devices : polars.DataFrame
        As of `rlviz.reports.gpu_rows`.

    Returns
    -------
    polars.DataFrame
        place (of the device in `devices`), kind, name, count, total_ns (sum of durations),
        longest_ns; by place, name and kind.
    """
    found = [_EMPTY]
    first = 0
    for place, rows in enumerate(devices["rows"].to_list()):
        own = activity.slice(first, rows)
        first += rows
        if rows:
            found.append(_of_device(place, own))
    return pl.concat(found)


def _of_device(place: int, rows: pl.DataFrame) -> pl.DataFrame:
    key = rows["name"].to_numpy() * np.int64(_KINDS) + rows["kind"].to_numpy()
    length = rows["end"].to_numpy() - rows["start"].to_numpy()
    count = np.bincount(key)
    total, longest = np.zeros(len(count), np.int64), np.zeros(len(count), np.int64)
    np.add.at(total, key, length)
    np.maximum.at(longest, key, length)
    held = np.flatnonzero(count)
    columns = {
        "place": np.full(len(held), place),
        "kind": held % _KINDS,
        "name": held // _KINDS,
        "count": count[held],
        "total_ns": total[held],
        "longest_ns": longest[held],
    }
    return pl.DataFrame(columns, schema=_EMPTY.schema)


_EMPTY = pl.DataFrame(
    schema={
        "place": pl.Int32,
        "kind": pl.UInt8,
        "name": pl.Int32,
        "count": pl.Int64,
        "total_ns": pl.Int64,
        "longest_ns": pl.Int64,
    }
)

"""Write an export with a kernel table of any size: nsys's columns, values of realistic width.

Examples
--------
$ python benchmarks/kernels.py kernels.sqlite --kernels 10_000_000
"""

from __future__ import annotations

import argparse
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.export import rows_of, statements

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["write_kernels"]

_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
_BATCH = 500_000
_KINDS = 400
# Copied rows are moved in time and get correlation ids and grid ids of their own.
_MOVED = {"start": "?1", "end": "?1", "correlationId": "?2", "gridId": "?2"}


def write_kernels(path: Path, kernels: int, *, seed: int = 0) -> Path:
    """Write `kernels` rows in the table and columns of nsys 2025.3.

    The first rows are drawn at random and bound one by one; the rest are copies of them, moved in
    time, which SQLite makes by itself at more than a million a second.
    """
    path.unlink(missing_ok=True)
    schema = statements("2025.3")
    with sqlite3.connect(path) as database:
        database.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF")
        for table in ("StringIds", _TABLE):
            database.executescript("\n".join(schema[table]))
        names = [(100 + kind, f"void kernel_{kind}<float>(T1 *)") for kind in range(2 * _KINDS)]
        database.executemany("INSERT INTO StringIds (id, value) VALUES (?, ?)", names)
        columns = _drawn(min(kernels, _BATCH), np.random.default_rng(seed))
        quoted = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        database.executemany(
            f"INSERT INTO {_TABLE} ({quoted}) VALUES ({marks})", rows_of(*columns.values())
        )
        database.execute(f"UPDATE {_TABLE} SET graphNodeId = NULL WHERE graphNodeId = 0")
        span = int(columns["end"][-1])
        moved = ", ".join(
            f'"{name}" + {_MOVED[name]}' if name in _MOVED else f'"{name}"' for name in columns
        )
        for first in range(_BATCH, kernels, _BATCH):
            copy = f"SELECT {moved} FROM {_TABLE} WHERE rowid <= ?3"
            database.execute(
                f"INSERT INTO {_TABLE} ({quoted}) {copy}",
                (span * (first // _BATCH), first, min(_BATCH, kernels - first)),
            )
    database.close()
    return path


def _drawn(rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    kind = np.minimum(rng.exponential(_KINDS / 6, rows).astype(np.int64), _KINDS - 1)
    length = rng.integers(1_500, 60_000, _KINDS)[kind] + rng.integers(0, 900, rows)
    start = np.cumsum(length + rng.integers(500, 4_000, rows))
    return {
        "start": start,
        "end": start + length,
        "deviceId": np.zeros(rows, np.int64),
        "contextId": np.ones(rows, np.int64),
        "streamId": rng.choice([7, 13, 17, 146], rows, p=[0.7, 0.15, 0.1, 0.05]),
        "correlationId": 1_000 + 3 * np.arange(rows),
        "globalPid": np.full(rows, 1 << 48 | 4711 << 24),
        "demangledName": 100 + kind,
        "shortName": 100 + _KINDS + kind,
        "launchType": np.ones(rows, np.int64),
        "cacheConfig": np.ones(rows, np.int64),
        "registersPerThread": rng.integers(16, 255, _KINDS)[kind],
        "gridX": 1 << rng.integers(0, 18, _KINDS)[kind],
        "gridY": rng.choice([1, 1, 1, 8, 300], _KINDS)[kind],
        "gridZ": np.ones(rows, np.int64),
        "blockX": 32 << rng.integers(0, 6, _KINDS)[kind],
        "blockY": np.ones(rows, np.int64),
        "blockZ": np.ones(rows, np.int64),
        "staticSharedMemory": rng.choice([0, 0, 16, 1_024, 33_000], _KINDS)[kind],
        "dynamicSharedMemory": rng.choice([0, 0, 8_192, 100_000], _KINDS)[kind],
        "localMemoryPerThread": np.zeros(rows, np.int64),
        "localMemoryTotal": np.full(rows, 123_731_968),
        "gridId": np.arange(1, rows + 1),
        "sharedMemoryExecuted": np.full(rows, 65_536),
        # Most work of a decoding engine comes from graphs; a node's id has its graph's on top.
        "graphNodeId": np.where(kind < _KINDS // 8, (3 << 32) + kind, 0),
        "sharedMemoryLimitConfig": np.zeros(rows, np.int64),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    options = parser.parse_args()
    write_kernels(options.path, options.kernels)


if __name__ == "__main__":
    main()

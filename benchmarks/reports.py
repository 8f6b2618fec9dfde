"""Write the reports of a run of any size: a simulated run whose kernels are cut into as many.

The run is `rlviz.demo`'s: NeMo-RL's names, capture windows, identities of hosts and GPUs. Cutting
keeps its phases, iterations and collectives where they are.

Examples
--------
$ python -m benchmarks.reports reports --reports 16 --kernels 4_000_000 --ranges 200_000
"""

from __future__ import annotations

import argparse
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo import Scenario, write
from rlviz.demo.write import TRUTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

__all__ = ["write_run"]

_KERNELS, _RANGES = "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS"
_HOST_GPUS = 8
_FEWEST_A_STEP = 100
# Of all reports together, before they are cut: what Python writes row by row.
_UNCUT = 200_000
# A kernel is an instance of one of so many templates that share its name's stem.
_VARIANTS = 10
_OTHER_NAMES = 1_000_000
_LAYERS = 48
_INNER = 9


def write_run(
    folder: Path,
    *,
    reports: int = 16,
    kernels: int = 1_000_000,
    ranges: int = 100_000,
    steps: int = 5,
    seed: int = 0,
) -> tuple[Path, ...]:
    """Write the reports of an asynchronous run of NeMo-RL, one a GPU, 8 GPUs a host.

    Parameters
    ----------
    folder : Path
        Made where it does not exist, else empty.
    reports : int
        How many, at least 2; half of them are of the policy.
    kernels, ranges : int
        Of all reports together, dealt evenly. What the simulated run has in any case stays: about
        100 kernels a report and step, and the ranges of its phases and collectives.
    steps : int
        Training steps.
    seed : int
        The same numbers and seed give the same rows.

    Returns
    -------
    tuple of Path
        The reports.

    Raises
    ------
    FileExistsError
        Something is in the folder.
    """
    if folder.exists() and any(folder.iterdir()):
        message = f"{folder} is not empty"
        raise FileExistsError(message)
    scenario = Scenario(
        hosts=max(1, reports // _HOST_GPUS),
        policy_gpus=reports - reports // 2,
        generation_gpus=reports // 2,
        steps=steps,
        kernels_per_gpu=max(_FEWEST_A_STEP * steps, min(kernels, _UNCUT) // reports),
        seed=seed,
    )
    paths = write(folder, scenario)
    # It tells of the kernels before they were cut.
    (folder / TRUTH).unlink()
    for number, path in enumerate(paths):
        with closing(sqlite3.connect(path)) as database:
            database.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF")
            _cut_kernels(database, _dealt(kernels, reports, number))
            _add_ranges(database, _dealt(ranges, reports, number))
            database.commit()
    return paths


def _dealt(count: int, reports: int, number: int) -> int:
    return count * (number + 1) // reports - count * number // reports


def _cut_kernels(database: sqlite3.Connection, wanted: int) -> None:
    """Cut the kernels of a report into pieces, with a short gap behind each.

    Collectives stay whole: they are matched between the reports by their order.
    """
    whole = "shortName IN (SELECT id FROM StringIds WHERE value LIKE 'nccl%')"
    collectives, others = database.execute(
        f"SELECT sum({whole}), sum(NOT {whole}) FROM {_KERNELS}"
    ).fetchone()
    if wanted <= collectives + others:
        return
    _add_variants(database)
    cut_into = wanted - collectives
    pieces = f"({cut_into} * rank / {others} - {cut_into} * (rank - 1) / {others})"
    database.executescript(f"""
        CREATE TEMP TABLE few AS SELECT *, "end" - start AS length,
            CASE WHEN {whole} THEN 1 ELSE {pieces} END AS pieces
            FROM (SELECT *, rowid AS place, count(*) FILTER (WHERE NOT {whole})
                  OVER (ORDER BY rowid) AS rank FROM {_KERNELS});
        CREATE TEMP TABLE piece (number INTEGER PRIMARY KEY);
        WITH RECURSIVE one(number) AS
            (SELECT 0 UNION ALL SELECT number + 1 FROM one
             WHERE number + 1 < (SELECT max(pieces) FROM few))
            INSERT INTO piece SELECT number FROM one;
        DELETE FROM {_KERNELS};
    """)
    variant = f"1 + (place * 7 + number * number) % {_VARIANTS}"
    other_name = f"CASE WHEN pieces > 1 THEN {_OTHER_NAMES} * ({variant}) ELSE 0 END"
    gap = "(number + 1 < pieces) * length / pieces / 8"
    cut = {
        "start": "start + length * number / pieces",
        "end": f"start + length * (number + 1) / pieces - {gap}",
        "demangledName": f"demangledName + {other_name}",
        "shortName": f"shortName + {other_name}",
    }
    names = [column[1] for column in database.execute(f"PRAGMA table_info({_KERNELS})")]
    columns = ", ".join(cut.get(name, f'"{name}"') for name in names)
    database.execute(
        f"INSERT INTO {_KERNELS} SELECT {columns} FROM few CROSS JOIN piece"
        " WHERE number < pieces ORDER BY few.rowid, number"
    )


def _add_variants(database: sqlite3.Connection) -> None:
    used = f"SELECT shortName FROM {_KERNELS} UNION SELECT demangledName FROM {_KERNELS}"
    for variant in range(1, _VARIANTS + 1):
        database.execute(
            "INSERT INTO StringIds (id, value) SELECT id + ?1, value || '_v' || ?2 FROM StringIds"
            f" WHERE id IN ({used}) AND id < {_OTHER_NAMES}",
            (variant * _OTHER_NAMES, variant),
        )


def _add_ranges(database: sqlite3.Connection, wanted: int) -> None:
    """Nest ranges of micro-batches and layers in those of the phases, or fill the report."""
    count = f'SELECT count(*) FROM {_RANGES} WHERE "end" IS NOT NULL'
    (there,) = database.execute(count).fetchone()
    if wanted <= there:
        return
    phases = database.execute(
        f"""SELECT start, "end", globalTid FROM {_RANGES}
            WHERE text LIKE '%/train' OR text LIKE '%/get_logprobs' ORDER BY start"""
    ).fetchall()
    phases = [phase for phase in phases if phase[1] is not None] or list(_engine_steps(database))
    phase = np.array(phases, np.int64)
    start, end, name, thread = _slots(phase, wanted - there)
    names = ["micro_batch", *(f"layers.{layer}" for layer in range(_LAYERS))]
    database.executemany(
        f'INSERT INTO {_RANGES} (start, "end", eventType, text, globalTid, domainId)'
        " VALUES (?, ?, 59, ?, ?, 0)",
        zip(start.tolist(), end.tolist(), [names[i] for i in name], thread.tolist(), strict=True),
    )


def _engine_steps(database: sqlite3.Connection) -> Iterator[tuple[int, int, int]]:
    """Take the whole report, on the engine's thread: an engine has no ranges of its own work."""
    (duration,) = database.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()
    threads = database.execute("SELECT globalTid FROM ThreadNames ORDER BY globalTid").fetchall()
    yield 0, duration, threads[1][0]


def _slots(phase: Int64, wanted: int) -> tuple[Int64, Int64, Int64, Int64]:
    """Deal ranges over phases (start, end, thread a line): start, end, name, thread of each."""
    length = phase[:, 1] - phase[:, 0]
    share = np.diff(wanted * np.cumsum(np.concatenate(([0], length))) // length.sum())
    owner = np.repeat(np.arange(len(phase)), share)
    number = np.arange(wanted) - np.repeat(np.cumsum(share) - share, share)
    batch, inner = np.divmod(number, _INNER + 1)
    batches = -(-share // (_INNER + 1))[owner]
    width = length[owner] / batches
    start = phase[owner, 0] + batch * width
    # The first of each ten holds the others.
    slot = 0.98 * width / _INNER
    start += np.where(inner > 0, 0.01 * width + (inner - 1) * slot, 0)
    long = np.where(inner > 0, 0.9 * slot, 0.995 * width)
    name = np.where(inner > 0, 1 + (batch * _INNER + inner) % _LAYERS, 0)
    return start.astype(np.int64), (start + long).astype(np.int64), name, phase[owner, 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reports", type=int, default=16)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("--ranges", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    write_run(options.pop("folder"), **options)


if __name__ == "__main__":
    main()

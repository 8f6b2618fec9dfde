"""Read many reports: from the store where they are kept, the others beside each other."""

from __future__ import annotations

import tempfile
from concurrent.futures import Executor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tqdm.auto import tqdm

from rlviz.errors import RlvizError, UnreadableReport
from rlviz.levels.kept import keep, kept_report, read_through
from rlviz.levels.store import Store, store_of
from rlviz.processors import processors
from rlviz.reports.export import export_capture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlviz.levels.store import Cache
    from rlviz.pool import Processes
    from rlviz.reports.find import Found
    from rlviz.reports.report import Report

    Outcome: TypeAlias = Report | RlvizError

__all__ = ["outcomes_of", "read_all", "waiting_bytes"]

# With two processors, at 120 to 170 MB reading takes as long with processes as without.
_WORTH_PROCESSES = 150 << 20


def read_all(
    found: Sequence[Found],
    processes: Processes,
    executor: Executor | None = None,
    cache: Cache = True,
) -> tuple[list[Report], list[tuple[str, RlvizError]]]:
    """Read reports, in the order in which they were found.

    Parameters
    ----------
    found : sequence of Found
        The reports.
    processes : Processes
        What reads them, where that is worth it.
    executor : concurrent.futures.Executor, optional
        What reads them in place of `processes`; the store's folder has to be seen by it under the
        same path.
    cache : bool, str or Path
        Where reports are kept: the cache folder, nowhere, or a folder.

    Returns
    -------
    reports : list of Report
        Those that could be read.
    failures : list of (str, RlvizError)
        Key and error of the others.
    """
    store = store_of(cache)
    outcomes: dict[int, Outcome] = {}
    progress = tqdm(total=len(found), desc="reading reports", unit="report", leave=False, delay=1)
    with progress:
        for number, outcome in outcomes_of(found, processes, executor, store):
            outcomes[number] = outcome
            progress.update()
    reports: list[Report] = []
    failures: list[tuple[str, RlvizError]] = []
    for number, one in enumerate(found):
        outcome = outcomes[number]
        if isinstance(outcome, RlvizError):
            failures.append((one.key, outcome))
        else:
            reports.append(outcome)
    return reports, failures


def outcomes_of(
    found: Sequence[Found], processes: Processes, executor: Executor | None, store: Store | None
) -> Iterator[tuple[int, Outcome]]:
    """Read reports, and give each with its number as soon as it is there: kept ones first.

    Parameters
    ----------
    found, processes, executor, store
        As for `read_all`.

    Yields
    ------
    number : int
        Its place in `found`.
    outcome : Report or RlvizError
        The report, or why it could not be read.
    """
    waiting: dict[int, tuple[Found, Path]] = {}
    for number, one in enumerate(found):
        try:
            path = export_capture(one.path) if one.is_capture else one.path
            known = store and path.is_file() and kept_report(store, path, one.key, one.role)
        except RlvizError as error:
            yield number, error
            continue
        if known:
            yield number, known
        else:
            waiting[number] = one, path
    if waiting and (executor is not None or _worth_processes(waiting)):
        with tempfile.TemporaryDirectory(prefix="rlviz-", ignore_cleanup_errors=True) as folder:
            # Results come through a store in any case: mapped, they outlive its folder.
            passing = store or Store(Path(folder))
            yield from _read_elsewhere(waiting, processes, executor, passing)
    else:
        for number, (one, path) in waiting.items():
            yield number, _read_here(store, one, path)


def waiting_bytes(found: Sequence[Found], store: Store | None) -> int:
    """Tell how much of the reports is still to be read: the size of those that are not kept."""
    size = 0
    for one in found:
        try:
            if store is None or one.is_capture or kept_report(store, one.path) is None:
                size += one.path.stat().st_size
        except (OSError, RlvizError):
            continue  # it is told when it is read
    return size


def _read_here(store: Store | None, one: Found, path: Path) -> Outcome:
    try:
        return read_through(store, path, one.key, one.role)
    except RlvizError as error:
        return error


def _read_elsewhere(
    waiting: dict[int, tuple[Found, Path]],
    processes: Processes,
    executor: Executor | None,
    store: Store,
) -> Iterator[tuple[int, Outcome]]:
    paths = {number: path for number, (_, path) in waiting.items()}
    if executor is None:
        told = processes.read(paths, store.folder)
    else:
        told = _read_by(executor, paths, store.folder)
    for number, error in told:
        one, path = waiting[number]
        yield number, error or _read_here(store, one, path)


def _read_by(
    executor: Executor, paths: dict[int, Path], folder: Path
) -> Iterator[tuple[int, RlvizError | None]]:
    absolute = folder.absolute()
    futures = {executor.submit(_keep, path, absolute): n for n, path in paths.items()}
    try:
        for future in as_completed(futures):
            error = future.exception()
            if error is not None and not isinstance(error, RlvizError):
                problem = f"what was to read it failed ({type(error).__name__})."
                remedy = "See the messages of the executor; it may have run out of memory."
                error = UnreadableReport(paths[futures[future]], problem, remedy)
            yield futures[future], error
    finally:
        for future in futures:
            future.cancel()


def _keep(path: Path, folder: Path) -> None:
    """Read a report into a store; runs wherever the executor has its workers."""
    keep(Store(folder), path)


def _worth_processes(waiting: dict[int, tuple[Found, Path]]) -> bool:
    if len(waiting) < 2 or processors() < 2:
        return False
    sizes = 0
    for _, path in waiting.values():
        try:
            sizes += path.stat().st_size
        except OSError:
            continue
    return sizes >= _WORTH_PROCESSES

"""Write a simulated run into a folder, and nothing beside it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rlviz.demo.report import MARK, write_report
from rlviz.demo.scenario import Scenario
from rlviz.demo.schedule import plan_of
from rlviz.demo.truth import truth_of
from rlviz.errors import RlvizError

__all__ = ["TRUTH", "write"]

TRUTH = "truth.json"


def write(
    folder: Path | str, scenario: Scenario | None = None, **options: object
) -> tuple[Path, ...]:
    """Write the reports of a simulated run, and ``truth.json``: what is to be found in them.

    Parameters
    ----------
    folder : Path or str
        Made where it does not exist. A simulated run that lies there is replaced.
    scenario : Scenario, optional
        The run; by default asynchronous GRPO of NeMo-RL on two hosts with eight GPUs.
    **options
        Fields of `Scenario` that are to be different.

    Returns
    -------
    tuple of Path
        The reports.

    Raises
    ------
    RlvizError
        A file that is in the way was not made by this function.
    ValueError
        The options do not make a run.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reports = write(folder, steps=1, kernels_per_gpu=200)
    >>> len(reports), reports[0].name
    (8, 'dtensor_policy_worker_v2_3:4_4711.sqlite')
    """
    plan = plan_of(replace(scenario or Scenario(), **options))  # type: ignore[arg-type]
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    targets = [root / report.path for report in plan.reports]
    _make_way(root, targets)
    truth = truth_of(plan)
    for target, report in zip(targets, plan.reports, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_report(target, plan, report)
    (root / TRUTH).write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    return tuple(targets)


def _make_way(root: Path, targets: list[Path]) -> None:
    """Remove the simulated run that lies in the folder; refuse to touch anything else."""
    base = root.resolve()
    for target in targets:
        if not target.resolve().is_relative_to(base):
            raise RlvizError(target, "a link leads out of the folder.", "Write to an empty folder.")
    old = [*_listed(root / TRUTH), *(target for target in targets if target.exists())]
    for path in old:
        if path.exists() and not _is_simulated(path):
            problem = "it is in the way, and no simulated report: it was left as it is."
            raise RlvizError(path, problem, "Write to an empty folder.")
    for path in old:
        path.unlink(missing_ok=True)


def _listed(truth: Path) -> list[Path]:
    """List the reports of the run that lies there, by its own truth."""
    if not truth.exists():
        return []
    try:
        found = json.loads(truth.read_text(encoding="utf-8"))
        named = list(found["reports"]) if found["simulated"] is True else None
    except (ValueError, KeyError, TypeError):
        named = None
    if named is None:
        problem = "it is in the way, and not of a simulated run: it was left as it is."
        raise RlvizError(truth, problem, "Write to an empty folder.")
    base = truth.parent.resolve()
    paths = [truth.parent / str(name) for name in named]
    return [path for path in paths if path.resolve().is_relative_to(base) and path.is_file()]


def _is_simulated(path: Path) -> bool:
    if not path.is_file():
        return False
    address = path.resolve().as_uri() + "?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            query = "SELECT 1 FROM META_DATA_EXPORT WHERE name = ? AND value = ?"
            return database.execute(query, MARK).fetchone() is not None
    except sqlite3.Error:
        return False

"""A written run, read back with plain SQL and counted by sweeping over its rows."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import rlviz.demo

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Row = tuple[int, int, str]

_ACTIVITY = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "kernel",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "copy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "copy",
}


@dataclass
class Written:
    """A folder with a simulated run."""

    folder: Path
    databases: dict[str, sqlite3.Connection] = field(default_factory=dict)

    @classmethod
    def run(cls, folder: Path, **options: Any) -> Written:
        rlviz.demo.write(folder, rlviz.demo.Scenario(**options))
        return cls(folder)

    @cached_property
    def truth(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "truth.json").read_text("utf-8"))
        return found

    def ask(self, report: str, query: str) -> list[Any]:
        if report not in self.databases:
            self.databases[report] = sqlite3.connect(self.folder / report)
        return self.databases[report].execute(query).fetchall()

    def close(self) -> None:
        for database in self.databases.values():
            database.close()

    def tables(self, report: str) -> set[str]:
        return {name for (name,) in self.ask(report, "SELECT name FROM sqlite_master")}

    def activity(self, report: str) -> list[Row]:
        """Rows of GPU activity on the run clock: start, end, compute or comm or copy."""
        offset = self.truth["reports"][report]["add_to_reach_run_clock_ns"]
        rows: list[Row] = []
        for table in sorted(self.tables(report) & set(_ACTIVITY)):
            if table == "CUPTI_ACTIVITY_KIND_KERNEL":
                kind = "iif(value LIKE 'nccl%', 'comm', 'compute')"
                source = f"{table} JOIN StringIds ON id = shortName"
            else:
                kind, source = "'copy'" if _ACTIVITY[table] == "copy" else "'compute'", table
            rows += self.ask(
                report, f'SELECT start + {offset}, "end" + {offset}, {kind} FROM {source}'
            )
        return rows

    def of_gpu(self, uuid: str) -> list[Row]:
        reports = self.truth["gpus"][uuid]["reports"]
        return [row for report in reports for row in self.activity(report)]

    def windows(self, uuid: str) -> list[tuple[int, int]]:
        """Moments in which every process of a GPU is captured."""
        by_pid: dict[int, list[tuple[int, int]]] = {}
        for name in self.truth["gpus"][uuid]["reports"]:
            report = self.truth["reports"][name]
            start = report["add_to_reach_run_clock_ns"]
            by_pid.setdefault(report["pid"], []).append((start, start + report["duration_ns"]))
        common, *others = by_pid.values()
        for windows in others:
            common = [
                (max(a, c), min(b, d)) for a, b in common for c, d in windows if a < d and c < b
            ]
        return common


def sweep(rows: Iterable[Row], windows: list[tuple[int, int]]) -> dict[str, int]:
    """Walk over the moments at which anything changes, and add up what holds between them."""
    changes: list[tuple[int, str, int]] = []
    for start, end, kind in rows:
        changes += [(start, kind, 1), (end, kind, -1)]
    for start, end in windows:
        changes += [(start, "window", 1), (end, "window", -1)]
    changes.sort()
    found = {
        "captured_ns": 0,
        "busy_ns": 0,
        "compute_ns": 0,
        "comm_exposed_ns": 0,
        "copy_only_ns": 0,
    }
    depth = {"compute": 0, "comm": 0, "copy": 0, "window": 0}
    before = 0
    for moment, kind, change in changes:
        if depth["window"] and moment > before:
            length = moment - before
            found["captured_ns"] += length
            if depth["compute"]:
                found["compute_ns"] += length
            elif depth["comm"]:
                found["comm_exposed_ns"] += length
            elif depth["copy"]:
                found["copy_only_ns"] += length
            if depth["compute"] or depth["comm"] or depth["copy"]:
                found["busy_ns"] += length
        depth[kind] += change
        before = moment
    return found


def clipped(windows: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    return [(max(a, start), min(b, end)) for a, b in windows if a < end and start < b]

"""Read a simulated run that other hands made into a plan, with plain SQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.demo.names import naming_of
from rlviz.demo.plan import Gpu, Lane, Plan, Range, Report, Spans, Stage

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.demo.scenario import Scenario

_COLLECTIVES = {
    "AllGather": Stage.ALL_GATHER,
    "ReduceScatter": Stage.REDUCE_SCATTER,
    "AllReduce": Stage.ALL_REDUCE,
    "Broadcast": Stage.BROADCAST,
}
_PHASES = {
    "logprobs": ("log_prob", "get_logprobs", "get_reference_policy_logprobs"),
    "training": ("/train", "actor_update", "train_batch", "forward_backward"),
    "refit": ("update_weights", "stream_weights"),
    "generation": ("/generate", "generate_sequences"),
}


def plan_from(
    folder: Path, truth: dict[str, Any], scenario: Scenario, captures: list[list[int]]
) -> Plan:
    """Make a plan whose spans are the rows of the files in `folder`."""
    lanes: dict[tuple[str, int], Lane] = {}
    reports = []
    gpus = {
        uuid: Gpu(gpu["host"], gpu["physical_index"], uuid, gpu["bus"])
        for uuid, gpu in truth["gpus"].items()
    }
    for name, known in truth["reports"].items():
        key = known["host"], known["pid"]
        lane = lanes.setdefault(
            key,
            Lane(known["role"], known["rank"], *key, gpus[known["gpu"]] if known["gpu"] else None),
        )
        capture = int(name.split(".")[-2]) - 1 if len(captures) > 1 and lane.gpu else 0
        offset = known["add_to_reach_run_clock_ns"]
        window = offset, offset + known["duration_ns"]
        with closing(sqlite3.connect(folder / name)) as database:
            spans = _spans(database, offset)
            ranges = _ranges(database, window, lane.role, captures[capture])
        reports.append(Report(name, lane, capture, window, spans, ranges, 0, 0, 0))
    return Plan(
        scenario,
        naming_of(scenario),
        tuple(gpus.values()),
        tuple(lanes.values()),
        tuple(reports),
        (),
        tuple(tuple(steps) for steps in captures),
        0,
        (),
    )


def _spans(database: sqlite3.Connection, offset: int) -> Spans:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    rows: list[tuple[int, int, int]] = []
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        table = "CUPTI_ACTIVITY_KIND_KERNEL"
        query = f'SELECT start, "end", value FROM {table} JOIN StringIds ON id = shortName'
        for start, end, name in database.execute(query):
            stage = Stage.FORWARD
            if name.startswith("nccl"):
                stage = _COLLECTIVES[name.split("_")[1]]
            rows.append((start, end, stage))
    for table, stage in (
        ("CUPTI_ACTIVITY_KIND_MEMCPY", Stage.COPY_IN),
        ("CUPTI_ACTIVITY_KIND_MEMSET", Stage.SET),
        ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", Stage.DECODE),
    ):
        if table in tables:
            rows += [(*row, stage) for row in database.execute(f'SELECT start, "end" FROM {table}')]
    columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
    ones = np.ones(len(rows), np.int64)
    return Spans(columns[:, 0] + offset, columns[:, 1] + offset, columns[:, 2], ones, 0 * ones)


def _ranges(
    database: sqlite3.Connection, window: tuple[int, int], role: str, steps: list[int]
) -> tuple[Range, ...]:
    """Number the ranges by counting, as a person would."""
    query = """
        SELECT start, "end", coalesce(text, value), domainId FROM NVTX_EVENTS
        LEFT JOIN StringIds ON id = textId WHERE eventType IN (59, 60) ORDER BY start
    """
    found = []
    refits = trained = 0
    for start, end, name, domain in database.execute(query):
        phase = next((p for p, parts in _PHASES.items() if any(x in name for x in parts)), "other")
        if name.endswith("/prepare_for_training"):
            phase = "other"
        last_train = phase == "training" and ("/" in name or name == "actor_update")
        if role == "generation":
            step = steps[min(refits, len(steps) - 1)]
            refits += phase == "refit"
        else:
            # A refit and what is offloaded around it belong to the training before them.
            after = phase == "refit" or "offload" in name
            index = trained - 1 if after or (phase == "training" and not last_train) else trained
            step = steps[index] if index < len(steps) else steps[-1] + 1
            trained += last_train
        stop = window[1] + 1 if end is None else end + window[0]
        found.append(Range(name, phase, step, start + window[0], stop, 0, "NCCL" if domain else ""))
    return tuple(found)

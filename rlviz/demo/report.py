"""Write one simulated report: an SQLite file with nsys's own tables, created as they get rows."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.cover import Activity, activity_of
from rlviz.demo.plan import Plan, Range, Report, Stage
from rlviz.demo.shape import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MARK", "write_report"]

MARK = ("SIMULATED", "made by rlviz; not a real capture")
VM = 1 << 48
_SCHEMA = {"2025.3": ("2025.3.1.90", "3.20.2"), "2026.2": ("2026.2.1.210", "3.25.0")}
_PUSH_POP, _START_END, _DOMAIN = 59, 60, 75
_COPY_KINDS = {
    Stage.COPY_IN: (1, 1, 2, 26),
    Stage.COPY_OUT: (2, 2, 1, 24),
    Stage.COPY_ON: (8, 2, 2, 1400),
}
_NCCL_DOMAIN = 1
_COMMUNICATORS = {"ncclBroadcast": 0x5EED_0002}
_TRAINING_COMMUNICATOR = 0x5EED_0001


def _statements(version: str) -> dict[str, list[str]]:
    """Statements of the schema by table; an enumeration has its rows, too."""
    text = files("rlviz.demo").joinpath("schema", f"{version}.sql").read_text("utf-8")
    found: dict[str, list[str]] = {}
    for statement in re.findall(r"^(?:CREATE|INSERT).*?;$", text, re.DOTALL | re.MULTILINE):
        table = re.split(r"[\s(]+", statement, maxsplit=3)[2]
        found.setdefault(table, []).append(statement)
    return found


@dataclass
class _File:
    """A report that is being written: tables appear with their first rows."""

    database: sqlite3.Connection
    schema: dict[str, list[str]]
    strings: dict[str, int] = field(default_factory=dict)
    columns: dict[str, list[str]] = field(default_factory=dict)

    def create(self, table: str) -> None:
        if table in self.columns:
            return
        for statement in self.schema[table]:
            self.database.execute(statement)
        named = self.database.execute(f"SELECT name FROM pragma_table_info('{table}')")
        self.columns[table] = [name for (name,) in named]

    def insert(
        self, table: str, values: dict[str, object], rows: Iterable[Sequence[object]] = ((),)
    ) -> None:
        """Insert rows of `table`.

        `values` gives the columns: a constant, or `_EACH` where `rows` has a value for each row, in
        the order of `values`. Constants are not bound row by row: that halves the time. Columns
        that are not named stay NULL.
        """
        self.create(table)
        known = {name: name for name in self.columns[table]}
        listed = ", ".join(f'"{known[name]}"' for name in values)
        holes = ", ".join("?" if value is _EACH else _literal(value) for value in values.values())
        self.database.executemany(f"INSERT INTO {table} ({listed}) VALUES ({holes})", rows)

    def text(self, value: str) -> int:
        """Give the id of a string."""
        return self.strings.setdefault(value, len(self.strings) + 1)

    def texts(self, values: Sequence[str]) -> np.ndarray:
        """Give the ids of strings."""
        return np.array([self.text(value) for value in values], dtype=np.int64)


_EACH = object()


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def _rows(*columns: np.ndarray) -> Iterable[tuple[object, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def write_report(path: Path, plan: Plan, report: Report) -> None:
    """Write `report` to `path`, which must not exist."""
    scenario = plan.scenario
    rng = np.random.default_rng(
        [
            scenario.seed,
            report.lane.pid,
            report.capture,
            scenario.host_names.index(report.lane.host),
        ]
    )
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA page_size = 4096")
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        out = _File(database, _statements(scenario.nsys))
        for table in ("StringIds", *(name for name in out.schema if name.startswith("ENUM_"))):
            out.create(table)
        _identity(out, plan, report)
        if report.lane.gpu:
            _devices(out, plan, report)
            _activity(out, report, activity_of(report, scenario.graph_trace, rng))
        _nvtx(out, plan, report)
        _metadata(out, plan, report)
        out.insert(
            "StringIds", {"id": _EACH, "value": _EACH}, ((i, s) for s, i in out.strings.items())
        )
        database.execute("COMMIT")
    finally:
        database.close()


def _global_pid(report: Report) -> int:
    return VM + (report.lane.pid << 24)


def _thread(report: Report, index: int) -> int:
    """Give the global id of a thread: the main one has the process's own number."""
    return _global_pid(report) + report.lane.pid + (0, 41, 57, 58, 73)[index]


def environment(plan: Plan, report: Report) -> list[str]:
    """Environment of the process, with made-up tokens in it."""
    lane = report.lane
    same_host = [one for one in plan.lanes if one.host == lane.host and one.role == lane.role]
    local = [one.rank for one in same_host].index(lane.rank)
    listed = [f"HF_TOKEN={plan.secrets[0]}", f"WANDB_API_KEY={plan.secrets[1]}"]
    if lane.gpu:
        listed += [f"CUDA_VISIBLE_DEVICES={lane.gpu.index}", f"LOCAL_RANK={local}"]
    if lane.role == "policy":
        listed += [f"RANK={lane.rank}", f"WORLD_SIZE={plan.scenario.policy_gpus}"]
    return [*listed, "NCCL_DEBUG=WARN", "PYTHONUNBUFFERED=1"]


def _identity(out: _File, plan: Plan, report: Report) -> None:
    """Tell process, threads, host, environment, and when the collection started."""
    worker = plan.naming.worker_of(report.lane.role)
    pid = _global_pid(report)
    out.insert("PROCESSES", {"globalPid": pid, "pid": report.lane.pid, "name": worker.process})
    threads = [(out.text(name), _thread(report, i)) for i, name in enumerate(worker.threads)]
    out.insert("ThreadNames", {"nameId": _EACH, "priority": 20, "globalTid": _EACH}, threads)
    variables = environment(plan, report)
    # nsys keeps the environment of every process as one string, parts separated by NUL.
    out.text("\0".join(variables))
    facts = (
        ("CpuArchitecture", 3, "x86_64"),
        ("NvDriverVersion", 205, "570.86.15"),
        ("OsDescription", 605, "Ubuntu 22.04.5 LTS"),
        ("CudaDriverVersion", 611, "12080"),
        ("Hostname", 619, report.lane.host),
        ("DeviceEnvironment", 718, "\n".join(variables)),
    )
    out.insert(
        "TARGET_INFO_SYSTEM_ENV",
        {
            "globalVid": VM,
            "devStateName": "Local (CLI)",
            "name": _EACH,
            "nameEnum": _EACH,
            "value": _EACH,
        },
        facts,
    )
    start, end = report.window
    utc = plan.utc_zero_ns + start + report.utc_error_ns
    clock = report.uptime_ns + start
    moment = datetime.fromtimestamp(utc // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    newer = plan.scenario.nsys != "2025.3"
    session: dict[str, object] = {"utcEpochNs": utc, "utcTime": moment, "localTime": moment}
    if newer:
        session["systemClockNs"] = clock
    out.insert("TARGET_INFO_SESSION_START_TIME", session)
    # Until 2025.5 the start time counts from the launch of the session, later it is the clock.
    since = clock if newer else start - report.launch_ns
    out.insert(
        "ANALYSIS_DETAILS",
        {
            "globalVid": VM,
            "duration": end - start,
            "startTime": since,
            "stopTime": since + end - start,
        },
    )


def _devices(out: _File, plan: Plan, report: Report) -> None:
    """Tell the host's GPUs, and which of them the process calls device 0."""
    gpu = report.lane.gpu
    assert gpu is not None
    host = [one for one in plan.gpus if one.host == gpu.host]
    out.insert(
        "TARGET_INFO_GPU",
        {
            "vmId": VM,
            "id": _EACH,
            "name": "NVIDIA H100 80GB HBM3",
            "busLocation": _EACH,
            "isDiscrete": 1,
            "l2CacheSize": 52_428_800,
            "totalMemory": 85_029_158_912,
            "memoryBandwidth": 3_352_320_000_000,
            "clockRate": 1_980_000_000,
            "smCount": 132,
            "pwGpuId": _EACH,
            "uuid": _EACH,
            "luid": 0,
            "chipName": "GH100",
            "cuDevice": _EACH,
            "ctxswDevPath": "",
            "ctrlDevPath": "",
            "revision": 161,
            "nodeMask": 0,
            "constantMemory": 65_536,
            "maxIPC": 4,
            "maxRegistersPerBlock": 65_536,
            "maxShmemPerBlock": 49_152,
            "maxShmemPerBlockOptin": 232_448,
            "maxShmemPerSm": 233_472,
            "maxRegistersPerSm": 65_536,
            "threadsPerWarp": 32,
            "asyncEngines": 3,
            "maxWarpsPerSm": 64,
            "maxBlocksPerSm": 32,
            "maxThreadsPerBlock": 1_024,
            "maxBlockDimX": 1_024,
            "maxBlockDimY": 1_024,
            "maxBlockDimZ": 64,
            "maxGridDimX": 2_147_483_647,
            "maxGridDimY": 65_535,
            "maxGridDimZ": 65_535,
            "computeMajor": 9,
            "computeMinor": 0,
            "smMajor": 9,
            "smMinor": 0,
        },
        [(one.index, one.bus, one.index, one.uuid, one.index) for one in host],
    )
    device: dict[str, object] = {"gpuId": gpu.index, "cudaId": 0, "pid": report.lane.pid}
    if plan.scenario.nsys != "2025.3":
        device |= {"uuid": gpu.uuid, "numMultiprocessors": 132}
    out.insert("TARGET_INFO_CUDA_DEVICE", device)
    out.insert(
        "TARGET_INFO_CUDA_CONTEXT_INFO",
        {
            "nullStreamId": 7,
            "hwId": 0,
            "vmId": 1,
            "processId": report.lane.pid,
            "deviceId": 0,
            "contextId": 1,
            "parentContextId": 0,
            "isGreenContext": 0,
        },
    )
    out.insert(
        "TARGET_INFO_CUDA_STREAM",
        {
            "streamId": _EACH,
            "hwId": 0,
            "vmId": 1,
            "processId": report.lane.pid,
            "contextId": 1,
            "priority": 0,
            "flag": 2,
        },
        [(stream,) for stream in (7, 14, 15, 20, 23)],
    )


_PLACE = {"deviceId": 0, "contextId": 1, "greenContextId": None}


def _activity(out: _File, report: Report, activity: Activity) -> None:
    """Write kernels, copies, sets, graph launches and the calls behind them."""
    pid, zero = _global_pid(report), report.window[0]
    if len(activity.kernels.start):
        _kernels(out, activity, pid, zero)
    copies = activity.copies
    for stage, (kind, source, target, bytes_per_us) in _COPY_KINDS.items():
        chosen = copies.stage == stage
        if chosen.any():
            length = (copies.end - copies.start)[chosen]
            out.insert(
                "CUPTI_ACTIVITY_KIND_MEMCPY",
                {
                    "start": _EACH,
                    "end": _EACH,
                    **_PLACE,
                    "streamId": 23,
                    "correlationId": _EACH,
                    "globalPid": pid,
                    "bytes": _EACH,
                    "copyKind": kind,
                    "srcKind": source,
                    "dstKind": target,
                    "copyCount": 1,
                },
                _rows(
                    copies.start[chosen] - zero,
                    copies.end[chosen] - zero,
                    activity.copy_correlation[chosen],
                    np.maximum(length * bytes_per_us, 4),
                ),
            )
    if len(activity.sets.start):
        out.insert(
            "CUPTI_ACTIVITY_KIND_MEMSET",
            {
                "start": _EACH,
                "end": _EACH,
                **_PLACE,
                "streamId": 23,
                "correlationId": _EACH,
                "globalPid": pid,
                "value": 0,
                "bytes": 4_194_304,
                "memKind": 2,
            },
            _rows(activity.sets.start - zero, activity.sets.end - zero, activity.set_correlation),
        )
    graphs = activity.graphs
    if len(graphs.start):
        out.insert(
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
            {
                "start": _EACH,
                "end": _EACH,
                **_PLACE,
                "streamId": 7,
                "correlationId": _EACH,
                "globalPid": pid,
                "graphId": 11,
                "graphExecId": _EACH,
            },
            _rows(
                graphs.start - zero,
                graphs.end - zero,
                activity.graph_correlation,
                12 + np.arange(len(graphs.start)) % 3,
            ),
        )
    calls = activity.launches
    apis = out.texts(calls.apis)
    threads = np.array([_thread(report, index) for index in (0, 1)])
    for event_class, driver in ((0, False), (1, True)):
        chosen = (
            np.array([name.startswith("cuL") for name in calls.apis], bool)[calls.api] == driver
        )
        if chosen.any():
            out.insert(
                "CUPTI_ACTIVITY_KIND_RUNTIME",
                {
                    "start": _EACH,
                    "end": _EACH,
                    "eventClass": event_class,
                    "globalTid": _EACH,
                    "correlationId": _EACH,
                    "nameId": _EACH,
                    "returnValue": 0,
                    "callchainId": None,
                },
                _rows(
                    calls.start[chosen] - zero,
                    calls.end[chosen] - zero,
                    threads[calls.thread[chosen]],
                    calls.correlation[chosen],
                    apis[calls.api[chosen]],
                ),
            )


def _kernels(out: _File, activity: Activity, pid: int, zero: int) -> None:
    rows = activity.kernels
    newer = "tensorSizeMinusOneElements" in "".join(out.schema["CUPTI_ACTIVITY_KIND_KERNEL"])
    names = out.texts([kind.demangled for kind in rows.kinds])
    shorts = out.texts([kind.short or kind.demangled for kind in rows.kinds])
    shapes = np.array([(k.registers, k.grid, k.block, k.shared) for k in rows.kinds], np.int64)
    order = np.arange(len(rows.start))
    values: dict[str, object] = {
        "start": _EACH,
        "end": _EACH,
        **_PLACE,
        "streamId": _EACH,
        "correlationId": _EACH,
        "globalPid": pid,
        "demangledName": _EACH,
        "shortName": _EACH,
        "launchType": 1,
        "cacheConfig": 1,
        "registersPerThread": _EACH,
        "gridX": _EACH,
        "gridY": 1,
        "gridZ": 1,
        "blockX": _EACH,
        "blockY": 1,
        "blockZ": 1,
        "staticSharedMemory": 0,
        "dynamicSharedMemory": _EACH,
        "localMemoryPerThread": 0,
        "localMemoryTotal": 0,
        "gridId": _EACH,
        "sharedMemoryExecuted": 65_536,
        "sharedMemoryLimitConfig": 0,
    }
    columns = [
        rows.start - zero,
        rows.end - zero,
        rows.stream,
        rows.correlation,
        names[rows.kernel],
        shorts[rows.kernel],
        *(shapes[rows.kernel, place] for place in (0, 1, 2, 3)),
        order + 1,
    ]
    if newer:
        values |= {"clusterX": 1, "clusterY": 1, "clusterZ": 1, "tensorSizeMinusOneElements": "[]"}
    for graph in (False, True):
        chosen = (rows.node > 0) == graph
        extra = {"graphNodeId": _EACH, **({"graphId": 11} if newer else {})} if graph else {}
        # A node's id: the graph's number in the upper half, the node's in the lower one.
        node = ((11 << 32) + rows.node)[chosen]
        each = [column[chosen] for column in columns] + ([node] if graph else [])
        if chosen.any():
            out.insert("CUPTI_ACTIVITY_KIND_KERNEL", values | extra, _rows(*each))


def _nvtx(out: _File, plan: Plan, report: Report) -> None:
    """Write domains and ranges; a range that is open at the stop has no end."""
    start, end = report.window
    main = _thread(report, 0)
    domains = {one.domain for one in report.ranges if one.domain}
    # Domains are created when the process starts, long before the collection does.
    created = -3_900 * MS - 911_111 * report.lane.pid
    if domains:
        out.insert(
            "NVTX_EVENTS",
            {
                "start": created,
                "eventType": _DOMAIN,
                "text": "NCCL",
                "globalTid": main,
                "domainId": _NCCL_DOMAIN,
            },
        )
    registered = plan.naming.style == "start_end"
    columns = {
        "start": _EACH,
        "end": _EACH,
        "eventType": _EACH,
        "rangeId": _EACH,
        "color": _EACH,
        "text": _EACH,
        "globalTid": _EACH,
        "textId": _EACH,
        "domainId": _EACH,
        "jsonText": _EACH,
    }
    rows = []
    for index, one in enumerate(report.ranges):
        stop = one.end - start if one.end <= end else None
        own = registered and not one.domain
        rows.append(
            (
                one.start - start,
                stop,
                _START_END if own else _PUSH_POP,
                index + 2 if own else None,
                0xFF0000 if own else None,
                None if own else one.name,
                _thread(report, one.thread),
                out.text(one.name) if own else None,
                _NCCL_DOMAIN if one.domain else 0,
                _payload(plan, report, one) if one.domain else None,
            )
        )
    if rows:
        out.insert("NVTX_EVENTS", columns, rows)


def _payload(plan: Plan, report: Report, call: Range) -> str:
    scenario, rank = plan.scenario, report.lane.rank or 0
    ranks = scenario.policy_gpus
    if call.name == "ncclBroadcast":
        ranks += scenario.engines
        rank += scenario.policy_gpus if report.lane.role == "generation" else 0
    communicator = _COMMUNICATORS.get(call.name, _TRAINING_COMMUNICATOR)
    return f'{{"NCCL communicator ID": {communicator}, "No. of ranks": {ranks}, "Rank": {rank}}}'


def _metadata(out: _File, plan: Plan, report: Report) -> None:
    """Write how the report was made, and that nobody captured it."""
    release, schema = _SCHEMA[plan.scenario.nsys]
    major, minor, micro = schema.split(".")
    mode = "Node" if plan.scenario.graph_trace == "node" else "Graph"
    capture = [
        ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
        ("CAPTURE_EVENT_TYPE", "Cuda"),
        ("CUDA_GRAPH_TRACE_OPTIONS:MODE", mode),
        *(("PROCESS_0:ENVIRONMENT_VARIABLE", one) for one in environment(plan, report)),
    ]
    name = Path(report.path).stem
    export = [
        ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
        ("EXPORT_PRODUCT_VERSION", release),
        ("EXPORT_PRODUCT_DATE", plan.scenario.nsys),
        ("EXPORT_SCHEMA_VERSION", schema),
        ("EXPORT_SCHEMA_VERSION_MAJOR", major),
        ("EXPORT_SCHEMA_VERSION_MINOR", minor),
        ("EXPORT_SCHEMA_VERSION_MICRO", micro),
        ("EXPORT_PARAM_INPUT_FILE", f"{name}.nsys-rep"),
        ("EXPORT_PARAM_OUTPUT_FILE", f"{name}.sqlite"),
        ("EXPORT_PARAM_LAZY", "true"),
        MARK,
    ]
    for table, rows in (("META_DATA_CAPTURE", capture), ("META_DATA_EXPORT", export)):
        out.insert(table, {"name": _EACH, "value": _EACH}, rows)

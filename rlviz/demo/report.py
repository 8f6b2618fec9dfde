"""Write one simulated report: an SQLite file with nsys's own tables, created as they get rows."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlviz.demo.cover import activity_of
from rlviz.demo.export import EACH, ExportFile, statements
from rlviz.demo.gpu_rows import write_activity
from rlviz.demo.shape import MS, SECOND

if TYPE_CHECKING:
    from rlviz.demo.plan import Plan, Range, Report

__all__ = ["MARK", "write_report"]

MARK = ("SIMULATED", "made by rlviz; not a real capture")
VM = 1 << 48
_SCHEMA = {"2025.3": ("2025.3.1.90", "3.20.2"), "2026.2": ("2026.2.1.210", "3.25.0")}
_PUSH_POP, _START_END, _DOMAIN = 59, 60, 75
_NCCL_DOMAIN = 1
_COMMUNICATORS = {"ncclBroadcast": 0x5EED_0002}
_TRAINING_COMMUNICATOR = 0x5EED_0001


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
        out = ExportFile(database, statements(scenario.nsys))
        for table in ("StringIds", *(name for name in out.schema if name.startswith("ENUM_"))):
            out.create(table)
        _identity(out, plan, report)
        if report.lane.gpu:
            _devices(out, plan, report)
            activity = activity_of(report, scenario.graph_trace, rng)
            threads = _thread(report, 0), _thread(report, 1)
            write_activity(out, activity, _global_pid(report), threads, report.window[0])
        _diagnostics(out, report)
        _nvtx(out, plan, report)
        _metadata(out, plan, report)
        out.insert(
            "StringIds", {"id": EACH, "value": EACH}, ((i, s) for s, i in out.strings.items())
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


def _identity(out: ExportFile, plan: Plan, report: Report) -> None:
    """Tell process, threads, host, environment, and when the collection started."""
    worker = plan.naming.worker_of(report.lane.role)
    pid = _global_pid(report)
    out.insert("PROCESSES", {"globalPid": pid, "pid": report.lane.pid, "name": worker.process})
    threads = [(out.text(name), _thread(report, i)) for i, name in enumerate(worker.threads)]
    out.insert("ThreadNames", {"nameId": EACH, "priority": 20, "globalTid": EACH}, threads)
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
            "name": EACH,
            "nameEnum": EACH,
            "value": EACH,
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


def _diagnostics(out: ExportFile, report: Report) -> None:
    """Write the messages that every capture leaves."""
    launched = report.launch_ns - report.window[0]
    messages = [
        (launched, 2, "Process was launched by the profiler."),
        (launched + 31 * MS, 1, "Common injection library initialized successfully."),
        (launched + 208 * MS, 1, "NVTX injection initialized successfully."),
        (
            report.window[1] - report.window[0],
            3,
            f"Number of NVTX events collected: {len(report.ranges)}.",
        ),
    ]
    if report.lane.gpu:
        messages.insert(3, (launched + 911 * MS, 1, "CUDA injection initialized successfully."))
    out.insert(
        "DIAGNOSTIC_EVENT",
        {
            "timestamp": EACH,
            "timestampType": 1,
            "source": EACH,
            "severity": 1,
            "text": EACH,
            "globalPid": _global_pid(report),
        },
        messages,
    )


def _devices(out: ExportFile, plan: Plan, report: Report) -> None:
    """Tell the host's GPUs, and which of them the process calls device 0."""
    gpu = report.lane.gpu
    assert gpu is not None
    host = [one for one in plan.gpus if one.host == gpu.host]
    out.insert(
        "TARGET_INFO_GPU",
        {
            "vmId": VM,
            "id": EACH,
            "name": "NVIDIA H100 80GB HBM3",
            "busLocation": EACH,
            "isDiscrete": 1,
            "l2CacheSize": 52_428_800,
            "totalMemory": 85_029_158_912,
            "memoryBandwidth": 3_352_320_000_000,
            "clockRate": 1_980_000_000,
            "smCount": 132,
            "pwGpuId": EACH,
            "uuid": EACH,
            "luid": 0,
            "chipName": "GH100",
            "cuDevice": EACH,
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
            "streamId": EACH,
            "hwId": 0,
            "vmId": 1,
            "processId": report.lane.pid,
            "contextId": 1,
            "priority": 0,
            "flag": 2,
        },
        [(stream,) for stream in (7, 14, 15, 20, 23)],
    )


def _nvtx(out: ExportFile, plan: Plan, report: Report) -> None:
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
        "start": EACH,
        "end": EACH,
        "eventType": EACH,
        "rangeId": EACH,
        "color": EACH,
        "text": EACH,
        "globalTid": EACH,
        "textId": EACH,
        "domainId": EACH,
        "jsonText": EACH,
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


def _metadata(out: ExportFile, plan: Plan, report: Report) -> None:
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
        out.insert(table, {"name": EACH, "value": EACH}, rows)

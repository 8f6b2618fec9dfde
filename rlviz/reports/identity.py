"""Who recorded a report: host, processes, threads, GPUs, versions, start time.

The environment of the profiled process is in the file, tokens and all. Only the values of
`ALLOWED_VARIABLES` are ever taken, and SQL picks them out: nothing else of it enters Python.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from typing import TYPE_CHECKING

from rlviz.reports.communicators import read_communicators
from rlviz.reports.report import Gpu, Identity, Start
from rlviz.reports.table import LONGEST_NS

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.reports.database import Database

__all__ = ["ALLOWED_VARIABLES", "ray_node", "read_identity", "read_start"]

ALLOWED_VARIABLES = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "CUDA_VISIBLE_DEVICES",
    "NSYS_HW_ID",
    "SLURM_PROCID",
    "SLURM_NODEID",
)

# Of a thread. Many may have the same one, so what is kept of each has to be short.
_LONGEST_NAME = 1_000

_METADATA = ("META_DATA_EXPORT", "EXPORT_META_DATA")  # the second up to nsys 2022.4

# One variable out of a newline-separated environment, cut out by SQLite.
_FROM_BLOCK = """
SELECT substr(rest, 1, instr(rest, char(10)) - 1) FROM (
  SELECT substr(block, instr(block, :head) + length(:head)) AS rest FROM (
    SELECT char(10) || replace(value, char(0), char(10)) || char(10) AS block
    FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'DeviceEnvironment'
  ) WHERE instr(block, :head) > 0
) LIMIT 1
"""
_FROM_ROWS = """
SELECT substr(value, length(:head) + 1) FROM META_DATA_CAPTURE
WHERE name LIKE '%ENVIRONMENT_VARIABLE' AND substr(value, 1, length(:head)) = :head LIMIT 1
"""
# Up to the first space: a process may put its arguments, tokens and all, into its name.
_PROGRAMS = """
SELECT pid, substr(name, 1, instr(name || ' ', ' ') - 1) FROM (
  SELECT pid, ltrim(replace(replace(CAST(name AS TEXT), char(0), ' '), char(10), ' ')) AS name
  FROM PROCESSES WHERE typeof(pid) = 'integer' AND name IS NOT NULL
)
"""
_THREAD_NAME_EVENT = 39
_ORDINAL = re.compile(r"[0-9]{1,9}")
_LATEST_NS = 1 << 62  # in the year 2116; differences of two such times are no overflow


def read_start(database: Database) -> Start:
    """Read when the collection started and how long it lasted."""
    session = "TARGET_INFO_SESSION_START_TIME"
    return Start(
        utc_ns=_time(database, session, "utcEpochNs", _LATEST_NS),
        launch_delay_ns=_time(database, "ANALYSIS_DETAILS", "startTime", _LATEST_NS),
        system_clock_ns=_time(database, session, "systemClockNs", _LATEST_NS),
        duration_ns=_time(database, "ANALYSIS_DETAILS", "duration", LONGEST_NS),
    )


def read_identity(database: Database) -> Identity:
    """Read who recorded the report; what the export does not tell stays unknown."""
    environment = _environment(database)
    machine = _machine_gpus(database)
    return Identity(
        host=_host(database),
        environment=environment,
        processes=_processes(database),
        threads=_threads(database),
        gpus=_gpus(database, machine, environment.get("CUDA_VISIBLE_DEVICES")),
        machine_gpus=tuple(gpu for _, gpu in machine.values()),
        communicators=read_communicators(database),
        nsys_version=_metadata(database, "EXPORT_PRODUCT_VERSION"),
        schema_version=_metadata(database, "EXPORT_SCHEMA_VERSION"),
        simulated=_metadata(database, "SIMULATED") is not None,
    )


def _time(database: Database, table: str, column: str, most: int) -> int | None:
    """Read a time; one that cannot be is as good as none."""
    if not database.has(table, column):
        return None
    rows = database.rows(
        f'SELECT "{column}" FROM "{table}" WHERE typeof("{column}") = \'integer\' LIMIT 1'
    )
    time = int(str(rows[0][0])) if rows else 0
    return time if 0 < time <= most else None


def _metadata(database: Database, key: str) -> str | None:
    for table in _METADATA:
        if database.has(table, "name", "value"):
            query = f'SELECT CAST(value AS TEXT) FROM "{table}" WHERE name = ? LIMIT 1'
            for (value,) in database.rows(query, (key,)):
                return str(value)
    return None


def _environment(database: Database) -> dict[str, str]:
    sources = [
        query
        for table, query in (
            ("META_DATA_CAPTURE", _FROM_ROWS),
            ("TARGET_INFO_SYSTEM_ENV", _FROM_BLOCK),
        )
        if database.has(table, "name", "value")
    ]
    found: dict[str, str] = {}
    for variable in ALLOWED_VARIABLES:
        for query in sources:
            head = f"\n{variable}=" if query is _FROM_BLOCK else f"{variable}="
            rows = database.rows(query, {"head": head})  # type: ignore[arg-type]
            if rows and rows[0][0] is not None:
                found.setdefault(variable, str(rows[0][0]))
    return found


def _host(database: Database) -> str | None:
    if database.has("TARGET_INFO_SYSTEM_ENV", "name", "value"):
        query = "SELECT CAST(value AS TEXT) FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"
        for (value,) in database.rows(query):
            if value:
                return str(value)
    return ray_node(database.path)


def ray_node(path: Path) -> str | None:
    """Give the node's address from a ``ray/<node_ip>/`` folder; None where there is none."""
    # ray.sub on Slurm syncs the reports of other nodes into <job>-logs/ray/<node_ip>/.
    folders = path.absolute().parts[:-1]
    for above, folder in itertools.pairwise(folders):
        if above == "ray":
            try:
                return str(ipaddress.ip_address(folder))
            except ValueError:
                continue
    return None


def _processes(database: Database) -> dict[int, str]:
    if not database.has("PROCESSES", "pid", "name"):
        return {}
    rows = database.rows(_PROGRAMS)
    return {int(str(pid)): str(name) for pid, name in rows}


def _threads(database: Database) -> dict[int, str]:
    names: dict[int, str] = {}
    low48 = 0xFFFF_FFFF_FFFF
    if database.has("NVTX_EVENTS", "eventType", "text", "globalTid"):
        rows = database.rows(
            f"SELECT globalTid & {low48}, CAST(text AS TEXT) FROM NVTX_EVENTS"
            f" WHERE eventType = {_THREAD_NAME_EVENT} AND text IS NOT NULL"
            " AND typeof(globalTid) = 'integer'"
        )
        names.update({int(str(thread)): str(name)[:_LONGEST_NAME] for thread, name in rows})
    if database.has("ThreadNames", "nameId", "globalTid"):
        rows = database.rows(
            f"SELECT globalTid & {low48}, nameId FROM ThreadNames"
            " WHERE typeof(globalTid) = 'integer' AND typeof(nameId) = 'integer'"
        )
        threads = {int(str(thread)): int(str(name)) for thread, name in rows}
        strings = database.strings(set(threads.values()))
        known = {name: text[:_LONGEST_NAME] for name, text in strings.items()}
        names.update({t: known[name] for t, name in threads.items() if name in known})
    return names


def _machine_gpus(database: Database) -> dict[int, tuple[int | None, Gpu]]:
    """CUDA's number and the identity of every GPU of the machine, by nsys's id."""
    return {
        int(str(key)): (
            ordinal if isinstance(ordinal, int) else None,
            Gpu(_text(uuid), _text(bus), _text(name)),
        )
        for key, ordinal, uuid, bus, name in _listed_gpus(database)
    }


def _gpus(
    database: Database, machine: dict[int, tuple[int | None, Gpu]], visible: str | None
) -> dict[tuple[int, int], Gpu]:
    """GPUs by (pid, deviceId); pid -1 stands for every process of the report."""
    known = _by_process(database, {key: gpu for key, (_, gpu) in machine.items()})
    by_ordinal = {ordinal: gpu for ordinal, gpu in machine.values() if ordinal is not None}
    return known or {(-1, device): gpu for device, gpu in _visible(by_ordinal, visible).items()}


def _listed_gpus(database: Database) -> list[tuple[object, ...]]:
    table = "TARGET_INFO_GPU"
    if not database.has(table, "id"):
        return []
    columns = database.tables[table]
    order = '"cuDevice"' if "cuDevice" in columns else "NULL"
    texts = [_text_cell(columns, column) for column in ("uuid", "busLocation", "name")]
    return database.rows(
        f"SELECT id, {order}, {', '.join(texts)} FROM \"{table}\" WHERE typeof(id) = 'integer'"
    )


def _by_process(database: Database, gpus: dict[int, Gpu]) -> dict[tuple[int, int], Gpu]:
    table = "TARGET_INFO_CUDA_DEVICE"
    if not database.has(table, "gpuId", "cudaId", "pid"):
        return {}
    # The device's own uuid (nsys 2025.6 and later) tells also where the list of GPUs is missing.
    rows = database.rows(
        f"SELECT gpuId, cudaId, pid, {_text_cell(database.tables[table], 'uuid')} FROM {table}"
        " WHERE typeof(cudaId) = 'integer' AND typeof(pid) = 'integer'"
    )
    found = {}
    for gpu, device, pid, uuid in rows:
        listed = gpus.get(gpu) if isinstance(gpu, int) else None
        if listed is not None or uuid:
            found[int(str(pid)), int(str(device))] = listed or Gpu(_text(uuid))
    return found


def _text_cell(columns: frozenset[str], column: str) -> str:
    return f'CAST("{column}" AS TEXT)' if column in columns else "NULL"


def _visible(gpus: dict[int, Gpu], visible: str | None) -> dict[int, Gpu]:
    """GPUs by deviceId, which counts the visible ones only."""
    if visible is None:
        return gpus
    by_uuid = {gpu.uuid: gpu for gpu in gpus.values()}
    seen = [
        gpus.get(int(entry))
        if _ORDINAL.fullmatch(entry)
        else by_uuid.get(entry.removeprefix("GPU-"))
        for entry in (part.strip() for part in visible.split(","))
    ]
    return {device: gpu for device, gpu in enumerate(seen) if gpu is not None}


def _text(value: object) -> str | None:
    return str(value) if value else None

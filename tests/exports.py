"""Write small exports as nsys would, in any generation of its schema.

Only what a reader may look at is written. Tables come lazily, as nsys makes them, and their columns
are the ones that nsys had at that version. Constraints are left out, so that a test can plant rows
that nsys should never write.

Examples
--------
>>> with Export(tmp_path / "vllm_worker_1.sqlite", schema="3.20.2") as export:
...     export.gpu(uuid="a-uuid", bus="0000:19:00.0")
...     export.kernel(100, 200, name="gemm")
...     export.push_pop(90, 210, "generate")
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from tests.schema import FROM_2022, GENERATIONS, TABLES, columns_of, version_of

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["SECRET", "UTC_NS", "Export"]

UTC_NS = 1_790_000_000_000_000_000
"""UTC at the start of a collection, unless a test says otherwise."""

_BOOT_UTC_NS = UTC_NS - 700_000_000_000_000

SECRET = "hf_CANARY_MUST_NOT_LEAVE_THE_REPORT"
"""Planted in the environment of every export that has one."""


class Export:
    """One export of nsys, written to `path` when the ``with`` block ends.

    Parameters
    ----------
    path : Path
        File to write; folders above it are made.
    schema : str
        One of `tests.schema.GENERATIONS`.
    pid : int
        Process that rows belong to unless they say otherwise.
    host : str or None
        Host name in the environment table; None leaves it out.
    utc_ns : int or None
        UTC at the start of the collection; None leaves the table out.
    duration_ns : int or None
        Length of the capture window; None leaves the table out.
    launch_ns : int
        ``ANALYSIS_DETAILS.startTime`` (until 2025.5: since the launch of the nsys session).
    lazy : bool
        False: every table exists, most of them empty.
    environment : dict
        Variables of the profiled process, beside `SECRET`.
    """

    def __init__(
        self,
        path: Path,
        schema: str = "3.20.2",
        *,
        pid: int = 4711,
        host: str | None = "node-1",
        utc_ns: int | None = UTC_NS,
        duration_ns: int | None = 1_000_000_000,
        launch_ns: int = 5_000_000_000,
        lazy: bool = True,
        environment: dict[str, str] | None = None,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.pid = pid
        self._schema = schema
        self._version = version_of(schema)
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._strings: dict[str, int] = {}
        self._correlation = 0
        self._processes: dict[int, str] = {}
        self._write_identity(utc_ns, duration_ns, launch_ns)
        if host is not None:
            self._write_environment(host, {"HF_TOKEN": SECRET, **(environment or {})})
        if not lazy:
            for table in TABLES:
                if "META_DATA" not in table:  # its name depends on the generation
                    self._rows.setdefault(table, [])

    # -- what a test writes ------------------------------------------------------------------

    def kernel(
        self,
        start: Any,
        end: Any,
        name: str = "void gemm_kernel<float>(T1 *)",
        *,
        short: str | None = None,
        stream: int = 7,
        device: int = 0,
        pid: int | None = None,
        graph_node: int | None = None,
        correlation: int | None = None,
    ) -> int:
        """Add a kernel; give its correlation id."""
        row = self._launch(start, end, stream, device, pid, correlation)
        row["demangledName"] = self.string(name)
        row["shortName"] = self.string(short if short is not None else name.split("<")[0])
        row["graphNodeId"] = graph_node
        return self._add("CUPTI_ACTIVITY_KIND_KERNEL", row)

    def copy(
        self,
        start: Any,
        end: Any,
        *,
        size: int = 4096,
        kind: int = 1,
        stream: int = 7,
        device: int = 0,
        pid: int | None = None,
        correlation: int | None = None,
    ) -> int:
        """Add a memcpy (kind 1 H2D, 2 D2H, 8 D2D, 10 P2P); give its correlation id."""
        row = self._launch(start, end, stream, device, pid, correlation)
        return self._add("CUPTI_ACTIVITY_KIND_MEMCPY", row | {"bytes": size, "copyKind": kind})

    def memset(
        self,
        start: Any,
        end: Any,
        *,
        size: int = 256,
        stream: int = 7,
        device: int = 0,
        pid: int | None = None,
        correlation: int | None = None,
    ) -> int:
        """Add a memset; give its correlation id."""
        row = self._launch(start, end, stream, device, pid, correlation)
        return self._add("CUPTI_ACTIVITY_KIND_MEMSET", row | {"bytes": size, "value": 0})

    def graph(
        self,
        start: Any,
        end: Any,
        *,
        graph_id: int = 3,
        stream: int = 7,
        device: int = 0,
        pid: int | None = None,
        correlation: int | None = None,
    ) -> int:
        """Add a graph launch traced as a whole; give its correlation id."""
        row = self._launch(start, end, stream, device, pid, correlation)
        row |= {"graphId": graph_id, "graphExecId": graph_id}
        return self._add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", row)

    def runtime(
        self,
        start: int,
        end: int,
        name: str = "cudaLaunchKernel_v7000",
        *,
        correlation: int | None = None,
        pid: int | None = None,
        tid: int | None = None,
    ) -> None:
        """Add a CUDA call of the host."""
        self.row(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            start=start,
            end=end,
            eventClass=0,
            globalTid=self.global_id(pid, tid),
            correlationId=correlation,
            nameId=self.string(name),
            returnValue=0,
        )

    def push_pop(self, start: Any, end: Any, text: str | None, **where: Any) -> None:
        """Add a push/pop range; `where` as for `nvtx`."""
        self.nvtx(59, start, end, text, **where)

    def start_end(self, start: Any, end: Any, text: str | None, **where: Any) -> None:
        """Add a start/end range; `where` as for `nvtx`."""
        self.nvtx(60, start, end, text, **where)

    def mark(self, start: Any, text: str | None, **where: Any) -> None:
        """Add a mark; `where` as for `nvtx`."""
        self.nvtx(34, start, None, text, **where)

    def domain(self, number: int, name: str, start: int = -4_000_000_000, **where: Any) -> None:
        """Create a domain, as a rule long before the capture began."""
        self.nvtx(75, start, None, name, domain=number, **where)

    def category(self, number: int, name: str, **where: Any) -> None:
        """Name a category."""
        self.nvtx(33, 1, None, name, category=number, **where)

    def nvtx(
        self,
        event_type: int,
        start: Any,
        end: Any,
        text: str | None,
        *,
        domain: int = 0,
        category: int | None = None,
        registered: bool = False,
        pid: int | None = None,
        tid: int | None = None,
        end_tid: int | None = None,
    ) -> None:
        """Add an NVTX row; a registered text stands in the string table."""
        self.process(self.pid if pid is None else pid)
        self.row(
            "NVTX_EVENTS",
            start=start,
            end=end,
            eventType=event_type,
            category=category,
            text=None if registered else text,
            textId=self.string(text) if registered and text is not None else None,
            globalTid=self.global_id(pid, tid),
            endGlobalTid=None if end_tid is None else self.global_id(pid, end_tid),
            domainId=domain,
        )

    def thread(self, tid: int, name: str, *, pid: int | None = None) -> None:
        """Name a thread."""
        self.row(
            "ThreadNames",
            nameId=self.string(name),
            priority=20,
            globalTid=self.global_id(pid, tid),
        )

    def process(self, pid: int, name: str = "ray::Worker") -> None:
        """Name a process; the first name stays."""
        self._processes.setdefault(pid, name)

    def gpu(
        self,
        uuid: str | None,
        bus: str | None,
        *,
        number: int = 0,
        name: str = "NVIDIA H100 80GB HBM3",
        device: int | None = 0,
        pid: int | None = None,
        cu_device: int | None = None,
    ) -> None:
        """Add a GPU of the machine; `device` is its number in process `pid`, None if unused."""
        self.row(
            "TARGET_INFO_GPU",
            vmId=1 << 48,
            id=number,
            name=name,
            busLocation=bus,
            totalMemory=85_899_345_920,
            smCount=132,
            uuid=uuid,
            chipName="GH100",
            cuDevice=number if cu_device is None else cu_device,
        )
        if device is not None:
            self.row(
                "TARGET_INFO_CUDA_DEVICE",
                gpuId=number,
                cudaId=device,
                pid=self.pid if pid is None else pid,
                uuid=uuid,
                numMultiprocessors=132,
            )

    def row(self, table: str, **values: Any) -> None:
        """Add a row as it stands; values of columns that the generation lacks are left out."""
        self._rows.setdefault(table, []).append(values)

    def string(self, text: str) -> int:
        """Give the id of a string."""
        return self._strings.setdefault(text, len(self._strings) + 1)

    def global_id(self, pid: int | None = None, tid: int | None = None) -> int:
        """Serialise a process and a thread as nsys does; the main thread has the process's id."""
        pid = self.pid if pid is None else pid
        return 1 << 48 | pid << 24 | (pid if tid is None else tid)

    def write(self) -> Path:
        """Write the file."""
        for pid, name in self._processes.items():
            self.row("PROCESSES", globalPid=1 << 48 | pid << 24, pid=pid, name=name)
        self._rows.setdefault("StringIds", [])
        self._rows["StringIds"] += [{"id": i, "value": text} for text, i in self._strings.items()]
        with sqlite3.connect(self.path) as connection:
            connection.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF")
            for table, rows in self._rows.items():
                self._write_table(connection, table, rows)
        connection.close()
        return self.path

    def __enter__(self) -> Export:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.write()

    # -- how it gets there -------------------------------------------------------------------

    def _launch(
        self, start: Any, end: Any, stream: int, device: int, pid: int | None, given: int | None
    ) -> dict[str, Any]:
        self._correlation += 1
        pid = self.pid if pid is None else pid
        self.process(pid)
        return {
            "start": start,
            "end": end,
            "deviceId": device,
            "contextId": 1,
            "streamId": stream,
            "correlationId": self._correlation if given is None else given,
            "globalPid": 1 << 48 | pid << 24,
        }

    def _add(self, table: str, row: dict[str, Any]) -> int:
        self.row(table, **row)
        return int(row["correlationId"])

    def _write_identity(self, utc_ns: int | None, duration_ns: int | None, launch_ns: int) -> None:
        if self._version < FROM_2022:
            return
        system_clock = (UTC_NS if utc_ns is None else utc_ns) - _BOOT_UTC_NS
        start = system_clock if self._version >= (3, 24, 7) else launch_ns
        if utc_ns is not None:
            self.row(
                "TARGET_INFO_SESSION_START_TIME", utcEpochNs=utc_ns, systemClockNs=system_clock
            )
        if duration_ns is not None:
            self.row(
                "ANALYSIS_DETAILS",
                globalVid=1 << 48,
                duration=duration_ns,
                startTime=start,
                stopTime=start + duration_ns,
            )
        table = "META_DATA_EXPORT" if self._version > (3, 1, 2) else "EXPORT_META_DATA"
        for name, value in [
            ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
            ("EXPORT_PRODUCT_VERSION", GENERATIONS[self._schema]),
            ("EXPORT_SCHEMA_VERSION", self._schema),
        ]:
            self.row(table, name=name, value=value)

    def _write_environment(self, host: str, variables: dict[str, str]) -> None:
        lines = [f"{name}={value}" for name, value in variables.items()]
        self.string("\0".join(lines))
        for number, name, value in [
            (619, "Hostname", host),
            (718, "DeviceEnvironment", "\n".join(lines)),
        ]:
            self.row(
                "TARGET_INFO_SYSTEM_ENV",
                globalVid=1 << 48,
                devStateName="Local (CLI)",
                name=name,
                nameEnum=number,
                value=value,
            )
        if self._version > (3, 1, 2):
            for line in lines:
                self.row("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value=line)

    def _write_table(
        self, connection: sqlite3.Connection, table: str, rows: list[dict[str, Any]]
    ) -> None:
        columns = columns_of(table, self._version)
        if not columns:  # the table came with a later generation
            return
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        connection.execute(f'CREATE TABLE "{table}" ({declared})')
        places = ", ".join("?" * len(columns))
        connection.executemany(
            f'INSERT INTO "{table}" VALUES ({places})',
            [[row.get(name) for name in columns] for row in rows],
        )

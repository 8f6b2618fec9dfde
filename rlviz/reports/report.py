"""A report as it was read: columns on its own clock, names as codes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl

__all__ = ["Communicator", "Diagnostic", "Gpu", "Identity", "Report", "Severity", "Start"]

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Diagnostic:
    """Something that the reports lack or that was left out, and what it means.

    Parameters
    ----------
    severity : {"error", "warning", "info"}
        error: a report is not in the run; warning: a number is unknown or wrong; info: worth
        knowing.
    kind : str
        A fixed word for the kind of trouble.
    message : str
        What it means, and how to capture better.
    report : str or None
        Key of the report it is about; None when it is about the run.
    count : int or None
        How many rows or reports; None where counting says nothing.
    """

    severity: Severity
    kind: str
    message: str
    report: str | None = None
    count: int | None = None


@dataclass(frozen=True)
class Gpu:
    """A physical GPU; every field can be unknown."""

    uuid: str | None = None
    bus: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Communicator:
    """A group of processes that NCCL lets talk to each other, and the place of one in it.

    Parameters
    ----------
    pid : int
        The process.
    number : int or None
        What all members call the communicator; None when the payload has none.
    ranks, rank : int
        Size of the communicator, and which of its members the process is.
    """

    pid: int
    number: int | None
    ranks: int
    rank: int


@dataclass(frozen=True)
class Start:
    """When a collection started, and its capture window, as far as the export tells.

    Parameters
    ----------
    utc_ns : int or None
        UTC at the report's time 0.
    launch_delay_ns : int or None
        ``ANALYSIS_DETAILS.startTime``: up to nsys 2025.5 the delay since the session's launch,
        later the host's monotonic clock.
    system_clock_ns : int or None
        The host's monotonic clock at time 0; nsys 2025.6 and later.
    duration_ns : int or None
        Length of the capture window, which starts at the report's time 0.
    """

    utc_ns: int | None = None
    launch_delay_ns: int | None = None
    system_clock_ns: int | None = None
    duration_ns: int | None = None


@dataclass(frozen=True)
class Identity:
    """Who recorded a report.

    Parameters
    ----------
    host : str or None
        Host name, else the node's address from a ``ray/<node_ip>/`` folder.
    environment : dict of str to str
        Values of the allow-list in `rlviz.reports.identity`, nothing else.
    processes, threads : dict of int to str
        Names by pid, and by (pid << 24 | tid).
    gpus : dict of (int, int) to Gpu
        By (pid, deviceId).
    machine_gpus : tuple of Gpu
        GPUs of the machine, used or not.
    communicators : tuple of Communicator
        Those that its processes belong to, as far as NCCL's ranges tell.
    nsys_version, schema_version : str or None
        Versions of nsys and of the export.
    simulated : bool
        The export says that it was made up.
    """

    host: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    processes: dict[int, str] = field(default_factory=dict)
    threads: dict[int, str] = field(default_factory=dict)
    gpus: dict[tuple[int, int], Gpu] = field(default_factory=dict)
    machine_gpus: tuple[Gpu, ...] = ()
    communicators: tuple[Communicator, ...] = ()
    nsys_version: str | None = None
    schema_version: str | None = None
    simulated: bool = False


@dataclass(frozen=True)
class Report:
    """One nsys export.

    Parameters
    ----------
    path : Path
        The file it was read from.
    stamp : tuple of int
        State of the file when it was read, as of `rlviz.reports.stamp.stamp_of`.
    key : str
        Its name in the run: the path below the folder that all reports share.
    role : str or None
        Role that the caller gave.
    start, identity : Start, Identity
        When, and who.
    names : list of str
        Texts that the columns `name` and `domain` of the frames point to.
    activity : polars.DataFrame or None
        GPU rows as of `rlviz.reports.gpu_rows`; None when no table of them is there.
    ranges, marks : polars.DataFrame or None
        NVTX rows as of `rlviz.reports.nvtx`; None when the table is absent. All times are on the
        report's clock, bad rows are left out.
    diagnostics : tuple of Diagnostic
        What it lacks.
    devices : polars.DataFrame or None
        Whose the rows of `activity` are, as of `rlviz.reports.gpu_rows`.
    sums : polars.DataFrame or None
        What the names of `activity` add up to, as of `rlviz.reports.sums`.
    collectives : polars.DataFrame or None
        As of `rlviz.reports.collectives`; None: GPU rows are not read yet.
    unread : bool
        It has GPU rows, and they are not read yet: `activity` is None.
    entry : str or None
        Key under which the store keeps it; None: it does not.
    spell : callable
        How its texts and its path are to be written in the run: as they are, unless somebody asked
        for a run without names.
    """

    path: Path
    stamp: tuple[int, ...]
    key: str
    role: str | None
    start: Start
    identity: Identity
    names: list[str]
    activity: pl.DataFrame | None
    ranges: pl.DataFrame | None
    marks: pl.DataFrame | None
    diagnostics: tuple[Diagnostic, ...] = ()
    devices: pl.DataFrame | None = None
    sums: pl.DataFrame | None = None
    collectives: pl.DataFrame | None = None
    unread: bool = False
    entry: str | None = None
    spell: Callable[[str], str] = str

    @property
    def gpu_rows(self) -> int:
        """Kernels, copies, sets and graph launches in it."""
        return 0 if self.activity is None else len(self.activity)

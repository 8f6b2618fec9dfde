"""NVTX rows of a report: push/pop and start/end ranges, marks, domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.reports.database import NOT_INTEGER, NULL
from rlviz.reports.table import UNNAMED, Faults, missing_columns, nullable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.reports.database import Database
    from rlviz.reports.report import Diagnostic
    from rlviz.reports.table import Names, Window

    Int64 = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["read_nvtx"]

_TABLE = "NVTX_EVENTS"
_COLUMNS = ("start", "end", "eventType", "globalTid", "domainId", "textId")
_PUSH_POP, _START_END, _MARK, _DOMAIN_CREATE = 59, 60, 34, 75
_LAST_DOMAIN = (1 << 32) - 1
_EVENTS = f"eventType IN ({_PUSH_POP}, {_START_END}, {_MARK})"


def read_nvtx(
    database: Database, names: Names, window: Window, found: list[Diagnostic]
) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """Read ranges and marks; (None, None) when the table is absent.

    Returns
    -------
    ranges : polars.DataFrame or None
        start, end (ns; null where the range never ended), pid, thread (pid << 24 | tid),
        name, domain (codes; null for the default domain), push_pop (bool).
    marks : polars.DataFrame or None
        start (ns), pid, thread, name, domain.
    """
    if missing_columns(database, _TABLE, ("start", "end", "eventType", "globalTid"), found):
        return None, None
    columns, rows = database.integers(_TABLE, _COLUMNS, _EVENTS)
    kind = columns["eventType"]
    faults = _faults(columns, rows, window)
    found += faults.diagnostics()
    frame = pl.DataFrame(
        {
            "start": columns["start"],
            "end": nullable("end", columns["end"]),
            "pid": (columns["globalTid"] >> 24) & 0xFFFFFF,
            "thread": columns["globalTid"] & 0xFFFF_FFFF_FFFF,
            "name": pl.Series(_names(database, names, columns["textId"]), dtype=pl.Int32),
            "domain": nullable("domain", _domains(database, names, columns)).cast(pl.Int32),
            "push_pop": kind == _PUSH_POP,
        }
    )
    is_mark = kind == _MARK
    ranges = frame.filter(pl.Series(faults.good & ~is_mark))
    marks = frame.filter(pl.Series(faults.good & is_mark)).drop("end", "push_pop")
    return ranges, marks


def _faults(columns: dict[str, Int64], rows: int, window: Window) -> Faults:
    start, end = columns["start"], columns["end"]
    ends = np.where(end == NULL, start, end)  # a range without an end is open, not bad
    faults = Faults(_TABLE, rows)
    faults.leave_out((start <= NOT_INTEGER) | (ends <= NOT_INTEGER), "without a time")
    faults.leave_out(ends < start, "ending before they start")
    faults.leave_out(window.far_outside(start, ends), "far outside the capture window")
    faults.leave_out(columns["globalTid"] <= NOT_INTEGER, "without a thread")
    return faults


def _names(database: Database, names: Names, text_ids: Int64) -> NDArray[np.signedinteger]:
    """Names by code: the row's own text, else its registered string, else `UNNAMED`."""
    codes = names.of_string_ids(text_ids)
    if database.has(_TABLE, "text"):
        own = names.of_texts(*database.texts(_TABLE, "text", _EVENTS, len(text_ids)))
        codes = np.where(own >= 0, own, codes)
    return np.where(codes < 0, names.code(UNNAMED), codes) if (codes < 0).any() else codes


def _domains(database: Database, names: Names, columns: dict[str, Int64]) -> Int64:
    """Domain by code; its name stands only in its create row, which can be there twice."""
    domain_ids = columns["domainId"]
    if not database.has(_TABLE, "domainId", "text"):
        return np.full(len(domain_ids), NULL)
    created = database.rows(
        "SELECT globalTid >> 24 & 0xFFFFFF, domainId, coalesce(CAST(text AS TEXT),"
        f" {_registered(database)}) FROM {_TABLE} WHERE eventType = {_DOMAIN_CREATE}"
        " AND typeof(globalTid) = 'integer' AND typeof(domainId) = 'integer'"
        f" AND domainId BETWEEN 0 AND {_LAST_DOMAIN}"
    )
    # domainId repeats between processes: the key is both.
    codes = {
        (int(str(pid)) << 32) + int(str(domain)): names.code(str(text))
        for pid, domain, text in created
        if text is not None
    }
    keys = np.array(sorted(codes), np.int64)
    if not len(keys):
        return np.full(len(domain_ids), NULL)
    values = np.array([codes[int(key)] for key in keys], np.int64)
    wanted = (((columns["globalTid"] >> 24) & 0xFFFFFF) << 32) + domain_ids
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    can_be = (domain_ids >= 0) & (domain_ids <= _LAST_DOMAIN)
    return np.where(can_be & (keys[place] == wanted), values[place], NULL)


def _registered(database: Database) -> str:
    if database.has(_TABLE, "textId") and database.has("StringIds", "id", "value"):
        return f"(SELECT CAST(value AS TEXT) FROM StringIds WHERE id = {_TABLE}.textId)"
    return "NULL"

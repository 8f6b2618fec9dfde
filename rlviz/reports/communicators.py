"""Communicators that a report's processes belong to, as NCCL's own NVTX ranges tell them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rlviz.reports.report import Communicator

if TYPE_CHECKING:
    from rlviz.reports.database import Database

__all__ = ["read_communicators"]

_TABLE = "NVTX_EVENTS"
_DOMAIN = "NCCL"
_DOMAIN_CREATE = 75
_RANKS, _RANK, _NUMBER = "No. of ranks", "Rank", "NCCL communicator ID"
# A process belongs to some communicators, not to thousands: more payloads are of another kind.
_MOST = 10_000
_LARGEST = 1 << 31


def read_communicators(database: Database) -> tuple[Communicator, ...]:
    """Read the sizes of communicators, and the ranks that the report's processes have in them.

    NCCL writes them as the payload of its ranges, when NVTX was traced.
    """
    needed = ("eventType", "globalTid", "domainId", "text")
    if not database.has(_TABLE, *needed) or not _has_domain(database):
        return ()
    payloads = []
    if database.has(_TABLE, "jsonText"):
        payloads.append("jsonText")
    if database.has(_TABLE, "jsonTextId") and database.has("StringIds", "id", "value"):
        payloads.append(f"(SELECT value FROM StringIds WHERE id = {_TABLE}.jsonTextId)")
    if not payloads:
        return ()
    # One look at the rows for all of them.
    told = [f"{payload} LIKE '%\"{_RANKS}\"%'" for payload in payloads]
    texts = (
        f"CASE WHEN {condition} THEN CAST({payload} AS TEXT) END"
        for payload, condition in zip(payloads, told, strict=True)
    )
    rows = database.rows(
        f"SELECT DISTINCT globalTid >> 24 & 0xFFFFFF, {', '.join(texts)} FROM {_TABLE}"
        f" WHERE domainId <> 0 AND typeof(globalTid) = 'integer' AND ({' OR '.join(told)})"
        f" LIMIT {_MOST}"
    )
    found = {
        _communicator(int(str(pid)), str(text))
        for pid, *own in rows
        for text in own
        if text is not None
    }
    known = [one for one in found if one is not None]
    return tuple(sorted(known, key=lambda one: (one.pid, one.number or 0, one.ranks, one.rank)))


def _has_domain(database: Database) -> bool:
    # A range without payload costs nothing here; looking for payloads costs a look at every row.
    named = f"text = '{_DOMAIN}'"
    if database.has(_TABLE, "textId") and database.has("StringIds", "id", "value"):
        named += f" OR textId IN (SELECT id FROM StringIds WHERE value = '{_DOMAIN}')"
    query = f"SELECT 1 FROM {_TABLE} WHERE eventType = {_DOMAIN_CREATE} AND ({named}) LIMIT 1"
    return bool(database.rows(query))


def _communicator(pid: int, text: str) -> Communicator | None:
    """Take a payload apart; None when it is none, since any program can write into the domain."""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict):
        return None
    number, ranks, rank = (_whole(payload.get(key)) for key in (_NUMBER, _RANKS, _RANK))
    if ranks is None or rank is None or not 0 <= rank < ranks < _LARGEST:
        return None
    return Communicator(pid, number, ranks, rank)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None

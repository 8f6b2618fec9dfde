"""Protocol buffers of Perfetto's trace packets, encoded a column at a time.

The numbers of fields are those of ``perfetto/trace/trace_packet.proto`` and the files beside it. An
object a packet, as the protobuf library takes them, takes seven times as long: a run has millions.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    UInt8 = NDArray[np.uint8]
    # Bytes of each record in a row of its own, and how many of them count.
    Piece = tuple[UInt8, Int64]

__all__ = [
    "BEGIN",
    "COUNTER",
    "END",
    "INSTANT",
    "counter_packets",
    "event_packets",
    "first_packet",
    "interned",
    "track_descriptor",
]

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
"""Types of track events."""

_AT_ONCE = 1 << 17
_SEQUENCE = 1
_STATE_CLEARED, _NEEDS_STATE = 1, 2
_BOOT_TIME, _UTC = 6, 1
_EXPLICIT_ORDER = 3

_FULL_NAME_IID = 1


def _varint(number: int) -> bytes:
    r"""Encode one number.

    Examples
    --------
    >>> _varint(300)
    b'\xac\x02'
    """
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    r"""Encode a message of numbers and of texts or messages, each with the number of its field.

    Examples
    --------
    >>> _message((1, 150), (2, b"ab"))
    b'\x08\x96\x01\x12\x02ab'
    """
    encoded = []
    for field, value in fields:
        if isinstance(value, int):
            encoded.append(_varint(field << 3) + _varint(value))
        else:
            encoded.append(_varint(field << 3 | 2) + _varint(len(value)) + value)
    return b"".join(encoded)


def _text(value: str) -> bytes:
    """Encode a text; what is no character is written as its code."""
    return value.encode("utf-8", "backslashreplace")


def _packet(*fields: tuple[int, int | bytes]) -> bytes:
    """Encode a packet of the one sequence that all events are on."""
    return _message((1, _message(*fields, (10, _SEQUENCE))))


def first_packet(start_utc_ns: int | None, start_ns: int) -> bytes:
    """Encode what comes before all else: that the names start anew, and what the clock is.

    Parameters
    ----------
    start_utc_ns : int or None
        UTC of the run's start.
    start_ns : int
        The trace's time of the run's start.
    """
    opens = _packet((13, _STATE_CLEARED), (87, 1))
    if start_utc_ns is None or start_utc_ns < 0:
        return opens
    clocks = [(_BOOT_TIME, start_ns), (_UTC, start_utc_ns)]
    snapshot = _message(
        *((1, _message((1, clock), (2, at))) for clock, at in clocks), (2, _BOOT_TIME)
    )
    return opens + _packet((8, start_ns), (6, snapshot))


def track_descriptor(
    uuid: int, name: str, parent: int, rank: int, *, description: str = "", unit: str | None = None
) -> bytes:
    """Encode a track.

    Parameters
    ----------
    uuid, parent : int
        Its number, and that of the track it stands below; 0 for none.
    name : str
        What it is called; siblings of one name are drawn as one.
    rank : int
        Its place among its siblings.
    description : str
        What is told of it.
    unit : str, optional
        Of a counter.
    """
    fields: list[tuple[int, int | bytes]] = [(1, uuid), (2, _text(name))]
    if parent:
        fields.append((5, parent))
    if description:
        fields.append((14, _text(description)))
    if unit is not None:
        fields.append((8, _message((6, _text(unit)))))
    return _packet((60, _message(*fields, (11, _EXPLICIT_ORDER), (12, rank))))


def interned(
    names: Sequence[tuple[int, str]],
    categories: Sequence[tuple[int, str]] = (),
    full_names: Sequence[tuple[int, str]] = (),
) -> bytes:
    """Encode names, categories and full names, each with the number that events have for it."""
    fields: list[tuple[int, int | bytes]] = [
        (field, _message((1, number), (2, _text(name))))
        for field, own in ((1, categories), (2, names))
        for number, name in own
    ]
    fields += [(29, _message((1, number), (2, _text(name)))) for number, name in full_names]
    if full_names:
        fields.append((3, _message((1, _FULL_NAME_IID), (2, b"full_name"))))
    return _packet((12, _message(*fields)), (13, _NEEDS_STATE)) if fields else b""


def event_packets(
    time: Int64, kind: Int64, track: Int64, name: Int64, category: Int64, full_name: Int64
) -> Iterator[bytes]:
    """Encode track events, in their order.

    Parameters
    ----------
    time : ndarray of int64, shape (n,)
        Nanoseconds on the trace's clock, not negative.
    kind : ndarray of int64, shape (n,)
        `BEGIN`, `END` or `INSTANT`; an end has no name.
    track, name, category : ndarray of int64, shape (n,)
        Numbers of tracks, names and categories.
    full_name : ndarray of int64, shape (n,)
        Numbers of full names; 0 for none.
    """
    for first in range(0, len(time), _AT_ONCE):
        own = slice(first, first + _AT_ONCE)
        named = kind[own] != END
        event = [
            _number(9, kind[own]),
            _number(11, track[own]),
            _number(10, name[own], named),
            _number(3, category[own], named),
            *_full_name(full_name[own], named & (full_name[own] > 0)),
        ]
        yield _packets(time[own], event)


def counter_packets(time: Int64, track: int, value: NDArray[np.float64]) -> bytes:
    """Encode the values of a counter.

    Parameters
    ----------
    time : ndarray of int64, shape (n,)
        When it takes each value.
    track : int
        Its track.
    value : ndarray of float64, shape (n,)
        The values.
    """
    head = _message((9, COUNTER), (11, track))
    # 44 << 3 | 1: eight bytes, the least significant first.
    bodies = [head + _varint(44 << 3 | 1) + struct.pack("<d", one) for one in value.tolist()]
    return b"".join(
        _packet((8, at), (13, _NEEDS_STATE), (11, body))
        for at, body in zip(time.tolist(), bodies, strict=True)
    )


def _packets(time: Int64, event: Sequence[Piece]) -> bytes:
    head = [
        _number(8, time),
        _constant(_message((10, _SEQUENCE), (13, _NEEDS_STATE)), len(time)),
        _length(11, event),
    ]
    return _joined([_length(1, [*head, *event]), *head, *event])


def _number(field: int, values: Int64, given: NDArray[np.bool_] | None = None) -> Piece:
    """Encode a field of a number for each record; for those not `given`, nothing."""
    encoded, length = _varints(values)
    tag = np.frombuffer(_varint(field << 3), np.uint8)
    length += len(tag)
    if given is not None:
        length *= given
    return np.hstack((np.broadcast_to(tag, (len(values), len(tag))), encoded)), length


def _full_name(values: Int64, given: NDArray[np.bool_]) -> list[Piece]:
    """Encode an annotation with a full name for each record; for those not `given`, nothing."""
    inner = [_constant(_message((1, _FULL_NAME_IID)), len(values)), _number(17, values)]
    return [(encoded, length * given) for encoded, length in (_length(4, inner), *inner)]


def _length(field: int, pieces: Sequence[Piece]) -> Piece:
    """Encode the tag and the length of a message that `pieces` make up."""
    total = np.sum([length for _, length in pieces], axis=0)
    encoded, length = _varints(total)
    tag = np.frombuffer(_varint(field << 3 | 2), np.uint8)
    return np.hstack((np.broadcast_to(tag, (len(total), len(tag))), encoded)), length + len(tag)


def _constant(encoded: bytes, count: int) -> Piece:
    row = np.frombuffer(encoded, np.uint8)
    return np.broadcast_to(row, (count, len(row))), np.full(count, len(row))


def _varints(values: Int64) -> Piece:
    """Encode numbers: seven bits a byte, the least significant first, and a bit for more."""
    most = int(values.max(initial=0)).bit_length()
    width = max((most + 6) // 7, 1)
    shift = 7 * np.arange(width)
    groups = values[:, None] >> shift
    length = np.maximum((groups > 0).sum(axis=1), 1)
    more = np.arange(width) < length[:, None] - 1
    return ((groups & 0x7F) | np.where(more, 0x80, 0)).astype(np.uint8), length


def _joined(pieces: Sequence[Piece]) -> bytes:
    return np.hstack([one for one, _ in pieces])[_counts(pieces)].tobytes()


def _counts(pieces: Sequence[Piece]) -> NDArray[np.bool_]:
    return np.hstack([np.arange(one.shape[1]) < length[:, None] for one, length in pieces])

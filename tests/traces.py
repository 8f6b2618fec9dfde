"""Read a Perfetto trace as its trace processor does, with the published protocol buffers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

trace_pb2: Any = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2",
    reason="the package perfetto is not installed",
)

__all__ = ["Slice", "Trace", "read_trace"]


class Slice(NamedTuple):
    """A slice, or a mark where it has no end."""

    track: tuple[str, ...]
    name: str
    start_ns: int
    end_ns: int | None
    depth: int
    category: str
    full_name: str | None


@dataclass
class Trace:
    """What a trace holds.

    Parameters
    ----------
    tracks : dict of int to tuple of str
        Names of each track and of those that it stands below, the outermost first.
    descriptors : dict of int to TrackDescriptor
        All of each.
    slices : list of Slice
        In the order of their ends.
    counters : dict of tuple of str to list of (int, float)
        Times and values.
    clocks : dict of int to int
        Times of the clocks that are told to be the same.
    """

    tracks: dict[int, tuple[str, ...]] = field(default_factory=dict)
    descriptors: dict[int, Any] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    counters: dict[tuple[str, ...], list[tuple[int, float]]] = field(default_factory=dict)
    clocks: dict[int, int] = field(default_factory=dict)


def read_trace(data: bytes) -> Trace:
    """Read a trace; packets are taken by time, and in their order where that is the same."""
    packets = trace_pb2.Trace.FromString(data).packet
    trace, names = Trace(), _Names()
    events = []
    assert packets[0].sequence_flags == 1
    for packet in packets:
        assert packet.trusted_packet_sequence_id == packets[0].trusted_packet_sequence_id
        names.learn(packet.interned_data)
        for clock in packet.clock_snapshot.clocks:
            trace.clocks[clock.clock_id] = clock.timestamp
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid not in trace.tracks
            above = trace.tracks[described.parent_uuid] if described.parent_uuid else ()
            trace.tracks[described.uuid] = (*above, described.name)
            trace.descriptors[described.uuid] = described
        if packet.HasField("track_event"):
            event = packet.track_event
            events.append((packet.timestamp, event, names.of(event)))
    events.sort(key=lambda one: one[0])
    open_slices: dict[int, list[tuple[int, tuple[str, str, str | None]]]] = {}
    for time, event, named in events:
        track, stack = trace.tracks[event.track_uuid], open_slices.setdefault(event.track_uuid, [])
        if event.type == event.TYPE_SLICE_BEGIN:
            stack.append((time, named))
        elif event.type == event.TYPE_SLICE_END:
            start, (name, category, full) = stack.pop()
            trace.slices.append(Slice(track, name, start, time, len(stack), category, full))
        elif event.type == event.TYPE_INSTANT:
            name, category, full = named
            trace.slices.append(Slice(track, name, time, None, len(stack), category, full))
        else:
            trace.counters.setdefault(track, []).append((time, event.double_counter_value))
    assert not any(open_slices.values())
    return trace


class _Names:
    """Texts by their numbers, as they come."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.categories: dict[int, str] = {}
        self.annotations: dict[int, str] = {}
        self.texts: dict[int, str] = {}

    def learn(self, data: Any) -> None:
        for table, entries in (
            (self.names, data.event_names),
            (self.categories, data.event_categories),
            (self.annotations, data.debug_annotation_names),
        ):
            table.update({entry.iid: entry.name for entry in entries})
        texts = {entry.iid: entry.str.decode() for entry in data.debug_annotation_string_values}
        self.texts.update(texts)

    def of(self, event: Any) -> tuple[str, str, str | None]:
        if event.type not in (event.TYPE_SLICE_BEGIN, event.TYPE_INSTANT):
            return "", "", None
        full = None
        for annotation in event.debug_annotations:
            assert self.annotations[annotation.name_iid] == "full_name"
            full = self.texts[annotation.string_value_iid]
        (category,) = event.category_iids
        name = self.names[event.name_iid] if event.name_iid else ""
        return name, self.categories[category], full

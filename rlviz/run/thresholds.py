"""Lengths that decide what a number counts, as docs/reference/definitions.md has them."""

from __future__ import annotations

__all__ = ["BUBBLE_NS", "CLOSED_NS", "EDGE_START_NS", "EDGE_STOP_NS", "LAUNCH_NS", "WAIT_NS"]

EDGE_START_NS = 200_000_000
"""Starting a capture blocks the program: idle time up to here from its start is no bubble."""

EDGE_STOP_NS = 1_500_000_000
"""Stopping a capture blocks it longer: idle time from here to its end is no bubble."""

LAUNCH_NS = 100_000
"""A gap is a launch gap under this length."""

WAIT_NS = 10_000_000
"""A gap is a wait from this length on."""

BUBBLE_NS = 1_000_000
"""A gap is a bubble from this length on."""

CLOSED_NS = BUBBLE_NS
"""Gaps under this length do not interrupt a pool's activity: what is no bubble is no pause."""

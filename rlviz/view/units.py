"""Times as people read them; ``js/units.js`` has the same."""

from __future__ import annotations

__all__ = ["UNITS", "duration", "seconds_text", "unit_of"]

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
"""Seconds of each unit, and what it is called."""


def duration(seconds: float) -> str:
    """Write a length of time with three digits: as much as the eye compares.

    Examples
    --------
    >>> [duration(s) for s in (17.52, 0.00082, 0.0, 3e-9)]
    ['17.5 s', '820 us', '0 s', '3 ns']
    """
    if seconds == 0:
        return "0 s"
    size = abs(seconds)
    factor, unit = next((u for u in UNITS if size >= u[0] * 0.9995), UNITS[-1])
    value = seconds / factor
    digits = 0 if unit == "ns" or abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{digits}f} {unit}"


def seconds_text(time_ns: float) -> str:
    """Write a time of a run's numbers, which are seconds mostly.

    Examples
    --------
    >>> [seconds_text(ns) for ns in (17_520_000_000, 860_000_000, 820_000, 0)]
    ['17.5 s', '0.86 s', '820.0 us', '0 s']
    """
    if time_ns == 0:
        return "0 s"
    unit, length_ns, digits = unit_of(time_ns)
    return f"{time_ns / length_ns:.{digits}f} {unit}"


def unit_of(time_ns: float) -> tuple[str, float, int]:
    """Give the unit that `seconds_text` writes a time in, its length in ns, and digits."""
    if time_ns >= 1e8:
        return "s", 1e9, 1 if time_ns >= 1e10 else 2
    return ("ms", 1e6, 1) if time_ns >= 1e6 else ("us", 1e3, 1)

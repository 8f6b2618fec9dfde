"""Times as people read them: near enough, and never in a notation of programmers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlviz.view.units import UNITS, duration, seconds_text

FACTORS = {unit: factor for factor, unit in UNITS}


def told(text: str) -> float:
    assert re.fullmatch(r"\d+(\.\d+)? (s|ms|us|ns)", text), text
    number, unit = text.split()
    return float(number) * FACTORS[unit]


@given(st.floats(1e-6, 1e6))
def test_a_duration_tells_three_digits_of_the_time(seconds: float) -> None:
    assert told(duration(seconds)) == pytest.approx(seconds, rel=0.0051)


def test_a_bubble_of_nearly_a_second_is_no_power_of_ten() -> None:
    assert duration(0.9997) == "1.00 s"


@given(st.integers(10_000, 10**14))
def test_a_number_of_a_run_is_told_in_two_digits_at_least(ns: int) -> None:
    assert told(seconds_text(ns)) == pytest.approx(ns / 1e9, rel=0.051)

"""Coded columns hold what was put into them, in fewer bytes."""

from __future__ import annotations

import numpy as np
import pytest

from rlviz.view.coded import coded


def test_each_value_stands_once_and_its_number_in_its_place() -> None:
    column = np.array([2.5, np.nan, 2.5, 2.5, np.nan, 2.5, 2.5, 2.5])
    values, packed = coded([column])
    assert values == [2]
    known, place = np.frombuffer(packed, "f8", 2), np.frombuffer(packed, "u1", offset=16)
    np.testing.assert_array_equal(known[place], column)


@pytest.mark.parametrize("many", [256, 257, 300])
def test_shorts_come_before_bytes_and_both_are_read_back(many: int) -> None:
    few, much = np.arange(3_000) % 3, np.arange(3_000) % many
    values, packed = coded([few, much])
    assert values == [3, many]
    known = np.frombuffer(packed, "f8", 3 + many)
    rest = packed[known.nbytes :]
    if many > 256:
        first, second = np.frombuffer(rest, "u2", 3_000), np.frombuffer(rest[6_000:], "u1")
        np.testing.assert_array_equal(known[3:][first], much)
        np.testing.assert_array_equal(known[:3][second], few)
    else:
        first, second = np.frombuffer(rest, "u1").reshape(2, -1)
        np.testing.assert_array_equal(known[:3][first], few)
        np.testing.assert_array_equal(known[3:][second], much)


@pytest.mark.parametrize("length", [0, 1, 40])
def test_a_column_without_repetition_stands_for_itself(length: int) -> None:
    column = np.linspace(0, 1, length)
    values, packed = coded([column, column])
    assert values == [0, 0]
    assert packed == column.tobytes() * 2

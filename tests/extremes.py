"""Extremes of integer columns, typed as the integers that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["least", "most"]


def least(column: pl.Series) -> int:
    """Give the smallest number of a column that has some."""
    numbers: list[int] = column.drop_nulls().to_list()
    return min(numbers)


def most(column: pl.Series) -> int:
    """Give the largest number of a column that has some."""
    numbers: list[int] = column.drop_nulls().to_list()
    return max(numbers)

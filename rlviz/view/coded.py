"""Columns in few bytes: each value once, and its number wherever the column repeats it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["coded"]

_NUMBER_BYTES = 8
_BYTE, _SHORT = 1 << 8, 1 << 16


def coded(columns: Sequence[NDArray[Any]]) -> tuple[list[int], bytes]:
    """Pack columns of one length.

    Parameters
    ----------
    columns : sequence of ndarray, shape (n,)
        Numbers that float64 holds exactly.

    Returns
    -------
    values : list of int
        Of each column how many values stand for it, 0 where it stands for itself.
    packed : bytes
        The columns' values, or the columns themselves (float64); then the numbers of the values in
        the columns that have more than 256 (uint16), then in the others (uint8).
    """
    values, whole, shorts, bytes_ = [], [], [], []
    for column in columns:
        numbers = column.astype("<f8")
        known, place = np.unique(numbers, return_inverse=True)
        size = 1 if len(known) <= _BYTE else 2
        if len(known) > _SHORT or len(known) * _NUMBER_BYTES >= len(numbers) * (
            _NUMBER_BYTES - size
        ):
            values.append(0)
            whole.append(numbers.tobytes())
            continue
        values.append(len(known))
        whole.append(known.tobytes())
        if size == 1:
            bytes_.append(place.astype(np.uint8).tobytes())
        else:
            shorts.append(place.astype("<u2").tobytes())
    return values, b"".join((*whole, *shorts, *bytes_))

"""Bytes and columns as text inside a page: compressed, and in planes that compress well."""

from __future__ import annotations

import base64
import gzip
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TIME_BYTES", "packed", "planes"]

TIME_BYTES = 6
"""Differences of times are less than 2^48 ns, which is three days."""


def packed(content: bytes) -> str:
    """Compress bytes, and write them in base64: the same bytes give the same text."""
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def planes(column: NDArray[Any], size: int) -> bytes:
    r"""Give the first bytes of all numbers, then the second ones, and so on.

    Parameters
    ----------
    column : ndarray, shape (n,)
        Integers or float64.
    size : int
        Bytes of each number that are kept, the least significant first.

    Examples
    --------
    >>> planes(np.array([1, 258]), 2)
    b'\x01\x02\x00\x01'
    """
    number = column if column.dtype.kind == "f" else column.astype(np.int64)
    each = np.ascontiguousarray(number, dtype=number.dtype.newbyteorder("<")).view(np.uint8)
    return np.ascontiguousarray(each.reshape(-1, 8)[:, :size].T).tobytes()

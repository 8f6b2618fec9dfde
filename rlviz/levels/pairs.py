"""Time by bucket and name, where names are too many for a table of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]
    UInt8 = NDArray[np.uint8]
    Flags = NDArray[np.bool_]

__all__ = ["Pairs"]

_BITS = 63


@dataclass(frozen=True)
class Pairs:
    """Event time of each name in each bucket; arrays have shape (n,), ascending.

    Parameters
    ----------
    key : ndarray of int64
        Bucket and name in one number, the name in the lower `name_bits`; each pair once.
    time_ns : ndarray of int64
        Event time.
    name_bits : int
        How many bits a name takes.
    """

    key: Int64
    time_ns: Int64
    name_bits: int

    @classmethod
    def of(cls, bucket: Int64, name: NDArray[np.integer], time_ns: Int64, name_bits: int) -> Pairs:
        """Sum up pieces of events, which stand in any order.

        Examples
        --------
        >>> Pairs.of(np.array([1, 0, 1]), np.array([5, 5, 5]), np.array([2, 3, 4]), 3).time_ns
        array([3, 6])
        """
        return _summed((bucket << name_bits) | name, time_ns, name_bits)

    @classmethod
    def joined(cls, parts: Sequence[Pairs], first: Sequence[int]) -> Pairs:
        """Put pairs one behind the other, the buckets of each from its `first` on."""
        bits = parts[0].name_bits
        keys = [part.key + (at << bits) for part, at in zip(parts, first, strict=True)]
        return cls(np.concatenate(keys), np.concatenate([p.time_ns for p in parts]), bits)

    def coarser(self, lead: int) -> Pairs:
        """Merge bucket ``2 i - lead`` and the next one into bucket i."""
        bits = self.name_bits
        bucket = ((self.key >> bits) + lead) >> 1
        return _summed((bucket << bits) | (self.key & ((1 << bits) - 1)), self.time_ns, bits)

    def dominant(self, total_ns: Int64) -> tuple[Int32, UInt8]:
        """Give the name with the most time in each bucket, of equals the smallest.

        Parameters
        ----------
        total_ns : ndarray of int64, shape (buckets,)
            Event time of all names.

        Returns
        -------
        name : ndarray of int32, shape (buckets,)
            -1 where there is none.
        share : ndarray of uint8, shape (buckets,)
            Its part of `total_ns`, of 255; 255 where nothing takes time.
        """
        name = np.full(len(total_ns), -1, np.int32)
        share = np.zeros(len(total_ns), np.uint8)
        if len(self.key) == 0:
            return name, share
        bucket = self.key >> self.name_bits
        begins = np.flatnonzero(_changes(bucket))
        held = bucket[begins]
        most, first = self._most(begins)
        name[held] = first
        whole = total_ns[held]
        share[held] = np.where(whole > 0, np.rint(255 * most / np.maximum(whole, 1)), 255)
        return name, share

    def _most(self, begins: Int64) -> tuple[Int64, Int64]:
        """Find the most time in each bucket, and the smallest name that takes it."""
        mask = (1 << self.name_bits) - 1
        if int(self.time_ns.max()).bit_length() + self.name_bits <= _BITS:
            packed = (self.time_ns << self.name_bits) | (~self.key & mask)
            most = np.maximum.reduceat(packed, begins)
            return most >> self.name_bits, ~most & mask
        most = np.maximum.reduceat(self.time_ns, begins)
        lengths = np.concatenate((begins[1:], [len(self.key)])) - begins
        place = np.flatnonzero(self.time_ns == np.repeat(most, lengths))
        # Names ascend in a bucket: the first of those with most time is the smallest.
        place = place[_changes(self.key[place] >> self.name_bits)]
        return most, self.key[place] & mask


def _summed(key: Int64, time_ns: Int64, name_bits: int) -> Pairs:
    """Bring equal keys together."""
    if len(key) == 0:
        return Pairs(key, time_ns, name_bits)
    time_bits = int(time_ns.max()).bit_length()
    if int(key.max()).bit_length() + time_bits <= _BITS:
        # Sorted as one number each: several times faster than sorting indices.
        packed = (key << time_bits) | time_ns
        packed.sort()
        key, time_ns = packed >> time_bits, packed & ((1 << time_bits) - 1)
    else:
        order = np.argsort(key, kind="stable")
        key, time_ns = key[order], time_ns[order]
    last = np.append(np.flatnonzero(key[1:] != key[:-1]), len(key) - 1)
    sums = np.cumsum(time_ns)[last]
    sums[1:] -= sums[:-1].copy()
    return Pairs(key[last], sums, name_bits)


def _changes(sorted_numbers: Int64) -> Flags:
    """Tell where another number begins."""
    found = np.empty(len(sorted_numbers), np.bool_)
    found[:1] = True
    np.not_equal(sorted_numbers[1:], sorted_numbers[:-1], out=found[1:])
    return found

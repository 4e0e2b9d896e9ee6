"""Sums that no number of rows makes overflow, in arrays: no Python integer for each coordinate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import overload

import numpy as np

from privclust.kernels.grid import IntArray

LARGEST = 2**62
"""What leaves an engine is clamped to this size, which takes 2^36 votes to reach."""
_LOWER_BITS = 31
_LOWER = 2**_LOWER_BITS - 1
_THIRD, _AT_ONCE = 21, 2**20
"""2^20 products of numbers below 2^21 add up to less than 2^63."""


class ExactSums(Sequence[int]):
    """Integers to which arrays of 64-bit integers are added, exact up to 2^92.

    Each is kept as ``upper * 2**31 + lower``, two 64-bit integers with 0 <= lower < 2^31. To reach
    2^92 takes 2^51 units of at most 2^41. As a sequence, it has Python integers.

    Parameters
    ----------
    size : int
        How many; all are 0 at first.

    Examples
    --------
    >>> sums = ExactSums(2)
    >>> sums += np.array([2**62, -1])
    >>> sums += np.array([2**62, -1])
    >>> list(sums) == [2**63, -2]
    True
    """

    def __init__(self, size: int) -> None:
        self._halves = np.zeros((2, size), dtype=np.int64)

    @classmethod
    def from_bytes(cls, halves: bytes) -> ExactSums:
        """Return the sums that `to_bytes` wrote."""
        sums = cls(0)
        sums._halves = np.frombuffer(halves, dtype=np.int64).reshape(2, -1).copy()
        return sums

    def to_bytes(self) -> bytes:
        """Return all upper halves, then all lower ones."""
        return self._halves.tobytes()

    def __iadd__(self, other: IntArray | ExactSums) -> ExactSums:
        """Add as many other sums, or 64-bit integers."""
        upper, lower = self._halves
        if isinstance(other, ExactSums):
            upper += _of_size(other._halves, self._halves)[0]
            lower += other._halves[1]
        else:
            upper += _of_size(other, upper) >> _LOWER_BITS
            lower += other & _LOWER
        upper += lower >> _LOWER_BITS
        lower &= _LOWER
        return self

    def clamped(self) -> IntArray:
        """Return the sums, those beyond ±2^62 as ±2^62.

        Examples
        --------
        >>> sums = ExactSums(1)
        >>> for _ in range(3):
        ...     sums += np.array([-(2**62)])
        >>> sums.clamped().tolist() == [-(2**62)]
        True
        """
        upper, lower = self._halves
        most = LARGEST >> _LOWER_BITS
        # One less than the lowest that fits, so that no lower half brings it back into range.
        near = (np.clip(upper, -most - 1, most) << _LOWER_BITS) + lower
        found: IntArray = np.clip(near, -LARGEST, LARGEST)
        return found

    def tolist(self) -> list[int]:
        """Return Python integers."""
        upper, lower = self._halves.astype(object)
        found: list[int] = ((upper << _LOWER_BITS) + lower).tolist()
        return found

    def __len__(self) -> int:
        """Return how many sums there are."""
        return self._halves.shape[1]

    def __iter__(self) -> Iterator[int]:
        """Go through the sums."""
        return iter(self.tolist())

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> list[int]: ...

    def __getitem__(self, place: int | slice) -> int | list[int]:
        """Return one sum, or a list of those of a slice."""
        if isinstance(place, slice):
            return self.tolist()[place]
        upper, lower = self._halves[:, place].tolist()
        return int(upper << _LOWER_BITS) + int(lower)

    def __eq__(self, other: object) -> bool:
        """Tell whether other sums, or a list of integers, are the same numbers."""
        return isinstance(other, list | tuple | ExactSums) and self.tolist() == list(other)

    __hash__ = None  # type: ignore[assignment]


def clamped(sums: Sequence[int]) -> IntArray:
    """Return the sums of any engine as 64-bit integers, those beyond ±2^62 as ±2^62.

    Examples
    --------
    >>> clamped([5, 2**70]).tolist() == [5, 2**62]
    True
    """
    if isinstance(sums, ExactSums):
        return sums.clamped()
    return np.array([max(-LARGEST, min(LARGEST, value)) for value in sums], dtype=np.int64)


def lengths(sizes: IntArray) -> tuple[int, int]:
    """Return the exact sum of integers from 0 to 2^62, and that of their squares.

    Examples
    --------
    >>> lengths(np.array([3, 4])), lengths(np.array([2**62, 2**62]))[1] == 2**125
    ((7, 25), True)
    """
    l1 = squares = 0
    for start in range(0, len(sizes), _AT_ONCE):
        part = sizes[start : start + _AT_ONCE]
        thirds = [part >> place & (2**_THIRD - 1) for place in range(0, 3 * _THIRD, _THIRD)]
        l1 += sum(int(third.sum()) << (_THIRD * i) for i, third in enumerate(thirds))
        for i, j in product(range(3), repeat=2):
            squares += int(thirds[i] @ thirds[j]) << (_THIRD * (i + j))
    return l1, squares


def _of_size(added: IntArray, sums: IntArray) -> IntArray:
    """Return what is added, of the form of the sums: others are converted, or repeated."""
    if added.dtype != np.int64 or added.shape != sums.shape:
        raise TypeError("what is added to sums must be as many 64-bit integers.")
    return added

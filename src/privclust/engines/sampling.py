"""Secret inclusion bits: which rows, or which units, belong to a sample."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.engines._row_buffer import RowBuffer

SAMPLING_EXPONENT_MAX = 32
_BLOCK_ROWS = 8192

Words = NDArray[np.uint32]


def row_words(key: bytes, start: int, n_rows: int) -> Words:
    """Return the secret words of `n_rows` rows, the first of which has the address `start`.

    A word depends on the key and on the row's address and on nothing else.

    Examples
    --------
    >>> words = row_words(b"secret", 0, 6)
    >>> bool((row_words(b"secret", 2, 4) == words[2:]).all())
    True
    """
    first, last = start // _BLOCK_ROWS, (start + n_rows + _BLOCK_ROWS - 1) // _BLOCK_ROWS
    streams = [
        hashlib.shake_256(key + block.to_bytes(8, "little")).digest(4 * _BLOCK_ROWS)
        for block in range(first, last)
    ]
    words = np.frombuffer(b"".join(streams), dtype="<u4")
    offset = start - first * _BLOCK_ROWS
    return words[offset : offset + n_rows]


def unit_words(key: bytes, ids: Any) -> Words:
    """Return the secret words of units: a function of the key and of the unit's id alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> words = unit_words(b"secret", pa.array([b"ann", None, b"bob"]))
    >>> bool(unit_words(b"secret", pa.array([b"bob"]))[0] == words[2])
    True
    """
    words = np.empty(len(ids), dtype="<u4")
    for start in range(0, len(ids), _BLOCK_ROWS):
        digests = b"".join(
            hashlib.blake2b(
                id_ or b"", digest_size=4, key=key, person=b"no id" if id_ is None else b"id"
            ).digest()
            for id_ in ids.slice(start, _BLOCK_ROWS).to_pylist()
        )
        words[start : start + _BLOCK_ROWS] = np.frombuffer(digests, dtype="<u4")
    return words


def included(words: Words, sampling_exponent: int) -> NDArray[np.bool_]:
    """Return the inclusion bits of rows or units, each set with probability 2^-sampling_exponent.

    Examples
    --------
    >>> included(row_words(b"secret", 0, 6), 1).tolist()
    [False, False, True, True, True, False]
    """
    return np.asarray(words < 2 ** (SAMPLING_EXPONENT_MAX - sampling_exponent))


def later_key(key: bytes, turn: int) -> bytes:
    """Return the key for reading a table again, in which rows may have other addresses.

    Examples
    --------
    >>> later_key(b"secret", 0) == b"secret", later_key(b"secret", 1) == later_key(b"secret", 2)
    (True, False)
    """
    if turn == 0:
        return key
    return hashlib.blake2b(turn.to_bytes(8, "little"), digest_size=32, key=key).digest()


class Reserve:
    """Rows that may belong to a sample, set aside before its sampling rate is known.

    It starts with all rows and halves them, by their own words, each time the rows read have
    doubled: after reading it holds exactly the rows that are included at the sampling rate, in
    order. The rate follows from how many rows there are and never from inclusion bits, or the
    sample would not be as likely as any other (docs/proofs/sampling.md).

    Parameters
    ----------
    key : bytes
        Secret that decides who is included.
    sampling_exponent : int
        The sampling rate to start with is 2^-sampling_exponent.
    n_columns : int
        Of the rows.
    capacity : int
        About the most rows to hold.
    """

    def __init__(self, key: bytes, sampling_exponent: int, n_columns: int, capacity: int) -> None:
        self.key = key
        self.sampling_exponent = sampling_exponent
        self._capacity = capacity
        self._seen = 0
        self._parts = [(np.empty(0, np.uint32), np.empty((0, n_columns), np.int32))]

    def add(self, n_read: int, words: Words, rows: NDArray[np.int32]) -> None:
        """Of `n_read` rows that were read, set aside those that are included."""
        self._seen += n_read
        self._parts.append(_chosen(words, rows, self.sampling_exponent))
        while self._is_full() and self.sampling_exponent < SAMPLING_EXPONENT_MAX:
            self.sampling_exponent += 1
            self._parts = [_chosen(*part, self.sampling_exponent) for part in self._parts]

    def drawn(self, sampling_exponent: int) -> NDArray[np.int32]:
        """Return the rows of a sample; `sampling_exponent` must not be below the reserve's."""
        return np.concatenate([_chosen(*part, sampling_exponent)[1] for part in self._parts])

    def whole(self) -> NDArray[np.int32] | None:
        """Return all rows that were read if none has been left out, by their number alone."""
        if self.sampling_exponent:
            return None
        words, rows = zip(*self._parts, strict=True)
        # Put together once, so that they are not in memory twice.
        self._parts = [(np.concatenate(words), np.concatenate(rows))]
        return self._parts[0][1]

    def _is_full(self) -> bool:
        return self._seen > self._capacity << self.sampling_exponent


class SampleRows:
    """Rows of a sample whose sampling rate is known: as many as there are, in bounded memory.

    Parameters
    ----------
    key : bytes
        Secret that decides who is included.
    sampling_exponent : int
        The sampling rate is 2^-sampling_exponent.
    n_columns : int
        Of the rows.
    """

    def __init__(self, key: bytes, sampling_exponent: int, n_columns: int) -> None:
        self.key = key
        self.sampling_exponent = sampling_exponent
        self._buffer = RowBuffer(n_columns)

    def add(self, n_read: int, words: Words, rows: NDArray[np.int32]) -> None:
        """Of `n_read` rows that were read, keep those that are included."""
        self._buffer.append(_chosen(words, rows, self.sampling_exponent)[1])

    def drawn(self) -> NDArray[np.int32]:
        """Return the rows, in order."""
        return self._buffer.rows()


def _chosen(
    words: Words, rows: NDArray[np.int32], sampling_exponent: int
) -> tuple[Words, NDArray[np.int32]]:
    chosen = included(words, sampling_exponent)
    return words[chosen], rows[chosen]

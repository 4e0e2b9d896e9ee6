"""Rows of a sample: in memory up to a public limit, beyond it in a file without a name."""

from __future__ import annotations

import mmap
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_BYTES = 2**28
"""Rows of a sample that take more than this lie in a file, whatever they are."""


class RowBuffer:
    """Rows on the grid that are appended one after the other, and then read as one array.

    All rows are kept, in order, in memory or not. The file has no name in any folder, so that it
    ends with the process, however it ends; it lies where ``TMPDIR`` says. What is read of it the
    system may drop from memory again.

    Parameters
    ----------
    n_columns : int
        Of the rows.

    Examples
    --------
    >>> buffer = RowBuffer(2)
    >>> buffer.append(np.array([[1, 2], [3, 4]], dtype=np.int32))
    >>> buffer.rows().tolist()
    [[1, 2], [3, 4]]
    """

    def __init__(self, n_columns: int) -> None:
        self._parts = [np.empty((0, n_columns), dtype=np.int32)]
        self._size = 0
        self._file: Any = None

    def append(self, rows: NDArray[np.int32]) -> None:
        """Put rows behind those that are there."""
        self._size += rows.nbytes
        self._parts.append(rows)
        if self._size > ROWS_BYTES:
            self._write()

    def rows(self) -> NDArray[np.int32]:
        """Return all rows; nothing may be appended afterwards."""
        if self._file is None:
            return np.concatenate(self._parts)
        with self._file:
            self._file.flush()
            content = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(content, dtype=np.int32).reshape(-1, self._parts[0].shape[1])

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
        for part in self._parts:
            self._file.write(np.ascontiguousarray(part))
        del self._parts[1:]

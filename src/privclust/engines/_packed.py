"""Rows on the grid, packed into one Arrow column beside the ids of their units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privclust.engines.memory import GridTable
from privclust.sources.cells import by_unit


def packed(rows: NDArray[np.int32]) -> Any:
    """Return rows as a column of bytes, all of one length.

    Examples
    --------
    >>> packed(np.zeros((2, 3), dtype=np.int32)).type
    FixedSizeBinaryType(fixed_size_binary[12])
    """
    kind = pa.binary(4 * rows.shape[1])
    buffer = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.Array.from_buffers(kind, len(rows), [None, buffer])


def unpacked(table: Any, n_columns: int) -> GridTable:
    """Return the rows of a table with the columns "id" and "row", unit by unit.

    Examples
    --------
    >>> rows = packed(np.array([[1], [2], [3]], dtype=np.int32))
    >>> table = unpacked(pa.table({"id": [b"ann", b"bob", b"ann"], "row": rows}), 1)
    >>> table.rows.ravel().tolist(), table.starts.tolist()
    ([1, 3, 2], [0, 2])
    """
    order, starts, distinct = by_unit(_one(table.column("id")))
    column = _one(table.column("row").cast(pa.binary(4 * n_columns)))
    rows = np.frombuffer(column.buffers()[1] or b"", dtype=np.int32).reshape(-1, n_columns)
    return GridTable(rows[order], starts, distinct)


def _one(column: Any) -> Any:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined

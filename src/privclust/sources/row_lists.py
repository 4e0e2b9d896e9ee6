"""Rows as Python has them: lists of lists or tuples, and columns of such rows.

The first row says how many columns there are, which is public as the shape of an array is. Every
other row is read by itself: what it lacks is missing, and what it has beyond that is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust.kernels.grid import FloatArray

_ROWS = (list, tuple, np.ndarray)
_RESHAPE = (
    "X must be two-dimensional, and the first item of this list is not a row. Give a list of "
    "rows, for instance [[40.0, 1.5], [35.0, 2.0]]; of one column, [[40.0], [35.0]], and of a "
    "series of texts X.to_frame()."
)


@dataclass(frozen=True, eq=False, repr=False)
class RowList:
    """Rows of numbers in a list.

    Examples
    --------
    >>> rows = row_list([(40, 1.5), (35, None), (50,)])
    >>> len(rows), rows.n_columns, rows.numbers(0, 3).tolist()
    (3, 2, [[40.0, 1.5], [35.0, nan], [50.0, nan]])
    """

    rows: Sequence[Any]
    n_columns: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> RowList:
        """Return some of the rows."""
        return RowList(self.rows[part], self.n_columns)

    def numbers(self, start: int, stop: int) -> FloatArray:
        """Return some rows as numbers, NaN where one is missing; only an engine calls this."""
        found = np.full((len(self.rows[start:stop]), self.n_columns), np.nan)
        for place, row in enumerate(self.rows[start:stop]):
            cells = _cells(row)[: self.n_columns]
            found[place, : len(cells)] = [_number(cell) for cell in cells]
        return found


def row_list(rows: Sequence[Any]) -> RowList:
    """Return the rows of a list, or refuse a list that begins with something else than a row."""
    first = rows[0] if len(rows) else None
    if not isinstance(first, _ROWS) or not len(first) or isinstance(first[0], _ROWS):
        raise ValueError(_RESHAPE)
    return RowList(rows, len(first))


def as_table(table: Any) -> Any:
    """Return a list or a series as a table in memory, and anything else as it is.

    A series of objects, or of lists, holds rows; any other is one column, by its name.
    """
    library = type(table).__module__.split(".")[0]
    if isinstance(table, list | tuple):
        return row_list(table)
    if library in ("pandas", "polars") and hasattr(table, "to_frame") and hasattr(table, "dtype"):
        if str(table.dtype) == "object" or str(table.dtype).startswith("List("):
            return row_list(table.to_list())
        return table.to_frame()
    return table


def _cells(row: Any) -> list[Any]:
    """Return the cells of a row; none if it is no row, in whatever way: a fit must not fail by it.

    Its type is asked, and lists and tuples go through themselves, so that no code of a row's own
    runs.
    """
    kind = type(row)
    if issubclass(kind, list):
        return list(list.__iter__(row))
    if issubclass(kind, tuple):
        return list(tuple.__iter__(row))
    return list(row) if kind is np.ndarray and row.ndim == 1 else []


def _number(cell: Any) -> float:
    """Return a cell as a number, NaN if it is none."""
    try:
        return float(cell)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return math.nan

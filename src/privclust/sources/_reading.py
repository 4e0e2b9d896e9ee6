"""From cells to rows: the cells of a batch, as a domain reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privclust.domains.base import Domain
from privclust.kernels.grid import FloatArray, IntArray
from privclust.sources.cells import codes, ids, numbers, vectors
from privclust.sources.dates import days

CellsOf = Callable[[str], Any]
"""Gives the cells of a column by its name, as an Arrow array."""


def on_grid(domain: Domain, cells: Any, columns: Sequence[str]) -> FloatArray:
    """Map columns of an Arrow batch to the grid of the unit ball, each row alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from privclust.domains.columns import CategoryColumn, NumberColumn
    >>> from privclust.domains.mixed import Mixed
    >>> mixed = Mixed((NumberColumn("age", 0, 120), CategoryColumn("ward", ("A", "B"))))
    >>> rows = on_grid(mixed, pa.record_batch({"age": [60], "ward": ["A"]}), ["age", "ward"])
    >>> (rows / rows.max()).round(6).tolist()
    [[0.0, 1.0, -1.0]]
    """
    return domain.read_to_grid(ColumnReader(cells.column), columns)


class ColumnReader:
    """Reads cells of columns that are given by name, as the rules of `privclust.sources.cells` say.

    Parameters
    ----------
    cells_of : callable
        Gives the cells of a column by its name, as an Arrow array.
    """

    def __init__(self, cells_of: CellsOf) -> None:
        self._cells_of = cells_of

    def matrix(self, columns: Sequence[str] | None) -> FloatArray:
        """Return columns as one number each."""
        if columns is None:
            raise TypeError("the columns of a table that is read as a stream need names.")
        return side_by_side(self._cells_of, columns)

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers."""
        return numbers(self._cells_of(name))

    def days(self, name: str, form: str) -> FloatArray:
        """Return a column as days."""
        return days(self._cells_of(name), form)

    def levels(self, name: str, levels: Sequence[str]) -> IntArray:
        """Return a column as places of levels."""
        return codes(ids(self._cells_of(name)), levels)

    def vectors(self, name: str, width: int) -> FloatArray:
        """Return a column of vectors as rows."""
        return vectors(self._cells_of(name), width)


def side_by_side(cells_of: CellsOf, columns: Sequence[str]) -> FloatArray:
    """Return columns as one number each."""
    return np.array([numbers(cells_of(name)) for name in columns]).T

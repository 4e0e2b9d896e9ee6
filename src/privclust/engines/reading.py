"""From cells to rows: each declared column becomes its features, all others one number each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privclust.domain import Domain, to_unit_grid
from privclust.engines.cells import codes, days, ids, numbers, vectors
from privclust.geometry.grid import FloatArray
from privclust.mixed import CategoryColumn, Column, DateColumn, Mixed
from privclust.sphere import Sphere, directions


def on_grid(domain: Domain, cells: Any, columns: Sequence[str]) -> FloatArray:
    """Map columns of an Arrow batch to the grid of the unit ball, each row alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from privclust.mixed import NumberColumn
    >>> mixed = Mixed((NumberColumn("age", 0, 120), CategoryColumn("ward", ("A", "B"))))
    >>> rows = on_grid(mixed, pa.record_batch({"age": [60], "ward": ["A"]}), ["age", "ward"])
    >>> (rows / rows.max()).round(6).tolist()
    [[0.0, 1.0, -1.0]]
    """
    return to_unit_grid(domain, features_of(domain, cells, columns))


def features_of(domain: Domain, cells: Any, columns: Sequence[str]) -> FloatArray:
    """Return the features of all columns side by side, not yet bounded."""
    if isinstance(domain, Mixed):
        return np.hstack([encoded(column, cells.column(column.name)) for column in domain.columns])
    if isinstance(domain, Sphere):
        if domain.vector is not None:
            return directions(vectors(cells.column(domain.vector)))
        return directions(side_by_side(cells, columns))
    return side_by_side(cells, columns)


def side_by_side(cells: Any, columns: Sequence[str]) -> FloatArray:
    """Return columns of an Arrow batch as one number each."""
    rows = np.empty((cells.num_rows, len(columns)), order="F")
    for place, name in enumerate(columns):
        rows[:, place] = numbers(cells.column(name))
    return rows


def encoded(column: Column, cells: Any) -> FloatArray:
    """Return the features of one column's cells."""
    if isinstance(column, CategoryColumn):
        return column.features(codes(ids(cells), column.levels))
    read = days if isinstance(column, DateColumn) else numbers
    return column.features(read(cells))

"""From cells to rows: each declared column becomes its features, all others one number each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privclust.domains.base import Domain, to_unit_grid
from privclust.domains.mixed import CategoryColumn, Column, DateColumn, Mixed
from privclust.domains.profiled import Profiled, number_of, place_in, value_in
from privclust.domains.sphere import Sphere, directions
from privclust.kernels.grid import FloatArray
from privclust.sources.cells import codes, days, ids, numbers, vectors

CellsOf = Callable[[str], Any]
"""Gives the cells of a column by its name, as an Arrow array."""


def on_grid(domain: Domain, cells: Any, columns: Sequence[str]) -> FloatArray:
    """Map columns of an Arrow batch to the grid of the unit ball, each row alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from privclust.domains.mixed import NumberColumn
    >>> mixed = Mixed((NumberColumn("age", 0, 120), CategoryColumn("ward", ("A", "B"))))
    >>> rows = on_grid(mixed, pa.record_batch({"age": [60], "ward": ["A"]}), ["age", "ward"])
    >>> (rows / rows.max()).round(6).tolist()
    [[0.0, 1.0, -1.0]]
    """
    if isinstance(domain, Profiled):
        return with_notes(domain, cells.column)
    return to_unit_grid(domain, features_of(domain, cells.column, columns))


def features_of(domain: Domain, cells_of: CellsOf, columns: Sequence[str]) -> FloatArray:
    """Return the features of all columns side by side, not yet bounded."""
    if isinstance(domain, Mixed):
        return np.hstack([encoded(column, cells_of(column.name)) for column in domain.columns])
    if isinstance(domain, Sphere):
        if domain.vector is not None:
            return directions(vectors(cells_of(domain.vector), domain.n_columns))
        return directions(side_by_side(cells_of, columns))
    return side_by_side(cells_of, columns)


def side_by_side(cells_of: CellsOf, columns: Sequence[str]) -> FloatArray:
    """Return columns as one number each."""
    return np.array([numbers(cells_of(name)) for name in columns]).T


def encoded(column: Column, cells: Any) -> FloatArray:
    """Return the features of one column's cells."""
    return column.features(_as_declared(column, cells))


def with_notes(domain: Profiled, cells_of: CellsOf) -> FloatArray:
    """Return rows on the grid of a profile, each alone, from the cells of columns by name."""
    clustered = features_of(domain.base, cells_of, domain.clustered)
    noted = [(column, _as_declared(column, cells_of(column.name))) for column in domain.columns]
    places = [place_in(column, values) for column, values in noted]
    values = [
        value_in(number, values)
        for column, values in noted
        if (number := number_of(column)) is not None
    ]
    return np.column_stack([to_unit_grid(domain.base, clustered), *places, *values])


def _as_declared(column: Column, cells: Any) -> Any:
    """Return levels by number, days, or numbers."""
    if isinstance(column, CategoryColumn):
        return codes(ids(cells), column.levels)
    return days(cells) if isinstance(column, DateColumn) else numbers(cells)

"""Columns and types that cannot be read are refused before anything is reserved.

A table of no rows goes the way that rows will go, so that whatever a type makes fail, fails here
and says so. Nothing is read but names and types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privclust.domains.base import Domain
from privclust.engines.memory import read_table
from privclust.errors import ColumnTypeError, EngineError
from privclust.queries.unit import Unit
from privclust.sources._reading import on_grid
from privclust.sources.cells import ids
from privclust.sources.frames import through_arrow
from privclust.sources.guard import guarded
from privclust.sources.schema import Schema
from privclust.sources.streams import Source

_ALLOWED = "Numbers may have up to 64 bits, dense and in this machine's byte order."


def check_columns(
    schema: Schema, columns: Sequence[str] | None, domain: Domain, unit: Unit
) -> None:
    """Refuse columns that are missing, or that are not what the domain declares."""
    schema.read_by(domain, unit.column, None if columns is None else tuple(columns))


def check_types(table: Any, domain: Domain, unit: Unit) -> None:
    """Refuse a table in memory if a column of it is of a type that cannot be read.

    Examples
    --------
    >>> from privclust.domains.box import Box
    >>> from privclust.queries.unit import ROW
    >>> check_types(np.zeros((3, 1)), Box([0], [1]), ROW)
    """
    empty = _no_rows(table)
    if _fails(read_table, empty, domain, unit):
        raise ColumnTypeError(
            f"columns of types that cannot be read: {_listed(empty)}. {_ALLOWED} Convert them"
            f"{_example(empty)}, or leave them out."
        )


def check_source_types(source: Source, columns: Sequence[str], domain: Domain, unit: Unit) -> None:
    """Refuse a streamed table if a column that will be read is of a type that cannot be."""
    wanted = [*columns] if unit.column is None else [*columns, unit.column]
    checked = []
    for cells in source.empty(wanted):
        if cells.schema in checked:
            continue
        checked.append(cells.schema)
        if _fails(_read_batch, cells, columns, domain, unit):
            listed = ", ".join(f"{field.name!r} ({field.type})" for field in cells.schema)
            raise ColumnTypeError(
                f"columns of types that cannot be read: {listed}. {_ALLOWED} Convert them, or "
                "leave them out."
            )


@guarded
def _no_rows(table: Any) -> Any:
    if isinstance(table, np.ndarray):
        return np.empty((0, table.shape[1]), table.dtype)
    # Guarded, because the table may be of a class that looks at rows all the same.
    return table[:0]


def _read_batch(cells: Any, columns: Sequence[str], domain: Domain, unit: Unit) -> None:
    on_grid(domain, cells, columns)
    if unit.column is not None:
        ids(cells.column(unit.column))


def _fails(read: Any, *args: Any) -> bool:
    try:
        guarded(read)(*args)
    except EngineError:
        return True
    return False


def _listed(empty: Any) -> str:
    """Return names and types of the columns that cannot be read.

    Of a type that is not NumPy's only the kind: some write a value into their names.
    """
    if not hasattr(empty, "iloc"):
        return f"one of {empty.dtype if isinstance(empty, np.ndarray) else empty.schema}"
    return ", ".join(
        f"{name!r} ({dtype if isinstance(dtype, np.dtype) else type(dtype).__name__})"
        for name, dtype in _refused(empty)
    )


def _example(empty: Any) -> str:
    """Return how to convert one of those columns, in the words of its library."""
    if isinstance(empty, np.ndarray):
        return ", for instance with X.astype('float64')"
    if not hasattr(empty, "iloc"):
        return ""
    refused = [name for name, _ in _refused(empty)]
    if len(refused) == len(empty.columns) > 1:
        return ", for instance with X.astype('float64')"
    types = ", ".join(f"{name!r}: 'float64'" for name in refused)
    return f", for instance with X.astype({{{types}}})"


def _refused(empty: Any) -> list[tuple[Any, Any]]:
    """Return name and type of each column that Arrow does not take, or of all if it takes each."""

    def read(place: int) -> None:
        through_arrow(empty.iloc[:, [place]])

    every = list(zip(empty.columns, empty.dtypes, strict=True))
    return [column for place, column in enumerate(every) if _fails(read, place)] or every

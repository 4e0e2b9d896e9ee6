"""The one way from a table to an engine: for fits, profiles, labels and clients of federations.

A table that is a `Table` opens its own engine. To let `fit` recognise another library's tables,
write a function that returns a `Table` for them, or None, and add it to `_REMOTE`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from privclust.domains.base import Domain
from privclust.engines.base import AnyEngine, Table
from privclust.engines.local import LocalTable, MemoryTable, StreamedTable
from privclust.engines.spark.table import spark_table_of
from privclust.errors import ParameterError
from privclust.queries.unit import Unit
from privclust.sources.row_lists import as_table
from privclust.sources.streams import source_of

_REMOTE: tuple[Callable[[Any], Table | None], ...] = (spark_table_of,)
"""What recognises tables of other libraries whose rows this process does not read."""


def open_engine(table: Any, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> AnyEngine:
    """Put a table of any kind behind its engine, or refuse it before anything is charged.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust.domains.box import Box
    >>> from privclust.queries.base import Count
    >>> engine = open_engine(np.zeros((5, 1)), None, Box([0], [1]), Unit())
    >>> engine.aggregate(Count())[0] // 2**26
    5
    """
    source = table_of(table)
    engine, expected = source.open_engine(columns, domain, unit), source.protected(unit)
    if engine.unit != expected:
        raise ParameterError(
            f"the engine of this table protects one {engine.unit.quoted}, and unit asks for one "
            f"{unit.quoted}. Leave unit out, or give a table that brings together the rows of one "
            f"id: its engine must have {expected!r}, and has {engine.unit!r}. Nothing was spent."
        )
    return engine


def table_of(table: Any) -> Table:
    """Return how to read names, types and rows of what a user gives as a table."""
    remote = remote_table(table)
    return local_table(table) if remote is None else remote


def remote_table(table: Any) -> Table | None:
    """Return a table whose rows this process does not read; None if it does."""
    if isinstance(table, Table):
        return table
    found = (recognise(table) for recognise in _REMOTE)
    return next((one for one in found if one is not None), None)


def local_table(table: Any) -> LocalTable:
    """Return a table whose rows this process reads; what is none is refused by its schema."""
    source = source_of(table)
    return MemoryTable(as_table(table)) if source is None else StreamedTable(source)

"""A request's query on made-up rows, before a row of the client's is read.

A request is hostile input: whoever sends it may want to learn whether one row is there, by a
response that fails with it. So the query must do on rows that everybody knows what it declares.
What is refused is refused by what the request says, and never by rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from privclust.domains.base import Domain
from privclust.engines.base import kept_rows
from privclust.engines.federated._request import Columns, QueryRequest
from privclust.engines.units import rows_at_once
from privclust.kernels.grid import GRID, FloatArray, is_on_grid
from privclust.queries.base import Query
from privclust.sources._reading import on_grid

_MARKS = (float("nan"), float("inf"), float("-inf"), 0.0, 1.0, -1.0, 0.3)


def rehearse(request: QueryRequest) -> None:
    """Raise unless made-up rows, extreme ones among them, add what the query declares.

    They must add integers of 64 bits within the bounds, as much alone as among others, and
    no rows must add nothing.
    """
    query, rows = request.query, made_up_rows(request.domain, request.columns)
    for start in range(0, len(rows), rows_at_once(query)):
        _rehearse(query, rows[start : start + rows_at_once(query)])


def _rehearse(query: Query, rows: FloatArray) -> None:
    together = query.contribute(rows)
    if len(together.values) != len(rows) or not kept_rows(query, together).all():
        raise ValueError("made-up rows add something else than the query declares.")
    for some in (slice(0), slice(len(rows) // 3, len(rows) // 3 + 1), slice(len(rows) - 1, None)):
        found = query.contribute(rows[some])
        if not (
            np.array_equal(found.blocks, together.blocks[some])
            and np.array_equal(found.values, together.values[some])
        ):
            raise ValueError("a made-up row adds something else alone than among others.")


def made_up_rows(domain: Domain, columns: Columns) -> FloatArray:
    """Return rows on the grid, made of cells that are missing, extreme and ordinary.

    Examples
    --------
    >>> from privclust.domains.columns import CategoryColumn
    >>> from privclust.domains.mixed import Mixed
    >>> made_up_rows(Mixed((CategoryColumn("ward", ("A", "B")),)), ("ward",)).shape
    (9, 2)
    """
    width = domain.model_domain.center.size
    if isinstance(columns, tuple) and domain.uses:
        cells = {name: _cells(name, domain) for name in columns}
        rows = on_grid(domain, pa.record_batch(cells), columns)
    else:
        signs = np.where(np.arange(width) % 3 == 1, -1.0, 1.0)
        values = domain.center + domain.half_widths * np.array(_MARKS)[:, None] * signs
        rows = domain.to_grid(domain.encode(values))
    if rows.shape[1] != domain.center.size or not is_on_grid(rows[:, :width]):
        raise ValueError("the domain does not bring made-up cells to the grid.")
    rim = np.repeat(rows[-1:], 2, axis=0)
    rim[:, :width] = 0.0
    rim[0, 0], rim[1, width - 1] = GRID, -GRID
    return np.vstack([rows, rim])


def _cells(name: str, domain: Domain) -> Any:
    """Return made-up cells of a column, of the type that a domain declares."""
    use, cells = domain.extreme_cells(name)
    if use == "vector":
        return pa.array(cells, pa.list_(pa.float64(), domain.model_domain.vector_lengths[name]))
    types = {"number": pa.float64(), "category": pa.large_string(), "date": pa.date32()}
    return pa.array(cells, types[use])

"""Whose rows count as one: every row alone, or all rows that share an id.

All rows of a unit are added up first, exactly; then the sum is clipped to `max_rows_per_unit`
times what the query allows one row. Of some queries each row weighs alike before that. The result
is a function of the unit's own rows, bit for bit (docs/proofs/units.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privclust.engines.base import Engine, bounded_sum, contributions, kept_rows
from privclust.engines.exact_sums import ExactSums, clamped
from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.queries.base import Count, Query, Sensitivity, weighs_rows_alike
from privclust.queries.unit import ROW, ROWS_PER_UNIT_MAX, Unit

GridRows = NDArray[np.int32] | NDArray[np.float64]

GRID_BATCH_ROWS = 8192
_CELLS_AT_ONCE = 2**23
"""What the rows of a batch add, in numbers, so that wide queries fit in memory."""
_HALF = 20
_MARGIN = 1 - 2.0**-38
"""Covers rounding, also where its square root is taken."""


class Batch(NamedTuple):
    """Rows of whole units on the grid; `starts` has each unit's first row, None for row units.

    A batch has at most `GRID_BATCH_ROWS` rows, or one unit.
    """

    rows: GridRows
    starts: IntArray | None


def split_batches(rows: GridRows, starts: IntArray | None, most: int | None = None) -> list[Batch]:
    """Cut rows, sorted by unit, into batches; an empty table is one empty batch.

    `most` is how many rows a batch may have, by default `GRID_BATCH_ROWS`.

    Examples
    --------
    >>> batches = split_batches(np.zeros((20_000, 2)), np.array([0, 5000, 9000]))
    >>> [len(batch.rows) for batch in batches]
    [5000, 4000, 11000]
    """
    most = most or GRID_BATCH_ROWS
    if starts is None:
        cuts = list(range(0, max(1, len(rows)), most))
        return [Batch(rows[cut : cut + most], None) for cut in cuts]
    ends = np.append(starts[1:], len(rows))
    found, first = [], 0
    while first < len(starts):
        fitting = int(np.searchsorted(ends, starts[first] + most, side="right"))
        last = max(fitting, first + 1)
        begin, end = int(starts[first]), int(ends[last - 1])
        found.append(Batch(rows[begin:end], starts[first:last] - begin))
        first = last
    return found or [Batch(rows, starts)]


def batch_sum(query: Query, unit: Unit, batch: Batch) -> IntArray:
    """Add up what the units of a batch contribute, each within its bounds."""
    most = rows_at_once(query)
    if len(batch.rows) > most and (batch.starts is None or len(batch.starts) > 1):
        added = np.zeros(query.size, dtype=np.int64)
        for piece in split_batches(batch.rows, batch.starts, most):
            added += batch_sum(query, unit, piece)
        return added
    if batch.starts is None:
        return bounded_sum(query, contributions(query, batch.rows.astype(np.float64, copy=False)))
    blocks, values, of_unit = _sums_of_units(query, batch)
    if weighs_rows_alike(query):
        n_rows = np.diff(np.append(batch.starts, len(batch.rows)))
        values = _shrunk(values, _row_weights(unit, n_rows)[of_unit])
    clipped = _clipped(values, of_unit, unit.sensitivity(query))
    total = np.zeros((query.size // values.shape[1], values.shape[1]), dtype=np.int64)
    np.add.at(total, blocks, clipped)
    return total.ravel()


def clipped_whole(query: Query, unit: Unit, engine: Engine) -> IntArray:
    """Clip the sum of all rows of a client, which is one unit, to the unit's bounds.

    Examples
    --------
    >>> from privclust.domains.ball import Ball
    >>> from privclust.engines.memory import NumpyEngine
    >>> rows = NumpyEngine(np.zeros((5, 2)), Ball([0.0, 0.0], 1.0))
    >>> int(clipped_whole(Count(), Unit("client", 2, whole=True), rows)[0]) <= 2 * 2**26
    True
    """
    values = clamped(engine.aggregate(query))[None, :]
    if weighs_rows_alike(query):
        n_rows = clamped(engine.aggregate(Count())) // UNIT
        values = _shrunk(values, _row_weights(unit, n_rows))
    one = np.zeros(1, dtype=np.int64)
    found: IntArray = _clipped(values, one, unit.sensitivity(query))[0]
    return found


def _row_weights(unit: Unit, n_rows: IntArray) -> FloatArray:
    """Return what each row of a unit weighs, so that they are as many as may count."""
    return np.asarray(np.minimum(1.0, unit.rows / np.maximum(n_rows, 1)))


def rows_at_once(query: Query) -> int:
    """Return how many rows may add up at once, by what each may change."""
    return max(1, _CELLS_AT_ONCE // query.sensitivity.l0)


def _sums_of_units(query: Query, batch: Batch) -> tuple[IntArray, IntArray, IntArray]:
    """Return blocks, values and unit of each block that a unit touches, sorted by unit."""
    assert batch.starts is not None
    if len(batch.rows) > min(GRID_BATCH_ROWS, rows_at_once(query)):
        sums = ExactSums(query.size)
        for piece in split_batches(batch.rows, None):
            sums += batch_sum(query, ROW, piece)
        dense = sums.clamped().reshape(-1, _width(query, batch))
        n_blocks = len(dense)
        return np.arange(n_blocks), dense, np.zeros(n_blocks, dtype=np.int64)
    contribution = contributions(query, batch.rows.astype(np.float64, copy=False))
    width = contribution.values.shape[2]
    n_blocks = query.size // width
    kept = kept_rows(query, contribution)
    counts = np.diff(np.append(batch.starts, len(batch.rows)))
    unit_of_row = np.repeat(np.arange(len(counts)), counts)[kept]
    blocks, values = contribution.blocks[kept], contribution.values[kept]
    places = (unit_of_row[:, None] * n_blocks + blocks).ravel()
    order = np.argsort(places, kind="stable")
    places = places[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))
    touched = places[first]
    flat = values.reshape(-1, width)
    sums_of_blocks = np.add.reduceat(flat[order], first, axis=0) if len(first) else flat[:0]
    return touched % n_blocks, sums_of_blocks, touched // n_blocks


def _width(query: Query, batch: Batch) -> int:
    return int(query.contribute(batch.rows[:1].astype(np.float64)).values.shape[2])


def _clipped(values: IntArray, of_unit: IntArray, bounds: Sensitivity) -> IntArray:
    """Shrink each unit's vector until it keeps the bounds; one that still does not becomes 0."""
    if len(values) == 0:
        return values
    first = np.flatnonzero(np.diff(of_unit, prepend=-1))
    counts = np.diff(np.append(first, len(values)))
    linf = min(bounds.linf, ROWS_PER_UNIT_MAX * 2**31)
    largest = np.maximum.reduceat(np.abs(values).max(axis=1), first)
    values = _shrunk(values, np.repeat(_factor(linf, largest), counts))
    l1, squared = _lengths(values, first)
    factor = np.minimum(_factor(bounds.l1, l1), np.sqrt(_factor(bounds.l2_squared, squared)))
    values = _shrunk(values, np.repeat(factor, counts))
    l1, squared = _lengths(values, first)
    largest = np.maximum.reduceat(np.abs(values).max(axis=1), first)
    within = (l1 <= bounds.l1) & (squared <= bounds.l2_squared) & (largest <= linf)
    values[~np.repeat(within, counts)] = 0
    return values


def _factor(allowed: int, lengths: IntArray | NDArray[np.object_]) -> FloatArray:
    """Return what each length must be multiplied by, 1 where it is allowed as it is."""
    exceeding = lengths > allowed
    ratio = float(allowed) / np.maximum(lengths, 1).astype(np.float64)
    return np.where(exceeding, np.minimum(ratio, 1.0) * _MARGIN, 1.0)


def _shrunk(values: IntArray, factors: FloatArray) -> IntArray:
    """Multiply each line of values by its factor of at most 1, and truncate toward zero."""
    shrunk = values.copy()
    less = factors < 1
    shrunk[less] = np.trunc(values[less] * factors[less, None]).astype(np.int64)
    return shrunk


def _lengths(values: IntArray, first: IntArray) -> tuple[IntArray, NDArray[np.object_]]:
    """Return the sum of each unit's absolute values, and of their squares as Python integers."""
    sizes = np.abs(values)
    high, low = sizes >> _HALF, sizes & (2**_HALF - 1)

    def summed(products: IntArray) -> NDArray[np.object_]:
        return np.add.reduceat(products, first).astype(object)

    squared = (
        (summed(np.einsum("ij,ij->i", high, high)) << (2 * _HALF))
        + (summed(np.einsum("ij,ij->i", high, low)) << (_HALF + 1))
        + summed(np.einsum("ij,ij->i", low, low))
    )
    return np.add.reduceat(sizes.sum(axis=1), first), squared

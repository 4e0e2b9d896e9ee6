"""Rows that nobody has: drawn from a coreset, each of its cells a small Gaussian."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from privclust.domains._places import in_units, on_scales
from privclust.domains.mixed import CategoryColumn, DateColumn, Mixed
from privclust.kernels.grid import FloatArray, IntArray
from privclust.models._cells import cells_of
from privclust.models.cluster_model import ClusterModel

FIRST_DAY = date(1970, 1, 1)


def sample(model: ClusterModel, n_rows: int, rng: np.random.Generator) -> FloatArray | pa.Table:
    """Draw rows from a model's coreset: a cell by its weight, a place around it by its spread.

    They lie within the bounds. Tables with declared columns come back as Arrow tables, with levels
    drawn by a cell's shares and whole days.
    """
    cells = cells_of(model)
    drawn = rng.choice(len(cells.points), n_rows, p=cells.weights / cells.weights.sum())
    if isinstance(model.domain, Mixed):
        shares = on_scales(model.domain, cells.points)
        numeric = ~_is_share(model.domain)
        variance = cells.variance - _variance_of_levels(model.domain, shares)
        # A cell whose levels explain all of its noisy spread is as wide as others, not a point.
        typical = max(0.0, float(np.average(variance, weights=cells.weights)))
        variance = np.where(variance > 0, variance, typical)
        width = np.sqrt(variance / max(1, int(np.count_nonzero(numeric))))
        aside = rng.normal(size=(n_rows, len(numeric))) * numeric * width[drawn, None]
        rows = in_units(model.domain, cells.points[drawn] + aside)
        return _table(model.domain, rows, rng)
    d = cells.points.shape[1]
    aside = rng.normal(size=(n_rows, d)) * np.sqrt(cells.variance[drawn, None] / d)
    return in_units(model.domain, cells.points[drawn] + aside)


def _is_share(domain: Mixed) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which coordinates are shares of levels."""
    return np.concatenate(
        [np.full(len(c.feature_names), isinstance(c, CategoryColumn)) for c in domain.columns]
    )


def _variance_of_levels(domain: Mixed, shares: FloatArray) -> FloatArray:
    """Return what of a cell's variance, in the unit ball, its rows' different levels make up."""
    within = np.clip(shares, 0.0, 1.0)
    variance = within * (1 - within) / domain.spread**2 * _is_share(domain)
    return np.asarray(variance.sum(axis=1))


def _table(domain: Mixed, rows: FloatArray, rng: np.random.Generator) -> pa.Table:
    columns, place = {}, 0
    for column in domain.columns:
        part = rows[:, place : place + len(column.feature_names)]
        place += part.shape[1]
        if isinstance(column, CategoryColumn):
            columns[column.name] = pa.array(np.array(column.levels)[_drawn_levels(part, rng)])
        elif isinstance(column, DateColumn):
            days = [FIRST_DAY + timedelta(days=int(day)) for day in np.rint(part[:, 0])]
            columns[column.name] = pa.array(days, pa.date32())
        else:
            columns[column.name] = pa.array(part[:, 0])
    return pa.table(columns)


def _drawn_levels(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw the place of a level for each row, by its shares."""
    heights = shares.cumsum(axis=1)
    marks = rng.random((len(shares), 1)) * heights[:, -1:]
    return np.asarray((marks >= heights[:, :-1]).sum(axis=1))

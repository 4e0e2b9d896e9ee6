"""Rows that nobody has: drawn from a coreset, each of its cells a small Gaussian."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from privclust.domains.base import Domain
from privclust.kernels.grid import FloatArray
from privclust.models._coreset_cells import cells_of
from privclust.models.cluster_model import ClusterModel


def sample(model: ClusterModel, n_rows: int, rng: np.random.Generator) -> FloatArray | pa.Table:
    """Draw rows from a model's coreset: a cell by its weight, a place around it by its variance.

    They lie within the bounds. Tables with declared columns come back as Arrow tables, with levels
    drawn by a cell's shares and whole days.
    """
    domain: Domain = model.domain
    cells = cells_of(model)
    drawn = rng.choice(len(cells.points), n_rows, p=cells.weights / cells.weights.sum())
    deviations = domain.deviations(cells.points, cells.variance, cells.weights)
    aside = rng.normal(size=(n_rows, cells.points.shape[1])) * deviations[drawn]
    rows = domain.draw(domain.to_units(cells.points[drawn] + aside), rng)
    return pa.table(rows) if isinstance(rows, dict) else rows

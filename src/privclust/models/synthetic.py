"""Rows that nobody has: drawn from a coreset, each of its cells a small Gaussian."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privclust.domains.base import Domain
from privclust.kernels.grid import FloatArray
from privclust.models._coreset_cells import cells_of, mean_square
from privclust.models.cluster_model import ClusterModel

LIMIT = 3.0
"""Radii of a cluster beyond which rows are drawn anew: so far out, cells are often noise alone."""
TRIES = 16
BLOCK = 2**16
"""Rows whose distances to all centres are held at once."""


def sample(model: ClusterModel, n_rows: int, rng: np.random.Generator) -> FloatArray | pa.Table:
    """Draw rows from a model's coreset: a cell by its weight, a place around it by its variance.

    They lie within the bounds. Those farther from their centre than three of its radii are drawn
    anew, unless the fit measured that there are such rows: a cell that noise made lies anywhere,
    and on the scale of logarithms its rows would be millions. Tables with declared columns come
    back as Arrow tables, with levels drawn by a cell's shares and whole days.
    """
    domain: Domain = model.domain
    cells = cells_of(model)
    deviations = domain.deviations(cells.points, cells.variance, cells.weights)
    shares = cells.weights / cells.weights.sum()

    def draw(count: int) -> FloatArray:
        drawn = rng.choice(len(cells.points), count, p=shares)
        aside = rng.normal(size=(count, cells.points.shape[1])) * deviations[drawn]
        return np.asarray(cells.points[drawn] + aside)

    points = draw(n_rows)
    for _ in range(0 if _measured_far_rows(model) else TRIES):
        far = np.flatnonzero(_is_far(points, model))
        if not far.size:
            break
        points[far] = draw(far.size)
    rows = domain.draw(domain.to_units(points), rng)
    return pa.table(rows) if isinstance(rows, dict) else rows


def _measured_far_rows(model: ClusterModel) -> bool:
    return model.quality is not None and model.quality.far_share is not None


def _is_far(points: FloatArray, model: ClusterModel) -> NDArray[np.bool_]:
    """Tell which points of the ball lie farther from their nearest centre than rows should."""
    assert model.cluster_radii is not None  # what measures a coreset measures radii
    centers = model.domain.to_ball(model.cluster_centers)
    limit = LIMIT**2 * np.maximum(model.cluster_radii**2, mean_square(model))
    found = np.empty(len(points), dtype=bool)
    for begin in range(0, len(points), BLOCK):
        part = points[begin : begin + BLOCK]
        squares = (centers**2).sum(axis=1) - 2 * part @ centers.T
        place = squares.argmin(axis=1)
        apart = ((part - centers[place]) ** 2).sum(axis=1)
        found[begin : begin + BLOCK] = apart > limit[place]
    return found

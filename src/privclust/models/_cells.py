"""A fitted model as post-processing sees it: points of the unit ball, and names for coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models.clustering import Coreset


@dataclass(frozen=True, eq=False)
class Cells:
    """A coreset in the unit ball, each point with a spread of its own.

    Attributes
    ----------
    points : array of shape (M, d)
        Where the cells lie.
    weights : array of shape (M,)
        Noisy numbers of rows, none below zero; together at least 1.
    variance : array of shape (M,)
        Of a cell's rows around its point, added up over coordinates.
    """

    points: FloatArray
    weights: FloatArray
    variance: FloatArray


def cells_of(model: Any) -> Cells:
    """Return a model's coreset, as wide as its clusters were measured to be.

    Cells clip their rows, so that with all of them together rows lie closer than they do. What is
    missing from the mean square of the clusters, which clip less, is added to every cell alike.
    """
    coreset: Coreset = model.coreset_
    points, weights = model.domain_.to_ball(coreset.points), np.maximum(coreset.weights, 0.0)
    if weights.sum() < 1:
        weights = np.ones(len(points))
    centers = model.domain_.to_ball(model.cluster_centers_)
    cluster = nearest(to_grid(points), to_grid(centers))
    apart = ((points - centers[cluster]) ** 2).sum(axis=1)
    squares = coreset.precision.radii**2
    seen = np.average(apart + squares, weights=weights)
    measured = np.average(model.cluster_radii_**2, weights=np.maximum(model.cluster_sizes_, 1.0))
    return Cells(points, weights, squares + max(0.0, float(measured - seen)))


def coordinate_names(model: Any) -> list[str]:
    """Return what a centre's coordinates are called; the levels of a category are one each."""
    return list(model.domain_.coordinate_names(getattr(model, "feature_names_in_", None)))

"""The coreset of a model as post-processing sees it: cells of the unit ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.errors import ParameterError
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Coreset


@dataclass(frozen=True, eq=False)
class Cells:
    """A coreset in the unit ball, each point with a variance of its own.

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


def coreset_of(model: ClusterModel) -> Coreset:
    """Return a model's coreset; refuse a model of an estimator that makes none."""
    if model.coreset is None:
        raise ParameterError(
            f"the model of {model.estimator} has no coreset, the weighted points that this follows "
            "from. Give a model of PrivateKMeans, as its fit returned or saved it."
        )
    return model.coreset


def cells_of(model: ClusterModel) -> Cells:
    """Return a model's coreset, as wide as its clusters were measured to be.

    Cells clip their rows, so that with all of them together rows lie closer than they do. What is
    missing from the mean square of the clusters, which clip less, is added to every cell alike.
    """
    coreset = coreset_of(model)
    points, weights = model.domain.to_ball(coreset.points), np.maximum(coreset.weights, 0.0)
    if weights.sum() < 1:
        weights = np.ones(len(points))
    centers = model.domain.to_ball(model.cluster_centers)
    cluster = nearest(to_grid(points), to_grid(centers))
    apart = ((points - centers[cluster]) ** 2).sum(axis=1)
    squares = coreset.precision.radii**2
    seen = np.average(apart + squares, weights=weights)
    return Cells(points, weights, squares + max(0.0, mean_square(model) - float(seen)))


def mean_square(model: ClusterModel) -> float:
    """Return how far rows lie from their centres: the loss if it was measured, or by radii."""
    if model.quality is not None:
        return model.quality.capped_loss
    assert model.cluster_radii is not None  # what measures a coreset measures radii
    sizes = np.maximum(model.cluster_sizes, 1.0)
    return float(np.average(model.cluster_radii**2, weights=sizes))

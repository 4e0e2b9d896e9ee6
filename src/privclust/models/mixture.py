"""A Gaussian mixture from a coreset's weighted points, each of which is a small Gaussian itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray
from privclust.models._coreset_cells import Cells, cells_of
from privclust.models.cluster_model import ClusterModel

ROUNDS = 100
SETTLED = 1e-7
"""Rounds end when the mean log-likelihood gains no more."""
NARROWEST = 1e-6
"""Variance that no direction falls below, in squared radii of the domain times the largest."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians, one for each cluster and numbered as these are.

    Attributes
    ----------
    weights : array of shape (k,)
        Shares of all rows, together 1.
    means : array of shape (k, d)
        In your own units; of declared columns on their scales, which are days, shares of levels,
        and logarithms to the base 10.
    covariances : array of shape (k, d, d)
        On the same scales.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 2.0, (9000, 2)) for center in (20, 60)])
    >>> model = PrivateKMeans(2, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> model.mixture().weights.round(1).tolist()
    [0.5, 0.5]
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray


def mixture(model: ClusterModel) -> Mixture:
    """Fit Gaussians to a model's coreset, by expectation maximisation from its centres."""
    cells = cells_of(model)
    found = _started(cells, model.domain.to_ball(model.cluster_centers))
    likelihood = -np.inf
    for _ in range(ROUNDS):
        logs = _log_densities(cells, found)
        together = logsumexp(logs, axis=1)
        before, likelihood = likelihood, float(np.average(together, weights=cells.weights))
        found = _moments(cells, np.exp(logs - together[:, None]), found)
        if likelihood - before < SETTLED:
            break
    scales = model.domain.scales
    return Mixture(
        found.weights,
        model.domain.ball_to_scales(found.means),
        found.covariances * scales[:, None] * scales,
    )


def _started(cells: Cells, centers: FloatArray) -> Mixture:
    """Return equal Gaussians around the centres, as wide as cells are on average from them."""
    k, d = centers.shape
    squares = squared_gaps(centers, cells.points).min(axis=0) + cells.variance
    width = max(float(np.average(squares, weights=cells.weights)) / d, 1e-300)
    return Mixture(np.full(k, 1 / k), centers, np.tile(width * np.eye(d), (k, 1, 1)))


def _log_densities(cells: Cells, known: Mixture) -> FloatArray:
    """Return the mean log-density of each cell's rows under each Gaussian."""
    d = cells.points.shape[1]
    logs = np.empty((len(cells.points), len(known.weights)))
    for number, (weight, mean, covariance) in enumerate(
        zip(known.weights, known.means, known.covariances, strict=True)
    ):
        root = np.linalg.cholesky(covariance)
        apart = solve_triangular(root, (cells.points - mean).T, lower=True)
        inverse = solve_triangular(root, np.eye(d), lower=True)
        squares = (apart**2).sum(axis=0) + cells.variance / d * (inverse**2).sum()
        logs[:, number] = np.log(weight) - np.log(np.diag(root)).sum() - squares / 2
    return logs


def _moments(cells: Cells, shares: FloatArray, before: Mixture) -> Mixture:
    """Return weights, means and covariances when cells belong to Gaussians by shares."""
    d = cells.points.shape[1]
    assigned = cells.weights[:, None] * shares
    rows = assigned.sum(axis=0)
    means, covariances = before.means.copy(), before.covariances.copy()
    for number in np.flatnonzero(rows > 1):  # the others keep what they have
        part = assigned[:, number] / rows[number]
        means[number] = part @ cells.points
        apart = cells.points - means[number]
        covariance = (part * apart.T) @ apart + part @ cells.variance / d * np.eye(d)
        widest = float(np.trace(covariance))
        covariances[number] = covariance + NARROWEST * max(widest, 1e-12) * np.eye(d)
    weights = np.maximum(rows, 1e-9 * rows.sum())
    return Mixture(weights / weights.sum(), means, covariances)

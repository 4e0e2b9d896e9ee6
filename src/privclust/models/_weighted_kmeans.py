"""Ordinary k-means on public weighted points; starts are free, so it takes many."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from privclust.kernels.grid import FloatArray


class WeightedClusters(NamedTuple):
    """Centres, and the weight that fell to each."""

    centers: FloatArray
    sizes: FloatArray


def weighted_kmeans(
    points: FloatArray,
    weights: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    starts: int = 10,
) -> WeightedClusters:
    """Cluster points by weight; where fewer than k have any, the next in rank join unweighted.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [1.0], [5.0]])
    >>> found = weighted_kmeans(points, np.array([1, 1, 2, 0]), 2, np.random.default_rng(0))
    >>> sorted(found.centers.ravel().round(2).tolist()), found.sizes.sum().item()
    ([0.05, 1.0], 4.0)
    """
    ranked = np.argsort(-weights, kind="stable")
    chosen = ranked[: max(n_clusters, int(np.count_nonzero(weights > 0)))]
    points, weights = points[chosen], np.maximum(weights[chosen], 0.0)
    # A weight of exactly zero would let k-means leave that point out of its first centres.
    fit_weights = np.maximum(weights, weights.max(initial=1.0) * 1e-12)
    seeding = partial(_seeded, fit_weights)
    seed = int(rng.integers(2**31))
    model = KMeans(n_clusters, init=seeding, n_init=starts, random_state=seed)
    # One thread: sums then have one order, so a seed gives the same centres on any machine, and
    # on tables of this size idle threads cost more than they gain.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit_predict(points, sample_weight=fit_weights)
    sizes = np.bincount(labels, weights, n_clusters).astype(np.float64)
    return WeightedClusters(model.cluster_centers_, sizes)


def _seeded(
    weights: FloatArray,
    points: FloatArray,
    n_clusters: int,
    random_state: np.random.RandomState,
) -> FloatArray:
    """Draw first centres by greedy k-means++: of a few points that which lowers the cost most.

    scikit-learn's own draws the same ones, bit for bit, and takes several times as long, most of it
    for checks of its arguments.
    """
    tried, norms = 2 + int(math.log(n_clusters)), _squared_norms(points)
    column = weights.reshape(-1, 1)
    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = random_state.choice(len(points), p=weights / weights.sum())
    apart = _squared_distances(points[chosen[:1]], points, norms)
    cost = apart @ weights
    for number in range(1, n_clusters):
        drawn = random_state.uniform(size=tried) * cost
        found = np.cumsum(weights * apart).searchsorted(drawn)
        np.minimum(found, len(points) - 1, out=found)  # which rounding may exceed
        nearer = np.minimum(apart, _squared_distances(points[found], points, norms))
        costs = nearer @ column
        best = costs.argmin()
        chosen[number], apart, cost = found[best], nearer[best], costs[best]
    return np.asarray(points[chosen])


def _squared_distances(some: FloatArray, points: FloatArray, norms: FloatArray) -> FloatArray:
    found = -2 * (some @ points.T)
    found += _squared_norms(some)[:, None]
    found += norms
    return np.maximum(found, 0.0, out=found)


def _squared_norms(points: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", points, points))


def kmeans_seconds(points: float, k: float, width: float, starts: int) -> float:
    """Return the seconds of weighted k-means, which takes more rounds with more points a centre."""
    points = max(points, k)
    rounds = 1 + math.log2(points / k) / 4
    return starts * k * (0.1e-3 + points * rounds * (60 + 4 * width) * 1e-9)

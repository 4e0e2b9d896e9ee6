"""Weighted k-means on a few hundred public points, from many starts at once.

`_weighted_kmeans` makes one start after the other, which takes ten times as long on so few points.
Callers allow one thread: sums then have one order, so a model gives the same centres on any
machine, and finding out how many threads there are takes longer than a call.
"""

from __future__ import annotations

import numpy as np

from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray

STARTS, TRIED, FEWEST = 40, 640, 2
"""Starts of k-means, fewer where there are many centres."""
ROUNDS = 100


def starts_for(n_clusters: int) -> int:
    """Return how many starts are made.

    Examples
    --------
    >>> starts_for(8), starts_for(64), starts_for(1000)
    (40, 10, 2)
    """
    return max(FEWEST, min(STARTS, TRIED // n_clusters))


def batched_seconds(n_points: float, n_clusters: float, n_columns: float) -> float:
    """Return the seconds of `best_centers` with so many starts."""
    starts = starts_for(int(n_clusters))
    seeding = n_clusters * (100e-6 + starts * n_points * (10 + n_columns) * 1e-9)
    rounds = 20
    return seeding + rounds * starts * n_points * n_clusters * (15 + 0.3 * n_columns) * 1e-9


def first_centers(
    points: FloatArray,
    weights: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    given: FloatArray | None = None,
) -> FloatArray:
    """Draw first centres as k-means++ does, all starts beside each other.

    Parameters
    ----------
    points, weights : array of shape (M, d) and (M,)
        No weight is negative.
    n_clusters : int
        k.
    rng : Generator
        For public choices.
    given : array of shape (g, d), optional
        Centres that all starts begin with, g at most k.

    Returns
    -------
    array of shape (starts, k, d)

    Examples
    --------
    >>> points, rng = np.array([[0.0], [0.1], [5.0]]), np.random.default_rng(0)
    >>> first_centers(points, np.ones(3), 2, rng, given=points[:1])[0].ravel().tolist()
    [0.0, 5.0]
    """
    n_starts, d = starts_for(n_clusters), points.shape[1]
    found = np.empty((n_starts, n_clusters, d))
    apart = np.full((n_starts, len(points)), np.inf)
    begun = 0 if given is None else len(given)
    if given is not None:
        found[:, :begun] = given
        apart[:] = squared_gaps(points, given).min(axis=1)
    for number in range(begun, n_clusters):
        chances = np.cumsum(weights * (apart if number else np.ones_like(apart)), axis=1)
        # Where all weight lies at the centres, any point is as good as another.
        chances[chances[:, -1] <= 0] = np.arange(1, len(points) + 1)
        drawn = rng.uniform(size=(n_starts, 1)) * chances[:, -1:]
        chosen = points[np.minimum((chances <= drawn).sum(axis=1), len(points) - 1)]
        found[:, number] = chosen
        apart = np.minimum(apart, ((points - chosen[:, None]) ** 2).sum(axis=2))
    return found


def best_centers(points: FloatArray, weights: FloatArray, starts: FloatArray) -> FloatArray:
    """Move the centres of all starts to the means of their points; return those that cost least.

    Examples
    --------
    >>> points, starts = np.array([[0.0], [1.0], [9.0]]), np.array([[[0.0], [1.0]], [[0.0], [9.0]]])
    >>> best_centers(points, np.ones(3), starts).ravel().tolist()
    [0.5, 9.0]
    """
    centers, before = starts, None
    numbers = np.arange(starts.shape[1])
    for _ in range(ROUNDS):
        cluster = ((centers**2).sum(axis=2)[:, None] - 2 * points @ centers.mT).argmin(axis=2)
        if before is not None and np.array_equal(cluster, before):
            break
        before = cluster
        shares = np.where(cluster[:, :, None] == numbers, weights[:, None], 0.0)
        held = shares.sum(axis=1)[:, :, None]
        means = (shares.mT @ points) / np.where(held > 0, held, 1.0)
        centers = np.where(held > 0, means, centers)
    nearest = np.take_along_axis(centers, cluster[:, :, None], axis=1)
    costs = (weights * ((points - nearest) ** 2).sum(axis=2)).sum(axis=1)
    best: FloatArray = centers[costs.argmin()]
    return best

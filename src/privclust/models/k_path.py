"""How many clusters? Every number at once, from a coreset: no row is read and nothing is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from privclust.kernels.grid import FloatArray, IntArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._coreset_cells import coreset_of
from privclust.models._weighted_kmeans import kmeans_seconds, weighted_kmeans
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Coreset

STARTS, TRIED = 20, 640
"""Starts of k-means, fewer where there are many centres."""
APART = 16.0
"""Squared distance of two centres in variances along a line: four standard deviations. Halves of a
Gaussian cluster are 2.6 to 3.7 apart, eighths 7, and up to 13 as a noisy coreset shows them."""
CERTAIN = 3.0
"""A cluster has at least so many standard errors of its size."""


@dataclass(frozen=True)
class Choice:
    """What one number of clusters would give.

    Attributes
    ----------
    n_clusters : int
        k.
    loss, stderr : float
        Mean squared distance of rows to their centre, in radii of the domain, and its standard
        error from noise.
    silhouette : float
        1 if rows are at their own centre, 0 if the next centre is as near (as estimated from the
        coreset; for k = 1 it is 0).
    distinct : bool
        Whether every cluster is apart from the others and larger than noise.
    """

    n_clusters: int
    loss: float
    stderr: float
    silhouette: float
    distinct: bool


@dataclass(frozen=True)
class KPath:
    """Numbers of clusters beside each other.

    Attributes
    ----------
    choices : tuple of Choice
        One for each number of clusters, from 1 up.

    Examples
    --------
    >>> path = KPath((Choice(1, 0.5, 0.01, 0.0, True), Choice(2, 0.1, 0.01, 0.8, True)))
    >>> path.elbow
    2
    >>> print(path)
      k      loss    ± stderr  silhouette
      1       0.5        0.01       0.000
      2       0.1        0.01       0.800  <- elbow
    """

    choices: tuple[Choice, ...]

    @property
    def elbow(self) -> int:
        """The most clusters that are all distinct; beyond, clusters are cut in two.

        At 1 no number stands out: clusters shade into each other.
        """
        return max(choice.n_clusters for choice in self.choices if choice.distinct)

    def __str__(self) -> str:
        lines = [f"{'k':>3}{'loss':>10}{'± stderr':>12}{'silhouette':>12}"]
        for choice in self.choices:
            mark = "  <- elbow" if choice.n_clusters == self.elbow > 1 else ""
            lines.append(
                f"{choice.n_clusters:>3}{choice.loss:>10.4g}{choice.stderr:>12.2g}"
                f"{choice.silhouette:>12.3f}{mark}"
            )
        if self.elbow == 1:
            lines.append("no number stands out: clusters shade into each other")
        return "\n".join(lines)


def k_path_of(model: ClusterModel) -> KPath:
    """Cluster a model's coreset into 1, 2, … clusters, by the seed that it was fitted with.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> fitted = PrivateKMeans(2, delta=1e-6, radius=1.0, max_clusters=4, random_state=0)
    >>> path = k_path_of(fitted.fit(np.zeros((1000, 2))).model_)
    >>> path.choices[0].n_clusters
    1
    """
    coreset, seed = coreset_of(model), model.parameters.get("random_state")
    points = replace(coreset, points=model.domain.to_ball(coreset.points))
    rng = np.random.default_rng(seed if isinstance(seed, int | np.integer) else 0)
    return k_path(points, max_clusters_of(model), rng)


def max_clusters_of(model: ClusterModel) -> int:
    """Return up to how many clusters a model was fitted to choose from."""
    typed = model.parameters.get("max_clusters")
    if isinstance(typed, int | np.integer) and typed > 0:
        return int(typed)
    return max(32, 2 * len(model.cluster_centers))


class PathCost(NamedTuple):
    """What a path of k takes: seconds of one core, and bytes."""

    seconds: float
    memory: float


def path_cost(n_points: int, max_clusters: int, n_columns: int) -> PathCost:
    """Return what every number of clusters up to `max_clusters` costs, of a coreset's points.

    Examples
    --------
    >>> path_cost(100, 32, 2).seconds < 10
    True
    """
    most = min(max_clusters, n_points)
    seconds = sum(kmeans_seconds(n_points, k, n_columns, _starts(k)) for k in range(1, most + 1))
    return PathCost(seconds, 16.0 * n_points * most * n_columns)


def k_path(coreset: Coreset, max_clusters: int, rng: np.random.Generator) -> KPath:
    """Cluster the coreset of the unit ball into 1, 2, … clusters."""
    weights = np.maximum(coreset.weights, 0.0)
    most = max(1, min(max_clusters, int(np.count_nonzero(weights))))
    return KPath(tuple(_choice(coreset, weights, k, rng) for k in range(1, most + 1)))


def _choice(
    coreset: Coreset, weights: FloatArray, n_clusters: int, rng: np.random.Generator
) -> Choice:
    points, known = coreset.points, coreset.precision
    centers = weighted_kmeans(points, weights, n_clusters, rng, _starts(n_clusters)).centers
    cluster = nearest(to_grid(points), to_grid(centers))
    squares = ((points[:, None] - centers) ** 2).sum(axis=2)
    apart = squares[np.arange(len(points)), cluster]
    mean_squares = apart + known.radii**2
    whole = max(float(weights.sum()), 1.0)
    loss = float(weights @ mean_squares) / whole
    # Centres move along with noise, but at a minimum that changes the loss only in second order.
    through_weights = (known.size_stderr * (mean_squares - loss)) ** 2
    through_points = 4 * (weights * known.center_stderr) ** 2 * apart
    stderr = float(np.sqrt((through_weights + through_points).sum())) / whole
    squares[np.arange(len(points)), cluster] = np.inf
    to_next = squares.min(axis=1) + known.radii**2
    shares = 1 - np.sqrt(mean_squares / np.where(to_next > 0, to_next, 1.0))
    silhouette = float(weights @ shares) / whole if n_clusters > 1 else 0.0
    distinct = n_clusters == 1 or _distinct(coreset, weights, centers, cluster, mean_squares)
    return Choice(n_clusters, loss, stderr, silhouette, distinct)


def _starts(n_clusters: int) -> int:
    return max(2, min(STARTS, TRIED // n_clusters))


def _distinct(
    coreset: Coreset,
    weights: FloatArray,
    centers: FloatArray,
    cluster: IntArray,
    mean_squares: FloatArray,
) -> bool:
    """Tell whether all clusters are apart from each other and larger than noise."""
    k, d = centers.shape
    sizes = np.bincount(cluster, weights, k)
    errors = np.sqrt(np.bincount(cluster, coreset.precision.size_stderr**2, k))
    if (sizes <= CERTAIN * errors).any():
        return False
    variance = np.bincount(cluster, weights * mean_squares, k) / sizes / d
    moved = np.bincount(cluster, (weights * coreset.precision.center_stderr) ** 2, k) / sizes**2
    between = ((centers[:, None] - centers) ** 2).sum(axis=2)
    np.fill_diagonal(between, np.inf)
    # Noise moves centres apart, on average by its variance in each column.
    least = (variance[:, None] + variance) * APART / 2 + (moved[:, None] + moved) * d
    return bool((between > least).all())

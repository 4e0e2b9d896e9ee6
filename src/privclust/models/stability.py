"""How much of a clustering another fit would find again, from the coreset alone.

Fits of the same rows differ by their noise and by where they happen to cut cells. Both are
imitated: cells move by their standard errors and by half their radius, k-means clusters them again,
and each outcome labels the same made-up rows. `python -m benchmarks stability` compares the figure
with fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from threadpoolctl import threadpool_limits

from privclust.kernels.grid import FloatArray, IntArray
from privclust.models._batched_kmeans import batched_seconds, best_centers, first_centers
from privclust.models._refit_points import refit_cells
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Coreset, Precision

JITTERS = 6
ROWS = 2000
CELL_SHARE = 0.5
"""The part of its radius by which a cell would lie elsewhere in another fit."""
WIDEST = 2.0
"""No two points of the unit ball are farther apart."""
LIGHTEST = 1e-9
"""Of the heaviest cell's weight."""
MOST_SECONDS = 1.0
"""What takes longer is left to `k_path`; verdicts and comparisons do without."""


@dataclass(frozen=True, eq=False)
class Repeats:
    """What other fits of the same rows would find.

    Attributes
    ----------
    index : float
        The adjusted Rand index between two of them.
    centers : list of arrays
        The centres of each, in the unit ball.
    rows : array
        The made-up rows by which they are compared.
    """

    index: float
    centers: list[FloatArray]
    rows: FloatArray


def stability_of(model: ClusterModel, n_clusters: int) -> float:
    """Return the adjusted Rand index to expect between two fits' clusterings of the rows.

    1 if they put the same rows together, 0 if they agree as much as by chance. It follows from what
    was released, is the same for a model each time, and says nothing about which number is right.

    Parameters
    ----------
    model : ClusterModel
        With a coreset.
    n_clusters : int
        k, at most as many as the coreset has points with any weight.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (5000, 2)) for center in (20, 60)])
    >>> model = PrivateKMeans(2, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> round(stability_of(model.model_, 2), 2)
    1.0
    """
    with threadpool_limits(1):
        return stability(refit_cells(model), n_clusters)


def stability(cells: Coreset, n_clusters: int) -> float:
    """Return the index for cells of the unit ball."""
    return 1.0 if n_clusters == 1 else repeats(cells, n_clusters).index


def repeats(cells: Coreset, n_clusters: int) -> Repeats:
    """Cluster cells of the unit ball again as if they had been measured again, a few times."""
    if not cells.weights.any():
        return Repeats(1.0, [], np.zeros((0, cells.points.shape[1])))
    cells, rng = _plausible(cells), np.random.default_rng(0)
    rows = _made_up_rows(cells, rng)
    centers = [_found_again(cells, n_clusters, rng) for _ in range(JITTERS)]
    labels = [nearest_centers(rows, found) for found in centers]
    pairs = combinations(labels, 2)
    return Repeats(float(np.mean([adjusted_rand_index(*pair) for pair in pairs])), centers, rows)


def is_quick(model: ClusterModel) -> bool:
    """Tell whether a model has a coreset from which its stability is known within a second."""
    if model.coreset is None:
        return False
    k, d = model.cluster_centers.shape
    points = int(np.count_nonzero(model.coreset.weights > 0))
    return points >= k and stability_seconds(points + k, k, d) <= MOST_SECONDS


def adjusted_rand_index(one: IntArray, other: IntArray) -> float:
    """Return how far two labellings of the same rows put the same pairs together.

    scikit-learn has the same figure, and takes fifty times as long for so few labels.

    Examples
    --------
    >>> adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    k, count = int(other.max()) + 1, len(one)
    both = _pairs(np.bincount(one * k + other))
    first, second = _pairs(np.bincount(one)), _pairs(np.bincount(other))
    by_chance, most = first * second / (count * (count - 1) / 2), (first + second) / 2
    return 1.0 if most == by_chance else (both - by_chance) / (most - by_chance)


def _pairs(counts: IntArray) -> float:
    return float((counts * (counts - 1)).sum()) / 2


def stability_seconds(n_points: int, n_clusters: int, n_columns: int) -> float:
    """Return the seconds that `stability` takes."""
    labelling = ROWS * n_clusters * (10 + n_columns) * 1e-9
    return JITTERS * (batched_seconds(n_points, n_clusters, n_columns) + labelling) + 0.002


def _plausible(cells: Coreset) -> Coreset:
    """Return the cells that have rows, the largest weight being 1.

    A model file may say of radii and errors what no fit releases, and numbers must stay finite.
    """
    there, known, largest = cells.weights > 0, cells.precision, cells.weights.max()
    precision = Precision(
        np.minimum(known.center_stderr[there], WIDEST),
        np.minimum(known.size_stderr[there] / largest, 1.0),
        np.minimum(known.radii[there], WIDEST),
    )
    return Coreset(cells.points[there], cells.weights[there] / largest, precision)


def _made_up_rows(cells: Coreset, rng: np.random.Generator) -> FloatArray:
    """Draw rows around cells, as many as these weigh and as far as these are wide."""
    below, d = np.cumsum(cells.weights), cells.points.shape[1]
    drawn = np.searchsorted(below, rng.uniform(size=ROWS) * below[-1])
    aside = rng.normal(size=(ROWS, d)) * cells.precision.radii[drawn, None] / np.sqrt(d)
    return np.asarray(cells.points[drawn] + aside)


def _found_again(cells: Coreset, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return the centres that k-means finds when all cells were measured again."""
    points, known = cells.points, cells.precision
    elsewhere = CELL_SHARE * known.radii / np.sqrt(points.shape[1])
    deviations = np.hypot(known.center_stderr, elsewhere)
    points = points + rng.normal(size=points.shape) * deviations[:, None]
    weights = cells.weights + rng.normal(size=len(points)) * known.size_stderr
    # No cell vanishes, so that there are enough for k clusters.
    weights = np.maximum(weights, LIGHTEST)
    return best_centers(points, weights, first_centers(points, weights, n_clusters, rng))


def nearest_centers(rows: FloatArray, centers: FloatArray) -> IntArray:
    """Return the nearest centre of each row, which may lie beyond the ball."""
    scores = (centers**2).sum(axis=1) - 2 * rows @ centers.T
    return np.asarray(scores.argmin(axis=1), dtype=np.int64)

"""What refits follow from: a coreset, and the clusters of its fit, which are known better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._batched_kmeans import batched_seconds, best_centers, first_centers
from privclust.models._coreset_cells import coreset_of
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Coreset, Precision


def refit_cells(model: ClusterModel) -> Coreset:
    """Return the coreset in the unit ball, with released centres that none of its rows is near.

    A fit has centres for outliers that its coreset does not show: to such a centre no point with
    any weight is nearest, so it becomes a point of its own.
    """
    coreset, fitted = coreset_of(model), model.fitted
    points, centers = (model.domain.to_ball(some) for some in (coreset.points, fitted.centers))
    k, d = centers.shape
    weights, known = np.maximum(coreset.weights, 0.0), coreset.precision
    lone = np.bincount(nearest(to_grid(points), to_grid(centers)), weights, k) <= 0
    unknown = np.zeros(k)
    steps = model.domain.scales * model.domain.slopes(fitted.centers)
    errors = np.zeros((k, d)) if fitted.center_stderr is None else fitted.center_stderr / steps
    sizes = unknown if fitted.size_stderr is None else fitted.size_stderr
    radii = unknown if fitted.radii is None else fitted.radii
    return Coreset(
        np.vstack([points, centers[lone]]),
        np.concatenate([weights, np.maximum(fitted.sizes[lone], 0.0)]),
        Precision(
            np.concatenate([known.center_stderr, errors.mean(axis=1)[lone]]),
            np.concatenate([known.size_stderr, sizes[lone]]),
            np.concatenate([known.radii, radii[lone]]),
        ),
    )


def around_centers(model: ClusterModel, cells: Coreset) -> Coreset:
    """Move the cells of each released cluster so that their mean is its centre.

    Refining has measured these centres again and with longer clips than those of cells.
    """
    centers = model.domain.to_ball(model.fitted.centers)
    cluster, k = nearest(to_grid(cells.points), to_grid(centers)), len(centers)
    held = np.bincount(cluster, cells.weights, k)[:, None]
    sums = np.zeros_like(centers)
    np.add.at(sums, cluster, cells.weights[:, None] * cells.points)
    means = sums / np.where(held > 0, held, 1.0)
    # Directions were released with length 1, and means of directions are shorter.
    moves = np.where(held > 0, centers * model.domain.lengths(means) - means, 0.0)
    return replace(cells, points=cells.points + moves[cluster])


def refit_centers(
    model: ClusterModel, points: Coreset, n_clusters: int, rng: np.random.Generator
) -> FloatArray:
    """Return centres in the unit ball; for the fit's own number of clusters those it released.

    Fewer clusters: the best of k-means on the points from many starts and from the released centres
    merged by their sizes. More: starts are the released centres and some points beside them.
    """
    centers = model.domain.to_ball(model.fitted.centers)
    if n_clusters == len(centers):
        return centers
    there = points.weights > 0
    places, weights = points.points[there], points.weights[there]
    if n_clusters > len(centers):
        starts = first_centers(places, weights, n_clusters, rng, given=centers)
        return best_centers(places, weights, starts)
    sizes = np.maximum(model.fitted.sizes, 1.0)
    merged = best_centers(centers, sizes, first_centers(centers, sizes, n_clusters, rng))
    starts = first_centers(places, weights, n_clusters, rng)
    return best_centers(places, weights, np.concatenate([starts, merged[None]]))


def refit_seconds(n_points: int, n_clusters: int, n_columns: int) -> float:
    """Return the seconds that `refit_centers` takes."""
    return 2 * batched_seconds(n_points, n_clusters, n_columns)


def public_generator(model: ClusterModel) -> np.random.Generator:
    """Return what makes the public choices of a refit: the same for a model each time."""
    seed = model.parameters.get("random_state")
    return np.random.default_rng(seed if isinstance(seed, int | np.integer) else 0)

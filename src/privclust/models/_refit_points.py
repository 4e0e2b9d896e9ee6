"""What refits follow from: a coreset, and the clusters of its fit, which are known better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privclust.errors import TooManyClustersError
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._batched_kmeans import batched_seconds, best_centers, first_centers
from privclust.models._coreset_cells import coreset_of
from privclust.models.cluster_model import ClusterModel, FittedClusters
from privclust.models.clustering import Coreset, Precision

CLEAR = 0.1
"""Cells are made as wide as the loss says if its standard error is no larger part of it, and else
as wide as the capped loss says, which leaves out most of what far rows add."""


def refit_cells(model: ClusterModel) -> Coreset:
    """Return the coreset in the unit ball, with released centres that none of its rows is near.

    A fit has centres for outliers that its coreset does not show: to such a centre no point with
    any weight is nearest, so it becomes a point of its own. All weights together are as many rows
    as the released clusters have: where units are protected, cells count rows otherwise, because a
    unit in several cells may count for more than one.
    """
    coreset, fitted = coreset_of(model), model.fitted
    points, centers = (model.domain.to_ball(some) for some in (coreset.points, fitted.centers))
    k, weights, known = len(centers), np.maximum(coreset.weights, 0.0), coreset.precision
    lone = np.bincount(nearest(to_grid(points), to_grid(centers)), weights, k) <= 0
    sizes = np.zeros(k) if fitted.size_stderr is None else fitted.size_stderr
    radii = np.zeros(k) if fitted.radii is None else fitted.radii
    rows, counted = np.maximum(fitted.sizes, 0.0), weights.sum()
    held = rows[~lone].sum()
    factor = held / counted if min(held, counted) > 0 else 1.0
    return Coreset(
        np.vstack([points, centers[lone]]),
        np.concatenate([factor * weights, rows[lone]]),
        Precision(
            np.concatenate([known.center_stderr, _center_errors(model)[lone]]),
            np.concatenate([factor * known.size_stderr, sizes[lone]]),
            np.concatenate([known.radii, radii[lone]]),
        ),
    )


def have_rows(cells: Coreset) -> bool:
    """Tell whether a point has any weight, which noise may hide of all."""
    return bool((cells.weights > 0).any())


def check_for_rows(cells: Coreset) -> None:
    """Refuse a coreset no point of which has any weight."""
    if not have_rows(cells):
        raise TooManyClustersError(
            "noise hides all rows of this fit, so that its coreset has no point to cluster. Fit "
            "again with a larger epsilon or more rows, which spends budget again."
        )


def around_centers(model: ClusterModel, cells: Coreset) -> Coreset:
    """Fit cells to the released clusters: mean by mean to their centres, together to their width.

    Refining has measured the centres again, with longer clips than those of cells, and then their
    loss. Cells become wider or narrower by one factor, so that the fit has this loss.
    """
    centers = model.domain.to_ball(model.fitted.centers)
    cluster, k = nearest(to_grid(cells.points), to_grid(centers)), len(centers)
    held = np.bincount(cluster, cells.weights, k)[:, None]
    sums = np.zeros_like(centers)
    np.add.at(sums, cluster, cells.weights[:, None] * cells.points)
    means = sums / np.where(held > 0, held, 1.0)
    # Directions were released with length 1, and means of directions are shorter.
    moves = np.where(held > 0, centers * model.domain.lengths(means) - means, 0.0)
    points = cells.points + moves[cluster]
    apart = _average(((points - centers[cluster]) ** 2).sum(axis=1), cells.weights)
    within = _average(cells.precision.radii**2, cells.weights)
    measured = _mean_square(model.fitted)
    factor = 1.0 if measured is None or within <= 0 else max(0.0, measured - apart) / within
    precision = replace(cells.precision, radii=np.sqrt(factor) * cells.precision.radii)
    return replace(cells, points=points, precision=precision)


def inherited_stderr(model: ClusterModel, points: Coreset, centers: FloatArray) -> FloatArray:
    """Return how far noise on the released centres moves refit ones, whose points lie around them.

    For each refit centre, in radii of the domain; noise on the points themselves comes on top.
    """
    released = model.domain.to_ball(model.fitted.centers)
    at = [nearest(to_grid(points.points), to_grid(some)) for some in (centers, released)]
    held = np.zeros((len(centers), len(released)))
    np.add.at(held, tuple(at), points.weights)
    shares = held / np.maximum(held.sum(axis=1, keepdims=True), 1.0)
    return np.asarray(np.sqrt(shares**2 @ _center_errors(model) ** 2))


def _center_errors(model: ClusterModel) -> FloatArray:
    """Return standard errors of the released centres in the ball, on average over coordinates."""
    fitted, domain = model.fitted, model.domain
    if fitted.center_stderr is None:
        return np.zeros(len(fitted.centers))
    in_ball = fitted.center_stderr / (domain.scales * domain.slopes(fitted.centers))
    return np.asarray(in_ball.mean(axis=1))


def _mean_square(fitted: FittedClusters) -> float | None:
    """Return how far rows lie from the released centres: by their loss, or else by radii."""
    quality = fitted.quality
    if quality is not None:
        clear = quality.loss_stderr < CLEAR * quality.loss
        return quality.loss if clear else quality.capped_loss
    if fitted.radii is None:
        return None
    return _average(fitted.radii**2, np.maximum(fitted.sizes, 1.0))


def _average(values: FloatArray, weights: FloatArray) -> float:
    return float(weights @ values) / max(float(weights.sum()), 1.0)


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

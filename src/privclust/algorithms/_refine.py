"""Move centres to their clusters' means, a few times, each time with less to clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.algorithms._distances import Distances, edges_around
from privclust.algorithms._shrinkage import Step, rows_held, sampling_variance, weigh_means
from privclust.algorithms._split import SMALLEST, into_ball
from privclust.kernels.grid import FloatArray
from privclust.kernels.projection import Projection
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram

WEIGHT = 0.35
SQUARE_WEIGHT = 0.15
STEPS_MAX = 6


@dataclass(frozen=True, eq=False)
class Centers:
    """Centres in the unit ball and how well they are known; all of it follows from Releases.

    Attributes
    ----------
    points : array of shape (k, d)
        The centres.
    variance : array of shape (k,)
        Variance of the noise on each of a centre's coordinates.
    radii : array of shape (k,)
        Root mean square distances of the clusters' rows, clipped and noisy.
    """

    points: FloatArray
    variance: FloatArray
    radii: FloatArray


@dataclass(frozen=True, eq=False)
class ProjectedCenters:
    """Where clusters were found: centres in a projection of the rows."""

    centers: FloatArray
    projection: Projection


def steps_for(n_columns: int, rows_per_cluster: float, mu2: float, width: float) -> int:
    """Return how many steps bring centres closest that start a ball's radius away.

    Of L steps each has noise of variance L/mu², and clips at a radius that follows from what the
    step before it left to be gained.

    Parameters
    ----------
    n_columns : int
        d.
    rows_per_cluster : float
        Noisy number of rows over k.
    mu2 : float
        What all steps may spend.
    width : float
        Root mean square distance within clusters, over the radius of all rows.

    Examples
    --------
    >>> steps_for(64, 20.0, 0.05, 0.2), steps_for(64, 500.0, 0.05, 0.2)
    (2, 6)
    """
    best, steps = np.inf, 2
    for number in range(2, STEPS_MAX + 1):
        noise = n_columns * (1 + WEIGHT**2) * number / (mu2 * rows_per_cluster**2)
        left = 0.5
        for _ in range(number):
            measured = noise * (left + width**2)
            left = left * measured / (left + measured)
        if left < 0.97 * best:
            best, steps = left, number
    return steps


def distances_to(
    curator: Curator,
    slot: str,
    points: FloatArray,
    radius: float,
    projection: Projection | None = None,
) -> Distances:
    """Measure how far rows are from the nearest of `points`, on a scale set by a public radius."""
    edges = edges_around(radius)
    release = curator.measure(slot, DistanceHistogram(points, edges, projection))
    return Distances(edges, release.values, release.sigma)


def lift(
    curator: Curator,
    slots: tuple[str, str],
    whole: Centers,
    projected: ProjectedCenters,
    n_rows: int,
) -> Centers:
    """Take the full means of clusters found in a projection, as residuals of the mean of all."""
    distances, sums = slots
    n_clusters = len(projected.centers)
    radius = float(whole.radii[0])
    histogram = distances_to(curator, distances, whole.points, radius)
    clip = _clip(histogram, curator, sums, n_clusters, whole.points.shape[1], n_rows)
    origins = np.repeat(whole.points, n_clusters, axis=0)
    step = projected_means(curator, sums, origins, clip, projected)
    return Centers(into_ball(origins + step.moves), step.variance, np.full(n_clusters, clip))


def projected_means(
    curator: Curator, slot: str, origins: FloatArray, clip: float, projected: ProjectedCenters
) -> Step:
    """Measure residuals from `origins` of rows whose cluster is found in a projection."""
    query = ClusterSums(projected.centers, origins, clip, WEIGHT, projected.projection)
    release = curator.measure(slot, query)
    sums, counts = query.split(release.values)
    return weigh_means(sums, counts, release.sigma, clip, WEIGHT)


def refine(
    curator: Curator, slot: str, centers: Centers, distances: Distances, n_rows: int
) -> Centers:
    """Measure the residuals of rows from their centres, and move; clip by `distances`."""
    points = centers.points
    n_clusters, n_columns = points.shape
    clip = _clip(distances, curator, slot, n_clusters, n_columns, n_rows)
    query = ClusterMoments(points, np.full(n_clusters, clip), WEIGHT, SQUARE_WEIGHT)
    release = curator.measure(slot, query)
    residuals, counts, squares = query.split(release.values)
    step = weigh_means(residuals, counts, release.sigma, clip, WEIGHT, centers.variance)
    mean_squares = squares / rows_held(counts, release.sigma / WEIGHT)
    radii = np.sqrt(np.clip(mean_squares, 0.0, clip**2))
    variance = step.variance + sampling_variance(
        radii, counts, n_columns, curator.sampling_exponent, curator.rows_per_unit
    )
    return Centers(into_ball(points + step.moves), variance, radii)


def _clip(
    histogram: Distances, curator: Curator, slot: str, n_clusters: int, n_columns: int, n_rows: int
) -> float:
    """Weigh what a clip cuts off against the noise that the sums of `slot` will have."""
    granted = curator.plan.price(curator.plan.slot(slot)).mu2
    sigma = 2**curator.sampling_exponent * np.sqrt((1 + WEIGHT**2) / granted)
    noise = float(np.sqrt(n_columns) * sigma * n_clusters * curator.rows_per_unit / n_rows)
    return float(np.clip(histogram.best_clip(noise), SMALLEST, 1.0))

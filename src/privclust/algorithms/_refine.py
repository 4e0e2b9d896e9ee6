"""Move centres to their clusters' means, a few times, each time with less to clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.algorithms._cells import SMALLEST, into_ball
from privclust.algorithms._distances import EDGES, Distances
from privclust.algorithms._shrinkage import Step, rows_held, sampling_variance, weigh, weigh_means
from privclust.kernels.grid import GRID, FloatArray, to_grid
from privclust.kernels.projection import Projection
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram

WEIGHT = 0.35
SQUARE_WEIGHT = 0.15
STEPS_MAX = 6
CAUTION = 6.0
"""How much a cluster's radius leans towards what it was, in standard deviations of its squares."""


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
    """Where clusters were found: centres in a projection of the rows, and how well they are known.

    Attributes
    ----------
    centers : array of shape (k, p)
        Projected.
    variance : array of shape (k,)
        Of the noise on each of a centre's p coordinates.
    projection : Projection
        From d dimensions to p.
    """

    centers: FloatArray
    variance: FloatArray
    projection: Projection

    def preimages(self, around: FloatArray) -> FloatArray:
        """Return the points nearest to `around` that are projected to the centres.

        Noise is left out as far as its length tells (positive-part James-Stein).
        """
        offsets = self.centers - self.projection(to_grid(around[None])) / GRID
        matrix = self.projection.directions / GRID * self.projection.gain
        moves = weigh(offsets, self.variance).moves @ np.linalg.pinv(matrix).T
        return into_ball(around + moves)


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
    radii: FloatArray,
    projection: Projection | None = None,
) -> Distances:
    """Measure how far rows are from the nearest of `points`, in the radius of that point."""
    release = curator.measure(slot, DistanceHistogram(points, EDGES, radii, projection))
    return Distances(release.values, release.sigma)


def lift(
    curator: Curator,
    slots: tuple[str, str],
    whole: Centers,
    projected: ProjectedCenters,
    n_rows: int,
) -> Centers:
    """Take the full means of clusters found in a projection, as residuals of their preimages.

    Clips are those for residuals of the mean of all rows, which are a little longer.
    """
    distances, sums = slots
    n_clusters = len(projected.centers)
    histogram = distances_to(curator, distances, whole.points, whole.radii)
    rows_each = np.array([n_rows / n_clusters])
    clip = float(_clips(histogram, curator, sums, whole.radii, rows_each, whole.points.shape[1])[0])
    origins = projected.preimages(whole.points[0])
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
    curator: Curator, slot: str, centers: Centers, distances: Distances, sizes: FloatArray
) -> Centers:
    """Measure the residuals of rows from their centres, and move.

    Parameters
    ----------
    curator : Curator
        Of the rows.
    slot : str
        What to spend.
    centers : Centers
        Where they are now.
    distances : Distances
        Of rows to these centres, in their radii.
    sizes : array of shape (k,)
        About how many rows each cluster has.
    """
    points, known = centers.points, centers.radii
    n_columns = points.shape[1]
    clips = _clips(distances, curator, slot, known, sizes, n_columns)
    query = ClusterMoments(points, clips, WEIGHT, SQUARE_WEIGHT)
    release = curator.measure(slot, query)
    residuals, counts, squares = query.split(release.values)
    step = weigh_means(residuals, counts, release.sigma, clips, WEIGHT, centers.variance)
    held, squares = np.maximum(counts, 0.0), np.maximum(squares, 0.0)
    # Radii are taken to have changed as much as all have, unless a cluster's rows say otherwise.
    change = max(float(squares.sum()), SMALLEST**2) / max(float(held @ known**2), SMALLEST**2)
    doubt = CAUTION * release.sigma / SQUARE_WEIGHT
    radii = np.sqrt((squares + doubt * change * known**2) / (held + doubt))
    radii = np.clip(radii, SMALLEST, 1.0)
    variance = step.variance + sampling_variance(
        radii, counts, n_columns, curator.sampling_exponent, curator.rows_per_unit
    )
    return Centers(into_ball(points + step.moves), variance, radii)


def _clips(
    histogram: Distances,
    curator: Curator,
    slot: str,
    radii: FloatArray,
    sizes: FloatArray,
    n_columns: int,
) -> FloatArray:
    """Weigh, for each cluster, what a clip cuts off against the noise that `slot` will have."""
    granted = curator.plan.price(curator.plan.slot(slot)).mu2
    sigma = curator.noise_ratio * curator.rows_per_unit * 2**curator.sampling_exponent
    sigma = sigma * float(np.sqrt((1 + WEIGHT**2) / granted))
    noise = np.sqrt(n_columns) * sigma / rows_held(sizes, sigma / WEIGHT)
    factors = np.array([histogram.best_clip(float(each)) for each in noise])
    return np.clip(factors * radii, SMALLEST, 1.0)

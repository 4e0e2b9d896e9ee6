"""Move centres to their clusters' means, a few times, each time with less to clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.algorithms._cells import SMALLEST, into_ball
from privclust.algorithms._clipping import clipped, unclipped
from privclust.algorithms._distances import EDGES, Distances
from privclust.algorithms._shrinkage import rows_held, sampling_variance, weigh_means
from privclust.kernels.grid import FloatArray
from privclust.kernels.projection import Projection
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterMoments, DistanceHistogram

WEIGHT = 0.35
SQUARE_WEIGHT = 0.15
CAUTION = 6.0
"""How much a cluster's radius leans towards what it was, in standard deviations of its squares."""
BEYOND_NOISE = 2.0
"""Standard deviations by which squares must differ from those of a known width to change it."""
SATURATED = 0.9
"""Where clipped squares are more of the clip's, they hardly tell how far beyond it rows lie."""


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
        The scale that residuals are clipped on. Clips narrow from step to step, since noise does,
        too, so these become less than the widths.
    widths : array of shape (k,)
        Root mean square distances of the clusters' rows, noisy.
    """

    points: FloatArray
    variance: FloatArray
    radii: FloatArray
    widths: FloatArray


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
    clips = best_clips(distances, curator, slot, known, sizes, n_columns)
    query = ClusterMoments(points, clips, WEIGHT, SQUARE_WEIGHT)
    release = curator.measure(slot, query)
    residuals, counts, squares = query.split(release.values)
    step = weigh_means(residuals, counts, release.sigma, clips, WEIGHT, centers.variance)
    error = release.sigma / SQUARE_WEIGHT
    held = np.maximum(counts, 0.0)
    widths = _widths(centers.widths, squares / clips**2, held, error, clips, n_columns)
    squares = np.maximum(squares, 0.0)
    # Radii are taken to have changed as much as all have, unless a cluster's rows say otherwise.
    change = max(float(squares.sum()), SMALLEST**2) / max(float(held @ known**2), SMALLEST**2)
    doubt = CAUTION * release.sigma / SQUARE_WEIGHT
    radii = np.sqrt((squares + doubt * change * known**2) / (held + doubt))
    radii = np.clip(radii, SMALLEST, 1.0)
    variance = step.variance + sampling_variance(
        widths, counts, n_columns, curator.sampling_exponent, curator.rows_per_unit
    )
    return Centers(into_ball(points + step.moves), variance, radii, widths)


def _widths(
    known: FloatArray,
    squares: FloatArray,
    counts: FloatArray,
    error: float,
    clips: FloatArray,
    n_columns: int,
) -> FloatArray:
    """Return how wide clusters are, by `squares` of their rows, measured and clipped in `clips`.

    They change as most clusters do, as far as that shows, and a single one otherwise only where
    noise, of standard deviation `error`, does not explain it.
    """
    doubt = CAUTION * error
    expected = clipped((known / clips) ** 2, n_columns)
    # Squares of clusters much wider than their clip are those of the clip.
    tells = expected < SATURATED
    held = np.maximum(counts * expected, 1e-12)
    change = _middle(squares / held, tells * held / (held + doubt))
    expected = np.where(tells, np.minimum(expected * change, SATURATED), expected)
    known = np.where(tells, clips * np.sqrt(unclipped(expected, n_columns)), known)
    parts = (np.maximum(squares, 0.0) + doubt * expected) / (counts + doubt)
    noise = error / (counts + doubt)
    hidden = (parts + noise > SATURATED) & (known > clips)
    kept = hidden | (np.abs(parts - expected) < BEYOND_NOISE * noise)
    widths = clips * np.sqrt(unclipped(np.minimum(parts, SATURATED), n_columns))
    return np.clip(np.where(kept, known, widths), SMALLEST, 1.0)


def _middle(ratios: FloatArray, weights: FloatArray) -> float:
    """Return the weighted median of ratios, at least 0, and of a 1 that weighs as one of them.

    A mean would be that of the clusters that hold most rows.

    Examples
    --------
    >>> _middle(np.array([0.1, 0.4, 0.5]), np.ones(3)), _middle(np.array([0.1, 0.4]), np.zeros(2))
    (0.4, 1.0)
    """
    ratios, weights = np.append(ratios, 1.0), np.append(weights, 1.0)
    order = np.argsort(ratios)
    below = np.cumsum(weights[order])
    return max(float(ratios[order][np.searchsorted(below, below[-1] / 2)]), 0.0)


def best_clips(
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

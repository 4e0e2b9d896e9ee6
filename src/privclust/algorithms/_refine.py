"""Move centres to their clusters' means, a few times, each time with less to clip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import math

import numpy as np

from privclust.algorithms._distances import Distances, edges_around
from privclust.algorithms._shrinkage import Step, rows_held, sampling_variance, weigh, weigh_means
from privclust.algorithms._split import SHELLS_MAX, SMALLEST, Tails, _tails, into_ball
from privclust.algorithms._swap import swapped
from privclust.kernels.distances import squared_gaps
from privclust.models.clustering import Coreset, Precision
from privclust.queries.shells import CORE_RADII, FAR_RESIDUAL, SHELL_RATIO, ShellMoments
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
    radii: FloatArray | None = None,
) -> Distances:
    """Measure how far rows are from the nearest of `points`, on a scale set by a public radius."""
    edges = edges_around(radius)
    release = curator.measure(slot, DistanceHistogram(points, edges, projection, radii))
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
        radii, counts, n_columns, curator.sampling_exponent
    )
    return Centers(into_ball(points + step.moves), variance, radii)


def refine_each(
    curator: Curator,
    slot: str,
    centers: Centers,
    distances: Distances,
    sizes: FloatArray,
    last: bool = True,
) -> tuple[Centers, FloatArray]:
    """Measure residuals from their centres, each cluster clipped on its own scale, and move."""
    points, known = centers.points, centers.radii
    n_columns = points.shape[1]
    granted = curator.plan.price(curator.plan.slot(slot)).mu2
    sigma = 2**curator.sampling_exponent * np.sqrt((1 + WEIGHT**2) / granted)
    held = np.maximum(sizes, 2 * sigma / WEIGHT)
    factor = np.array([distances.best_clip(noise) for noise in np.sqrt(n_columns) * sigma / held])
    clips = np.clip(factor * known, SMALLEST, 1.0)
    needed = math.log(2 / (CORE_RADII * float(clips.min()))) / math.log(SHELL_RATIO)
    n_shells = min(max(math.ceil(needed), 1), SHELLS_MAX)
    if not FAR:
        query = ClusterMoments(points, clips, WEIGHT, SQUARE_WEIGHT)
        release = curator.measure(slot, query)
        residuals, counts, squares = query.split(release.values)
        sigma = release.sigma
        step = weigh_means(residuals, counts, sigma, clips, WEIGHT, centers.variance)
        n, sq = np.maximum(counts, 0.0), np.maximum(squares, 0.0)
        typical = max(sq.sum(), 1e-18) / max((n * known**2).sum(), 1e-18)
        doubt = DOUBT_ROWS * sigma / SQUARE_WEIGHT
        radii = np.sqrt((sq + doubt * typical * known**2) / (n + doubt))
        radii = np.clip(radii, SMALLEST, 1.0)
        variance = step.variance + sampling_variance(radii, counts, n_columns, curator.sampling_exponent)
        return Centers(into_ball(points + step.moves), variance, radii), n, sigma / WEIGHT
    query = ShellMoments(points, clips, WEIGHT, SQUARE_WEIGHT, n_shells)
    release = curator.measure(slot, query)
    found, sigma = query.split(release.values), release.sigma
    tails = _tails(
        points, found.far_sums, found.far_counts, found.far_squares, query.outer, sigma
    )
    counts = np.maximum(found.counts, 0.0)
    seen = tails.sure
    if not FAR:
        seen = np.zeros_like(seen)
    tails = replace(
        tails,
        counts=np.where(seen, tails.counts, 0.0),
        inertia=np.where(seen, tails.inertia, 0.0),
    )
    sums = found.sums + (found.far_sums * seen[:, :, None]).sum(axis=1)
    held = rows_held(counts, sigma / WEIGHT)
    noise2 = (sigma / held) ** 2 * (
        clips**2 + ((query.outer / FAR_RESIDUAL) ** 2 * seen).sum(axis=1)
    )
    step = weigh(sums / held[:, None], noise2, centers.variance)
    core = np.maximum(counts - tails.counts.sum(axis=1), 0.0)
    sq = np.maximum(found.squares, 0.0)
    typical = max(sq.sum(), 1e-18) / max((counts * known**2).sum(), 1e-18)
    doubt = DOUBT_ROWS * sigma / SQUARE_WEIGHT
    radii = np.sqrt((sq + doubt * typical * known**2) / (counts + doubt))
    whole = np.maximum(counts, 1.0)
    mean2 = (step.moves**2).sum(axis=1)
    wide = np.sqrt(np.maximum((sq + tails.inertia.sum(axis=1)) / whole - mean2, 0))
    radii = np.where(tails.counts.sum(axis=1) > TAIL_PART * counts, np.maximum(wide, radii), radii)
    radii = np.clip(radii, SMALLEST, 1.0)
    variance = step.variance + sampling_variance(
        radii, counts, n_columns, curator.sampling_exponent
    )
    moved = into_ball(points + step.moves)
    if last or not SWAP:
        return Centers(moved, variance, radii), counts, sigma / WEIGHT
    return _relocated(Centers(moved, variance, radii), np.where(counts > DEAD * sigma / WEIGHT, core, 0.0), tails)


TAIL_PART = 0.5
FAR = False
SWAP = True
DEAD = 2.0


def relocate(
    coreset: Coreset, centers: Centers, held: FloatArray, sigma: float, before: FloatArray
) -> tuple[Centers, FloatArray]:
    """Move centres that hold hardly any rows to where a coreset needs one."""
    idle = np.flatnonzero((held < DEAD * sigma) & (held < before - DEAD * sigma))
    points, weights = coreset.points, coreset.weights
    found = centers.points.copy()
    radii, variance, held = centers.radii.copy(), centers.variance.copy(), held.copy()
    between = squared_gaps(points, points)
    for place in idle:
        others = np.delete(found, place, axis=0)
        first = squared_gaps(points, others).min(axis=1)
        gains = weights @ np.maximum(first[:, None] - between, 0.0)
        joining = int(gains.argmax())
        mine = between[:, joining] < first
        share = weights * mine
        if share.sum() <= 0:
            continue
        found[place] = share @ points / share.sum()
        apart = ((points - found[place]) ** 2).sum(axis=1)
        radii[place] = np.sqrt(share @ (apart + coreset.precision.radii**2) / share.sum())
        variance[place] = (share**2 @ coreset.precision.center_stderr**2) / share.sum() ** 2
        held[place] = share.sum()
    return Centers(found, variance, np.clip(radii, SMALLEST, 1.0)), held


def _relocated(centers: Centers, core: FloatArray, tails: Tails) -> tuple[Centers, FloatArray]:
    """Move centres that hold hardly any rows to tails that hold many."""
    seen = tails.sure
    if not seen.any():
        return centers, core
    ends = into_ball(tails.centers[seen])
    end_counts = tails.counts[seen]
    end_radii = np.clip(np.sqrt(tails.within[seen] / end_counts), SMALLEST, 1.0)
    end_variance = tails.variance[seen]
    points = np.vstack([centers.points, ends])
    weights = np.concatenate([core, end_counts])
    zero = np.zeros(len(points))
    coreset = Coreset(
        points, weights, Precision(zero, zero, np.concatenate([centers.radii, end_radii]))
    )
    found = swapped(coreset, centers.points)
    gone = np.flatnonzero((found != centers.points).any(axis=1))
    radii, variance = centers.radii.copy(), centers.variance.copy()
    for place in gone:
        end = int(((ends - found[place]) ** 2).sum(axis=1).argmin())
        radii[place], variance[place], core[place] = (
            end_radii[end],
            end_variance[end],
            end_counts[end],
        )
    return Centers(found, variance, radii), core


DOUBT_ROWS = 6.0


def _clip(
    histogram: Distances, curator: Curator, slot: str, n_clusters: int, n_columns: int, n_rows: int
) -> float:
    """Weigh what a clip cuts off against the noise that the sums of `slot` will have."""
    granted = curator.plan.price(curator.plan.slot(slot)).mu2
    sigma = 2**curator.sampling_exponent * np.sqrt((1 + WEIGHT**2) / granted)
    noise = float(np.sqrt(n_columns) * sigma * n_clusters / n_rows)
    return float(np.clip(histogram.best_clip(noise), SMALLEST, 1.0))

"""Take clusters and cells that were found in a projection back to all columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privclust.algorithms._cells import SMALLEST, Cells, as_coreset, into_ball
from privclust.algorithms._refine import WEIGHT, Centers, best_clips, distances_to
from privclust.algorithms._shrinkage import Step, weigh, weigh_means
from privclust.kernels.grid import GRID, FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.kernels.projection import Projection
from privclust.models.clustering import Coreset
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterSums

MARGIN = 0.25
"""Projections shrink rows by this much, so that few reach the rim of the ball and are clipped."""
STEPS_MAX = 6
"""Of lifting."""


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
    clip = float(
        best_clips(histogram, curator, sums, whole.radii, rows_each, whole.points.shape[1])[0]
    )
    origins = projected.preimages(whole.points[0])
    step = projected_means(curator, sums, origins, clip, projected)
    scale = np.full(n_clusters, clip)
    return Centers(into_ball(origins + step.moves), step.variance, scale, scale)


def projected_means(
    curator: Curator, slot: str, origins: FloatArray, clip: float, projected: ProjectedCenters
) -> Step:
    """Measure residuals from `origins` of rows whose cluster is found in a projection."""
    query = ClusterSums(projected.centers, origins, clip, WEIGHT, projected.projection)
    release = curator.measure(slot, query)
    sums, counts = query.split(release.values)
    return weigh_means(sums, counts, release.sigma, clip, WEIGHT)


def lifted_cells(
    curator: Curator,
    cells: Cells,
    merged: FloatArray,
    centers: Centers,
    projection: Projection,
) -> Coreset:
    """Take the cells' full means, as residuals of the final centres."""
    origins = centers.points[nearest(to_grid(cells.centers), to_grid(merged))]
    clip = float(np.clip(np.median(centers.radii), SMALLEST, 1.0))
    projected = ProjectedCenters(cells.centers, cells.variance, projection)
    step = projected_means(curator, "cells", origins, clip, projected)
    points = into_ball(origins + step.moves)
    lifted = replace(cells, centers=points, variance=step.variance, radii=cells.radii / MARGIN)
    return as_coreset(curator, lifted)

"""Rows far from every known cluster, as public points that stand for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privclust.algorithms._distances import Distances
from privclust.kernels.grid import GRID, FloatArray, to_grid
from privclust.kernels.nearest import nearest

POINTS = 1000
FLOOR = 2.0
FAR = 4.0
"""Rows this many median distances from the nearest cell belong to none."""
HALF_WIDTHS = 2.0
"""They are looked for in a box this many times as wide as that of all cells, within the ball."""


def background(
    cells: FloatArray,
    radii: FloatArray,
    distances: Distances,
    rng: np.random.Generator,
    sure: NDArray[np.bool_],
) -> tuple[FloatArray, FloatArray]:
    """Spread the rows that a histogram shows far from all cells evenly over the space around.

    k-means spends centres on outliers. A few dozen of them are too few to be found one by one
    under noise, but the histogram of distances shows how many there are at which distance, and
    that places centres among them better than nothing does.

    Parameters
    ----------
    cells : array of shape (M, p)
        Centres of what was found.
    distances : Distances
        Of rows to the nearest cell.

    Returns
    -------
    points, weights : arrays
        None where the far bins hold no more than noise would put there.
    """
    inside = cells[sure] if sure.any() else cells
    lowest, highest = inside.min(axis=0), inside.max(axis=0)
    aside = (
        rng.uniform(-HALF_WIDTHS, HALF_WIDTHS, (POINTS, cells.shape[1])) * (highest - lowest) / 2
    )
    grid_points = to_grid((lowest + highest) / 2 + aside)
    points = grid_points / GRID
    owner = nearest(grid_points, to_grid(cells))
    away = np.linalg.norm(points - cells[owner], axis=1) / radii[owner]
    bins = np.searchsorted(distances.edges, away, side="right")
    there = np.bincount(bins, minlength=len(distances.votes))
    typical = max(distances.quantile(0.5), FLOOR * float(distances.edges[0]))
    nearby = int(np.searchsorted(distances.edges, FAR * typical))
    far = np.flatnonzero(there[nearby + 1 :]) + nearby + 1
    votes = np.maximum(distances.votes[far], 0.0)
    # Less one standard deviation: a centre spent on rows that are not there costs a cluster.
    mass = distances.votes[far].sum() - distances.sigma * np.sqrt(len(far))
    if mass <= 0:
        return points[:0], np.zeros(0)
    per_point = np.zeros(len(there))
    per_point[far] = mass * votes / votes.sum() / there[far]
    weights = per_point[bins]
    return points[weights > 0], weights[weights > 0]

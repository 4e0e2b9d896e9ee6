"""Rows far from every known cluster, as public points that stand for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privclust.algorithms._distances import EDGES, Distances
from privclust.kernels.grid import GRID, FloatArray, IntArray, to_grid
from privclust.kernels.nearest import nearest

POINTS = 1000
FAR = 4.0
"""Rows this many median distances from the nearest cell belong to none."""
HALF_WIDTHS = (2.0, 4.0, 8.0, 16.0)
"""They are looked for in boxes this many times as wide as that of all cells, within the ball."""
BETTER = 4.0
"""A wider box has to come so much closer to the votes, in squared standard deviations."""


def background(
    cells: FloatArray,
    certain: NDArray[np.bool_],
    width: float,
    distances: Distances,
    proof: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Spread the rows that a histogram shows far from all cells evenly over the space around.

    k-means spends centres on outliers. A few dozen of them are too few to be found one by one
    under noise, but the histogram of distances shows how many there are at which distance, and
    that places centres among them better than nothing does.

    Parameters
    ----------
    cells : array of shape (M, p)
        Centres of what was found.
    certain : array of shape (M,)
        Which of them hold rows beyond doubt: noise may have thrown an empty one anywhere.
    width : float
        The radius that distances are measured in.
    distances : Distances
        Of rows to the nearest cell.
    proof : float
        How many standard deviations of far rows must be seen.

    Returns
    -------
    points, weights : arrays
        None where the far bins hold no more than noise would put there.
    """
    known = cells[certain] if certain.any() else cells
    lowest, highest = known.min(axis=0), known.max(axis=0)
    # Where most rows are alike, their median distance says nothing of the others' cells.
    typical = max(distances.quantile(0.5), 1.0)
    nearby = int(np.searchsorted(EDGES, FAR * typical))
    middle = (lowest + highest) / 2
    aside = rng.uniform(-1.0, 1.0, (POINTS, cells.shape[1])) * (highest - lowest) / 2
    boxes = [_spread(middle + half * aside, cells, width) for half in HALF_WIDTHS]
    points, bins = _best(boxes, distances, nearby)
    there = np.bincount(bins, minlength=len(distances.votes))
    far = np.flatnonzero(there[nearby + 1 :]) + nearby + 1
    votes = np.maximum(distances.votes[far], 0.0)
    if not far.size:
        return points[:0], np.zeros(0)
    # How many rows spread evenly would explain the votes best, less one standard deviation: a
    # centre spent on rows that are not there costs a cluster.
    parts = there[far] / there[far].sum()
    length = float(np.linalg.norm(parts))
    seen = float(parts @ distances.votes[far]) / length
    if seen <= proof * distances.sigma:
        return points[:0], np.zeros(0)
    mass = (seen - distances.sigma) / length
    per_point = np.zeros(len(there))
    per_point[far] = mass * votes / votes.sum() / there[far]
    weights = per_point[bins]
    return points[weights > 0], weights[weights > 0]


def _spread(points: FloatArray, cells: FloatArray, width: float) -> tuple[FloatArray, IntArray]:
    """Return points within the ball, and the bin of each one's distance to the nearest cell."""
    grid_points = to_grid(points)
    inside = grid_points / GRID
    away = np.linalg.norm(inside - cells[nearest(grid_points, to_grid(cells))], axis=1)
    return inside, np.asarray(np.searchsorted(EDGES, away / width, side="right"))


def _best(
    boxes: list[tuple[FloatArray, IntArray]], distances: Distances, nearby: int
) -> tuple[FloatArray, IntArray]:
    """Return the narrowest of some boxes whose even spread no wider one's explains better."""
    far = distances.votes[nearby + 1 :]
    best, least = boxes[0], np.inf
    for box in boxes:
        there = np.bincount(box[1], minlength=len(distances.votes))[nearby + 1 :]
        mass = max(float(there @ far), 0.0) / max(float(there @ there), 1.0)
        off = float(((far - mass * there) ** 2).sum())
        if there.any() and off < least - BETTER * distances.sigma**2:
            best, least = box, off
    return best

"""Keep a start, but for centres that serve better elsewhere: public mathematics, at no cost."""

from __future__ import annotations

import numpy as np

from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models.clustering import Coreset

WORTH = 0.5
"""A swap has to save this part of a cluster's average loss: cutting a cluster in two saves less,
and noise on the cells would make some cut seem to pay."""
CERTAIN = 3.0
"""And that beyond doubt: less so many standard deviations of what noise on weights adds to it."""


def swapped(coreset: Coreset, centers: FloatArray) -> FloatArray:
    """Put centres at cells that need one, each time the best swap, while that is worth it.

    A centre that moved is at the mean of the cells nearest to it; the others stay where they are.

    Examples
    --------
    >>> from privclust.models.clustering import Precision
    >>> points, known = np.array([[0.0], [0.1], [0.9]]), np.zeros(3)
    >>> coreset = Coreset(points, np.full(3, 50.0), Precision(known, known, known + 0.05))
    >>> swapped(coreset, np.array([[0.0], [0.1]])).round(2).tolist()
    [[0.9], [0.1]]
    """
    points, weights = coreset.points, np.maximum(coreset.weights, 0.0)
    within = float(weights @ coreset.precision.radii**2)
    found, n_clusters = centers.copy(), len(centers)
    moved = np.zeros(n_clusters, dtype=bool)
    for _ in range(n_clusters):
        leaving, joining, saved, loss = _best_swap(coreset, weights, found)
        if saved <= WORTH * (loss + within) / n_clusters:
            break
        found[leaving], moved[leaving] = points[joining], True
    cluster = nearest(to_grid(points), to_grid(found))
    for place in np.flatnonzero(moved):
        held = weights * (cluster == place)
        if held.sum() > 0:
            found[place] = held @ points / held.sum()
    return found


def _best_swap(
    coreset: Coreset, weights: FloatArray, centers: FloatArray
) -> tuple[int, int, float, float]:
    """Return which centre leaves, at which point it joins, what that saves and the loss before.

    What it saves beyond doubt, that is.
    """
    points = coreset.points
    squares = squared_gaps(points, centers)
    owner = squares.argmin(axis=1)
    every = np.arange(len(points))
    first = squares[every, owner]
    squares[every, owner] = np.inf
    second = squares.min(axis=1)
    anew = squared_gaps(points, points)
    # What a row of each point saves by a centre at each other, if its own one stays or leaves.
    stays = first[:, None] - np.minimum(first[:, None], anew)
    leaves = first[:, None] - np.minimum(second[:, None], anew)

    def of_each_swap(rows: FloatArray, staying: FloatArray, leaving: FloatArray) -> FloatArray:
        owned = np.zeros((len(centers), len(points)))
        np.add.at(owned, owner, rows[:, None] * (leaving - staying))
        return rows @ staying + owned

    noise = of_each_swap(coreset.precision.size_stderr**2, stays**2, leaves**2)
    saved = of_each_swap(weights, stays, leaves) - CERTAIN * np.sqrt(np.maximum(noise, 0.0))
    leaving, joining = np.unravel_index(int(saved.argmax()), saved.shape)
    return int(leaving), int(joining), float(saved[leaving, joining]), float(weights @ first)

"""First candidates, spread over the unit ball without looking at any row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privclust.geometry.grid import FloatArray

_PATIENCE = 100
_BATCH = 512


def sphere_packing(n_points: int, n_columns: int, rng: np.random.Generator) -> FloatArray:
    """Draw points of the unit ball that keep their distance from the sphere and each other.

    A point is accepted within 1 − a of the origin and at least 2a from all accepted ones, starting
    at a = 1/2. After 100 rejections in a row a is halved and the packing starts over.

    Parameters
    ----------
    n_points, n_columns : int
        How many points, of how many coordinates.
    rng : numpy.random.Generator
        The public randomness.

    Examples
    --------
    >>> points = sphere_packing(10, 2, np.random.default_rng(0))
    >>> points.shape, bool((np.linalg.norm(points, axis=1) < 1).all())
    ((10, 2), True)
    """
    proximity = 0.5
    while True:
        points = _pack(n_points, n_columns, proximity, rng)
        if points is not None:
            return points
        proximity /= 2


def _pack(
    n_points: int, n_columns: int, proximity: float, rng: np.random.Generator
) -> FloatArray | None:
    accepted = np.empty((n_points, n_columns))
    closest = (2 * proximity) ** 2
    count = rejections = 0
    while True:
        proposals = _uniform_in_ball(_BATCH, n_columns, 1 - proximity, rng)
        crowded = _any_closer(proposals, accepted[:count], closest)
        first_of_batch = count
        for proposal, rejected in zip(proposals, crowded, strict=True):
            gaps = accepted[first_of_batch:count] - proposal
            if rejected or (np.einsum("ij,ij->i", gaps, gaps) < closest).any():
                rejections += 1
                if rejections == _PATIENCE:
                    return None
                continue
            accepted[count] = proposal
            count, rejections = count + 1, 0
            if count == n_points:
                return accepted


def _uniform_in_ball(
    n_points: int, n_columns: int, radius: float, rng: np.random.Generator
) -> FloatArray:
    directions = rng.normal(size=(n_points, n_columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = radius * rng.random((n_points, 1)) ** (1 / n_columns)
    return directions * lengths


def _any_closer(points: FloatArray, others: FloatArray, closest: float) -> NDArray[np.bool_]:
    squares: FloatArray = (
        (points**2).sum(axis=1)[:, None] - 2 * points @ others.T + (others**2).sum(axis=1)[None]
    )
    return np.asarray((squares < closest).any(axis=1))

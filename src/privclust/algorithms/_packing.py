"""First candidates, spread over the unit ball without looking at any row."""

from __future__ import annotations

import numpy as np

from privclust.kernels.grid import FloatArray

_PATIENCE = 100
_BATCH = 256


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
        free = _squared_gaps(proposals, accepted[:count]).min(axis=1, initial=np.inf) >= closest
        far_from = _squared_gaps(proposals, proposals) >= closest
        for number, proposal in enumerate(proposals):
            if free[number]:
                accepted[count] = proposal
                free &= far_from[number]
                count, rejections = count + 1, 0
                if count == n_points:
                    return accepted
            else:
                rejections += 1
                if rejections == _PATIENCE:
                    return None


def _uniform_in_ball(
    n_points: int, n_columns: int, radius: float, rng: np.random.Generator
) -> FloatArray:
    directions = rng.normal(size=(n_points, n_columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = radius * rng.random((n_points, 1)) ** (1 / n_columns)
    return directions * lengths


def _squared_gaps(points: FloatArray, others: FloatArray) -> FloatArray:
    gaps = points @ (-2 * others.T)
    gaps += np.einsum("ij,ij->i", points, points)[:, None]
    gaps += np.einsum("ij,ij->i", others, others)
    return gaps

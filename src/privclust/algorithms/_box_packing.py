"""Boxes within the unit ball: first centres spread over one, and points folded back into it."""

from __future__ import annotations

import numpy as np

from privclust.algorithms._packing import sphere_packing
from privclust.kernels.grid import FloatArray

_PATIENCE = 100
_ROUNDING = 1e-9


def domain_packing(n_points: int, half_widths: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw points that keep their distance from the domain's rim and each other.

    Parameters
    ----------
    n_points : int
        How many points.
    half_widths : array of shape (d,)
        How far each column reaches. A box whose corners lie in the unit ball is the domain itself;
        of a larger one the domain is its common part with the ball, and the ball is packed.
    rng : numpy.random.Generator
        The public randomness.

    Examples
    --------
    >>> points = domain_packing(4, np.array([0.6, 0.8]), np.random.default_rng(0))
    >>> points.shape, bool((np.abs(points) < [0.6, 0.8]).all())
    ((4, 2), True)
    """
    if np.linalg.norm(half_widths) > 1 + _ROUNDING:
        return sphere_packing(n_points, len(half_widths), rng)
    proximity = float(np.min(half_widths))
    while True:
        points = _pack(n_points, half_widths - proximity, 2 * proximity, rng)
        if points is not None:
            return points
        proximity /= 2


def fold(points: FloatArray, half_widths: FloatArray) -> FloatArray:
    """Reflect coordinates at the sides of the box, then shorten what is still outside the ball.

    Examples
    --------
    >>> fold(np.array([[0.7, -2.0]]), np.array([0.6, 0.8])).round(6).tolist()
    [[0.5, 0.4]]
    """
    period = 4 * half_widths
    along = (points + half_widths) % period
    folded = np.minimum(along, period - along) - half_widths
    inside: FloatArray = folded / np.maximum(np.linalg.norm(folded, axis=1, keepdims=True), 1.0)
    return inside


def _pack(
    n_points: int, half_widths: FloatArray, closest: float, rng: np.random.Generator
) -> FloatArray | None:
    accepted = np.empty((n_points, len(half_widths)))
    count = rejections = 0
    while count < n_points and rejections < _PATIENCE:
        proposal = rng.uniform(-half_widths, half_widths)
        gaps = np.linalg.norm(accepted[:count] - proposal, axis=1)
        if gaps.min(initial=np.inf) >= closest:
            accepted[count] = proposal
            count, rejections = count + 1, 0
        else:
            rejections += 1
    return accepted if count == n_points else None

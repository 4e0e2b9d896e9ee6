"""The integer grid on which every private comparison is exact.

Points of the unit ball become integers of at most 2^25 in norm, stored as float64. By
Cauchy–Schwarz every partial sum of a scalar product of two such points stays below 2^50, so
products are exact whatever the BLAS, the blocking or the number of threads. Norms are added
column by column: an elementwise order that no memory layout can change.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

GRID = 2**25
"""Grid units of the unit ball's radius, for rows and candidates."""

UNIT = 2**26
"""Units of one vote, or of one radius, in a result."""

_MARGIN = 1 - 2.0**-40


def norms(points: FloatArray) -> FloatArray:
    """Return the Euclidean norm of each row, added column by column.

    Examples
    --------
    >>> norms(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [5.0, 0.0]
    """
    total = np.zeros(len(points))
    for column in points.T:
        total += column * column
    return np.sqrt(total)


def clip_to_ball(points: FloatArray, units: int) -> FloatArray:
    """Clip rows to the unit ball, scale by `units` and truncate toward zero to integers.

    A row whose integer norm would still exceed `units` becomes zero. The coordinates must
    be finite; that is the caller's rule to make (`privclust.domains.base`).

    Examples
    --------
    >>> clip_to_ball(np.array([[0.5, 0.0], [30.0, -40.0]]), 100).tolist()
    [[50.0, 0.0], [59.0, -79.0]]
    """
    length = norms(points)
    shrink = np.where(length > _MARGIN, _MARGIN / np.maximum(length, _MARGIN), 1.0)
    whole: FloatArray = np.trunc(points * (shrink * units)[:, None])
    whole[~(norms_squared(whole) <= float(units) ** 2)] = 0.0
    return whole


def norms_squared(whole: FloatArray) -> FloatArray:
    """Return squared norms of integer rows: exact below 2^53, never too small above."""
    squared: FloatArray = np.einsum("ij,ij->i", whole, whole)
    return squared


def is_on_grid(points: FloatArray) -> bool:
    """Tell whether points are what `to_grid` returns: integers, at most 2^25 in norm.

    Examples
    --------
    >>> is_on_grid(np.array([[3.0, -4.0]])), is_on_grid(np.array([[0.5, 0.0]]))
    (True, False)
    """
    if not (np.abs(points) <= GRID).all() or (points != np.trunc(points)).any():
        return False
    flat = points.reshape(-1, points.shape[-1])
    return bool((norms_squared(flat) <= float(GRID) ** 2).all())


def to_grid(points: FloatArray) -> FloatArray:
    """Snap public points (candidates, centres, directions) to the grid of the unit ball.

    Examples
    --------
    >>> (to_grid(np.array([[0.5, -0.25]])) / GRID).tolist()
    [[0.5, -0.25]]
    """
    return clip_to_ball(np.ascontiguousarray(points, dtype=np.float64), GRID)

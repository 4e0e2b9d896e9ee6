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

from privclust.kernels.implementation import compiled_loops

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

GRID = 2**25
"""Grid units of the unit ball's radius, for rows and candidates."""

UNIT = 2**26
"""Units of one vote, or of one radius, in a result."""

MARGIN = 1 - 2.0**-40
"""Rows are clipped to this norm: what rounding adds still fits into the ball."""


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


def clip_to_ball(points: FloatArray, units: int | FloatArray) -> FloatArray:
    """Clip rows to the unit ball, scale by `units` and truncate toward zero to integers.

    A row whose integer norm would still exceed its `units` becomes zero. The coordinates must
    be finite; that is the caller's rule to make (`privclust.domains.base`).

    Examples
    --------
    >>> clip_to_ball(np.array([[0.5, 0.0], [30.0, -40.0]]), 100).tolist()
    [[50.0, 0.0], [59.0, -79.0]]
    """
    each = np.broadcast_to(np.float64(units), len(points))
    loops = compiled_loops()
    if loops is not None:
        clipped: FloatArray = loops.clip_to_ball(points, each)
        return clipped
    length = norms(points)
    shrink = np.where(length > MARGIN, MARGIN / np.maximum(length, MARGIN), 1.0)
    whole: FloatArray = np.trunc(points * (shrink * each)[:, None])
    whole[~(norms_squared(whole) <= each**2)] = 0.0
    return whole


def clip_residuals(
    rows: FloatArray,
    points: FloatArray,
    index: IntArray,
    scale: FloatArray,
    units: int | FloatArray,
) -> FloatArray:
    """Clip what lies between each row and the point that `index` names, in the row's `scale`.

    Examples
    --------
    >>> rows, points = np.array([[3.0, 4.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 3.0]])
    >>> clip_residuals(rows, points, np.array([0, 1]), np.array([10.0, 2.0]), 100).tolist()
    [[30.0, 40.0], [0.0, 50.0]]
    """
    loops = compiled_loops()
    if loops is not None:
        each = np.broadcast_to(np.float64(units), len(rows))
        clipped: FloatArray = loops.clip_residuals(rows, points, index, scale, each)
        return clipped
    return clip_to_ball((rows - points[index]) / scale[:, None], units)


def map_to_ball(
    values: FloatArray, center: FloatArray, half_widths: FloatArray, scales: FloatArray
) -> FloatArray:
    """Bound cells within `center` ± `half_widths`, missing ones at the centre; snap to the grid.

    Examples
    --------
    >>> cells = np.array([[np.nan, 7.0], [np.inf, 5.0]])
    >>> found = map_to_ball(cells, np.array([1.0, 5.0]), np.full(2, 4.0), np.full(2, 8.0))
    >>> (found / GRID).tolist()
    [[0.0, 0.25], [0.5, 0.0]]
    """
    lower, upper = center - half_widths, center + half_widths
    loops = compiled_loops()
    if loops is not None:
        mapped: FloatArray = loops.map_to_ball(values, center, lower, upper, scales, float(GRID))
        return mapped
    values = np.clip(np.where(np.isnan(values), center, values), lower, upper)
    return clip_to_ball((values - center) / scales, GRID)


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

"""The loops of `privclust.kernels`, compiled by Numba: the same integers as from NumPy, sooner.

Sums of floats are formed in the order in which NumPy's twin forms them. Only where every partial
sum is an exact integer may the compiler reorder (`exact`). Each function is held to its twin by
tests/kernels/test_compiled.py. Nobody checks indices in a compiled loop but its own code:
whatever a hostile query holds, none may lead out of an array.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numba import njit

from privclust.kernels.grid import MARGIN, BoolArray, FloatArray, IntArray

Limits: TypeAlias = tuple[int, int, int, int]
"""Of a row: linf, l1, l2 squared and l0."""

ordered = njit(nogil=True, cache=True)
exact = njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})

_SHAPES = "arrays of a kernel must have shapes that fit: as many rows and columns as each other."
_LANES = 256
"""Rows that are compared with a candidate at once: their scores stay in the nearest cache."""


@exact
def _check_points(rows: FloatArray, points: FloatArray, index: IntArray) -> None:
    if points.shape[1] != rows.shape[1]:
        raise ValueError(_SHAPES)
    _check_index(index, len(rows), len(points))


@exact
def _check_index(index: IntArray, n_rows: int, n_lines: int) -> None:
    if len(index) != n_rows:
        raise ValueError(_SHAPES)
    for i in range(n_rows):
        if not 0 <= index[i] < n_lines:
            raise IndexError("an index names no line of the array.")


@exact
def squared_norms(points: FloatArray) -> FloatArray:
    """Return squared norms of grid points."""
    found = np.zeros(len(points))
    for i in range(len(points)):
        for t in range(points.shape[1]):
            found[i] += points[i, t] * points[i, t]
    return found


@exact
def squared_distances(rows: FloatArray, points: FloatArray, index: IntArray) -> FloatArray:
    """Return the squared grid distance of each row to the point that `index` names."""
    _check_points(rows, points, index)
    found = np.empty(len(rows))
    for i in range(len(rows)):
        point, square = index[i], 0.0
        for t in range(rows.shape[1]):
            gap = rows[i, t] - points[point, t]
            square += gap * gap
        found[i] = square
    return found


@exact
def nearest(rows: FloatArray, candidates: FloatArray) -> IntArray:
    """Return the index of the candidate with the largest score for each row, the lowest of them."""
    n_rows, n_columns = rows.shape
    if candidates.shape[1] != n_columns:
        raise ValueError(_SHAPES)
    half = squared_norms(candidates) / 2
    winners = np.zeros(n_rows, dtype=np.int64)
    columns = np.zeros((n_columns, _LANES))
    score, best = np.empty(_LANES), np.empty(_LANES)
    winner = np.empty(_LANES, dtype=np.int64)
    for start in range(0, n_rows, _LANES):
        n_lanes = min(_LANES, n_rows - start)
        for lane in range(n_lanes):
            for t in range(n_columns):
                columns[t, lane] = rows[start + lane, t]
        best[:] = -np.inf
        winner[:] = 0
        for c in range(len(candidates)):
            score[:] = -half[c]
            for t in range(n_columns):
                weight = candidates[c, t]
                for lane in range(_LANES):
                    score[lane] += weight * columns[t, lane]
            for lane in range(_LANES):
                if score[lane] > best[lane]:
                    best[lane], winner[lane] = score[lane], c
        winners[start : start + n_lanes] = winner[:n_lanes]
    return winners


@exact
def best_scores(products: FloatArray, half: FloatArray, winners: IntArray) -> None:
    """Write, for each row, which candidate has the largest score: a product less half a square.

    `products` has a line for each candidate.
    """
    n_rows = len(winners)
    if products.shape != (len(half), n_rows):
        raise ValueError(_SHAPES)
    best = np.full(n_rows, -np.inf)
    winners[:] = 0
    for c in range(len(products)):
        for i in range(n_rows):
            score = products[c, i] - half[c]
            if score > best[i]:
                best[i], winners[i] = score, c


@ordered
def edges_reached(squares: FloatArray, edges: FloatArray, index: IntArray) -> IntArray:
    """Return how many of its own edges each square reaches."""
    _check_index(index, len(squares), len(edges))
    found = np.zeros(len(squares), dtype=np.int64)
    for i in range(len(squares)):
        own = index[i]
        for e in range(edges.shape[1]):
            found[i] += squares[i] >= edges[own, e]
    return found


@ordered
def clip_to_ball(points: FloatArray, units: FloatArray) -> FloatArray:
    """Clip rows to the unit ball, scale each by its `units` and truncate toward zero."""
    if len(units) != len(points):
        raise ValueError(_SHAPES)
    whole = np.empty(points.shape)
    for i in range(len(points)):
        _clip_row(points[i], units[i], whole[i])
    return whole


@ordered
def clip_residuals(
    rows: FloatArray, points: FloatArray, index: IntArray, scale: FloatArray, units: FloatArray
) -> FloatArray:
    """Clip what is between each row and its point, in the row's `scale`, as `clip_to_ball` does."""
    _check_points(rows, points, index)
    if not len(scale) == len(units) == len(rows):
        raise ValueError(_SHAPES)
    whole = np.empty(rows.shape)
    residual = np.empty(rows.shape[1])
    for i in range(len(rows)):
        point = index[i]
        for t in range(len(residual)):
            residual[t] = (rows[i, t] - points[point, t]) / scale[i]
        _clip_row(residual, units[i], whole[i])
    return whole


@ordered
def map_to_ball(
    values: FloatArray,
    center: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    scales: FloatArray,
    units: float,
) -> FloatArray:
    """Bound each cell, missing ones at the centre, and clip rows as `clip_to_ball` does."""
    n_columns = values.shape[1]
    if not len(center) == len(lower) == len(upper) == len(scales) == n_columns:
        raise ValueError(_SHAPES)
    whole = np.empty(values.shape)
    inside = np.empty(n_columns)
    for i in range(len(values)):
        for t in range(len(inside)):
            value = values[i, t]
            if math.isnan(value):
                value = center[t]
            inside[t] = (min(max(value, lower[t]), upper[t]) - center[t]) / scales[t]
        _clip_row(inside, units, whole[i])
    return whole


@ordered
def _clip_row(point: FloatArray, units: float, whole: FloatArray) -> None:
    total = 0.0
    for t in range(len(point)):
        total += point[t] * point[t]
    length = math.sqrt(total)
    factor = (MARGIN / length if length > MARGIN else 1.0) * units
    square = 0.0
    for t in range(len(point)):
        whole[t] = math.trunc(point[t] * factor)
        square += whole[t] * whole[t]
    if not square <= units * units:
        whole[:] = 0.0


@exact
def kept_rows(
    blocks: IntArray, values: IntArray, n_blocks: int, limits: Limits, monotone: bool
) -> BoolArray:
    """Tell for each row whether it keeps the limits of a query."""
    n_rows, n_places, width = values.shape
    if blocks.shape != (n_rows, n_places):
        raise ValueError(_SHAPES)
    linf, l1, l2_squared, l0 = limits
    lowest = 0 if monotone else -linf
    # So many squares of at most linf² add up to no more than 2^62.
    step = max(1, 2**61 // max(1, linf * linf))
    kept = np.zeros(n_rows, dtype=np.bool_)
    for i in range(n_rows):
        within, increasing = True, True
        length, nonzero, square, before = 0, 0, 0, -1
        for j in range(n_places):
            within &= 0 <= blocks[i, j] < n_blocks
            increasing &= before < blocks[i, j]
            before = blocks[i, j]
            for start in range(0, width, step):
                smallest, largest = 0, 0
                for t in range(start, min(start + step, width)):
                    value = values[i, j, t]
                    smallest, largest = min(smallest, value), max(largest, value)
                    length += abs(value)
                    nonzero += value != 0
                    square += value * value
                within &= lowest <= smallest and largest <= linf and square <= l2_squared
                if not within:
                    break  # sums of larger numbers may wrap around
        within &= length <= l1 and nonzero <= l0
        kept[i] = within and (increasing or _differ(blocks[i]))
    return kept


@exact
def bounded_sum(
    blocks: IntArray, values: IntArray, n_blocks: int, limits: Limits, monotone: bool
) -> IntArray:
    """Add up the rows that keep the limits of a query."""
    n_rows, n_places, width = values.shape
    kept = kept_rows(blocks, values, n_blocks, limits, monotone)
    total = np.zeros((n_blocks, width), dtype=np.int64)
    for i in range(n_rows):
        if kept[i]:
            for j in range(n_places):
                block = blocks[i, j]
                for t in range(width):
                    total[block, t] += values[i, j, t]
    return total


@exact
def _differ(blocks: IntArray) -> bool:
    for j in range(len(blocks)):
        for other in range(j):
            if blocks[other] == blocks[j]:
                return False
    return True

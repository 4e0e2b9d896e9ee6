"""The exact nearest-candidate kernel: votes are defined by it, bit for bit.

On the grid, x·c − ‖c‖²/2 is an exact multiple of one half below 2^52, so the largest of these
scores names the nearest candidate without rounding, in any blocking, and equal scores are truly
equal: they go to the lowest index.
"""

from __future__ import annotations

import numpy as np

from privclust.kernels.grid import FloatArray, IntArray, norms_squared
from privclust.kernels.implementation import compiled_loops

_FEW_COLUMNS = 4
"""Up to here a compiled loop forms scores faster than BLAS does."""
_PRODUCT_ROWS = 256
_TILE_ROWS = 128
_TILE_CANDIDATES = 512
"""A tile of scores fills half a MiB, so it is still in the cache when it is searched."""


def nearest(rows: FloatArray, candidates: FloatArray) -> IntArray:
    """Return, for each grid row, the index of the nearest grid candidate; ties go to the lowest.

    Examples
    --------
    >>> candidates = np.array([[4.0, 0.0], [-4.0, 0.0]])
    >>> nearest(np.array([[3.0, 1.0], [0.0, 2.0], [-1.0, 0.0]]), candidates).tolist()
    [0, 0, 1]
    """
    loops = compiled_loops()
    if loops is None:
        return _nearest_in_tiles(rows, candidates)
    winners: IntArray
    if rows.shape[1] <= _FEW_COLUMNS:
        winners = loops.nearest(rows, candidates)
        return winners
    half = 0.5 * norms_squared(candidates)
    winners = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _PRODUCT_ROWS):
        stop = start + _PRODUCT_ROWS
        loops.best_scores(candidates @ rows[start:stop].T, half, winners[start:stop])
    return winners


def squared_distances(rows: FloatArray, points: FloatArray, index: IntArray) -> FloatArray:
    """Return the exact squared grid distance of each row to the point that `index` names.

    Coordinates of a difference are below 2^26 and its squares sum to at most 2^52, exactly.

    Examples
    --------
    >>> squared_distances(np.array([[3.0, 1.0]]), np.array([[0.0, 0.0], [0.0, 5.0]]), np.array([1]))
    array([25.])
    """
    loops = compiled_loops()
    if loops is None:
        return norms_squared(rows - points[index])
    squares: FloatArray = loops.squared_distances(rows, points, index)
    return squares


def edges_reached(squares: FloatArray, edges: FloatArray, index: IntArray) -> IntArray:
    """Return how many of its own edges, those in the line that `index` names, each square reaches.

    Examples
    --------
    >>> edges = np.array([[1.0, 4.0], [9.0, 25.0]])
    >>> edges_reached(np.array([4.0, 4.0]), edges, np.array([0, 1])).tolist()
    [2, 0]
    """
    loops = compiled_loops()
    if loops is None:
        return np.asarray((squares[:, None] >= edges[index]).sum(axis=1))
    found: IntArray = loops.edges_reached(squares, edges, index)
    return found


def _nearest_in_tiles(rows: FloatArray, candidates: FloatArray) -> IntArray:
    extended_rows = np.column_stack([rows, np.ones(len(rows))])
    tiles = [
        _extended(candidates[start : start + _TILE_CANDIDATES])
        for start in range(0, len(candidates), _TILE_CANDIDATES)
    ]
    scores = np.empty((_TILE_ROWS, min(_TILE_CANDIDATES, len(candidates))))
    numbers = np.arange(_TILE_ROWS)
    winners = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _TILE_ROWS):
        block = extended_rows[start : start + _TILE_ROWS]
        best = np.full(len(block), -np.inf)
        winner = winners[start : start + _TILE_ROWS]
        for number, tile in enumerate(tiles):
            if tile.shape[1] == scores.shape[1]:
                tile_scores = np.dot(block, tile, out=scores[: len(block)])
            else:
                tile_scores = block @ tile
            index = tile_scores.argmax(axis=1)
            score = tile_scores[numbers[: len(block)], index]
            better = score > best
            best[better] = score[better]
            winner[better] = index[better] + number * _TILE_CANDIDATES
    return winners


def _extended(candidates: FloatArray) -> FloatArray:
    return np.vstack([candidates.T, -0.5 * norms_squared(candidates)])

"""K-means on the sphere without privacy: the reference for embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

BLOCK = 20_000

Rows = NDArray[np.float32]


def directed(rows: Rows) -> Rows:
    """Scale rows to length 1, in place, and return them."""
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def moved(rows: Rows, centers: Rows, steps: int) -> Rows:
    """Return centres after so many steps to the means of their rows, or until they stay."""
    for _ in range(steps):
        before = centers
        sums = np.full_like(centers, np.finfo(np.float32).tiny)
        for begin in range(0, len(rows), BLOCK):
            part = rows[begin : begin + BLOCK]
            np.add.at(sums, nearest(part, centers), part)
        centers = directed(sums)
        if np.array_equal(before, centers):
            break
    return centers


def best_of(starts: int, rows: Rows, n_clusters: int, steps: int) -> Rows:
    """Return the centres of the least loss from several starts of k-means++."""
    begun = (kmeans_plusplus(rows, n_clusters, random_state=start)[0] for start in range(starts))
    return min((moved(rows, one, steps) for one in begun), key=lambda one: loss(rows, one))


def nearest(rows: Rows, centers: Rows) -> NDArray[np.intp]:
    """Return the number of each row's nearest centre."""
    found: NDArray[np.intp] = (rows @ centers.T).argmax(axis=1)
    return found


def loss(rows: Rows, centers: Rows) -> float:
    """Return the mean squared distance to the nearest centre; all have length 1."""
    blocks = range(0, len(rows), BLOCK)
    best = [(rows[begin : begin + BLOCK] @ centers.T).max(axis=1) for begin in blocks]
    return float(2 - 2 * np.concatenate(best).mean(dtype=np.float64))

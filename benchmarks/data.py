"""The paper's generated tables, under its protocol."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from privclust.geometry.grid import FloatArray


def blobs(n_clusters: int, n_columns: int, seed: int = 1) -> FloatArray:
    """Return 20,000 rows of Gaussian blobs, centred and scaled to a largest norm of 1.

    With seed 1 this is the paper's sklearn_k_d; centring and scaling are not private, as in the
    paper's own protocol.
    """
    rows = make_blobs(20_000, n_columns, centers=n_clusters, random_state=seed)[0].round(4)
    rows -= rows.mean(axis=0)
    normalised: FloatArray = rows / np.linalg.norm(rows, axis=1).max()
    return normalised


def loss(rows: FloatArray, centers: FloatArray) -> float:
    """Return the mean squared distance to the nearest centre."""
    squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centers.T + (centers**2).sum(axis=1)
    return float(squares.min(axis=1).mean())

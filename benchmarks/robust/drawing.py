"""What generators of tables share: rows with their public bounds, and Gaussian clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import FloatArray, IntArray

N_ROWS = 20_000
BOX, SIDE = 10.0, 15.0
"""Centres of clusters of standard deviation 1 lie between -BOX and BOX; bounds are -SIDE, SIDE."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows, the bounds of each column that somebody would type, and whose rows they are."""

    rows: FloatArray
    lower: FloatArray
    upper: FloatArray
    users: IntArray | None = None


def drawn(
    rows: FloatArray,
    lower: float | list[float],
    upper: float | list[float],
    users: IntArray | None = None,
) -> Drawn:
    """Return rows within bounds, in the five decimals that a file has.

    Rounding also makes rows the same on machines whose logarithms differ in the last bit.
    """
    n_columns = rows.shape[1]
    low, high = (
        np.broadcast_to(np.asarray(side, float), n_columns).copy() for side in (lower, upper)
    )
    return Drawn(np.clip(rows, low, high).round(5) + 0.0, low, high, users)


def clusters(
    rng: np.random.Generator,
    n_rows: int,
    n_columns: int,
    n_clusters: int,
    box: float = BOX,
    width: float = 1.0,
) -> FloatArray:
    """Return rows of Gaussian clusters of equal size, in random order."""
    return clusters_and_labels(rng, n_rows, n_columns, n_clusters, box, width)[0]


def clusters_and_labels(
    rng: np.random.Generator,
    n_rows: int,
    n_columns: int,
    n_clusters: int,
    box: float = BOX,
    width: float = 1.0,
) -> tuple[FloatArray, IntArray]:
    """Return rows of Gaussian clusters, and the cluster of each."""
    centers = rng.uniform(-box, box, (n_clusters, n_columns))
    labels = rng.integers(0, n_clusters, n_rows)
    return centers[labels] + width * rng.normal(size=(n_rows, n_columns)), labels


def amounts(
    rng: np.random.Generator, shape: tuple[int, ...], zeros: float | FloatArray
) -> FloatArray:
    """Return log-normal amounts around 200, with a share of zeros."""
    values: FloatArray = np.exp(np.log(200.0) + rng.normal(size=shape))
    values[rng.random(shape) < zeros] = 0.0
    return values

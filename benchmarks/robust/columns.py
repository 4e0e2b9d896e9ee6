"""Tables whose columns are not plain numbers, or follow from each other, or belong to users."""

from __future__ import annotations

import numpy as np

from benchmarks.robust.drawing import N_ROWS, SIDE, Drawn, clusters, clusters_and_labels, drawn
from privclust.kernels.grid import FloatArray, IntArray

MOST_ROWS = 500
"""That one user has."""


def ratings(rng: np.random.Generator, n_columns: int) -> Drawn:
    """Ratings from 1 to 5 by five kinds of people, so that most rows occur many times."""
    kinds = rng.integers(0, 5, N_ROWS)
    return drawn(
        np.column_stack([1.0 + _levels(rng, kinds, 5) for _ in range(n_columns)]), 1.0, 5.0
    )


def coarse_grid(rng: np.random.Generator, n_columns: int, n_clusters: int) -> Drawn:
    """Blobs rounded to integers."""
    return drawn(clusters(rng, N_ROWS, n_columns, n_clusters).round(), -SIDE, SIDE)


def constant_binary(
    rng: np.random.Generator, n_numbers: int, n_constant: int, n_binary: int
) -> Drawn:
    """Numbers in five clusters, columns that never vary, and columns of 0 and 1."""
    numbers, kinds = clusters_and_labels(rng, N_ROWS, n_numbers, 5)
    binary = rng.random((N_ROWS, n_binary)) < rng.uniform(0.02, 0.98, (5, n_binary))[kinds]
    rows = np.hstack([numbers, np.full((N_ROWS, n_constant), 3.0), binary])
    lower = [-SIDE] * n_numbers + [0.0] * (n_constant + n_binary)
    return drawn(rows, lower, [SIDE] * n_numbers + [10.0] * n_constant + [1.0] * n_binary)


def one_hot(rng: np.random.Generator, levels: tuple[int, ...], n_numbers: int) -> Drawn:
    """Categories as one column of 0 and 1 a level, and numbers in six clusters."""
    numbers, kinds = clusters_and_labels(rng, N_ROWS, n_numbers, 6)
    categories = [np.eye(n)[_levels(rng, kinds, n)] for n in levels]
    n_levels = sum(levels)
    lower = [0.0] * n_levels + [-SIDE] * n_numbers
    return drawn(np.hstack([*categories, numbers]), lower, [1.0] * n_levels + [SIDE] * n_numbers)


def correlated(rng: np.random.Generator, n_factors: int, n_columns: int) -> Drawn:
    """Draw a few hidden factors in six clusters, seen through many columns with noise."""
    factors = clusters(rng, N_ROWS, n_factors, 6, box=3.0)
    rows = factors @ rng.normal(size=(n_factors, n_columns))
    return drawn(rows + 0.3 * rng.normal(size=rows.shape), -20.0, 20.0)


def users(
    rng: np.random.Generator, n_users: int, least: float, n_columns: int, n_clusters: int
) -> Drawn:
    """Rows of users, most of whom have few and some very many; four of five from one cluster."""
    counts = np.minimum(least * (1.0 + rng.pareto(1.3, n_users)), MOST_ROWS).astype(int)
    owners = np.repeat(np.arange(n_users), counts)
    centers = rng.uniform(-10, 10, (n_clusters, n_columns))
    home = rng.integers(0, n_clusters, n_users)[owners]
    away = rng.integers(0, n_clusters, len(owners))
    labels = np.where(rng.random(len(owners)) < 0.8, home, away)
    rows = centers[labels] + rng.normal(size=(len(owners), n_columns))
    return drawn(rows, -SIDE, SIDE, owners)


def _levels(rng: np.random.Generator, kinds: IntArray, n_levels: int) -> IntArray:
    """Return a level per row; each kind of row has probabilities of its own."""
    shares: FloatArray = rng.dirichlet(np.full(n_levels, 0.5), int(kinds.max()) + 1)
    picked = (rng.random(len(kinds))[:, None] > np.cumsum(shares, axis=1)[kinds]).sum(axis=1)
    levels: IntArray = np.minimum(picked, n_levels - 1)
    return levels

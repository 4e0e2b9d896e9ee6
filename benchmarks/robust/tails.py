"""Tables with heavy tails, outliers and clusters of very unequal size."""

from __future__ import annotations

import numpy as np

from benchmarks.robust.drawing import N_ROWS, Drawn, clusters, drawn


def lognormal(rng: np.random.Generator, n_columns: int, sigma: float, upper: float) -> Drawn:
    """Log-normal amounts around 1 in every column, without clusters."""
    return drawn(np.exp(sigma * rng.normal(size=(N_ROWS, n_columns))), 0.0, upper)


def pareto(rng: np.random.Generator, n_columns: int, alpha: float, upper: float) -> Drawn:
    """Pareto amounts from 1 up in every column, without clusters."""
    return drawn(1.0 + rng.pareto(alpha, (N_ROWS, n_columns)), 0.0, upper)


def student(
    rng: np.random.Generator, n_columns: int, n_clusters: int, freedom: int, side: float
) -> Drawn:
    """Clusters whose rows have Student's t around the centre."""
    rows = clusters(rng, N_ROWS, n_columns, n_clusters, width=0.0)
    return drawn(rows + 0.5 * rng.standard_t(freedom, rows.shape), -side, side)


def outliers(
    rng: np.random.Generator,
    n_columns: int,
    n_clusters: int,
    share: float,
    within: float,
    side: float,
) -> Drawn:
    """Tight blobs between -1 and 1, and a share of rows spread evenly over a wider box."""
    rows = clusters(rng, N_ROWS, n_columns, n_clusters, box=1.0, width=0.08)
    some = int(share * N_ROWS)
    rows[:some] = rng.uniform(-within, within, (some, n_columns))
    return drawn(rows, -side, side)


def zipf(
    rng: np.random.Generator, n_rows: int, n_columns: int, n_clusters: int, exponent: float
) -> Drawn:
    """Gaussian clusters whose sizes fall by Zipf's law."""
    weights = np.arange(1, n_clusters + 1) ** -exponent
    sizes = (n_rows * weights / weights.sum()).astype(int)
    centers = np.repeat(rng.uniform(-10, 10, (n_clusters, n_columns)), sizes, axis=0)
    return drawn(centers + 0.5 * rng.normal(size=centers.shape), -12.0, 12.0)


def rare_far(
    rng: np.random.Generator, n_rows: int, n_columns: int, n_clusters: int, share: float
) -> Drawn:
    """Equal clusters side by side, and a small one ten times as far away."""
    far = round(share * n_rows)
    places = 3.0 * (np.arange(n_rows) % (n_clusters - 1))
    places[:far] = 30.0
    return drawn(places[:, None] + 0.5 * rng.normal(size=(n_rows, n_columns)), -40.0, 40.0)

"""What a coreset knows of its rows: widths of the Gaussian mixture, and k-means on synthetic rows.

Gaussian clusters whose columns have widths of their own. Variances are summed over columns, and
compared with those of the rows nearest to each centre.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.data import loss
from privclust import PrivateKMeans
from privclust.kernels.grid import FloatArray

N_ROWS = 20_000
SETTINGS = [(2, 4, 1.0), (2, 4, 0.25), (8, 8, 1.0), (8, 8, 0.25), (16, 8, 1.0), (64, 8, 1.0)]
"""Columns, clusters and epsilon."""


def main(quick: bool) -> None:
    """Print for each setting how wide clusters seem, and what synthetic rows are worth."""
    print("| columns | clusters | epsilon | variance | lowest | highest | k-means on synthetic |")
    print("|---|---|---|---|---|---|---|")
    for n_columns, n_clusters, epsilon in SETTINGS[:1] if quick else SETTINGS:
        rows = table(n_columns, n_clusters)
        bounds = (np.full(n_columns, -1.0), np.full(n_columns, 1.0))
        model = PrivateKMeans(
            n_clusters, epsilon=epsilon, delta=1e-6, bounds=bounds, random_state=0
        ).fit(rows)
        ratios, ratio = _widths(model, rows), _worth(model, rows)
        print(
            f"| {n_columns} | {n_clusters} | {epsilon:g} | {ratios.mean():.2f} "
            f"| {ratios.min():.2f} | {ratios.max():.2f} | {ratio:.3f} |"
        )


def table(n_columns: int, n_clusters: int) -> FloatArray:
    """Return clusters of equal size, each column of each with a width of its own."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-0.5, 0.5, (n_clusters, n_columns))
    widths = rng.uniform(0.02, 0.08, (n_clusters, n_columns))
    cluster = rng.integers(0, n_clusters, N_ROWS)
    return centers[cluster] + rng.normal(size=(N_ROWS, n_columns)) * widths[cluster]


def _widths(model: PrivateKMeans, rows: FloatArray) -> FloatArray:
    labels = model.predict(rows)
    seen = np.trace(model.mixture().covariances, axis1=1, axis2=2)
    there = np.flatnonzero(np.bincount(labels, minlength=len(seen)) > 100)
    true = [rows[labels == cluster].var(axis=0).sum() for cluster in there]
    return np.asarray(seen[there] / true)


def _worth(model: PrivateKMeans, rows: FloatArray) -> float:
    """Return the loss on the rows of k-means fitted to synthetic ones, over that of k-means."""
    with threadpool_limits(1):
        synthetic, real = (
            KMeans(model.n_clusters, n_init=10, random_state=0).fit(some).cluster_centers_
            for some in (model.sample(N_ROWS, random_state=0), rows)
        )
    return loss(rows, synthetic) / loss(rows, real)

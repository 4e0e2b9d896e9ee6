"""Blobs that a fit must not lose: PEMeans and PrivateKMeans, epsilon 1, real noise, unknown N."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.data import blobs, dataset, loss
from benchmarks.verdicts import judge
from privclust import PEMeans, PrivateKMeans
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest

TABLES = 8
FITS = 5
TARGET = 1.10
MANY_BLOBS = "sklearn_64_64"
FITS_OF_MANY, LOST = 100, 2
"""Fits to 64 blobs, and how many of them may lose one."""


def main(quick: bool) -> None:
    """Print loss ratios of PEMeans, and how many fits of PrivateKMeans lose a blob."""
    # First: a process with threads of k-means must not fork.
    with ProcessPoolExecutor(2) as pool:
        lost = list(pool.map(lost_blobs, range(1 if quick else FITS_OF_MANY)))
    _pe_means(1 if quick else TABLES)
    judge(f"fits of {len(lost)} that lose a blob of {MANY_BLOBS}", sum(map(bool, lost)), LOST)


def _pe_means(n_tables: int) -> None:
    private, single = [], []
    for table in range(n_tables):
        rows = blobs(16, 4, table)
        reference = loss(rows, KMeans(16, n_init=10, random_state=0).fit(rows).cluster_centers_)
        for seed in range(FITS):
            model = PEMeans(16, epsilon=1.0, delta=1e-6, radius=1.0, random_state=seed).fit(rows)
            private.append(loss(rows, model.cluster_centers_) / reference)
            plain = KMeans(16, n_init=1, random_state=seed).fit(rows)
            single.append(loss(rows, plain.cluster_centers_) / reference)
    error = np.std(private, ddof=1) / np.sqrt(len(private))
    print(f"{len(private)} fits, loss over best-of-10 k-means")
    print(f"PEMeans            mean {np.mean(private):.3f} ± {error:.3f}, worst {max(private):.3f}")
    print(f"k-means, one start mean {np.mean(single):.3f}, worst {max(single):.3f}")
    judge("blobs", float(np.mean(private)), TARGET)


def lost_blobs(seed: int) -> int:
    """Return how many of k-means' clusters have no centre of PrivateKMeans nearest to theirs."""
    k, rows, best = _many_blobs()
    delta = len(rows) ** -1.1
    model = PrivateKMeans(k, epsilon=1.0, delta=delta, radius=1.0, random_state=seed).fit(rows)
    return k - len(np.unique(nearest(to_grid(model.cluster_centers_), to_grid(best))))


@cache
def _many_blobs() -> tuple[int, FloatArray, FloatArray]:
    """Return how many blobs there are, their rows, and k-means' centres."""
    data = dataset(MANY_BLOBS)
    best = KMeans(data.n_clusters, n_init=10, random_state=0).fit(data.rows)
    return data.n_clusters, data.rows, best.cluster_centers_

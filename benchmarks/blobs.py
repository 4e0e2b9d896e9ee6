"""PEMeans against k-means on blobs: 16 clusters, 4 columns, epsilon 1, real noise, unknown N."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.data import blobs, loss
from privclust import PEMeans

TABLES = 8
FITS = 5
TARGET = 1.10


def main(quick: bool) -> None:
    """Print loss ratios to best-of-10 k-means, and what a single start of k-means gives."""
    private, single = [], []
    for table in range(1 if quick else TABLES):
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
    verdict = "PASS" if np.mean(private) <= TARGET else "NOT MET"
    print(f"blobs {np.mean(private):.3f} {TARGET} {verdict}")

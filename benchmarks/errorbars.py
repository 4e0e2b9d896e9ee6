"""Do 95 % intervals hold the truth 95 % of the time? Sizes and centres of PrivateKMeans on blobs.

The truth about a size is the number of rows nearest to the released centre; about a centre, the
mean of these rows. Fits clip rows, but blobs are round, so that clipping hardly moves their means.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import blobs
from privclust import PrivateKMeans
from privclust.kernels.grid import FloatArray

FITS = 200
CLUSTERS = 8
COLUMNS = (4, 16)
LOWEST, HIGHEST = 0.93, 0.97
Z = 1.959964


def main(quick: bool) -> None:
    """Print how often intervals cover, for each number of columns."""
    met = True
    for n_columns in COLUMNS:
        rows = blobs(CLUSTERS, n_columns)
        found = [_covered(rows, seed) for seed in range(5 if quick else FITS)]
        sizes, centers = (float(np.mean(np.concatenate(part))) for part in zip(*found, strict=True))
        met &= all(LOWEST <= cover <= HIGHEST for cover in (sizes, centers))
        print(f"d = {n_columns}: sizes {sizes:.3f}, centres {centers:.3f}, {len(found)} fits")
    if not quick:
        word, verdict = ("all", "PASS") if met else ("some not", "NOT MET")
        print(f"errorbars {word} {LOWEST}-{HIGHEST} {verdict}")


def _covered(rows: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Fit once and return whether each size's and each centre coordinate's interval holds."""
    model = PrivateKMeans(CLUSTERS, delta=1e-6, radius=1.0, random_state=seed).fit(rows)
    return covered(model, rows)


def covered(model: PrivateKMeans, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return whether the intervals of a model hold; of centres that have rows."""
    labels = model.predict(rows)
    counts = np.bincount(labels, minlength=model.n_clusters)
    there = np.flatnonzero(counts)
    means = np.array([rows[labels == cluster].mean(axis=0) for cluster in there])
    sizes = np.abs(model.cluster_sizes_ - counts) <= Z * model.size_stderr_
    off = np.abs(model.cluster_centers_[there] - means)
    return sizes.astype(float), (off <= Z * model.center_stderr_[there]).astype(float).ravel()

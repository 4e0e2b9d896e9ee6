"""Whether the most distinct clusters of `k_path` are as many as there are, and the same each time.

They are where clusters lie far apart. On a table of people whose clusters shade into each other
every fit names another number, so nothing recommends it.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import dataset
from privclust import PrivateKMeans
from privclust.kernels.grid import FloatArray

SETS, TARGET = 30, 27
N_ROWS = 20_000
FEWEST, MOST = 3, 24
APART = 8.0
"""No two centres are nearer to each other, in standard deviations."""
SHADING, FITS = "credit", 7
"""A table whose clusters shade into each other, and how often it is fitted."""


def main(quick: bool) -> None:
    """Fit sets of 3 to 24 clusters at epsilon 1 as if their number were unknown."""
    named = 0
    for seed in range(4 if quick else SETS):
        k, rows = table(seed)
        bounds = (np.full(rows.shape[1], -1.0), np.full(rows.shape[1], 1.0))
        model = PrivateKMeans(MOST, epsilon=1.0, delta=1e-6, bounds=bounds).fit(rows)
        elbow = model.k_path().elbow
        named += elbow == k
        print(f"{rows.shape[1]} columns, {k} clusters: elbow {elbow}")
    if not quick:
        verdict = "PASS" if named >= TARGET else "NOT MET"
        print(f"elbow {named} of {SETS}, target {TARGET}: {verdict}")
        rows = dataset(SHADING).rows
        fits = [PrivateKMeans(MOST, delta=1e-6, radius=1.0).fit(rows) for _ in range(FITS)]
        found = ", ".join(str(elbow) for elbow in sorted(fit.k_path().elbow for fit in fits))
        print(f"{SHADING}, {FITS} fits: {found}")


def table(seed: int) -> tuple[int, FloatArray]:
    """Return how many clusters there are, and their rows; sizes differ."""
    rng = np.random.default_rng(seed)
    k, n_columns = int(rng.integers(FEWEST, MOST + 1)), int(rng.choice([2, 4, 8]))
    width = 0.02 if n_columns == 2 else 0.03
    centers: list[FloatArray] = []
    while len(centers) < k:
        point = rng.uniform(-0.7, 0.7, n_columns)
        if all(np.linalg.norm(point - other) > APART * width for other in centers):
            centers.append(point)
    cluster = rng.choice(k, N_ROWS, p=rng.dirichlet(np.full(k, 5.0)))
    return k, np.array(centers)[cluster] + rng.normal(0.0, width, (N_ROWS, n_columns))

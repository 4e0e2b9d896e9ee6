"""CPU seconds of PrivateKMeans against scikit-learn's k-means with ten starts, on the same rows.

Both fit the same 32-bit rows in the same process, one after the other; seconds are those of all
threads, and imports do not count.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from benchmarks.data import loss
from benchmarks.methods import code_of
from benchmarks.pieces import Outcome, Piece, kept, run
from privclust import PrivateKMeans

TARGETS = {20_000: 5.0, 100_000: 2.0, 1_000_000: 1.0, 10_000_000: 1.0}
DEVIATIONS = {"apart": 1.0, "overlapping": 4.0}
CLUSTERS = (16, 64)
COLUMNS = 16
RADIUS = 60.0
MADE_AT_ONCE = 1_000_000
OURS, THEIRS = "PrivateKMeans", "k-means, best of 10"


@cache
def table(name: str) -> NDArray[np.float32]:
    """Return the blobs called kind_clusters_rows, made bit by bit to keep memory small."""
    kind, n_clusters, n_rows = name.split("_")
    rows = np.empty((int(n_rows), COLUMNS), dtype=np.float32)
    centers: int | NDArray[np.float64] = int(n_clusters)
    for start in range(0, len(rows), MADE_AT_ONCE):
        part = rows[start : start + MADE_AT_ONCE]
        part[:], _, centers = make_blobs(
            len(part),
            COLUMNS,
            centers=centers,
            cluster_std=DEVIATIONS[kind],
            random_state=start // MADE_AT_ONCE,
            return_centers=True,
        )
    return rows


def measure(piece: Piece) -> Outcome:
    """Fit once and return loss and CPU seconds."""
    rows = table(piece.dataset)
    n_clusters = int(piece.dataset.split("_")[1])
    if piece.method == OURS:
        PrivateKMeans(2, delta=1e-6, radius=RADIUS).fit(rows[:1000])  # what it imports
        model = PrivateKMeans(n_clusters, delta=1e-6, radius=RADIUS, random_state=piece.seed)
    else:
        model = KMeans(n_clusters, n_init=10, random_state=piece.seed)
    start = time.process_time()
    model.fit(rows)
    seconds = time.process_time() - start
    some = rows[:100_000].astype(np.float64)
    return Outcome(loss(some, model.cluster_centers_), seconds, code_of(piece.method))


def names() -> list[str]:
    """Return all tables, small ones first."""
    return [f"{kind}_{k}_{n}" for n in TARGETS for k in CLUSTERS for kind in DEVIATIONS]


def pieces() -> list[Piece]:
    """Return both methods' fits of every table, side by side."""
    return [Piece(method, name, 1.0, 0) for name in names() for method in (OURS, THEIRS)]


def main(quick: bool) -> None:
    """Make the fits that are missing; with `quick` one small pair, which is not kept."""
    if quick:
        small = [Piece(method, "apart_16_20000", 1.0, 0) for method in (OURS, THEIRS)]
        ours, theirs = (measure(piece).cpu_seconds for piece in small)
        print(f"{small[0].dataset}: {ours:.2f} s against {theirs:.2f} s of k-means")
        return
    run("speed", pieces(), measure, code_of, workers=1)
    report()


def report() -> bool:
    """Print ratios from what is kept, and return whether every one meets its target."""
    results = kept("speed", pieces(), code_of)
    if results is None:
        return False
    print("| rows | k | blobs | ours, s | k-means, s | ratio | target | loss ratio |")
    print("|---" * 8 + "|")
    met = 0
    for name in names():
        kind, k, n_rows = name.split("_")
        ours, theirs = (results[Piece(method, name, 1.0, 0)] for method in (OURS, THEIRS))
        ratio, target = ours.cpu_seconds / theirs.cpu_seconds, TARGETS[int(n_rows)]
        met += ratio <= target
        print(
            f"| {int(n_rows):,} | {k} | {kind} | {ours.cpu_seconds:.2f} | {theirs.cpu_seconds:.2f} "
            f"| {ratio:.2f} | {target:g} | {ours.loss / theirs.loss:.3f} |"
        )
    verdict = "PASS" if met == len(names()) else "EXPLAINED"
    print(f"\nspeed {met} {len(names())} {verdict}")
    return True

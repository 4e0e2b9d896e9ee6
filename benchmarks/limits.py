"""Do estimates of cost hold? Fits of few rows, beside what was estimated before they began."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

import privclust
from privclust.algorithms._cost import Cost, cost_of
from privclust.estimators import _fit
from privclust.privacy.noise import OpenDPNoise

ROWS = 50
FITS = (
    ("PrivateKMeans", 64, 16, 10**6),
    ("PrivateKMeans", 256, 384, 10**6),
    ("PrivateKMeans", 1000, 10, 10**6),
    ("PrivateKMeans", 2, 8000, 10**5),
    ("PEMeans", 64, 4, 10**5),
    ("HDPEMeans", 16, 100, 10**5),
    ("LSHCoreset", 256, 16, 10**5),
    ("BalcanKMeans", 64, 20, 10**5),
    ("DPLloyd", 2000, 2, 10**5),
    ("FastLloyd", 500, 100, 10**5),
    ("FedDPKMeans", 10, 784, 10**5),
    ("FedDPKMeans", 100, 50, 10**4),
)
"""Estimator, clusters, columns and the number of rows that is typed."""


def main(quick: bool) -> None:
    """Print a table; each fit has a process of its own, so that its memory can be measured."""
    print("| fit | numbers with noise, of those estimated | seconds | MB |")
    print("|---|---|---|---|")
    for fit in FITS[:1] if quick else FITS:
        command = [sys.executable, "-m", "benchmarks.limits", *map(str, fit)]
        subprocess.run(command, check=True)


def measure(name: str, n_clusters: int, n_columns: int, n_rows: int) -> str:
    """Fit, and return a line of the table."""
    estimated: list[Cost] = []

    def kept(planned: Any) -> Cost:
        estimated.append(cost_of(planned))
        return estimated[-1]

    _fit.cost_of = kept  # type: ignore[assignment, attr-defined]
    rows = np.random.default_rng(0).normal(0, 0.1, (ROWS, n_columns))
    OpenDPNoise().gaussian(np.zeros(2, dtype=np.int64), 1e8)  # loaded before the clock starts
    model = getattr(privclust, name)(
        n_clusters, delta=1e-6, bounds=(-1, 1), n_rows=n_rows, random_state=0
    )
    before, start = _memory(), time.process_time()
    with warnings.catch_warnings(), privclust.limits(minutes=1e9, memory="100 TiB"):
        warnings.simplefilter("ignore")
        model.fit(rows)
    seconds, (cost, *_) = time.process_time() - start, estimated
    numbers = sum(release.result.size for release in model.releases_)
    return (
        f"| {name}, k = {n_clusters:,}, d = {n_columns:,} | {numbers:,} of {cost.numbers:,.0f} "
        f"| {seconds:.1f} of {cost.seconds:.1f} "
        f"| {_memory() - before:,.0f} of {cost.memory / 1e6:,.0f} |"
    )


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    kind, *numbers = sys.argv[1:]
    print(measure(kind, *map(int, numbers)), flush=True)

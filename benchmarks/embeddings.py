"""Mixtures on the sphere, as embeddings are: the loss over that of spherical k-means.

Around each of k random directions lie equally many rows, whose noise is as long as the direction.
The loss is the mean squared distance to the nearest centre, all of length 1; the reference is
spherical k-means without privacy that starts from the true directions, which no method could know.
The ratio must be at most 1.15 where `privclust plan` says that clusters will be found.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from benchmarks import pieces
from benchmarks.digest import code_digest
from benchmarks.pieces import Piece
from benchmarks.spherical import Rows, directed, loss, moved
from privclust import PrivateKMeans, forecast

DIMENSIONS, DELTA, RATIO = 384, 1e-6, 1.15
CLUSTERS, EPSILONS = (64, 256), (1.0, 4.0)
ROWS = (100_000, 1_000_000)
STEPS = 10


@dataclass(frozen=True)
class Outcome:
    """What one fit gave, what was forecast, and the digest of the code that gave it."""

    ratio: float
    forecast: float
    found: bool
    cpu_seconds: float
    code: str


def main(quick: bool) -> None:
    """Fit what is missing, a table of 10^6 rows last, and print every ratio."""
    if quick:
        print(measure(Piece("cosine", "sphere_8_5000", 4.0, 0)))
        return
    names = [f"sphere_{k}_{n_rows}" for n_rows, k in product(ROWS, CLUSTERS)]
    for name in names:
        report(pieces.run("embeddings", _wanted(name), measure, code_of, workers=1, kind=Outcome))


def measure(piece: Piece) -> Outcome:
    """Fit one mixture and compare."""
    warnings.simplefilter("ignore")  # that clusters are hard to find is part of the measurement
    _, k, n_rows = piece.dataset.split("_")
    rows, _ = mixture(int(k), int(n_rows))
    expected = forecast(len(rows), DIMENSIONS, int(k), epsilon=piece.epsilon, delta=DELTA)
    model = PrivateKMeans(
        int(k), metric="cosine", epsilon=piece.epsilon, delta=DELTA, random_state=piece.seed
    )
    started = time.process_time()
    model.fit(rows)
    seconds = time.process_time() - started
    reached = loss(rows, model.cluster_centers_.astype(np.float32))
    ratio = reached / _reference(int(k), int(n_rows))
    return Outcome(ratio, expected.ratio, expected.found, seconds, code_of(piece.method))


def report(results: dict[Piece, Outcome]) -> None:
    """Print ratios, and whether the target was met where clusters were to be found."""
    for piece, outcome in results.items():
        verdict = "not forecast to be found"
        if outcome.found:
            verdict = "PASS" if outcome.ratio <= RATIO else "NOT MET"
        print(
            f"{piece.dataset} epsilon {piece.epsilon:g}: ratio {outcome.ratio:.3f}, forecast "
            f"{outcome.forecast:.3f}, {outcome.cpu_seconds:.0f} CPU s: {verdict}"
        )


def code_of(method: str) -> str:
    """Return the digest of the code behind a fit."""
    return code_digest("private_kmeans")


@lru_cache(1)
def mixture(k: int, n_rows: int) -> tuple[Rows, Rows]:
    """Return rows of length 1 and the directions they lie around."""
    rng = np.random.default_rng(k)
    true = directed(rng.standard_normal((k, DIMENSIONS), dtype=np.float32))
    rows = rng.standard_normal((n_rows, DIMENSIONS), dtype=np.float32)
    rows *= np.float32(DIMENSIONS**-0.5)
    rows += true[np.arange(n_rows) % k]
    return directed(rows), true


@lru_cache(1)
def _reference(k: int, n_rows: int) -> float:
    rows, true = mixture(k, n_rows)
    return loss(rows, moved(rows, true, STEPS))


def _wanted(name: str) -> list[Piece]:
    return [Piece("cosine", name, epsilon, 0) for epsilon in EPSILONS]

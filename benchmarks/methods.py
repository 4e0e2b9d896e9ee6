"""Methods by name: what the library's estimators and the references make of a table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.cluster import KMeans

from benchmarks.data import Dataset, dataset, loss
from benchmarks.digest import code_digest
from benchmarks.pieces import Outcome, Piece
from privclust import HDPEMeans, PEMeans
from privclust.geometry.grid import FloatArray

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Method:
    """How to fit, and the algorithms whose code counts; none for a reference without privacy."""

    fit: Callable[[Dataset, float, int], FloatArray]
    algorithms: tuple[str, ...] = ()


def _paper_settings(data: Dataset, epsilon: float, seed: int) -> dict[str, Any]:
    n_rows = len(data.rows)
    return {
        "n_clusters": data.n_clusters,
        "epsilon": epsilon,
        "delta": n_rows**-1.1,
        "radius": 1.0,
        "n_rows": n_rows,
        "random_state": seed,
    }


def _pe_means(data: Dataset, epsilon: float, seed: int) -> FloatArray:
    model = PEMeans(**_paper_settings(data, epsilon, seed)).fit(data.rows)
    centers: FloatArray = model.cluster_centers_
    return centers


def _hdpe_means(data: Dataset, epsilon: float, seed: int) -> FloatArray:
    model = HDPEMeans(**_paper_settings(data, epsilon, seed)).fit(data.rows)
    centers: FloatArray = model.cluster_centers_
    return centers


def _k_means(starts: int) -> Callable[[Dataset, float, int], FloatArray]:
    def fit(data: Dataset, epsilon: float, seed: int) -> FloatArray:
        model = KMeans(data.n_clusters, n_init=starts, random_state=seed).fit(data.rows)
        centers: FloatArray = model.cluster_centers_
        return centers

    return fit


METHODS = {
    "PEMeans": Method(_pe_means, ("pe_means",)),
    "HDPEMeans": Method(_hdpe_means, ("pe_means", "hdpe_means")),
    "k-means, best of 10": Method(_k_means(10)),
    "k-means, one start": Method(_k_means(1)),
}


def code_of(method: str) -> str:
    """Return the digest of the code a method's figures depend on."""
    algorithms = METHODS[method].algorithms
    return code_digest(*algorithms) if algorithms else "reference"


def measure(piece: Piece) -> Outcome:
    """Make one fit and return its loss and its CPU seconds."""
    data = dataset(piece.dataset)
    start = time.process_time()
    centers = METHODS[piece.method].fit(data, piece.epsilon, piece.seed)
    seconds = time.process_time() - start
    return Outcome(loss(data.rows, centers), seconds, code_of(piece.method))

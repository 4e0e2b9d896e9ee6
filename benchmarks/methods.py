"""Methods by name: what the library's estimators and the references make of a table."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.cluster import KMeans

from benchmarks.data import Dataset, dataset, loss
from benchmarks.digest import code_digest
from benchmarks.pieces import Outcome, Piece
from benchmarks.third_party import diffprivlib
from privclust import (
    BalcanKMeans,
    DPLloyd,
    FastLloyd,
    HDPEMeans,
    LSHCoreset,
    PEMeans,
    PrivateKMeans,
)
from privclust.errors import FitWarning
from privclust.kernels.grid import FloatArray
from privclust.testing import NoNoise, noise_from

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Method:
    """How to fit, and the algorithms whose code counts; none for what is not ours.

    What another process does is not timed here.
    """

    fit: Callable[[Dataset, float, int], FloatArray]
    algorithms: tuple[str, ...] = ()
    in_other_process: bool = False


def _private(
    estimator: Callable[..., Any], settings: Callable[[Dataset], dict[str, Any]]
) -> Callable[[Dataset, float, int], FloatArray]:
    """Fit with the table's delta, or the paper's, and what `settings` adds."""

    def fit(data: Dataset, epsilon: float, seed: int) -> FloatArray:
        delta = len(data.rows) ** -1.1 if data.delta is None else data.delta
        given = settings(data)
        table: Any = data.rows
        if data.users is not None:
            given |= {"unit": "user", "max_rows_per_unit": data.max_rows_per_unit}
            columns = {f"column {number}": column for number, column in enumerate(data.rows.T)}
            table = pa.table({"user": data.users, **columns})
        model = estimator(
            data.n_clusters, epsilon=epsilon, delta=delta, random_state=seed, **given
        ).fit(table)
        centers: FloatArray = model.cluster_centers_
        return centers

    return fit


def _without_noise(
    fit: Callable[[Dataset, float, int], FloatArray],
) -> Callable[[Dataset, float, int], FloatArray]:
    """Fit under the plan of epsilon, and leave its noise out."""

    def exact(data: Dataset, epsilon: float, seed: int) -> FloatArray:
        with noise_from(NoNoise()):
            return fit(data, epsilon, seed)

    return exact


def _ball(data: Dataset) -> dict[str, Any]:
    return {"radius": 1.0}


def _ball_and_rows(data: Dataset) -> dict[str, Any]:
    return {"radius": 1.0, "n_rows": data.n_counted}


def _cube_and_rows(data: Dataset) -> dict[str, Any]:
    sides = np.full(data.rows.shape[1], data.half_width)
    return {"bounds": (-sides, sides), "n_rows": data.n_counted}


def _box(factor: float) -> Callable[[Dataset], dict[str, Any]]:
    """Return bounds per column, `factor` times too wide: every second one on one side only."""

    def settings(data: Dataset) -> dict[str, Any]:
        lower = data.rows.min(axis=0)
        upper = np.maximum(data.rows.max(axis=0), lower + 1e-6)  # some columns never vary
        width = upper - lower
        one_sided = np.arange(len(width)) % 2 == 1
        below = np.where(one_sided, 0.0, (factor - 1) / 2) * width
        above = np.where(one_sided, factor - 1, (factor - 1) / 2) * width
        return {"bounds": (lower - below, upper + above), "scale": "none"}

    return settings


def _k_means(starts: int) -> Callable[[Dataset, float, int], FloatArray]:
    def fit(data: Dataset, epsilon: float, seed: int) -> FloatArray:
        model = KMeans(data.n_clusters, n_init=starts, random_state=seed).fit(data.rows)
        centers: FloatArray = model.cluster_centers_
        return centers

    return fit


_original = partial(BalcanKMeans, constants="original")
_BALCAN = ("balcan_kmeans", "_cube_partition", "_local_search")
_FLAGSHIP = ("private_kmeans", "_locate", "_cells", "_split", "_merge", "_refine")

METHODS = {
    "PrivateKMeans": Method(_private(PrivateKMeans, _ball), _FLAGSHIP),
    "PrivateKMeans, no noise": Method(_without_noise(_private(PrivateKMeans, _ball)), _FLAGSHIP),
    "PrivateKMeans, N typed": Method(_private(PrivateKMeans, _ball_and_rows), _FLAGSHIP),
    "PrivateKMeans, tight box": Method(_private(PrivateKMeans, _box(1.0)), _FLAGSHIP),
    "PrivateKMeans, 10 times": Method(_private(PrivateKMeans, _box(10.0)), _FLAGSHIP),
    "PrivateKMeans, 100 times": Method(_private(PrivateKMeans, _box(100.0)), _FLAGSHIP),
    "PEMeans": Method(_private(PEMeans, _ball_and_rows), ("pe_means",)),
    "HDPEMeans": Method(_private(HDPEMeans, _ball_and_rows), ("pe_means", "hdpe_means")),
    "DPLloyd": Method(_private(DPLloyd, _ball_and_rows), ("dp_lloyd",)),
    "FastLloyd": Method(_private(FastLloyd, _cube_and_rows), ("fast_lloyd",)),
    "diffprivlib": Method(diffprivlib, in_other_process=True),
    "LSHCoreset": Method(_private(LSHCoreset, _ball_and_rows), ("lsh_coreset",)),
    "BalcanKMeans": Method(_private(BalcanKMeans, _ball_and_rows), _BALCAN),
    "BalcanKMeans, original": Method(_private(_original, _ball_and_rows), _BALCAN),
    "k-means, best of 10": Method(_k_means(10)),
    "k-means, one start": Method(_k_means(1)),
}


def method_named(name: str) -> Method:
    """Return a method of `METHODS`, or that of an estimator of one's own: ``module:Class``."""
    if name in METHODS or ":" not in name:
        return METHODS[name]
    return Method(_private(resolve_name(name), _ball))


def code_of(method: str) -> str:
    """Return the digest of the code a method's figures depend on."""
    algorithms = method_named(method).algorithms
    return code_digest(*algorithms) if algorithms else "reference"


def measure(piece: Piece) -> Outcome:
    """Make one fit and return its loss and its CPU seconds."""
    return measure_on(dataset(piece.dataset), piece)


def measure_on(data: Dataset, piece: Piece) -> Outcome:
    """Make one fit on a table."""
    method = method_named(piece.method)
    # Kept from the terminal: on hard sets the library says that k clusters cannot be found.
    with warnings.catch_warnings(record=True, action="always") as given:
        start = time.process_time()
        centers = method.fit(data, piece.epsilon, piece.seed)
        seconds = math.nan if method.in_other_process else time.process_time() - start
    warned = any(warning.category is FitWarning for warning in given)
    return Outcome(loss(data.rows, centers), seconds, code_of(piece.method), warned)

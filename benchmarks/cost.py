"""What a fit costs beside its bare parts, and the exact kernel beside plain float32.

A fit of PEMeans on sklearn_16_16 is recorded; then the same elections are held again with the
parts called directly: the row-alone kernel on grid rows, OpenDP's draws, weighted k-means.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, ParamSpec, TypeVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.data import blobs
from privclust import PEMeans
from privclust.algorithms import pe_means
from privclust.domains.ball import Ball
from privclust.engines import local
from privclust.engines.exact_sums import ExactSums
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._weighted_kmeans import weighted_kmeans
from privclust.privacy.noise import OpenDPNoise
from privclust.privacy.release import Release
from privclust.queries import NearestVotes, Query

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

REPEATS = 7
TARGET = 1.25
KERNEL_GOAL = 2.0


class Listening(NumpyEngine):
    """An engine that keeps the candidates of each election."""

    populations: ClassVar[list[FloatArray]] = []

    def aggregate(self, query: Query) -> ExactSums:
        """Query the engine behind."""
        if isinstance(query, NearestVotes):
            self.populations.append(query.candidates)
        return super().aggregate(query)


def main(quick: bool) -> None:
    """Print means and ratios of several repeats, all measured in one run."""
    rows = blobs(16, 16)
    OpenDPNoise().gaussian(np.zeros(1, dtype=np.int64), 1.0)
    fits, parts = [], []
    for repeat in range(1 if quick else REPEATS):
        seconds, releases = _timed(_fit, rows, repeat)
        fits.append(seconds)
        parts.append(_parts(rows, Listening.populations, releases))
    names = ("kernel", "OpenDP draws", "weighted k-means")
    for name, cpu in zip(names, np.mean(parts, axis=0), strict=True):
        print(f"{name}: {cpu:.2f} CPU-s")
    ratios = np.array(fits) / np.sum(parts, axis=1)
    ratio = float(np.sum(fits) / np.sum(parts))
    print(
        f"fit: {np.mean(fits):.2f} CPU-s; over its parts {ratios.min():.3f} to {ratios.max():.3f}"
    )
    for n_columns in (16,) if quick else (4, 16, 64):
        for n_candidates in (500, 2000, 4000):
            print(f"kernel d={n_columns} P={n_candidates}: {_kernel(n_columns, n_candidates)}")
    print(f"cost {ratio:.3f} {TARGET} {'PASS' if ratio <= TARGET else 'NOT MET'}")


def _fit(rows: FloatArray, seed: int) -> tuple[Release, ...]:
    Listening.populations.clear()
    with patch.object(local, "NumpyEngine", Listening):
        model = PEMeans(16, epsilon=1.0, delta=1e-6, radius=1.0, random_state=seed).fit(rows)
    return tuple(model.releases_[1:])


def _parts(
    rows: FloatArray, populations: list[FloatArray], releases: tuple[Release, ...]
) -> tuple[float, float, float]:
    grid = Ball(np.zeros(16), 1.0).to_grid(rows)
    noise, rng = OpenDPNoise(), np.random.default_rng(0)
    kernel = draws = clustering = 0.0
    with threadpool_limits(1, "blas"):
        for population, release in zip(populations, releases, strict=True):
            kernel += _timed(nearest, grid, population)[0]
            zeros = np.zeros(len(population), dtype=np.int64)
            draws += _timed(noise.gaussian, zeros, release.scale)[0]
            votes = pe_means.keep_leaders(release.values, len(rows))
            clustering += _timed(weighted_kmeans, population, votes, 16, rng)[0]
    return kernel, draws, clustering


def _kernel(n_columns: int, n_candidates: int) -> str:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, n_columns))
    rows /= np.linalg.norm(rows, axis=1).max()
    candidates = rows[rng.choice(len(rows), n_candidates)] + 0.001
    grid, grid_candidates = to_grid(rows), to_grid(candidates)
    single, single_candidates = rows.astype(np.float32), candidates.astype(np.float32)
    ratios = []
    with threadpool_limits(1, "blas"):
        for _ in range(REPEATS):
            exact, _ = _timed(nearest, grid, grid_candidates)
            plain, _ = _timed(_plain_float32, single, single_candidates)
            ratios.append(exact / plain)
    return f"{np.median(ratios):.2f} times plain float32 (goal at most {KERNEL_GOAL:g})"


def _plain_float32(rows: NDArray[np.float32], candidates: NDArray[np.float32]) -> NDArray[np.int64]:
    half_norms = (candidates**2).sum(axis=1) / 2
    block = 2**18 // len(candidates)
    return np.concatenate(
        [
            (half_norms - rows[start : start + block] @ candidates.T).argmin(axis=1)
            for start in range(0, len(rows), block)
        ]
    )


def _timed(
    work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> tuple[float, Result]:
    start = time.process_time()
    result = work(*args, **kwargs)
    return time.process_time() - start, result

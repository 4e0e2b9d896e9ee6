"""Seconds of PrivateKMeans beside scikit-learn's k-means, on the same rows.

Both kernels and k-means with one start, which is scikit-learn's default, and with ten fit the same
32-bit rows in one process, one after the other, on all cores. CPU seconds are those of all threads;
imports and the loading of compiled loops do not count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median

import numpy as np
from helpers.kernels import kernels
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from benchmarks.data import loss
from benchmarks.figures import speed as picture
from benchmarks.figures.style import PLACE, save
from benchmarks.methods import code_of
from benchmarks.pieces import Piece, load, run
from benchmarks.rivals import geometric_mean
from benchmarks.verdicts import judge
from privclust import PrivateKMeans
from privclust.kernels.cores import available_cores

TARGETS = {20_000: (3.0, 0.3), 100_000: (1.5, 0.2), 1_000_000: (0.4, 0.05), 10_000_000: (0.4, None)}
"""By rows: CPU seconds over those of one start and of ten, as a geometric mean over all tables."""
DEVIATIONS = {"apart": 1.0, "overlapping": 4.0}
COLUMNS, CLUSTERS = (2, 16, 64), (16, 64, 256)
WIDE = 64
"""So many columns are not measured with ten million rows."""
REPEATS = {20_000: 3, 100_000: 1, 1_000_000: 2, 10_000_000: 1}
TEN_STARTS_LATER = 1_000_000
"""Of so many rows a first fit is timed without ten starts, which take hours, a second with."""
MADE_AT_ONCE = 1_000_000
METHOD = "PrivateKMeans"


@dataclass(frozen=True)
class Timing:
    """CPU and wall seconds of all fits to one table, and our loss over that of k-means.

    With ten starts where these are measured, and with one elsewhere.
    """

    cpu_seconds: float
    wall_seconds: float
    numpy_cpu_seconds: float
    numpy_wall_seconds: float
    one_start_cpu_seconds: float
    one_start_wall_seconds: float
    ten_starts_cpu_seconds: float | None
    ten_starts_wall_seconds: float | None
    loss_ratio: float
    code: str


@cache
def table(name: str) -> NDArray[np.float32]:
    """Return the blobs called kind_columns_clusters_rows, made bit by bit to keep memory small."""
    kind, n_columns, n_clusters, n_rows = name.split("_")
    rows = np.empty((int(n_rows), int(n_columns)), dtype=np.float32)
    centers: int | NDArray[np.float64] = int(n_clusters)
    for start in range(0, len(rows), MADE_AT_ONCE):
        part = rows[start : start + MADE_AT_ONCE]
        part[:], _, centers = make_blobs(
            len(part),
            int(n_columns),
            centers=centers,
            cluster_std=DEVIATIONS[kind],
            random_state=start // MADE_AT_ONCE,
            return_centers=True,
        )
    return rows


def radius(n_columns: int) -> float:
    """Return what no row's norm exceeds."""
    return 15.0 * math.sqrt(n_columns)


def measure(piece: Piece) -> Timing:
    """Fit a table by all methods in turn."""
    rows = table(piece.dataset)
    n_columns, n_clusters, n_rows = map(int, piece.dataset.split("_")[1:])
    private = partial(PrivateKMeans, delta=1e-6, radius=radius(n_columns), random_state=piece.seed)
    ours, numpy_ours = (
        _fit_by(kernel, partial(private, n_clusters), rows) for kernel in ("compiled", "numpy")
    )
    one, ten = (partial(KMeans, n_clusters, n_init=n, random_state=piece.seed) for n in (1, 10))
    once = _timed(one, rows)
    often = _timed(ten, rows) if _has_ten_starts(n_rows, piece.seed) else None
    some = rows[:100_000].astype(np.float64)
    reference = loss(some, (often or once).centers)
    return Timing(
        ours.cpu,
        ours.wall,
        numpy_ours.cpu,
        numpy_ours.wall,
        once.cpu,
        once.wall,
        often.cpu if often else None,
        often.wall if often else None,
        loss(some, ours.centers) / reference,
        code_of(METHOD),
    )


def _has_ten_starts(n_rows: int, seed: int) -> bool:
    return TARGETS[n_rows][1] is not None and (n_rows < TEN_STARTS_LATER or seed > 0)


@dataclass(frozen=True, eq=False)
class _Fit:
    cpu: float
    wall: float
    centers: NDArray[np.float64]


def _fit_by(kernel: str, estimator: Callable[[], PrivateKMeans], rows: NDArray[np.float32]) -> _Fit:
    with kernels(kernel):
        estimator().set_params(n_clusters=2).fit(rows[:1000])  # what it imports
        return _timed(estimator, rows)


def _timed(estimator: Callable[[], KMeans | PrivateKMeans], rows: NDArray[np.float32]) -> _Fit:
    model = estimator()
    # As by default, whatever OMP_NUM_THREADS says: with one thread k-means spends half of the CPU.
    with threadpool_limits(available_cores()):
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(rows)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return _Fit(cpu, wall, model.cluster_centers_.astype(np.float64))


def names(n_rows: int) -> list[str]:
    """Return the tables of so many rows."""
    return [
        f"{kind}_{d}_{k}_{n_rows}"
        for d in COLUMNS
        for k in CLUSTERS
        for kind in DEVIATIONS
        if d < WIDE or n_rows < 10_000_000
    ]


def pieces() -> list[Piece]:
    """Return the fits to every table: small tables first, and hours of ten starts last."""
    found = [
        Piece(METHOD, name, 1.0, seed)
        for n_rows in TARGETS
        for seed in range(REPEATS[n_rows])
        for name in names(n_rows)
    ]
    return sorted(found, key=_takes_hours)


def _takes_hours(piece: Piece) -> bool:
    n_rows = int(piece.dataset.split("_")[-1])
    return n_rows >= TEN_STARTS_LATER and _has_ten_starts(n_rows, piece.seed)


def main(quick: bool) -> None:
    """Make the fits that are missing; with `quick` those to one small table, which are not kept."""
    if quick:
        found = measure(Piece(METHOD, "apart_16_16_20000", 1.0, 0))
        print(f"{found.cpu_seconds:.2f} s, k-means {found.one_start_cpu_seconds:.2f} s")
        return
    run("speed", pieces(), measure, code_of, workers=1, kind=Timing)
    report()


def report() -> bool:
    """Print seconds and ratios from what is kept, and return whether every target is met."""
    results = load("speed", Timing)
    wanted = pieces()
    found = [piece for piece in wanted if piece in results]
    stale = sum(results[piece].code != code_of(METHOD) for piece in found)
    print(f"{len(found)} of {len(wanted)} tables, {stale} of them by older code\n")
    met = []
    for n_rows, ratios in print_table(results).items():
        met += _judge(n_rows, ratios, TARGETS[n_rows])
    draw()
    return all(met)


def print_table(results: dict[Piece, Timing]) -> dict[int, list[tuple[float, float]]]:
    """Print a line for each table, and return ratios to k-means by the number of rows."""
    print("| rows | columns | k | blobs | s | NumPy, s | k-means, s | of ten starts, s ", end="")
    print("| over k-means | over ten | loss |")
    print("|---" * 11 + "|")
    return {
        n_rows: [
            _line(name, timings)
            for name in names(n_rows)
            if (timings := [timing for piece, timing in results.items() if piece.dataset == name])
        ]
        for n_rows in TARGETS
    }


def draw(place: Path = PLACE) -> None:
    """Draw what is kept."""
    save(partial(picture.draw, load("speed", Timing)), "speed", place)


def _judge(
    n_rows: int, ratios: list[tuple[float, float]], targets: tuple[float, float | None]
) -> list[bool]:
    return [
        judge(
            f"{n_rows:,} rows, CPU over that of {starts}",
            geometric_mean(measured),
            target,
            len(measured) == len(names(n_rows)),
        )
        for starts, measured, target in zip(
            ("one start", "ten starts"), measured_ratios(ratios), targets, strict=True
        )
        if target is not None and measured
    ]


def measured_ratios(ratios: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Return those over one start, and those over ten of the tables where these were timed."""
    return [one for one, _ in ratios], [ten for _, ten in ratios if not math.isnan(ten)]


def _line(name: str, timings: list[Timing]) -> tuple[float, float]:
    """Print medians of CPU seconds, and return ours over those of one start and of ten."""
    kind, d, k, n_rows = name.split("_")
    ours, plain, one = (
        median(getattr(timing, f"{which}cpu_seconds") for timing in timings)
        for which in ("", "numpy_", "one_start_")
    )
    often = [found for timing in timings if (found := timing.ten_starts_cpu_seconds)]
    ten = median(often) if often else math.nan
    cells = [f"{int(n_rows):,}", d, k, kind]
    figures = (ours, plain, one, ten, ours / one, ours / ten)
    cells += ["" if math.isnan(figure) else f"{figure:.2f}" for figure in figures]
    cells.append(f"{median(timing.loss_ratio for timing in timings):.3f}")
    print(f"| {' | '.join(cells)} |")
    return ours / one, ours / ten

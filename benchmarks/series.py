"""Twelve weeks of a table at a yearly budget: what starting from last week's model is worth.

Each week has rows of its own, drawn from Gaussian clusters. Three tables: clusters that stay, the
same with three that drift by half a standard deviation a week, and twice as many in twice as many
columns with four that drift. Every fit is charged to one ledger, a period a week.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.data import loss
from benchmarks.digest import code_digest
from benchmarks.pieces import Piece, load, run
from privclust import Ledger, PrivateKMeans, track
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest

WEEKS, PERIODS = 12, 52
EPSILON, YEARLY_EPSILON, DELTA = 0.25, 2.1, 1e-6
N_ROWS = 20_000
WIDTH, APART, DRIFT = 0.05, 8.0, 0.5
"""Standard deviation of a cluster in each column; least distance of two centres and weekly drift in
these."""
TABLES = {"stable": (16, 4, 0), "drifting": (16, 4, 3), "many": (32, 8, 4)}
"""Clusters, columns, and how many drift."""
METHODS = ("fresh", "seeded")
SEEDS = 3
HALF = 0.5
Z = 1.959964


@dataclass(frozen=True)
class Year:
    """What the weeks after the first gave, on average.

    Attributes
    ----------
    excess, worst : float
        Loss over that of k-means from the true centres, less 1: mean of the weeks, and worst week.
    same_id : float
        Share of clusters whose id stands for the same true cluster as in the first week.
    found, alarms : int
        Drifting clusters that were flagged in the last week, and others that ever were.
    covered : float
        Share of 95 % intervals of centres that hold the mean of the cluster's rows.
    """

    excess: float
    worst: float
    same_id: float
    found: int
    alarms: int
    covered: float
    cpu_seconds: float
    code: str


def weekly(name: str, seed: int, weeks: int = WEEKS) -> list[tuple[FloatArray, FloatArray]]:
    """Return each week's rows and true centres; the first centres are those that drift."""
    n_clusters, n_columns, n_drifting = TABLES[name]
    rng = np.random.default_rng(seed)
    centers: list[FloatArray] = []
    while len(centers) < n_clusters:
        point = rng.uniform(-0.6, 0.6, n_columns)
        if all(np.linalg.norm(point - other) > APART * WIDTH for other in centers):
            centers.append(point)
    middles = np.array(centers)
    way = rng.normal(size=(n_clusters, n_columns))
    way *= (np.arange(n_clusters) < n_drifting)[:, None] / np.linalg.norm(way, axis=1)[:, None]
    found = []
    for week in range(weeks):
        now = middles + week * DRIFT * WIDTH * way
        rows = now[rng.integers(0, n_clusters, N_ROWS)]
        found.append((np.clip(rows + rng.normal(0, WIDTH, rows.shape), -1, 1), now))
    return found


def fitted(
    method: str, tables: list[tuple[FloatArray, FloatArray]], seed: int
) -> list[PrivateKMeans]:
    """Fit every week, from the last week's model or afresh, all charged to one ledger."""
    n_clusters, n_columns = tables[0][1].shape
    bounds = (np.full(n_columns, -1.0), np.full(n_columns, 1.0))
    models: list[PrivateKMeans] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # that clusters will hardly be found
        ledger = str(Path(folder) / "year.db")
        Ledger.create(ledger, "visits", epsilon=YEARLY_EPSILON, delta=DELTA, periods=PERIODS)
        for week, (rows, _) in enumerate(tables):
            model = PrivateKMeans(
                n_clusters,
                epsilon=EPSILON,
                delta=DELTA,
                bounds=bounds,
                ledger=ledger,
                dataset="visits",
                period=f"W{week:02}",
                init=models[-1] if method == "seeded" and models else None,
                random_state=seed,
            )
            models.append(model.fit(rows))
    return models


def measure(piece: Piece) -> Year:
    """Fit all weeks of one table and compare with the truth."""
    tables = weekly(piece.dataset, piece.seed)
    start = time.process_time()
    models = fitted(piece.method, tables, piece.seed)
    seconds = time.process_time() - start
    excess = [_excess(model, *table) for model, table in zip(models, tables, strict=True)][1:]
    covered = [_covered(model, rows) for model, (rows, _) in zip(models, tables, strict=True)][1:]
    series = track(models)
    true = [_true(model, centers) for model, (_, centers) in zip(models, tables, strict=True)]
    meaning = dict(zip(series.ids[0].tolist(), true[0].tolist(), strict=True))
    same = [
        meaning.get(number) == cluster
        for ids, clusters in zip(series.ids[1:], true[1:], strict=True)
        for number, cluster in zip(ids.tolist(), clusters.tolist(), strict=True)
    ]
    n_drifting = TABLES[piece.dataset][2]
    flagged = {int(true[-1][series.ids[-1] == n][0]) for n in np.flatnonzero(series.drifted[-1])}
    ever = {meaning.get(int(n), -1) for n in np.flatnonzero(series.drifted.any(axis=0))}
    return Year(
        float(np.mean(excess)),
        max(excess),
        float(np.mean(same)),
        sum(cluster < n_drifting for cluster in flagged),
        sum(not 0 <= cluster < n_drifting for cluster in ever),
        float(np.mean(covered)),
        seconds,
        code_of(piece.method),
    )


def code_of(method: str) -> str:
    """Return the digest of the code that the figures depend on."""
    both = ("private_kmeans", "_locate", "_split", "_merge", "_refine")
    return code_digest(*both, *(("seeded_kmeans", "_swap") if method == "seeded" else ()))


def pieces() -> list[Piece]:
    """Return every series, seed by seed."""
    return [
        Piece(method, name, EPSILON, seed)
        for seed in range(SEEDS)
        for name in TABLES
        for method in METHODS
    ]


def main(quick: bool) -> None:
    """Fit the series that are missing; with `quick` two weeks of one, not kept."""
    if not quick:
        _tell(run("series", pieces(), measure, code_of, workers=1, kind=Year))
        return
    tables = weekly("stable", 0, weeks=2)
    models = fitted("seeded", tables, 0)
    print(f"second week, from the first: {_excess(models[1], *tables[1]):.2%} above k-means")


def report() -> bool:
    """Print from the results that are kept, and tell whether every target is met."""
    results = load("series", Year)
    missing = [piece for piece in pieces() if piece not in results]
    stale = sum(year.code != code_of(piece.method) for piece, year in results.items())
    print(f"{len(pieces()) - len(missing)} of {len(pieces())} series, {stale} by older code\n")
    if missing:
        print(f"series {len(missing)} missing 0 missing NOT MET")
        return False
    return _tell({piece: results[piece] for piece in pieces()})


def print_table(results: Mapping[Piece, Year]) -> None:
    """Print what three series of each kind gave."""
    head = "clusters | columns | drift | start | excess | worst week | same id | drift found"
    print(f"| {head} | alarms | covered |")
    print("|---" * 10 + "|")
    for name, (n_clusters, n_columns, n_drifting) in TABLES.items():
        for method in METHODS:
            years = _years(results, method, name)
            start = "last week" if method == "seeded" else "afresh"
            print(
                f"| {n_clusters} | {n_columns} | {n_drifting} | {start} "
                f"| {mean(y.excess for y in years):.2%} | {max(y.worst for y in years):.2%} "
                f"| {mean(y.same_id for y in years):.1%} "
                f"| {sum(y.found for y in years)} of {n_drifting * len(years)} "
                f"| {sum(y.alarms for y in years)} | {mean(y.covered for y in years):.1%} |"
            )


def _years(results: Mapping[Piece, Year], method: str, name: str) -> list[Year]:
    return [y for p, y in results.items() if (p.method, p.dataset) == (method, name)]


def _tell(results: Mapping[Piece, Year]) -> bool:
    print_table(results)
    met = True
    for name, (_, _, n_drifting) in TABLES.items():
        years = _years(results, "seeded", name)
        same, found = mean(y.same_id for y in years), sum(y.found for y in years)
        planted = n_drifting * len(years)
        met &= _verdict(f"series ids {name}", same, 1.0, same == 1)
        met &= _verdict(f"series drift {name}", found, planted, found == planted)
        fresh = mean(y.excess for y in _years(results, "fresh", name))
        ratio = mean(y.excess for y in years) / fresh
        met &= _verdict(f"series excess {name}", ratio, HALF, ratio <= HALF)
    return met


def _verdict(what: str, value: float, target: float, passed: bool) -> bool:
    print(f"{what}: {value:.3g} {target:.3g} {'PASS' if passed else 'NOT MET'}")
    return passed


def _excess(model: PrivateKMeans, rows: FloatArray, centers: FloatArray) -> float:
    with threadpool_limits(1):
        best = KMeans(len(centers), init=centers, n_init=1).fit(rows).cluster_centers_
    return loss(rows, model.cluster_centers_) / loss(rows, best) - 1


def _covered(model: PrivateKMeans, rows: FloatArray) -> float:
    labels = model.predict(rows)
    there = np.flatnonzero(np.bincount(labels, minlength=model.n_clusters) > 100)
    means = np.array([rows[labels == cluster].mean(axis=0) for cluster in there])
    off = np.abs(model.cluster_centers_[there] - means)
    return float(np.mean(off <= Z * model.center_stderr_[there]))


def _true(model: PrivateKMeans, centers: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return which true centre each released one is nearest to."""
    scale = np.linalg.norm(np.ones(centers.shape[1]))
    return nearest(to_grid(model.cluster_centers_ / scale), to_grid(centers / scale))

"""Tables with categories, clustered as their bounds files declare them.

Three ways: all columns as plain numbers, as declared, and as declared with a scale that is
measured. `ratio` is the loss over that of k-means without privacy on the same scale, best of 10
starts. `standardised` judges all ways alike: every declared column has variance 1, as a scaler that
looks at the rows would give it, and the loss is over that of k-means there. `explained` is the part
of the categories' variance that clusters explain.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from benchmarks import pieces
from benchmarks.data import CLUSTERS_WITHIN_BOUNDS, MissingDataError, loss
from benchmarks.digest import code_digest
from benchmarks.pieces import Piece
from privclust import PrivateKMeans
from privclust.domains._category_column import CategoryColumn
from privclust.domains.base import Domain
from privclust.domains.bounds import read_bounds
from privclust.domains.mixed import Mixed
from privclust.kernels.grid import GRID, FloatArray
from privclust.sources.frames import read_rows

METHODS = ("numbers", "declared", "declared, private scale")
TABLES = ("credit", "randhie")
EPSILONS = (1.0, 4.0)
SEEDS = 3
DELTA = 1e-6


@dataclass(frozen=True)
class Outcome:
    """What one fit gave, and the digest of the code that gave it."""

    ratio: float
    standardised: float
    explained: float
    cpu_seconds: float
    code: str


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, their bounds file, and both ways to read them."""

    frame: Any
    file: str
    domain: Mixed
    n_clusters: int

    @property
    def plain(self) -> dict[str, tuple[float, float]]:
        """The bounds of all columns as numbers: a category lies between its levels."""
        return {column.name: _sides(column) for column in self.domain.columns}


@cache
def table(name: str) -> Table:
    """Return a table with a bounds file."""
    folder = Path(os.environ.get("PRIVCLUST_DATA", "../shared/data"))
    if not (folder / f"{name}.npz").exists():
        raise MissingDataError(f"no file for {name!r}; set PRIVCLUST_DATA.")
    stored = np.load(folder / f"{name}.npz", allow_pickle=False)
    names = [str(column) for column in stored["columns"]]
    file = folder / f"{name}.bounds.toml"
    columns = read_bounds(file, names, len(names)).domain.bounded_columns(names)
    assert columns is not None
    frame = pd.DataFrame(stored["X"].astype(float), columns=names)
    return Table(frame, str(file), Mixed(columns), CLUSTERS_WITHIN_BOUNDS[name])


def main(quick: bool) -> None:
    """Fit all that is missing and print the means over seeds."""
    warnings.simplefilter("ignore")
    if quick:
        print(measure(Piece("declared", "randhie", 4.0, 0)))
        return
    seeds = range(SEEDS)
    # Seeds last, so that what is kept of a run that was stopped compares all ways.
    order = product(seeds, EPSILONS, TABLES, METHODS)
    wanted = [Piece(method, name, epsilon, seed) for seed, epsilon, name, method in order]
    results = pieces.run("mixed", wanted, measure, code_of, workers=1, kind=Outcome)
    print("table, epsilon, columns: ratio, standardised, explained")
    for dataset, epsilon, method in product(TABLES, EPSILONS, METHODS):
        found = [results[Piece(method, dataset, epsilon, seed)] for seed in seeds]
        means = (mean(getattr(one, field) for one in found) for field in Outcome.__match_args__[:3])
        print(f"{dataset} {epsilon:g} {method}: " + " ".join(f"{value:.3f}" for value in means))


def measure(piece: Piece) -> Outcome:
    """Fit once, and judge the centres on both scales."""
    warnings.simplefilter("ignore")
    given = table(piece.dataset)
    bounds: Any = given.plain if piece.method == "numbers" else given.file
    scale = "private" if piece.method.endswith("scale") else None
    started = time.process_time()
    model = PrivateKMeans(
        given.n_clusters,
        epsilon=piece.epsilon,
        delta=DELTA,
        bounds=bounds,
        scale=scale,
        random_state=piece.seed,
    ).fit(given.frame)
    seconds = time.process_time() - started
    rows = _unit_rows(model.domain_, given.frame)
    reached = float((model.transform(given.frame).min(axis=1) ** 2).mean())
    labels = model.predict(given.frame)
    judged = _standardised(piece.dataset)
    means = np.array([judged[labels == one].mean(axis=0) for one in np.unique(labels)])
    return Outcome(
        reached / _kmeans_loss(rows, given.n_clusters),
        loss(judged, means) / _standard_loss(piece.dataset),
        _explained(given, labels),
        seconds,
        code_of(piece.method),
    )


def code_of(method: str) -> str:
    """Return the digest of the code behind a method."""
    return code_digest("private_kmeans", "_scale")


def _sides(column: Any) -> tuple[float, float]:
    if isinstance(column, CategoryColumn):
        levels = [float(level) for level in column.levels]
        return min(levels), max(levels)
    return column.lower, column.upper


def _unit_rows(domain: Domain, frame: Any) -> FloatArray:
    return domain.to_grid(read_rows(frame, 0, len(frame), domain)) / GRID


@cache
def _standardised(name: str) -> FloatArray:
    """Return rows whose declared columns all have variance 1; nobody pays for reading them."""
    given = table(name)
    rows = _unit_rows(given.domain, given.frame)
    widths = [len(column.feature_names) for column in given.domain.columns]
    parts = np.split(rows - rows.mean(axis=0), np.cumsum(widths)[:-1], axis=1)
    return np.hstack([part / np.sqrt((part**2).sum(axis=1).mean()) for part in parts])


@cache
def _standard_loss(name: str) -> float:
    return _kmeans_loss(_standardised(name), table(name).n_clusters)


def _kmeans_loss(rows: FloatArray, n_clusters: int) -> float:
    return float(KMeans(n_clusters, n_init=10, random_state=0).fit(rows).inertia_ / len(rows))


def _explained(given: Table, labels: Any) -> float:
    """Return the part of the variance of all levels that clusters explain; 1 without categories."""
    is_level = ["=" in name for name in given.domain.coordinate_names(None)]
    levels = _unit_rows(given.domain, given.frame)[:, is_level]
    if levels.size == 0:
        return 1.0
    around = levels - levels.mean(axis=0)
    inside = sum(
        float(((levels[labels == one] - levels[labels == one].mean(axis=0)) ** 2).sum())
        for one in np.unique(labels)
    )
    return 1 - inside / float((around**2).sum())

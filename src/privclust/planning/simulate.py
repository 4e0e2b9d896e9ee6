"""What fits give on made-up or public rows, measured instead of forecast."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from privclust._frames import clears_frames
from privclust.algorithms._cost import Cost
from privclust.errors import TooManyClustersError
from privclust.estimators._common_parameters import typed_budget
from privclust.estimators._cost_check import check_cost
from privclust.kernels.grid import FloatArray
from privclust.planning.forecast import check_sizes

UNIT = "unit"


@dataclass(frozen=True)
class Simulation:
    """What fits of made-up or public rows gave.

    Attributes
    ----------
    ratios : tuple of float
        Loss over that of k-means without privacy, for each fit.
    seconds : float
        How long one fit took.

    Examples
    --------
    `simulate` shows one.
    """

    ratios: tuple[float, ...]
    seconds: float

    @property
    def ratio(self) -> float:
        """The median."""
        return float(np.median(self.ratios))


@clears_frames
def simulate(
    n_rows: int,
    n_columns: int,
    n_clusters: int = 8,
    *,
    epsilon: float = 1.0,
    delta: float | None = None,
    max_rows_per_unit: int = 1,
    repeats: int = 3,
    public: str | None = None,
) -> Simulation:
    """Measure what `forecast` expects: fit made-up clusters and compare with k-means.

    Parameters
    ----------
    n_rows, n_columns : int
        How many rows and columns to make up.
    n_clusters : int, default=8
        How many clusters to make up and to look for; 8 as the estimators have it.
    epsilon : float, default=1.0
        Strength of the guarantee, smaller is stronger; 1 as the estimators have it.
    delta : float
        The remainder that the guarantee allows beside epsilon, such as 1e-6. It must be typed.
    max_rows_per_unit : int, default=1
        If it is more, a guarantee for units that each have so many rows.
    repeats : int, default=3
        How many fits; three show whether they agree.
    public : str, optional
        Path of a file of public rows, never of private ones: those are fitted instead, within
        bounds taken from them. The numbers of rows and columns are then theirs.

    Examples
    --------
    >>> measured = simulate(20_000, 2, 4, delta=1e-6, repeats=1)
    >>> measured.ratio < 2
    True
    """
    from privclust.estimators import PrivateKMeans

    n_rows, n_columns, n_clusters, max_rows_per_unit, repeats = check_sizes(
        n_rows=n_rows,
        n_columns=n_columns,
        n_clusters=n_clusters,
        max_rows_per_unit=max_rows_per_unit,
        repeats=repeats,
    )
    typed_budget(epsilon, delta)
    if public is None:
        made_up = 32.0 * n_rows * n_columns
        check_cost(Cost(0.0, 0.0, made_up, 0.0, 0.0), "making up so many rows")
    ratios, start = [], time.perf_counter()
    for seed in range(repeats):
        if public is None:
            rows, centers = _made_up(n_rows, n_columns, n_clusters, max_rows_per_unit, seed)
        else:
            rows = _public_rows(public)
            centers = rows[np.random.default_rng(seed).permutation(len(rows))[:n_clusters]]
        if len(rows) < n_clusters:
            raise TooManyClustersError(
                f"{n_clusters} clusters cannot be found in {len(rows)} rows. Choose fewer "
                "clusters, or simulate more rows."
            )
        half_widths = np.abs(rows).max(axis=0) * 1.2 + 1e-9
        bounds = (-half_widths, half_widths)
        model = PrivateKMeans(n_clusters, epsilon=epsilon, delta=delta, bounds=bounds)
        if max_rows_per_unit > 1:
            model.set_params(unit=UNIT, max_rows_per_unit=max_rows_per_unit)
        model.fit(rows if max_rows_per_unit == 1 else _by_unit(rows, max_rows_per_unit))
        ratios.append(_loss(rows, model.cluster_centers_) / _loss(rows, _best(rows, centers)))
    return Simulation(tuple(ratios), (time.perf_counter() - start) / repeats)


def _made_up(
    n_rows: int, n_columns: int, n_clusters: int, rows_per_unit: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return Gaussian clusters of about equal size, most of them apart, and their centres.

    So many rows in a row belong to one unit, and to one cluster.
    """
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-0.8, 0.8, (n_clusters, n_columns))
    width = 0.08 if n_columns > 2 else 0.04
    clusters = rng.integers(0, n_clusters, -(-n_rows // rows_per_unit))
    rows = centers[np.repeat(clusters, rows_per_unit)[:n_rows]]
    return rows + rng.normal(0.0, width, rows.shape), centers


def _by_unit(rows: FloatArray, rows_per_unit: int) -> pa.Table:
    """Return a table in which so many rows in a row have one id."""
    columns = {f"column {number}": values for number, values in enumerate(rows.T)}
    return pa.table({**columns, UNIT: np.arange(len(rows)) // rows_per_unit})


def _public_rows(path: str) -> FloatArray:
    from privclust.sources._reading import side_by_side
    from privclust.sources.files import open_files

    schema, batches = open_files(path)
    names = schema.features(None).names or ()
    rows = np.concatenate([side_by_side(batch.column, names) for batch in batches(names)])
    filled: FloatArray = np.nan_to_num(rows)
    return filled


def _best(rows: FloatArray, centers: FloatArray) -> FloatArray:
    from sklearn.cluster import KMeans

    found: Any = KMeans(len(centers), init=centers, n_init=1).fit(rows).cluster_centers_
    return np.asarray(found, dtype=np.float64)


def _loss(rows: FloatArray, centers: FloatArray) -> float:
    total = 0.0
    for start in range(0, len(rows), 2**16):
        part = rows[start : start + 2**16]
        squares = (part**2).sum(axis=1)[:, None] - 2 * part @ centers.T + (centers**2).sum(axis=1)
        total += float(squares.min(axis=1).sum())
    return total / len(rows)

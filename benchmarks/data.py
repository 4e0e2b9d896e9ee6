"""Tables by name, with all rows in the unit ball.

The paper's tables are centred and scaled to a largest norm of 1, which looks at the rows without
any privacy, as the paper does for every method it compares. Tables with a bounds file are scaled by
it, and the thesis' by the bounds it types. Files lie in the directory named by ``PRIVCLUST_DATA``;
generated tables need none.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from privclust.kernels.grid import FloatArray, IntArray

CLUSTERS_OF_FILES = {"iris": 3, "adult": 3, "letter": 26, "gas": 6, "mnist": 10, "birch2": 100}
COLUMNS = (4, 16, 64, 128)
EVERY_SET = (
    *(name for name in CLUSTERS_OF_FILES if name != "birch2"),
    *(f"g2_{d}" for d in COLUMNS),
    *(f"{family}_{k}_{d}" for family in ("scale", "sklearn") for k in (4, 16, 64) for d in COLUMNS),
)
"""The paper's 33 tables whose k-means loss is not nearly zero; birch2 stands apart."""

CLUSTERS_WITHIN_BOUNDS = {"uber_pickups": 64, "credit": 8, "randhie": 6}
"""Tables with a bounds file such as somebody would write who knows the field and not the rows."""
THESIS_ROWS, THESIS_BOUNDS = 100_000, (-5.0, 105.0)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table, how many clusters to look for in it, and what no coordinate's size exceeds.

    Without a delta it is fitted with the paper's, ``N**-1.1``. Where rows belong to users, these
    are protected, and so many rows of one count.
    """

    name: str
    rows: FloatArray
    n_clusters: int
    half_width: float
    delta: float | None = None
    users: IntArray | None = None
    max_rows_per_unit: int = 1

    @property
    def n_counted(self) -> int:
        """How many rows count: of one user no more than the limit."""
        if self.users is None:
            return len(self.rows)
        return int(np.minimum(np.bincount(self.users), self.max_rows_per_unit).sum())


class MissingDataError(FileNotFoundError):
    """A table whose file is not there."""


@cache
def dataset(name: str) -> Dataset:
    """Return a table: a file's name, or sklearn_k_d or thesis_clusters_d_k, which are generated."""
    generated = re.fullmatch(r"(sklearn|thesis)_(\d+)_(\d+)_?(\d*)", name)
    if generated:
        family, count, columns, sought = generated.groups()
        n_clusters, n_columns = int(count), int(columns)
        if family == "thesis":
            rows = within(thesis_rows(n_clusters, n_columns), *THESIS_BOUNDS)
            return Dataset(name, rows, int(sought or count), n_columns**-0.5)
        rows = blobs(n_clusters, n_columns)
        return Dataset(name, rows, n_clusters, float(np.abs(rows).max()))
    folder = Path(os.environ.get("PRIVCLUST_DATA", "../shared/data"))
    file = folder / f"{name}.npz"
    if not file.exists():
        raise MissingDataError(
            f"no file for {name!r}; set PRIVCLUST_DATA to the directory that has it."
        )
    rows = np.load(file)["X"].astype(np.float64)
    if name in CLUSTERS_WITHIN_BOUNDS:
        rows = within(rows, *_sides(folder / f"{name}.bounds.toml"))
        return Dataset(name, rows, CLUSTERS_WITHIN_BOUNDS[name], rows.shape[1] ** -0.5)
    rows = normalised(rows)
    return Dataset(name, rows, _clusters(name), float(np.abs(rows).max()))


def _sides(file: Path) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds; the levels of a category count as numbers."""
    columns = tomllib.loads(file.read_text(encoding="utf-8"))["columns"].values()
    lower = [column.get("lower", min(column.get("levels", [0]))) for column in columns]
    upper = [column.get("upper", max(column.get("levels", [0]))) for column in columns]
    return np.array(lower, dtype=float), np.array(upper, dtype=float)


def _clusters(name: str) -> int:
    if name in CLUSTERS_OF_FILES:
        return CLUSTERS_OF_FILES[name]
    family, number = name.split("_")[:2]
    return 2 if family == "g2" else int(number)


def blobs(n_clusters: int, n_columns: int, seed: int = 1) -> FloatArray:
    """Return 20,000 rows of Gaussian blobs; with seed 1 this is the paper's sklearn_k_d."""
    rows = make_blobs(20_000, n_columns, centers=n_clusters, random_state=seed)[0]
    return normalised(rows.round(4))


def thesis_rows(n_clusters: int, n_columns: int) -> FloatArray:
    """Return the thesis' blobs, of standard deviation 1 in a box from 0 to 100."""
    made: FloatArray = make_blobs(
        THESIS_ROWS, n_columns, centers=n_clusters, center_box=(0.0, 100.0), random_state=1
    )[0]
    return made


def within(rows: FloatArray, lower: FloatArray | float, upper: FloatArray | float) -> FloatArray:
    """Return the rows with a box of bounds mapped into the unit ball, its corners touching it."""
    half = (np.asarray(upper) - lower) / 2
    bounded = np.clip(rows, lower, upper) - lower - half
    scaled: FloatArray = bounded / (half * np.sqrt(rows.shape[1]))
    return scaled


def normalised(rows: FloatArray) -> FloatArray:
    """Return the rows centred and scaled to a largest norm of 1."""
    centred = rows - rows.mean(axis=0)
    scaled: FloatArray = centred / np.linalg.norm(centred, axis=1).max()
    return scaled


def loss(rows: FloatArray, centers: FloatArray) -> float:
    """Return the mean squared distance to the nearest centre."""
    squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centers.T + (centers**2).sum(axis=1)
    return float(squares.min(axis=1).mean())

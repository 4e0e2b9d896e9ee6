"""The paper's tables by name, under its protocol: centred, and scaled to a largest norm of 1.

Centring and scaling look at the rows without any privacy, as the paper does for every method it
compares. Files lie in the directory named by ``PRIVCLUST_DATA``; generated tables need none.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from privclust.geometry.grid import FloatArray

CLUSTERS_OF_FILES = {"iris": 3, "adult": 3, "letter": 26, "gas": 6, "mnist": 10, "birch2": 100}
COLUMNS = (4, 16, 64, 128)
EVERY_SET = (
    *(name for name in CLUSTERS_OF_FILES if name != "birch2"),
    *(f"g2_{d}" for d in COLUMNS),
    *(f"{family}_{k}_{d}" for family in ("scale", "sklearn") for k in (4, 16, 64) for d in COLUMNS),
)
"""The paper's 33 tables whose k-means loss is not nearly zero; birch2 stands apart."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table and the number of clusters the paper looks for in it."""

    name: str
    rows: FloatArray
    n_clusters: int


class MissingDataError(FileNotFoundError):
    """A table whose file is not there."""


@cache
def dataset(name: str) -> Dataset:
    """Return the table called `name`: a file's name, or sklearn_k_d, which is generated."""
    generated = re.fullmatch(r"sklearn_(\d+)_(\d+)", name)
    if generated:
        n_clusters, n_columns = map(int, generated.groups())
        return Dataset(name, blobs(n_clusters, n_columns), n_clusters)
    file = Path(os.environ.get("PRIVCLUST_DATA", "../shared/data")) / f"{name}.npz"
    if not file.exists():
        raise MissingDataError(
            f"no file for {name!r}; set PRIVCLUST_DATA to the directory that has it."
        )
    rows = np.load(file)["X"].astype(np.float64)
    return Dataset(name, normalised(rows), _clusters(name))


def _clusters(name: str) -> int:
    if name in CLUSTERS_OF_FILES:
        return CLUSTERS_OF_FILES[name]
    family, number = name.split("_")[:2]
    return 2 if family == "g2" else int(number)


def blobs(n_clusters: int, n_columns: int, seed: int = 1) -> FloatArray:
    """Return 20,000 rows of Gaussian blobs; with seed 1 this is the paper's sklearn_k_d."""
    rows = make_blobs(20_000, n_columns, centers=n_clusters, random_state=seed)[0]
    return normalised(rows.round(4))


def normalised(rows: FloatArray) -> FloatArray:
    """Return the rows centred and scaled to a largest norm of 1."""
    centred = rows - rows.mean(axis=0)
    scaled: FloatArray = centred / np.linalg.norm(centred, axis=1).max()
    return scaled


def loss(rows: FloatArray, centers: FloatArray) -> float:
    """Return the mean squared distance to the nearest centre."""
    squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centers.T + (centers**2).sum(axis=1)
    return float(squares.min(axis=1).mean())

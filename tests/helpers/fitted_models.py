"""Fits that several tests share, made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from privclust import PrivateKMeans
from privclust.kernels.grid import FloatArray
from privclust.testing import SeededNoise, noise_from

MIDDLES = np.array([[10.0, 10.0], [14.0, 10.0], [60.0, 10.0], [60.0, 80.0]])
BOUNDS_FILE = """
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
[columns.income]
type = "number"
lower = 1000
upper = 1000000
transform = "log"
[columns.ward]
type = "category"
levels = ["A", "B", "other"]
[columns.visit]
type = "date"
lower = 2024-01-01
upper = 2024-12-31
"""


def table(middles: FloatArray = MIDDLES, rows: int = 3000, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(middle, 0.8, (rows, 2)) for middle in middles])


@cache
def four_clusters() -> Any:
    return fit_of(table())


def fit_of(rows: FloatArray, k: int = 4, seed: int = 0, **given: Any) -> Any:
    given = {"delta": 1e-6, "bounds": ([0, 0], [100, 100]), "random_state": 0, **given}
    with noise_from(SeededNoise(seed)):
        return PrivateKMeans(k, **given).fit(rows)


@cache
def vectors_model(seed: int) -> Any:
    """Return a model of one column of vectors, which count by their direction."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    rows = rng.choice([-1.0, 1.0], (3000, 1)) * [1.0, 0.0, 0.0] + rng.normal(0, 0.1, (3000, 3))
    words = pa.array(list(rows), pa.list_(pa.float64(), 3))
    with noise_from(SeededNoise(seed)):
        model = PrivateKMeans(2, metric="cosine", delta=1e-6, max_clusters=3, random_state=0)
        return model.fit(pa.table({"words": words}))


@cache
def mixed_model(folder: Path) -> Any:
    import pandas as pd

    file = folder / "bounds.toml"
    file.write_text(BOUNDS_FILE)
    rng = np.random.default_rng(0)
    old = np.repeat([False, True], 4000)
    frame = pd.DataFrame(
        {
            "age": np.where(old, rng.normal(70, 5, 8000), rng.normal(30, 5, 8000)),
            "income": 10 ** np.where(old, rng.normal(4, 0.1, 8000), rng.normal(5, 0.1, 8000)),
            "ward": np.where(rng.random(8000) < np.where(old, 0.9, 0.2), "A", "B"),
            "visit": pd.Timestamp("2024-06-01") + pd.to_timedelta(rng.integers(0, 60, 8000), "D"),
        }
    )
    with noise_from(SeededNoise(0)):
        return PrivateKMeans(2, delta=1e-6, bounds=str(file), random_state=0).fit(frame)


@cache
def vector_model(seed: int) -> Any:
    """Return a model of directions that one column of vectors holds."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    rows = np.vstack([rng.normal(middle, 0.1, (2000, 4)) for middle in np.eye(4)[:2]])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 4)
    with noise_from(SeededNoise(seed)):
        model = PrivateKMeans(2, delta=1e-6, metric="cosine", max_clusters=4, random_state=0)
        return model.fit(pa.table({"words": vectors}))

"""A mixed table of three groups, its bounds file, and a model of it."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from privclust import PrivateKMeans
from privclust.testing import SeededNoise, noise_from

FEATURES = ["age", "income", "ward=A & <B>", "ward=it's", "ward=other", "visit"]
LEVELS = ("A & <B>", "it's", "other")
BOUNDS = """
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
[columns.income]
type = "number"
lower = 100
upper = 10_000_000
transform = "log"
[columns.ward]
type = "category"
levels = ["A & <B>", "it's", "other"]
[columns.visit]
type = "date"
lower = 2020-01-01
upper = 2025-12-31
"""


def mixed_rows(n_rows: int, seed: int = 0) -> Any:
    """Return three groups that differ in every column."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    return pa.table(
        {
            "age": rng.normal(30.0 + 15 * group, 4.0),
            "income": 10 ** rng.normal(3.0 + group, 0.2),
            "ward": [LEVELS[place] for place in group],
            "visit": pa.array(
                (date(2021, 1, 1).toordinal() - date(1970, 1, 1).toordinal())
                + rng.normal(200.0 + 300 * group, 30.0).astype(np.int32),
                pa.int32(),
            ).cast(pa.date32()),
        }
    )


@cache
def mixed_model(kind: Any = PrivateKMeans, **given: Any) -> Any:
    """Return a model of these rows, with the noise of a test."""
    with TemporaryDirectory() as folder, noise_from(SeededNoise(0)):
        file = Path(folder) / "bounds.toml"
        file.write_text(BOUNDS)
        few = {"max_clusters": 4} if kind is PrivateKMeans else {}
        model = kind(3, delta=1e-6, bounds=str(file), random_state=0, **few, **given)
        return model.fit(mixed_rows(5000))

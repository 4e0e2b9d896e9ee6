"""Fits with seeded noise whose bits tell whether a change altered results; printed as JSON.

Run by `benchmarks/restamp.py` with the code of two revisions, so it imports by name what either
may lack.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import privclust
from privclust.testing import SeededNoise, noise_from

ESTIMATORS = (
    *("PrivateKMeans", "PEMeans", "HDPEMeans", "DPLloyd"),
    *("FastLloyd", "LSHCoreset", "BalcanKMeans", "FedDPKMeans"),
)
SHAPES = ((3000, 2, 4), (3000, 16, 8), (2000, 40, 8), (1500, 200, 6))
"""Rows, columns and clusters of the tables."""
KEPT_BY = {
    "histories": "audit_histories",
    **{
        name: name
        for name in (
            *("audit", "embeddings", "federated", "mixed", "reproduce"),
            *("series", "speed", "thesis", "topics", "utility"),
        )
    },
}
"""Files of results, and the module whose ``code_of`` says which code made them."""


def main() -> None:
    """Print the bits of all probes and the codes of all methods."""
    warnings.simplefilter("ignore")
    json.dump({"bits": dict(_bits()), "codes": dict(_codes())}, sys.stdout)


def _bits() -> Any:
    for rows, columns, k in SHAPES:
        rng = np.random.default_rng(columns)
        centers = rng.uniform(-0.7, 0.7, (k, columns)) / math.sqrt(columns)
        table = centers[rng.integers(0, k, rows)] + rng.normal(0, 0.05, (rows, columns))
        sides = np.full(columns, 1.5)
        boxed: dict[str, Any] = {"bounds": (-sides, sides)}
        for name in ESTIMATORS:
            for seed, given in enumerate(({"radius": 2.0}, boxed, {**boxed, "n_rows": rows})):
                model = getattr(privclust, name)(k, delta=1e-6, random_state=seed, **given)
                yield f"{name} {columns} {seed}", _fitted(model, table, seed)
        boxed |= {"delta": 1e-6, "random_state": 0}
        scaled = privclust.PrivateKMeans(k, scale="private", **boxed)
        yield f"scale {columns}", _fitted(scaled, table, 7)
        started = privclust.PrivateKMeans(k, init=centers, **boxed)
        yield f"start {columns}", _fitted(started, table, 8)
        cosine = privclust.PrivateKMeans(k, delta=1e-6, metric="cosine", random_state=0)
        yield f"cosine {columns}", _fitted(cosine, table, 9)
        frame = pd.DataFrame(table, columns=[f"c{place}" for place in range(columns)])
        frame["who"] = np.arange(rows) // 3
        units = privclust.PrivateKMeans(
            k, delta=1e-6, radius=2.0, unit="who", unit_rows=2, random_state=0
        )
        yield f"units {columns}", _fitted(units, frame, 10)


def _fitted(model: Any, table: Any, seed: int) -> str:
    with noise_from(SeededNoise(seed)):
        model.fit(table)
    found = sha256(model.cluster_centers_.tobytes() + model.cluster_sizes_.tobytes())
    for release in model.releases_:
        found.update(f"{release.slot} {release.scale!r}".encode() + release.answer.tobytes())
    return found.hexdigest()[:16]


def _codes() -> Any:
    import pyarrow.parquet as pq

    for name, module in KEPT_BY.items():
        try:
            code_of = import_module(f"benchmarks.{module}").code_of
        except ModuleNotFoundError:
            continue
        file = Path("benchmarks/results") / f"{name}.parquet"
        if not file.exists():
            continue
        for method in pq.read_table(file, columns=["method"])["method"].unique().to_pylist():
            yield f"{name}/{method}", code_of(method)


if __name__ == "__main__":
    main()

"""The tables of the robustness suite by name: their seeds, and which of them are held out.

Every family has tables to design on and others, with other parameters, that are measured once,
when designing is over. Seeds and the split were committed before any algorithm was changed by what
the tables show. ``python -m benchmarks.robust.tables`` writes down the rows' digests, which a test
compares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from benchmarks.data import Dataset, within
from benchmarks.pieces import RESULTS
from benchmarks.robust import columns, real, shapes, tails, zeros
from benchmarks.robust.drawing import Drawn

DELTA = 1e-6
DIGESTS = RESULTS / "robust_tables.json"


@dataclass(frozen=True)
class Spec:
    """How a table is drawn, and how many clusters are sought in it."""

    name: str
    family: str
    n_clusters: int
    seed: int
    make: Callable[[np.random.Generator], Drawn]
    held_out: bool = False
    max_rows_per_unit: int = 1

    def draw(self) -> Drawn:
        """Return the rows, with bounds."""
        return self.make(np.random.default_rng(self.seed))


def _pair(
    family: str,
    seed: int,
    make: Callable[..., Drawn],
    design: tuple[int, dict[str, object]],
    held_out: tuple[int, dict[str, object]],
    other: Callable[..., Drawn] | None = None,
    units: tuple[int, int] = (1, 1),
) -> tuple[Spec, Spec]:
    """Return a table to design on and one held out, from their clusters and parameters."""
    return (
        Spec(f"{family}_a", family, design[0], seed, partial(make, **design[1]), False, units[0]),
        Spec(
            f"{family}_b",
            family,
            held_out[0],
            seed + 1,
            partial(other or make, **held_out[1]),
            True,
            units[1],
        ),
    )


SPECS: tuple[Spec, ...] = (
    *_pair(
        *("zero_one", 1101, zeros.zero_one),
        (8, {"n_columns": 6, "zeros": 0.8}),
        (8, {"n_columns": 4, "zeros": 0.9}),
    ),
    *_pair(
        *("zero_some", 1201, zeros.zero_some),
        (8, {"n_columns": 6, "zeros": [0.7, 0.8, 0.9]}),
        (10, {"n_columns": 10, "zeros": [0.7, 0.77, 0.83, 0.9]}),
    ),
    *_pair(
        *("zero_rows", 1301, zeros.equal_rows),
        (8, {"share": 0.95}),
        (6, {"share": 0.9, "n_columns": 5}),
        other=zeros.zero_rows,
    ),
    *_pair(
        *("zero_each", 1401, zeros.zero_each),
        (8, {"n_columns": 5, "zeros": 0.85}),
        (12, {"n_columns": 8, "zeros": 0.6}),
    ),
    *_pair(
        *("lognormal", 1501, tails.lognormal),
        (8, {"n_columns": 8, "sigma": 1.0, "upper": 100.0}),
        (10, {"n_columns": 3, "sigma": 1.5, "upper": 200.0}),
    ),
    *_pair(
        *("pareto", 1601, tails.pareto),
        (6, {"n_columns": 3, "alpha": 1.5, "upper": 1000.0}),
        (8, {"n_columns": 5, "alpha": 2.0, "upper": 1000.0}),
    ),
    *_pair(
        *("student", 1701, tails.student),
        (16, {"n_columns": 4, "n_clusters": 16, "freedom": 2, "side": 100.0}),
        (8, {"n_columns": 8, "n_clusters": 8, "freedom": 3, "side": 50.0}),
    ),
    *_pair(
        *("outliers_far", 1801, tails.outliers),
        (8, {"n_columns": 4, "n_clusters": 8, "share": 0.01, "within": 20.0, "side": 20.0}),
        (8, {"n_columns": 6, "n_clusters": 8, "share": 0.05, "within": 20.0, "side": 20.0}),
    ),
    *_pair(
        *("outliers_near", 1901, tails.outliers),
        (8, {"n_columns": 4, "n_clusters": 8, "share": 0.05, "within": 2.0, "side": 2.5}),
        (10, {"n_columns": 3, "n_clusters": 10, "share": 0.01, "within": 2.0, "side": 2.5}),
    ),
    *_pair(
        *("zipf", 2001, tails.zipf),
        (32, {"n_rows": 50_000, "n_columns": 8, "n_clusters": 32, "exponent": 1.5}),
        (24, {"n_rows": 30_000, "n_columns": 4, "n_clusters": 24, "exponent": 1.2}),
    ),
    *_pair(
        *("rare_far", 2101, tails.rare_far),
        (3, {"n_rows": 30_100, "n_columns": 4, "n_clusters": 3, "share": 0.0033}),
        (5, {"n_rows": 30_100, "n_columns": 6, "n_clusters": 5, "share": 0.005}),
    ),
    *_pair(
        *("duplicates", 2201, columns.ratings),
        (8, {"n_columns": 6}),
        (16, {"n_columns": 2, "n_clusters": 16}),
        other=columns.coarse_grid,
    ),
    *_pair(
        *("constant_binary", 2301, columns.constant_binary),
        (6, {"n_numbers": 4, "n_constant": 2, "n_binary": 4}),
        (8, {"n_numbers": 2, "n_constant": 1, "n_binary": 8}),
    ),
    *_pair(
        *("one_hot", 2401, columns.one_hot),
        (8, {"levels": (5, 8, 12), "n_numbers": 2}),
        (10, {"levels": (4, 20), "n_numbers": 4}),
    ),
    *_pair(
        *("geographic", 2501, shapes.towns),
        (32, {"n_rows": 60_000}),
        (48, {"n_rows": 40_000, "n_roads": 12, "side": 0.5}),
        other=shapes.roads,
    ),
    *_pair(
        *("rings", 2601, shapes.rings),
        (12, {"radii": (1.5, 3.0), "n_columns": 2, "blob": True}),
        (16, {"radii": (1.0, 2.0, 3.0), "n_columns": 3, "blob": False}),
    ),
    *_pair(
        *("elongated", 2701, shapes.elongated),
        (8, {"n_columns": 4, "n_clusters": 8, "aspect": 20.0, "side": 20.0}),
        (6, {"n_columns": 8, "n_clusters": 6, "aspect": 50.0, "side": 30.0}),
    ),
    *_pair(
        *("correlated", 2801, columns.correlated),
        (8, {"n_factors": 2, "n_columns": 20}),
        (12, {"n_factors": 3, "n_columns": 40}),
    ),
    *_pair(
        *("k_small", 2901, shapes.blobs),
        (16, {"n_columns": 4, "n_clusters": 64}),
        (5, {"n_columns": 16, "n_clusters": 32}),
    ),
    *_pair(
        *("k_large", 3001, shapes.blobs),
        (16, {"n_columns": 4, "n_clusters": 4}),
        (20, {"n_columns": 8, "n_clusters": 6}),
    ),
    *_pair(
        *("few_rows", 3101, shapes.blobs),
        (3, {"n_columns": 2, "n_clusters": 3, "n_rows": 300}),
        (2, {"n_columns": 4, "n_clusters": 2, "n_rows": 500}),
    ),
    *_pair(
        *("few_rows_1000", 3201, shapes.blobs),
        (4, {"n_columns": 4, "n_clusters": 4, "n_rows": 1000}),
        (10, {"n_columns": 8, "n_clusters": 10, "n_rows": 1000}),
    ),
    *_pair(
        *("bounds_off", 3301, shapes.one_sided),
        (8, {"n_columns": 4, "n_clusters": 8, "factor": 20.0}),
        (6, {"n_columns": 8, "n_clusters": 6, "factor": 10.0}),
        other=shapes.shifted,
    ),
    *_pair(
        *("bounds_wide", 3401, shapes.blobs),
        (8, {"n_columns": 4, "n_clusters": 8, "side": 15_000.0}),
        (6, {"n_columns": 8, "n_clusters": 6, "side": 15_000.0}),
    ),
    *_pair(
        *("users", 3501, columns.users),
        (6, {"n_users": 5_000, "least": 1.5, "n_columns": 4, "n_clusters": 6}),
        (5, {"n_users": 3_000, "least": 2.5, "n_columns": 3, "n_clusters": 5}),
        units=(4, 8),
    ),
    Spec("doctor_visits", "real", 6, 3601, real.doctor_visits),
    Spec("capital_gains", "real", 8, 3602, real.capital_gains),
    Spec("insurance_claims", "real", 8, 3603, real.insurance_claims),
    Spec("retail", "real", 6, 3604, real.retail),
    Spec("taxi", "real", 64, 3605, real.taxi, held_out=True),
    Spec("hospital_stays", "real", 6, 3606, real.hospital_stays, held_out=True),
)
"""The first of each pair is for design, the second is held out."""
TABLES = {spec.name: spec for spec in SPECS}
DESIGN = tuple(spec.name for spec in SPECS if not spec.held_out)
HELD_OUT = tuple(spec.name for spec in SPECS if spec.held_out)


@cache
def dataset(name: str) -> Dataset:
    """Return a table with its bounds mapped into the unit ball."""
    spec = TABLES[name]
    found = spec.draw()
    rows = within(found.rows, found.lower, found.upper)
    half_width = rows.shape[1] ** -0.5
    return Dataset(
        *(name, rows, spec.n_clusters, half_width),
        delta=DELTA,
        users=found.users,
        max_rows_per_unit=spec.max_rows_per_unit,
    )


def digest(spec: Spec) -> str:
    """Return a hash of a table's rows, bounds, users and how many clusters are sought."""
    found = spec.draw()
    parts = [found.rows, found.lower, found.upper]
    content = b"".join(part.tobytes() for part in parts)
    if found.users is not None:
        content += found.users.astype(np.int64).tobytes()
    numbers = f"{found.rows.shape} {spec.n_clusters} {spec.max_rows_per_unit} {spec.held_out}"
    return hashlib.sha256(content + numbers.encode()).hexdigest()[:16]


if __name__ == "__main__":
    DIGESTS.write_text(
        json.dumps({name: digest(spec) for name, spec in TABLES.items()}, indent=1) + "\n"
    )

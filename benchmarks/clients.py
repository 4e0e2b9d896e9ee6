"""Mixtures dealt out to clients, and what the server of a federation knows (ALGORITHMS 2.7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from privclust.kernels.grid import FloatArray

N_CLUSTERS, N_COLUMNS = 10, 100
VARIANCE = 0.5
IN_DISTRIBUTION, UNIFORM = 20, 100
"""Points of the server: so many of each component, and so many drawn from the cube."""
SHAPES = {"clients": (100, 1000), "devices": (2000, 50), "small": (5, 200)}
"""Clients, and rows of each."""


@dataclass(frozen=True, eq=False)
class Silos:
    """The clients' rows, the server's, and the means all were drawn around."""

    tables: dict[str, FloatArray]
    server: FloatArray
    means: FloatArray

    @property
    def pooled(self) -> FloatArray:
        """All rows of all clients, as nobody has them."""
        return np.vstack(list(self.tables.values()))


@cache
def clients(name: str) -> Silos:
    """Return the mixture whose means lie in the unit cube of 100 columns, dealt out evenly."""
    clients, rows = SHAPES[name]
    rng = np.random.default_rng(0)
    means = rng.uniform(0.0, 1.0, (N_CLUSTERS, N_COLUMNS))
    tables = {
        f"client {number}": _around(means[rng.integers(0, N_CLUSTERS, rows)], rng)
        for number in range(clients)
    }
    known = _around(np.repeat(means, IN_DISTRIBUTION, axis=0), rng)
    unlike = rng.uniform(0.0, 1.0, (UNIFORM, N_COLUMNS))
    return Silos(tables, np.vstack([known, unlike]), means)


def _around(centers: FloatArray, rng: np.random.Generator) -> FloatArray:
    return centers + rng.normal(0.0, np.sqrt(VARIANCE), centers.shape)

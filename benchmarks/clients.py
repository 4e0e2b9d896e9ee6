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
SHAPES = {"silos": (100, 1000), "devices": (2000, 50), "small": (5, 200)}
"""Clients, and rows of each: few silos with many rows, many devices with few."""


@dataclass(frozen=True, eq=False)
class ClientMixture:
    """The clients' rows, the server's, and the means all were drawn around."""

    tables: dict[str, FloatArray]
    server: FloatArray
    means: FloatArray

    @property
    def pooled(self) -> FloatArray:
        """All rows of all clients, as nobody has them."""
        return np.vstack(list(self.tables.values()))


@cache
def client_mixture(name: str) -> ClientMixture:
    """Return the mixture whose means lie in the unit cube of 100 columns, dealt out evenly."""
    n_clients, n_rows = SHAPES[name]
    rng = np.random.default_rng(0)
    means = rng.uniform(0.0, 1.0, (N_CLUSTERS, N_COLUMNS))
    tables = {
        f"client {number}": _around(means[rng.integers(0, N_CLUSTERS, n_rows)], rng)
        for number in range(n_clients)
    }
    known = _around(np.repeat(means, IN_DISTRIBUTION, axis=0), rng)
    unlike = rng.uniform(0.0, 1.0, (UNIFORM, N_COLUMNS))
    return ClientMixture(tables, np.vstack([known, unlike]), means)


def _around(centers: FloatArray, rng: np.random.Generator) -> FloatArray:
    return centers + rng.normal(0.0, np.sqrt(VARIANCE), centers.shape)

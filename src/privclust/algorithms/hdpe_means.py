"""HDPE-means: PE-means in a random projection, then one noisy mean per cluster (the same paper).

This is the paper's Algorithm 3 as written: every coordinate of a sum has noise of its own, and the
releases of the last step are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.algorithms._cost import Cost, Measured
from privclust.algorithms.pe_means import (
    PEMeansPlan,
    count_rows,
    count_slots,
    elections,
    evolution_cost,
    evolve,
    rounds_for,
)
from privclust.kernels.projection import gaussian_projection
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.clusters import ClusterSums

COMPONENTS = 16


@dataclass(frozen=True)
class HDPEMeansPlan(PEMeansPlan):
    """A plan of PE-means in a projection, with the slot "sums" at the end."""

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        k, d = float(self.n_clusters), float(self.n_columns)
        return evolution_cost(self, COMPONENTS, Measured(k * (d + 1), k, d))


def plan(
    n_clusters: int, n_columns: int, budget: Budget, n_rows: int | None = None
) -> HDPEMeansPlan:
    """Plan a fit: of the rounds of 16 dimensions, the last two pay for the slot "sums".

    Examples
    --------
    >>> plan(3, 64, Budget(1.0, 1e-6)).rounds
    14
    """
    shares = rounds_for(COMPONENTS, budget.epsilon)
    rounds = shares - 2
    count = count_slots(n_rows)
    share = (1 - sum(slot.share for slot in count)) / shares
    slots = [
        *count,
        *(Slot(name, share) for name in elections(rounds)),
        Slot("sums", 2 * share, l0=n_columns + 1),
    ]
    return HDPEMeansPlan(n_clusters, n_columns, n_rows, rounds, make_plan(budget, slots))


def run(curator: Curator, plan: HDPEMeansPlan, rng: np.random.Generator) -> Clustering:
    """Find clusters in the projection, then take their noisy means in the original space."""
    n_rows = count_rows(curator, plan.n_rows)
    projection = gaussian_projection(plan.n_columns, COMPONENTS, rng)
    found = evolve(curator, plan.rounds, plan.n_clusters, COMPONENTS, n_rows, rng, projection)
    origins = np.zeros((plan.n_clusters, plan.n_columns))
    query = ClusterSums(found.centers, origins, radius=1.0, weight=1.0, projection=projection)
    sums, counts = query.split(curator.measure("sums", query).values)
    # A cluster can have next to no rows; its noisy count must not turn or blow up its mean.
    means = sums / np.maximum(counts, 1.0)[:, None]
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return Clustering(means / np.maximum(lengths, 1.0), np.maximum(counts, 0.0), n_rows)

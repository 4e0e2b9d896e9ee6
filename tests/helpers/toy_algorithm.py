"""A correct algorithm of somebody else's, with a query of its own; tests plant bugs in its text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import UNIT, FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan, Slot, make_plan
from privclust.queries.base import ONE_HOT, Contribution, Count


@dataclass(frozen=True, eq=False)
class Sides:
    """Each row votes for the side of the origin on which its first column lies."""

    size = 2
    sensitivity = ONE_HOT

    def contribute(self, rows: FloatArray) -> Contribution:
        side = rows[:, :1] > 0
        return Contribution(side.astype(np.int64), np.full((len(rows), 1, 1), UNIT))


@dataclass(frozen=True)
class ToyPlan:
    n_clusters: int
    n_columns: int
    spending: Plan


def plan(n_clusters: int, n_columns: int, budget: Budget, n_rows: int | None) -> ToyPlan:
    slots = [Slot("count", 0.5), Slot("sides", 0.5)]
    return ToyPlan(n_clusters, n_columns, make_plan(budget, slots))


def run(curator: Curator, plan: ToyPlan, rng: np.random.Generator) -> Clustering:
    count = curator.measure("count", Count()).values[0]
    sides = curator.measure("sides", Sides()).values
    centers = rng.uniform(-0.5, 0.5, (plan.n_clusters, plan.n_columns))
    sizes = np.full(plan.n_clusters, max(float(sides[1]), 0.0))
    return Clustering(centers, sizes, max(1, round(float(count))))

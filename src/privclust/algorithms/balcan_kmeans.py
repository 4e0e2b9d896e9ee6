"""Private k-means by cube partitions and local search (Balcan, Dick, Liang, Mou and Zhang).

Rows are projected to a few dimensions, cubes that hold many of them give candidate centres, private
swaps choose k of these, and noisy means take the clusters back to all columns. The constants are
those of a later thesis on the method, or the original ones.

Published implementations spent more than their budget, counted rows in cubes they do not lie in,
left out cubes without rows, and divided by exact counts; none of it is possible behind the Curator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privclust.algorithms._cost import Cost, Measured, total
from privclust.algorithms._cube_partition import (
    CUBES_MAX,
    CUBES_PER_CLUSTER,
    Search,
    level_names,
    partition,
)
from privclust.algorithms._local_search import local_search
from privclust.algorithms._shrinkage import rows_held
from privclust.algorithms.pe_means import count_rows, count_slots
from privclust.kernels.grid import GRID, FloatArray
from privclust.kernels.projection import Projection, gaussian_projection
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Mechanism, Plan, Slot, make_plan, numbered
from privclust.queries.clusters import ClusterSums
from privclust.queries.swaps import CHOICES_MAX, SetSavings

PARTITIONS = 3
DEPTH_MAX = 10
AXES_MAX = 5
SWAPS_MAX = 20
LLOYD_ROUNDS = 3


@dataclass(frozen=True)
class Constants:
    """How the budget is shared, and which cubes give candidates."""

    candidates: float
    swaps: float
    recovery: float
    lloyd: float
    final: float
    strictness: float
    deepest_only: bool


CONSTANTS = {
    "improved": Constants(0.7, 0.01, 0.04, 0.2, 0.05, strictness=1.0, deepest_only=True),
    "original": Constants(8 / 18, 1 / 18, 1 / 9, 1 / 3, 1 / 18, strictness=2.0, deepest_only=False),
}
"""The thesis' choice, and the first implementation's, whose shares summed to 3/2."""


@dataclass(frozen=True)
class BalcanPlan:
    """What will be measured; every field is public.

    Attributes
    ----------
    n_clusters, n_columns : int
        k and d.
    n_rows : int or None
        A number the user typed, or None to measure a noisy count.
    constants : Constants
        Shares and thresholds.
    depth, swaps : int
        Levels of each of the three partitions, and swaps of the local search.
    spending : Plan
        The slots: "count" where `n_rows` is None, the levels, "swap 1", …, "set", "recovery",
        "lloyd 1", …, "final".
    """

    n_clusters: int
    n_columns: int
    n_rows: int | None
    constants: Constants
    depth: int
    swaps: int
    spending: Plan

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        k, d = float(self.n_clusters), float(self.n_columns)
        axes = axes_for(self.n_columns, self.n_rows or 2**62)
        cubes = min(CUBES_PER_CLUSTER * k, CUBES_MAX)
        measured = [
            Measured(2**axes * max(cubes, 2**axes), 1, axes, PARTITIONS * self.depth),
            Measured(CHOICES_MAX, k + CHOICES_MAX, axes, self.swaps),
            Measured(self.swaps, self.swaps * k, axes),
            Measured(k * (d + 1), k, d, 1 + LLOYD_ROUNDS),
            Measured(LLOYD_ROUNDS, LLOYD_ROUNDS * k, d),
        ]
        return total(measured, 0.0, 48 * k * d + 16 * self.swaps * k * axes)


def plan(
    n_clusters: int,
    n_columns: int,
    budget: Budget,
    n_rows: int | None = None,
    constants: str = "improved",
) -> BalcanPlan:
    """Plan a fit from public values: ln(n) levels, at most 10, and k swaps, at most 20.

    Examples
    --------
    >>> planned = plan(3, 4, Budget(1.0, 1e-6), n_rows=150)
    >>> planned.depth, planned.swaps, len(planned.spending.slots)
    (5, 3, 24)
    """
    depth = DEPTH_MAX if n_rows is None else max(1, min(round(math.log(n_rows)), DEPTH_MAX))
    swaps = min(n_clusters, SWAPS_MAX)
    noise: Mechanism = "laplace" if budget.delta == 0 else "gaussian"
    count = [replace(slot, mechanism=noise) for slot in count_slots(n_rows)]
    rest = 1 - sum(slot.share for slot in count)
    chosen = CONSTANTS[constants]
    levels = [name for number in range(PARTITIONS) for name in level_names(number + 1, depth)]
    shared = [
        *(Slot(name, chosen.candidates / len(levels), 1, noise) for name in levels),
        *(
            Slot(name, chosen.swaps / (swaps + 1), CHOICES_MAX, "select")
            for name in (*numbered("swap", swaps), "set")
        ),
        Slot("recovery", chosen.recovery, n_columns + 1, noise),
        *(
            Slot(name, chosen.lloyd / LLOYD_ROUNDS, n_columns + 1, noise)
            for name in numbered("lloyd", LLOYD_ROUNDS)
        ),
        Slot("final", chosen.final, LLOYD_ROUNDS, "select"),
    ]
    slots = [*count, *(replace(slot, share=slot.share * rest) for slot in shared)]
    spending = make_plan(budget, slots)
    return BalcanPlan(n_clusters, n_columns, n_rows, chosen, depth, swaps, spending)


def run(curator: Curator, plan: BalcanPlan, rng: np.random.Generator) -> Clustering:
    """Find candidates, choose k, recover their means in all columns and improve them."""
    n_rows = count_rows(curator, plan.n_rows)
    axes = axes_for(plan.n_columns, n_rows)
    projection = None if axes == plan.n_columns else gaussian_projection(plan.n_columns, axes, rng)
    candidates = _candidates(curator, plan, n_rows, axes, projection, rng)
    swaps = numbered("swap", plan.swaps)
    found = local_search(curator, swaps, candidates, plan.n_clusters, projection, rng)
    centers, _ = _means(curator, "recovery", found, plan.n_columns, projection)
    rounds = []
    for name in numbered("lloyd", LLOYD_ROUNDS):
        centers, sizes = _means(curator, name, centers, plan.n_columns, None)
        rounds.append((centers, sizes))
    query = SetSavings(np.stack([centers for centers, _ in rounds]))
    centers, sizes = rounds[curator.select("final", query).choice]
    return Clustering(centers, np.maximum(sizes, 0.0), n_rows)


def axes_for(n_columns: int, n_rows: int) -> int:
    """Return the dimensions to project to: ln(n)/2, at most 5; up to 5 columns stay as they are.

    Examples
    --------
    >>> axes_for(4, 20_000), axes_for(64, 20_000), axes_for(64, 10**9), axes_for(64, 1)
    (4, 4, 5, 2)
    """
    if n_columns <= AXES_MAX:
        return n_columns
    return max(2, min(int(math.log(n_rows) / 2), AXES_MAX))


def _candidates(
    curator: Curator,
    plan: BalcanPlan,
    n_rows: int,
    axes: int,
    projection: Projection | None,
    rng: np.random.Generator,
) -> FloatArray:
    """Partition once around the middle and twice around other points within one radius."""
    chosen = plan.constants
    search = Search(plan.n_clusters, n_rows, axes, chosen.strictness, chosen.deepest_only)
    shifts = rng.integers(-GRID, GRID, (PARTITIONS, axes))
    shifts[0] = 0
    found = [
        partition(curator, level_names(number, plan.depth), search, projection, shift)
        for number, shift in enumerate(shifts, 1)
    ]
    return np.vstack(found)


def _means(
    curator: Curator,
    slot: str,
    centers: FloatArray,
    n_columns: int,
    projection: Projection | None,
) -> tuple[FloatArray, FloatArray]:
    """Return the clusters' noisy means, from the middle of the domain, and noisy sizes."""
    origins = np.zeros((len(centers), n_columns))
    query = ClusterSums(centers, origins, radius=1.0, weight=1.0, projection=projection)
    release = curator.measure(slot, query)
    sums, counts = query.split(release.values)
    means = sums / rows_held(counts, release.sigma)[:, None]
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return means / np.maximum(lengths, 1.0), counts

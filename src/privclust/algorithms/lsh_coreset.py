"""LSH coresets (Chang and Kamath): a tree of random cells, and a noisy mean for each of its leaves.

Planes through the origin halve the ball, one plane a level. Cells with rows enough, by noisy
counts, are halved again; the means of the leaves, weighted by their noisy numbers of rows, stand
for all rows in an ordinary k-means of many starts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privclust.algorithms._cost import Cost, Measured, packing_seconds, total
from privclust.algorithms._packing import sphere_packing
from privclust.algorithms.pe_means import count_rows, count_slots
from privclust.kernels.grid import FloatArray
from privclust.models._weighted_kmeans import kmeans_seconds, weighted_kmeans
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan, Slot, make_plan, numbered
from privclust.queries.cells import CellCounts, CellSums, SignCells

DEPTH = 20
LEVEL_NOISE = 14.0
"""Noise on a count of the tree, in noises on a coordinate of a leaf's sum; published: 28."""
WEIGHT = 0.25
"""What a row counts in its leaf, relative to one radius of its sum; published: nothing."""
BRANCHING = 3
STARTS = 20
LEAVES_MAX = 2**14
COORDINATES_MAX = 2**20
"""Bounds on the leaves and on the coordinates of their sums, whatever noise does to the tree."""


@dataclass(frozen=True)
class LSHCoresetPlan:
    """What the tree will measure; every field is public.

    Attributes
    ----------
    n_clusters, n_columns : int
        k and d.
    n_rows : int or None
        A number the user typed, or None to measure a noisy count.
    spending : Plan
        The slots: "count" where `n_rows` is None, then "level 1", "level 2", …, then "leaves". A
        tree that stops early leaves its last levels unmeasured, and "leaves" gets their shares.
    """

    n_clusters: int
    n_columns: int
    n_rows: int | None
    spending: Plan

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        k, d = float(self.n_clusters), float(self.n_columns)
        leaves = max(float(_leaves_max(self.n_columns)), 1.0)
        free = kmeans_seconds(leaves + k, k, d, STARTS) + packing_seconds(k, d)
        # Few cells are cut as far as the last levels, unless there are more clusters than rows.
        levels = Measured(leaves, DEPTH, d / DEPTH, DEPTH)
        sums = Measured(leaves * (d + 1), DEPTH, d)
        return total([levels, sums], free, 32 * (leaves + k) * d)


def plan(
    n_clusters: int, n_columns: int, budget: Budget, n_rows: int | None = None
) -> LSHCoresetPlan:
    """Plan a fit from public values: a level has 14 times the noise of a coordinate of a sum.

    Examples
    --------
    >>> spending = plan(3, 4, Budget(1.0, 1e-6)).spending
    >>> [round(spending.slot(name).share, 4) for name in ("level 1", "leaves")]
    [0.0044, 0.9078]
    """
    count = count_slots(n_rows)
    level, leaves = 1 / LEVEL_NOISE**2, 1 + WEIGHT**2
    share = (1 - sum(slot.share for slot in count)) / (DEPTH * level + leaves)
    slots = [
        *count,
        *(Slot(name, share * level) for name in numbered("level", DEPTH)),
        Slot("leaves", share * leaves, l0=n_columns + 1),
    ]
    return LSHCoresetPlan(n_clusters, n_columns, n_rows, make_plan(budget, slots))


def run(curator: Curator, plan: LSHCoresetPlan, rng: np.random.Generator) -> Clustering:
    """Grow the tree, take the noisy means of its leaves, and cluster these."""
    n_rows = count_rows(curator, plan.n_rows)
    normals = rng.normal(size=(DEPTH, plan.n_columns))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    leaves = grow(curator, normals, n_rows, plan.n_clusters)
    # What levels that were not reached would have cost goes into the leaves.
    curator.refine([Slot("leaves", curator.left, l0=plan.n_columns + 1)])
    query = CellSums(SignCells(normals, leaves), plan.n_columns, WEIGHT)
    sums, counts = query.split(curator.measure("leaves", query).values)
    # A leaf can have next to no rows; its noisy count must not turn or blow up its mean.
    weights = np.maximum(counts, 1.0)
    means = sums / weights[:, None]
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1.0)
    # Where there are fewer leaves than clusters, public points without weight are centres too.
    spare = sphere_packing(plan.n_clusters, plan.n_columns, rng)
    points, weights = np.vstack([means, spare]), np.append(weights, np.zeros(len(spare)))
    found = weighted_kmeans(points, weights, plan.n_clusters, rng, STARTS)
    # Rows of cells that were dropped are in no leaf, but they belong to some cluster.
    sizes = found.sizes * (n_rows / found.sizes.sum())
    return Clustering(found.centers, sizes, n_rows)


def grow(curator: Curator, normals: FloatArray, n_rows: int, n_clusters: int) -> tuple[str, ...]:
    """Halve cells with rows enough, level by level, and return the names of the leaves.

    Both halves of a cell are counted, whether or not there are rows in them. A half that is too
    small is dropped with its rows; a cell that loses both is a leaf itself.
    """
    n_columns = normals.shape[1]
    leaves_max = _leaves_max(n_columns)
    leaves: list[str] = []
    branching = [""]
    for level in numbered("level", DEPTH):
        children = [node + side for node in branching for side in "01"]
        release = curator.measure(level, CellCounts(SignCells(normals, tuple(children))))
        counts = dict(zip(children, release.values.tolist(), strict=True))
        smallest = smallest_cell(release.sigma / LEVEL_NOISE, n_columns, n_rows, n_clusters)
        kept = [child for child in children if counts[child] >= smallest]
        parents = {child[:-1] for child in kept}
        leaves += [node for node in branching if node not in parents]
        large = [child for child in kept if counts[child] >= BRANCHING * smallest]
        spare = max(0, leaves_max - len(leaves) - len(kept))  # halving a leaf adds one at most
        branching = sorted(large, key=lambda child: -counts[child])[:spare]
        leaves += sorted(set(kept) - set(branching))
        if not branching:
            break
    return (*leaves, *branching)


def smallest_cell(sigma: float, n_columns: int, n_rows: int, n_clusters: int) -> int:
    """Return how many rows a cell needs for its mean to show above noise of `sigma` a coordinate.

    Cells half as large as an average cluster are kept whatever the noise.

    Examples
    --------
    >>> smallest_cell(3.7, 4, 20_000, 16), smallest_cell(3.7, 4, 150, 3)
    (74, 25)
    """
    return max(1, min(int(10 * math.sqrt(n_columns) * sigma), n_rows // (2 * n_clusters)))


def _leaves_max(n_columns: int) -> int:
    return min(LEAVES_MAX, COORDINATES_MAX // (n_columns + 1))

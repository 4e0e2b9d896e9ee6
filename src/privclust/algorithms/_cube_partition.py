"""Candidate centres by halving cubes: where many rows lie, cubes are cut further.

Every subcube of an active cube is counted and has noise, also those without rows. Each row lies in
exactly one subcube of a level, so a level costs what one count costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import GRID, FloatArray, IntArray
from privclust.kernels.projection import Projection
from privclust.privacy.curator import Curator
from privclust.privacy.release import Release
from privclust.queries.cubes import CUBE_BITS, SubcubeCounts

CUBES_PER_CLUSTER = 8
CUBES_MAX = 4096


@dataclass(frozen=True)
class Search:
    """What decides how far cubes are cut; every field is public.

    Attributes
    ----------
    n_clusters, n_rows : int
        k, and the typed or noisy number of rows.
    axes : int
        Dimensions of the space in which cubes lie.
    strictness : float
        How many times the largest noise to be expected a cube must hold to be kept.
    deepest_only : bool
        Whether only the smallest cubes become candidates, level by level until there are k.
    """

    n_clusters: int
    n_rows: int
    axes: int
    strictness: float
    deepest_only: bool

    @property
    def cubes(self) -> int:
        """The most cubes kept at a level."""
        return min(CUBES_PER_CLUSTER * self.n_clusters, CUBES_MAX)


def level_names(partition: int, depth: int) -> list[str]:
    """Return the names of a partition's slots."""
    return [f"partition {partition} level {level}" for level in range(1, depth + 1)]


def partition(
    curator: Curator,
    names: list[str],
    search: Search,
    projection: Projection | None,
    shift: IntArray,
) -> FloatArray:
    """Cut cubes once for each name, and return the middles of those that hold many rows.

    The first cube is twice as wide as the ball, so that it holds all of it when it is shifted by
    up to one radius. Its own 2^axes subcubes are taken as they are.
    """
    corner = shift - 2 ** (CUBE_BITS - 1)
    found = [_middles(np.zeros((1, search.axes)), 0, corner)]
    cubes = (np.arange(2**search.axes)[:, None] >> np.arange(search.axes)) & 1
    for level, name in enumerate(names, 1):
        query = SubcubeCounts(cubes, level, corner, projection)
        release = curator.measure(name, query)
        crowded = crowded_cubes(release, search)
        found.append(_middles(query.subcubes[crowded], level + 1, corner))
        # Every level is measured: where noise hides all rows, within the fullest cube.
        cubes = query.subcubes[crowded if crowded.size else [release.values.argmax()]]
    return deepest(found, search.n_clusters) if search.deepest_only else np.vstack(found)


def crowded_cubes(release: Release, search: Search) -> IntArray:
    """Return the fullest cubes: with more rows than noise explains, and than all could have."""
    counts = release.values
    enough = max(
        search.strictness * largest_noise(release, search.n_rows), search.n_rows / search.cubes
    )
    ranked = np.argsort(-counts, kind="stable")[: search.cubes]
    # In the order of the result, in which a little noise changes nothing, unlike that of ranks.
    return np.sort(ranked[counts[ranked] > enough])


def largest_noise(release: Release, n_rows: int) -> float:
    """Return what noise on an empty cube exceeds about once in `n_rows` times."""
    rarely = math.log(max(n_rows, 2))
    if release.mechanism == "laplace":
        return release.sigma / math.sqrt(2) * rarely
    return release.sigma * math.sqrt(2 * rarely)


def deepest(levels: list[FloatArray], n_points: int) -> FloatArray:
    """Return the last levels, as many as it takes to have `n_points`.

    Examples
    --------
    >>> deepest([np.zeros((1, 2)), np.ones((3, 2)), np.full((2, 2), 2.0)], 4)[:, 0].tolist()
    [2.0, 2.0, 1.0, 1.0, 1.0]
    """
    taken: list[FloatArray] = []
    for points in reversed(levels):
        taken.append(points)
        if sum(map(len, taken)) >= n_points:
            break
    return np.vstack(taken)


def _middles(cubes: IntArray | FloatArray, level: int, corner: IntArray) -> FloatArray:
    middles: FloatArray = (corner + (cubes + 0.5) * 2.0 ** (CUBE_BITS - level)) / GRID
    return middles

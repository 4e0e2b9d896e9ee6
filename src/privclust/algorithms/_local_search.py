"""Local search: k centres among candidates, improved by one private swap after another."""

from __future__ import annotations

import numpy as np

from privclust.kernels.grid import FloatArray, IntArray
from privclust.kernels.projection import Projection
from privclust.privacy.curator import Curator
from privclust.queries.swaps import CHOICES_MAX, SetSavings, SwapSavings


def local_search(
    curator: Curator,
    swaps: list[str],
    candidates: FloatArray,
    n_clusters: int,
    projection: Projection | None,
    rng: np.random.Generator,
) -> FloatArray:
    """Start from k candidates, make a swap for each name, and choose among all sets on the way."""
    chosen = rng.choice(len(candidates), n_clusters, replace=len(candidates) < n_clusters)
    sets = []
    for name in swaps:
        leaving, joining = possible_swaps(n_clusters, len(candidates), rng)
        query = SwapSavings(candidates[chosen], candidates[joining], leaving, projection)
        best = curator.select(name, query).choice
        chosen = chosen.copy()
        chosen[leaving[best]] = joining[best]
        sets.append(candidates[chosen])
    return sets[curator.select("set", SetSavings(np.stack(sets), projection)).choice]


def possible_swaps(
    n_centers: int, n_candidates: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return which centre leaves and which candidate joins: all pairs, or as many as are compared.

    Examples
    --------
    >>> leaving, joining = possible_swaps(2, 3, np.random.default_rng(0))
    >>> sorted(zip(leaving.tolist(), joining.tolist()))
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    """
    n_pairs = n_centers * n_candidates
    pairs = rng.choice(n_pairs, min(n_pairs, CHOICES_MAX), replace=False)
    return pairs // n_candidates, pairs % n_candidates

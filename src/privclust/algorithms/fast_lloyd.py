"""FastLloyd: Lloyd's iterations by noisy moves of bounded length (Diaa, Humphries and Kerschbaum).

Rows within a radius of their nearest centre say how far they lie from it, farther ones say nothing.
The radius shrinks after the first round, and with it the noise.
"""

from __future__ import annotations

import math

import numpy as np

from privclust.algorithms._box_packing import domain_packing, fold
from privclust.algorithms.dp_lloyd import (
    ROUNDS_MAX,
    LloydPlan,
    clamped_rounds,
    plan_rounds,
    settle_rounds,
)
from privclust.algorithms.pe_means import count_rows
from privclust.errors import Message, Parameter, ParameterError
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget, mu_of
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterSums
from privclust.queries.nearby import NearbySums

ALPHA = 0.8
"""The radius after the first round, in radii of as many balls as would fill the domain."""


def plan(
    n_clusters: int,
    n_columns: int,
    budget: Budget,
    n_rows: int | None = None,
    half_widths: FloatArray | None = None,
) -> LloydPlan:
    """Plan a fit from public values: 2 to 7 rounds, the more the more rows there are.

    Examples
    --------
    >>> [slot.name for slot in plan(3, 4, Budget(1.0, 1e-6), n_rows=1000).spending.slots]
    ['sums 1', 'sums 2']
    """
    if budget.delta == 0:
        raise ParameterError(
            Message(
                Parameter("delta", 0),
                " means pure epsilon, which FastLloyd's Gaussian noise cannot guarantee. Give a "
                "delta above 0, such as 1e-6, or use DPLloyd.",
            )
        )
    rounds = ROUNDS_MAX if n_rows is None else rounds_for(n_rows, n_clusters, n_columns, budget)
    return plan_rounds(rounds, n_clusters, n_columns, budget, n_rows, half_widths)


def run(curator: Curator, plan: LloydPlan, rng: np.random.Generator) -> Clustering:
    """Move the centres by noisy mean residuals, round after round."""
    n_rows = count_rows(curator, plan.n_rows)
    k, d = plan.n_clusters, plan.n_columns
    rounds = settle_rounds(curator, plan, rounds_for(n_rows, k, d, plan.spending.budget))
    centers = domain_packing(k, plan.half_widths, rng)
    for number, name in enumerate(rounds):
        radius = 1.0 if number == 0 else later_radius(k, d)
        query = NearbySums(ClusterSums(centers, centers, radius, count_weight(d)))
        sums, counts = query.sums.split(curator.measure(name, query).values)
        centers = fold(centers + moves(sums, counts, radius), plan.half_widths)
    return Clustering(centers, np.maximum(counts, 0.0), n_rows)


def rounds_for(n_rows: int, n_clusters: int, n_columns: int, budget: Budget) -> int:
    """Return how many rounds noise allows: the published rule, between 2 and 7.

    Examples
    --------
    >>> rounds_for(20_000, 16, 4, Budget(1.0, 1e-6))
    5
    """
    signal = n_rows * mu_of(budget.epsilon, budget.delta)
    radius = math.sqrt(n_columns) * later_radius(n_clusters, n_columns)
    columns = (1 + math.sqrt(4 * n_columns)) ** 2
    return clamped_rounds(0.016 * signal**2 / (n_clusters**3 * radius**2 * columns))


def later_radius(n_clusters: int, n_columns: int) -> float:
    """Return the radius after the first round, in radii of the domain."""
    return ALPHA * float(n_clusters ** (-1 / n_columns))


def count_weight(n_columns: int) -> float:
    """Return what one row counts beside its residual, for the least error of a move."""
    return float((4 * n_columns) ** -0.25)


def moves(sums: FloatArray, counts: FloatArray, radius: float) -> FloatArray:
    """Return noisy mean residuals, none longer than `radius`.

    A count below one row, which noise can make of a small cluster, is taken for one row.

    Examples
    --------
    >>> moves(np.array([[3.0, 4.0], [3.0, 4.0], [0.1, 0.2]]), np.array([10.0, 1.0, -2.0]), 1.0)
    array([[0.3, 0.4], [0.6, 0.8], [0.1, 0.2]])
    """
    means = sums / np.maximum(counts, 1.0)[:, None]
    excess = np.maximum(np.linalg.norm(means, axis=1, keepdims=True) / radius, 1.0)
    limited: FloatArray = means / excess
    return limited

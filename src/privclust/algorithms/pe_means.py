"""PE-means: private evolution for k-means (Humphries, Lin and Yekhanin).

Rows vote for the nearest of many candidate centres, noise goes on the votes, weighted k-means on
the voted candidates gives k survivors, and Lévy mutants of these stand for the next election.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privclust.algorithms._cost import Cost, Measured, packing_seconds, total
from privclust.algorithms._levy import mutate
from privclust.algorithms._packing import sphere_packing
from privclust.kernels.grid import FloatArray
from privclust.kernels.projection import Projection
from privclust.models._weighted_kmeans import WeightedClusters, kmeans_seconds, weighted_kmeans
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan, Slot, make_plan
from privclust.queries.base import Count
from privclust.queries.clusters import NearestVotes

COUNT_SHARE = 0.005
ROUNDS_MAX = 64
POPULATION_MAX = 20_000
VARIATIONS_MIN = 4
STEP = 0.01


@dataclass(frozen=True)
class PEMeansPlan:
    """What PE-means will measure; every field is public.

    Attributes
    ----------
    n_clusters, n_columns : int
        k and d.
    n_rows : int or None
        A number the user typed, or None to measure a noisy count.
    rounds : int
        Elections to be held.
    spending : Plan
        The slots: "count" where `n_rows` is None, then "votes 1", "votes 2", …
    """

    n_clusters: int
    n_columns: int
    n_rows: int | None
    rounds: int
    spending: Plan

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        return evolution_cost(self, self.n_columns)


def plan(n_clusters: int, n_columns: int, budget: Budget, n_rows: int | None = None) -> PEMeansPlan:
    """Plan a fit from public values: 4·sqrt(d) rounds, times epsilon above 1, at most 64.

    Examples
    --------
    >>> plan(3, 4, Budget(1.0, 1e-6)).rounds
    8
    """
    rounds = rounds_for(n_columns, budget.epsilon)
    count = count_slots(n_rows)
    share = (1 - sum(slot.share for slot in count)) / rounds
    slots = [*count, *(Slot(name, share) for name in elections(rounds))]
    return PEMeansPlan(n_clusters, n_columns, n_rows, rounds, make_plan(budget, slots))


def run(curator: Curator, plan: PEMeansPlan, rng: np.random.Generator) -> Clustering:
    """Hold the elections and return the last survivors."""
    n_rows = count_rows(curator, plan.n_rows)
    survivors = evolve(curator, plan.rounds, plan.n_clusters, plan.n_columns, n_rows, rng)
    return Clustering(survivors.centers, survivors.sizes, n_rows)


def rounds_for(n_columns: int, epsilon: float) -> int:
    """Return the paper's number of rounds, at least 1 and at most 64."""
    return max(1, min(int(4 * math.sqrt(n_columns) * max(1.0, epsilon)), ROUNDS_MAX))


def count_slots(n_rows: int | None) -> list[Slot]:
    """Return the slot of the noisy count, unless the number of rows was typed."""
    return [Slot("count", COUNT_SHARE)] if n_rows is None else []


def elections(rounds: int) -> list[str]:
    """Return the names of the slots in which rows vote."""
    return [f"votes {number}" for number in range(1, rounds + 1)]


def count_rows(curator: Curator, n_rows: int | None) -> int:
    """Return the typed number of rows, or a noisy count of at least 1."""
    if n_rows is not None:
        return n_rows
    return max(1, round(float(curator.measure("count", Count()).values[0])))


def evolve(
    curator: Curator,
    rounds: int,
    n_clusters: int,
    n_columns: int,
    n_rows: int,
    rng: np.random.Generator,
    projection: Projection | None = None,
) -> WeightedClusters:
    """Hold the elections in the unit ball of `n_columns`, where a projection may put the rows."""
    variations = max(min(n_rows // 5, POPULATION_MAX) // n_clusters, VARIATIONS_MIN)
    population = sphere_packing((variations + 1) * n_clusters, n_columns, rng)
    for election in elections(rounds):
        release = curator.measure(election, NearestVotes(population, projection))
        votes = keep_leaders(release.values, n_rows)
        survivors = weighted_kmeans(population, votes, n_clusters, rng)
        if signal_to_noise(votes, release.sigma) < 1:
            variations = max(variations // 2, VARIATIONS_MIN)
        population = next_generation(survivors.centers, variations, rng)
    return survivors


def evolution_cost(plan: PEMeansPlan, n_columns: int, *afterwards: Measured) -> Cost:
    """Return what elections in so many dimensions cost, and the queries that come afterwards."""
    k, d, p = float(plan.n_clusters), float(plan.n_columns), float(n_columns)
    rows = 5 * POPULATION_MAX if plan.n_rows is None else plan.n_rows
    candidates = max(min(rows // 5, POPULATION_MAX), VARIATIONS_MIN * k) + k
    # Noise makes half of all votes negative, which ends their candidacy.
    merging = kmeans_seconds(max(candidates / 2, k), k, p, 10)
    free = packing_seconds(candidates, p) + plan.rounds * merging
    votes = Measured(candidates, candidates, p, plan.rounds)
    return total([votes, *afterwards], free, 48 * candidates * p + 8 * k * d)


def keep_leaders(votes: FloatArray, n_rows: int) -> FloatArray:
    """Zero all noisy votes but the largest, which are kept until they add up to `n_rows`.

    Examples
    --------
    >>> keep_leaders(np.array([1.0, 6.0, -2.0, 5.0, 3.0]), 10).tolist()
    [0.0, 6.0, 0.0, 5.0, 0.0]
    """
    ranked = np.argsort(-votes, kind="stable")
    running = np.cumsum(votes[ranked])
    enough = np.flatnonzero(running >= n_rows)
    kept = ranked[: enough[0] + 1] if enough.size else ranked[votes[ranked] > 0]
    leaders = np.zeros_like(votes)
    leaders[kept] = votes[kept]
    return leaders


def signal_to_noise(votes: FloatArray, sigma: float) -> float:
    """Return the votes' sum of squares over what pure noise of this size would have."""
    return float(np.sum(votes**2)) / (len(votes) * sigma**2)


def next_generation(centers: FloatArray, variations: int, rng: np.random.Generator) -> FloatArray:
    """Return the survivors together with `variations` mutants of each."""
    return np.vstack([centers, mutate(centers, variations, STEP, rng)])

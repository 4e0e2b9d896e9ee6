"""DP-Lloyd: k-means' own iterations with noisy sums and counts (Su, Cao, Li, Bertino and Jin).

Rows go to the nearest centre; sums, taken from the middle of the domain, and counts of all clusters
are one noisy result a round, empty clusters included. With delta = 0 noise is Laplace and the
guarantee pure; otherwise it is Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privclust.algorithms._box_packing import domain_packing, fold
from privclust.algorithms._cost import Cost, Measured, box_packing_seconds, packing_seconds, total
from privclust.algorithms.pe_means import COUNT_SHARE, count_rows
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget, mu_of
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Mechanism, Plan, Slot, make_plan, numbered
from privclust.queries.clusters import ClusterSums

ROUNDS_MIN, ROUNDS_MAX = 2, 7
RHO = 0.225
"""The paper's constant for how far clusters lie from the middle of the domain."""


@dataclass(frozen=True, eq=False)
class LloydPlan:
    """What DP-Lloyd or FastLloyd will measure; every field is public.

    Attributes
    ----------
    n_clusters : int
        k.
    half_widths : array of shape (d,)
        How far each column reaches from the middle of the unit ball: ones in a ball.
    n_rows : int or None
        A number the user typed, or None to measure a noisy count.
    spending : Plan
        The slots: "count" where `n_rows` is None, then "sums 1", "sums 2", … These are as many as
        there can be, if their number has to wait for the count.
    """

    n_clusters: int
    half_widths: FloatArray
    n_rows: int | None
    spending: Plan

    @property
    def n_columns(self) -> int:
        """The number of columns, d."""
        return len(self.half_widths)

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        k, d = float(self.n_clusters), float(self.n_columns)
        rounds = sum(slot.name != "count" for slot in self.spending.slots)
        in_box = math.sqrt(float((self.half_widths**2).sum())) <= 1 + 1e-9
        packing = box_packing_seconds(k, d) if in_box else packing_seconds(k, d)
        return total([Measured(k * (d + 1), k, d, rounds)], packing, 32 * k * d)


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
    >>> [slot.name for slot in plan(3, 4, Budget(1.0, 0.0), n_rows=1000).spending.slots]
    ['sums 1', 'sums 2']
    """
    rounds = ROUNDS_MAX if n_rows is None else rounds_for(n_rows, n_clusters, n_columns, budget)
    return plan_rounds(rounds, n_clusters, n_columns, budget, n_rows, half_widths)


def run(curator: Curator, plan: LloydPlan, rng: np.random.Generator) -> Clustering:
    """Move the centres to noisy means of their rows, round after round."""
    n_rows = count_rows(curator, plan.n_rows)
    budget, shape = plan.spending.budget, (plan.n_clusters, plan.n_columns)
    rounds = settle_rounds(curator, plan, rounds_for(n_rows, *shape, budget))
    weight = count_weight(plan.n_columns, budget)
    centers = domain_packing(plan.n_clusters, plan.half_widths, rng)
    for name in rounds:
        query = ClusterSums(centers, np.zeros(shape), radius=1.0, weight=weight)
        sums, counts = query.split(curator.measure(name, query).values)
        # A cluster can have next to no rows; its noisy count must not turn or blow up its mean.
        centers = fold(sums / np.maximum(counts, 1.0)[:, None], plan.half_widths)
    return Clustering(centers, np.maximum(counts, 0.0), n_rows)


def plan_rounds(
    rounds: int,
    n_clusters: int,
    n_columns: int,
    budget: Budget,
    n_rows: int | None,
    half_widths: FloatArray | None,
) -> LloydPlan:
    """Share the budget equally among rounds, after a noisy count where none was typed."""
    mechanism: Mechanism = "laplace" if budget.delta == 0 else "gaussian"
    count = [] if n_rows is not None else [Slot("count", COUNT_SHARE, mechanism=mechanism)]
    left = 1 - sum(slot.share for slot in count)
    slots = [*count, *_round_slots(rounds, left, n_columns, mechanism)]
    sides = np.ones(n_columns) if half_widths is None else half_widths
    return LloydPlan(n_clusters, sides, n_rows, make_plan(budget, slots))


def settle_rounds(curator: Curator, plan: LloydPlan, rounds: int) -> list[str]:
    """Share what is left of the budget among so many rounds and return their names.

    The number of rounds may follow from the noisy count: that is a Release, and the plan reserved
    the whole budget whatever it is cut into.
    """
    if plan.n_rows is None:
        mechanism = plan.spending.slots[-1].mechanism
        curator.refine(_round_slots(rounds, curator.left, plan.n_columns, mechanism))
    return numbered("sums", rounds)


def rounds_for(n_rows: int, n_clusters: int, n_columns: int, budget: Budget) -> int:
    """Return how many rounds noise allows: the published rules, between 2 and 7.

    Examples
    --------
    >>> rounds_for(20_000, 8, 4, Budget(1.0, 0.0)), rounds_for(20_000, 8, 4, Budget(1.0, 1e-6))
    (3, 7)
    """
    if budget.delta == 0:
        columns = n_columns + _pure_split(n_columns)
        affordable = budget.epsilon * n_rows / math.sqrt(500 * n_clusters**3 * columns**3)
    else:
        signal = n_rows * mu_of(budget.epsilon, budget.delta)
        columns = n_columns * (2 * RHO + math.sqrt(n_columns)) ** 2
        affordable = 0.004 * signal**2 / (n_clusters**3 * columns)
    return clamped_rounds(affordable)


def clamped_rounds(affordable: float) -> int:
    """Return a number of rounds that is not below 2 nor above 7."""
    return int(min(max(affordable, ROUNDS_MIN), ROUNDS_MAX))


def count_weight(n_columns: int, budget: Budget) -> float:
    """Return what one row counts beside its sum, for the least error of a mean.

    With Laplace noise each column of the sum gets an epsilon s and the count r·s, where r is the
    cube root of 4·d·RHO². In one joint result the columns, together sqrt(d) loud, get d·s, so that
    the count is r/sqrt(d) loud. With Gaussian noise the ratio of mu² is 2·RHO/sqrt(d).
    """
    root = math.sqrt(n_columns)
    return _pure_split(n_columns) / root if budget.delta == 0 else math.sqrt(2 * RHO / root)


def _pure_split(n_columns: int) -> float:
    return float(np.cbrt(4 * n_columns * RHO**2))


def _round_slots(rounds: int, left: float, n_columns: int, mechanism: Mechanism) -> list[Slot]:
    return [
        Slot(name, left / rounds, l0=n_columns + 1, mechanism=mechanism)
        for name in numbered("sums", rounds)
    ]

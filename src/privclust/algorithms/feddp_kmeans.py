"""FedDP-KMeans: private k-means with public points of the server (Scott, Lampert and Saulpic).

1. *Subspace*: the strongest directions of the rows' noisy second moments; left out if d ≤ k.
2. *Weights*: rows vote for the server's points there; k-means on these, by votes, gives k centres.
3. *Lift*: means, in all columns, of the rows nearest to each centre in the subspace.
4. *Lloyd*: centres move to the means of their rows, a few times.

All noise is Gaussian. Sum and count are one result, of residuals from the centre as it stands, so
that noise on a count hardly moves a mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.algorithms._cells import into_ball
from privclust.algorithms._cost import Cost, Measured, packing_seconds, total
from privclust.algorithms._packing import sphere_packing
from privclust.errors import Message, Parameter, warn_user
from privclust.kernels.grid import GRID, FloatArray, to_grid
from privclust.kernels.projection import Projection
from privclust.models._weighted_kmeans import kmeans_seconds, weighted_kmeans
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan, Slot, make_plan, numbered
from privclust.queries.clusters import ClusterSums, NearestVotes
from privclust.queries.covariance import SecondMoment

SUBSPACE, WEIGHTS, LIFT = "subspace", "weights", "lift"
FAINT = 2.0
"""Points of the server with fewer votes, in standard deviations of the noise, are left out."""
FEW = 3.0
"""With fewer rows, in standard deviations of the noise on a count, a centre stays where it is."""
COUNT_WEIGHT = 0.35
STAND_INS = 30
"""Points for each cluster that stand in for those of a server that has none."""


@dataclass(frozen=True, eq=False)
class FedDPPlan:
    """What is fixed before any row is read; every field is public.

    Attributes
    ----------
    n_clusters, n_columns : int
        k and d.
    n_rows : int or None
        A number the user typed, or None to add up noisy sizes.
    server : array of shape (q, d)
        The server's points, in the unit ball; none at all is allowed.
    rounds : int
        Lloyd steps.
    spending : Plan
        The slots: "subspace" if d > k, "weights", "lift", then "sums 1", "sums 2", …
    """

    n_clusters: int
    n_columns: int
    n_rows: int | None
    server: FloatArray
    rounds: int
    spending: Plan

    @property
    def projects(self) -> bool:
        """Whether there is a subspace to find."""
        return self.n_columns > self.n_clusters

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        k, d, server = float(self.n_clusters), float(self.n_columns), float(len(self.server))
        p = min(k, d)
        candidates = server if server >= k else max(server + k, STAND_INS * k)
        packing = 0.0 if server >= k else packing_seconds(candidates, p)
        measured = [
            Measured(candidates, candidates, p),
            Measured(k * (d + 1), k, d, 1 + self.rounds),
        ]
        free, arrays = kmeans_seconds(candidates, k, p, 10) + packing, 48 * candidates * p
        if self.projects:
            pairs = d * (d + 1) / 2
            measured.append(Measured(pairs, 1, pairs / 4))
            free += 3e-9 * d**3
            arrays += 64 * d**2
        return total(measured, free, arrays)


def plan(
    n_clusters: int,
    n_columns: int,
    budget: Budget,
    n_rows: int | None = None,
    server: FloatArray | None = None,
    rounds: int = 1,
) -> FedDPPlan:
    """Plan a fit from public values: equal parts for every query.

    Examples
    --------
    >>> [slot.name for slot in plan(3, 8, Budget(1.0, 1e-6)).spending.slots]
    ['subspace', 'weights', 'lift', 'sums 1']
    """
    if server is not None and len(server) < n_clusters:
        warn_user(
            Message(
                f"server_data has {len(server)} row(s), fewer than ",
                Parameter("n_clusters", n_clusters),
                ". Points drawn at random in the ball join them, and clusters may be missed. Give "
                "more rows.",
            ),
        )
    widths = {WEIGHTS: 1, LIFT: n_columns + 1}
    if n_columns > n_clusters:
        widths = {SUBSPACE: SecondMoment(n_columns).size, **widths}
    widths |= dict.fromkeys(numbered("sums", rounds), n_columns + 1)
    slots = [Slot(name, 1 / len(widths), width) for name, width in widths.items()]
    points = np.empty((0, n_columns)) if server is None else server
    return FedDPPlan(n_clusters, n_columns, n_rows, points, rounds, make_plan(budget, slots))


def run(curator: Curator, plan: FedDPPlan, rng: np.random.Generator) -> Clustering:
    """Find k centres in a subspace, lift them to all columns and move them to their means."""
    projection = _subspace(curator, plan) if plan.projects else None
    candidates = _candidates(plan, projection, rng)
    release = curator.measure(WEIGHTS, NearestVotes(candidates, projection))
    votes = surviving(release.values, release.sigma, plan.n_clusters)
    projections = into_ball(weighted_kmeans(candidates, votes, plan.n_clusters, rng).centers)
    centers = projections if projection is None else projections @ (projection.directions / GRID)
    centers, sizes = _means(curator, LIFT, centers, projections, projection)
    for slot in numbered("sums", plan.rounds):
        centers, sizes = _means(curator, slot, centers, centers, None)
    n_rows = plan.n_rows or max(1, round(float(sizes.sum())))
    return Clustering(centers, np.maximum(sizes, 0.0), n_rows)


def surviving(votes: FloatArray, sigma: float, n_clusters: int) -> FloatArray:
    """Zero votes that noise alone could give, but keep at least k points if they have any.

    Examples
    --------
    >>> surviving(np.array([9.0, 3.0, -1.0, 1.0]), 2.0, 2).tolist()
    [9.0, 3.0, 0.0, 0.0]
    """
    enough = min(FAINT * sigma, float(np.sort(votes)[-n_clusters]))
    kept: FloatArray = np.where(votes >= enough, np.maximum(votes, 0.0), 0.0)
    return kept


def _subspace(curator: Curator, plan: FedDPPlan) -> Projection:
    query = SecondMoment(plan.n_columns)
    moments = query.matrix(curator.measure(SUBSPACE, query).values)
    directions = np.linalg.eigh(moments).eigenvectors[:, -plan.n_clusters :]
    return Projection(np.ascontiguousarray(directions.T), 1.0)


def _candidates(
    plan: FedDPPlan, projection: Projection | None, rng: np.random.Generator
) -> FloatArray:
    """Return the server's points as rows will be compared with them, joined by others if few."""
    points = plan.server
    if projection is not None and len(points):
        points = projection(to_grid(points)) / GRID
    if len(points) >= plan.n_clusters:
        return points
    wanted = plan.n_clusters if len(points) else STAND_INS * plan.n_clusters
    n_columns = min(plan.n_clusters, plan.n_columns)
    return np.vstack([points.reshape(-1, n_columns), sphere_packing(wanted, n_columns, rng)])


def _means(
    curator: Curator,
    slot: str,
    centers: FloatArray,
    nearest_to: FloatArray,
    projection: Projection | None,
) -> tuple[FloatArray, FloatArray]:
    """Move each centre to the mean of its rows, unless noise hides how many it has."""
    query = ClusterSums(nearest_to, centers, 1.0, COUNT_WEIGHT, projection)
    release = curator.measure(slot, query)
    sums, counts = query.split(release.values)
    found = counts > max(1.0, FEW * release.sigma / COUNT_WEIGHT)
    moves = np.where(found[:, None], sums / np.where(found, counts, 1.0)[:, None], 0.0)
    return into_ball(centers + moves), counts

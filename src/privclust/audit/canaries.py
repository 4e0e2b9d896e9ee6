"""Fits of two neighbouring tables, one row apart, and what attackers see of them.

The canary is the row that is most visible: at the rim of the ball, where it adds the most to any
sum, alone in the cluster that it makes. Tables are small, because it is noise that hides a row and
not the other rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust import estimators
from privclust.algorithms._cost import AlgorithmPlan
from privclust.audit._few_rows import FewRows
from privclust.audit.epsilon_bound import Scores, linear_scores
from privclust.audit.likelihood_ratio import LikelihoodRatioAttack
from privclust.errors import safe_repr
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.noise import OpenDPNoise
from privclust.privacy.plan import Mechanism, Plan, Slot, make_plan
from privclust.queries.base import Count
from privclust.testing import noise_from

N_CLUSTERS = 2
CROWD = np.full((20, 1), -0.5)
CANARY = np.array([[1.0]])
DELTA = 0.01
"""So large that errors are frequent enough to be counted in thousands of fits."""


@dataclass(frozen=True)
class AlgorithmFunctions:
    """The two functions that make a fit: which queries to make, and what to do with results."""

    plan: Callable[..., AlgorithmPlan]
    run: Callable[[Curator, Any, np.random.Generator], Clustering]


def planned_by(
    algorithm: AlgorithmFunctions, n_clusters: int, n_columns: int, budget: Budget
) -> AlgorithmPlan:
    """Return what an algorithm plans, or say what a plan has to be."""
    planned = algorithm.plan(n_clusters, n_columns, budget, None)
    if not isinstance(getattr(planned, "spending", None), Plan):
        raise TypeError(
            "plan() must return an object with what run() needs and an attribute 'spending', the "
            "Plan that make_plan(budget, slots) of privclust.privacy.plan gives; it returned "
            f"{safe_repr(planned)}."
        )
    return planned


@dataclass(frozen=True, eq=False)
class Sightings:
    """What attackers see of fits of one table.

    Attributes
    ----------
    releases : array of shape (fits,)
        The log likelihood ratio of everything released (`privclust.audit.likelihood_ratio`).
    models : array of shape (fits, 6)
        Numbers that follow from the centres and sizes that a fitted model shows.
    """

    releases: FloatArray
    models: FloatArray


def exported() -> dict[str, AlgorithmFunctions]:
    """Return the algorithm behind each estimator, by the estimator's name.

    Examples
    --------
    >>> sorted(exported())[:2]
    ['BalcanKMeans', 'DPLloyd']
    """
    algorithms = {name: getattr(estimators, name).algorithm for name in estimators.__all__}
    return {name: AlgorithmFunctions(found.plan, found.run) for name, found in algorithms.items()}


@dataclass(frozen=True)
class _CountPlan:
    """One slot, which gets the whole budget."""

    spending: Plan


def _plan_count(n_clusters: int, n_columns: int, budget: Budget, n_rows: None) -> _CountPlan:
    noise: Mechanism = "laplace" if budget.delta == 0 else "gaussian"
    return _CountPlan(make_plan(budget, [Slot("count", 1.0, mechanism=noise)]))


def _run_count(curator: Curator, plan: _CountPlan, rng: np.random.Generator) -> Clustering:
    count = curator.measure("count", Count()).values
    return Clustering(np.zeros((1, CANARY.size)), count, max(1, round(float(count[0]))))


PLAIN_COUNT = AlgorithmFunctions(_plan_count, _run_count)
"""The number of rows: an attack that does not reach the whole epsilon of this one is too weak."""


def sightings(
    algorithm: AlgorithmFunctions, budget: Budget, present: bool, seeds: Iterable[int]
) -> Sightings:
    """Make a fit for each seed of public choices, with real noise, and look at it.

    Examples
    --------
    >>> sightings(PLAIN_COUNT, Budget(1.0, DELTA), present=True, seeds=range(3)).releases.shape
    (3,)
    """
    absent_rows, present_rows = FewRows(CROWD), FewRows(np.vstack([CROWD, CANARY]))
    planned = planned_by(algorithm, N_CLUSTERS, CANARY.size, budget)
    ratios, models = [], []
    for seed in seeds:
        rows = present_rows if present else absent_rows
        attack = LikelihoodRatioAttack(absent_rows, present_rows, rows, OpenDPNoise())
        with noise_from(attack), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that noise hides so small clusters
            curator = Curator.open(attack, planned.spending)
            found = algorithm.run(curator, planned, np.random.default_rng(seed))
        ratios.append(attack.log_ratio)
        models.append(_numbers_of(found))
    return Sightings(np.array(ratios), np.array(models))


def attacks(absent: Sightings, present: Sightings) -> dict[str, Scores]:
    """Return the scores of an attacker who sees the model, and of one who sees all releases."""
    return {
        "model": linear_scores(absent.models, present.models),
        "releases": Scores(absent.releases, present.releases),
    }


def _numbers_of(found: Clustering) -> list[float]:
    """Return what may reveal the canary: numbers of rows, and what lies where it does."""
    distances = np.linalg.norm(found.centers - CANARY, axis=1)
    nearest = int(np.argmin(distances))
    return [
        float(found.n_rows),
        float(found.sizes.sum()),
        float(found.sizes.max()),
        float(found.sizes[nearest]),
        float(distances[nearest]),
        float(found.sizes @ (found.centers @ CANARY[0])),
    ]

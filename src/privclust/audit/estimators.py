"""Estimators of one's own as the audit takes them: a plan and a run in the unit ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust.algorithms._cost import AlgorithmPlan
from privclust.audit.canaries import AlgorithmFunctions
from privclust.domains.ball import Ball
from privclust.errors import ParameterError
from privclust.estimators._fit_task import Task
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan
from privclust.queries.unit import ROW


@dataclass(frozen=True)
class _EstimatorPlan:
    """What an estimator planned, and the estimator."""

    estimator: Any
    planned: AlgorithmPlan

    @property
    def spending(self) -> Plan:
        """The slots."""
        return self.planned.spending


def algorithm_of(kind: type[Any]) -> AlgorithmFunctions:
    """Return the algorithm of an estimator: its methods `plan(task)` and `run(curator, plan, rng)`.

    Parameters
    ----------
    kind : type
        A class such as a subclass of `privclust.PrivateClusterer`. Parameters of its own keep
        their defaults.

    Examples
    --------
    >>> from privclust.algorithms import dp_lloyd
    >>> class MyKMeans:
    ...     def __init__(self, n_clusters, **parameters):
    ...         pass
    ...
    ...     def plan(self, task):
    ...         return dp_lloyd.plan(task.n_clusters, task.n_columns, task.budget)
    ...
    ...     def run(self, curator, plan, rng):
    ...         return dp_lloyd.run(curator, plan, rng)
    >>> planned = algorithm_of(MyKMeans).plan(2, 1, Budget(1.0, 1e-6), None)
    >>> planned.spending.slots[0].name
    'count'
    """
    missing = [name for name in ("plan", "run") if not callable(getattr(kind, name, None))]
    if missing:
        raise ParameterError(
            f"{kind.__name__} has no {' and no '.join(missing)}. An estimator is a class with "
            "methods plan(task) and run(curator, plan, rng), such as a subclass of "
            "privclust.PrivateClusterer."
        )

    def plan(n_clusters: int, n_columns: int, budget: Budget, n_rows: int | None) -> _EstimatorPlan:
        given = {"epsilon": budget.epsilon, "delta": budget.delta, "radius": 1.0, "n_rows": n_rows}
        estimator = kind(n_clusters, **given)
        domain = Ball(np.zeros(n_columns), 1.0)
        task = Task(n_clusters, n_columns, budget, n_rows, domain, ROW, None)
        return _EstimatorPlan(estimator, estimator.plan(task))

    def run(curator: Curator, plan: _EstimatorPlan, rng: np.random.Generator) -> Clustering:
        found: Clustering = plan.estimator.run(curator, plan.planned, rng)
        return found

    return AlgorithmFunctions(plan, run)

"""The estimator of FastLloyd."""

from __future__ import annotations

from typing import ClassVar

from privclust.algorithms import fast_lloyd
from privclust.algorithms.dp_lloyd import LloydPlan
from privclust.estimators._fit_task import Algorithm, Task
from privclust.estimators.base import PrivateClusterer


class FastLloyd(PrivateClusterer):
    """Private k-means by noisy moves of bounded length (Diaa, Humphries and Kerschbaum 2025).

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. A published method to compare with; `PrivateKMeans` is
    more accurate.

    Attributes
    ----------
    cluster_sizes_ : array of shape (n_clusters,)
        Noisy numbers of rows near enough to the centre to move it in the last round.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import FastLloyd
    >>> groups = np.random.default_rng(0).normal((20.0, 60.0), 1.0, (5000, 2))
    >>> model = FastLloyd(2, delta=1e-6, bounds=(0, 100), random_state=0)
    >>> np.sort(model.fit(groups.reshape(-1, 1)).cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = fast_lloyd

    def plan(self, task: Task) -> LloydPlan:
        """Plan rounds from points that are spread over the bounds; `task` says what is public."""
        return fast_lloyd.plan(
            task.n_clusters, task.n_columns, task.budget, task.n_rows, task.half_widths
        )

"""The estimator of DP-Lloyd."""

from __future__ import annotations

from typing import ClassVar

from privclust.algorithms import dp_lloyd
from privclust.algorithms.dp_lloyd import LloydPlan
from privclust.estimators._fit_task import Algorithm, Task
from privclust.estimators.base import PrivateClusterer


class DPLloyd(PrivateClusterer):
    """Private k-means by Lloyd's iterations with noisy sums and counts (Su et al. 2016).

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds; with ``delta=0`` it is pure epsilon. A published method to
    compare with; `PrivateKMeans` is more accurate.

    Parameters
    ----------
    delta : float
        The remainder that the guarantee allows beside epsilon. Required: type a value well below
        one over the number of rows, such as 1e-6. Zero gives pure epsilon, with Laplace noise.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import DPLloyd
    >>> rng = np.random.default_rng(0)
    >>> low, high = (rng.normal(center, 1.0, (5000, 2)) for center in (20, 60))
    >>> model = DPLloyd(2, epsilon=1.0, delta=1e-6, bounds=(0, 100), random_state=0)
    >>> np.sort(model.fit(np.vstack([low, high])).cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = dp_lloyd

    def plan(self, task: Task) -> LloydPlan:
        """Plan rounds from points that are spread over the bounds; `task` says what is public."""
        return dp_lloyd.plan(
            task.n_clusters, task.n_columns, task.budget, task.n_rows, task.half_widths
        )

"""The estimator of k-means after Balcan and others."""

from __future__ import annotations

from typing import ClassVar

from privclust.algorithms import balcan_kmeans
from privclust.algorithms.balcan_kmeans import BalcanPlan
from privclust.errors import ParameterError, safe_repr
from privclust.estimators._fit_task import Algorithm, Task
from privclust.estimators.base import PrivateClusterer


class BalcanKMeans(PrivateClusterer):
    """Private k-means by cube partitions and local search, after Balcan and others.

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds; with ``delta=0`` it is pure. For comparisons: clusters that
    `PrivateKMeans` finds are better.

    Parameters
    ----------
    delta : float
        The remainder that the guarantee allows beside epsilon. Required: type a value well below
        one over the number of rows, such as 1e-6, or 0 for none, at more noise.
    constants : {"improved", "original"}, default="improved"
        How the budget is shared and which cubes give candidates: as a later thesis found best, or
        as the authors' implementation has it, within the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import BalcanKMeans
    >>> rows = np.repeat([[20.0, 30.0], [60.0, 70.0]], 5000, axis=0)
    >>> model = BalcanKMeans(2, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> np.sort(model.cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = balcan_kmeans
    constants: str = "improved"

    def plan(self, task: Task) -> BalcanPlan:
        """Plan a fit with the constants that were chosen; `task` says what is public."""
        words = tuple(balcan_kmeans.CONSTANTS)
        if self.constants not in words:
            raise ParameterError(
                f"constants must be one of {words}, got {safe_repr(self.constants)}. Type one of "
                "them."
            )
        return balcan_kmeans.plan(
            task.n_clusters, task.n_columns, task.budget, task.n_rows, self.constants
        )

"""The estimator of the LSH coreset."""

from __future__ import annotations

from typing import ClassVar

from privclust.algorithms import lsh_coreset
from privclust.estimators._fit_task import Algorithm
from privclust.estimators.base import PrivateClusterer


class LSHCoreset(PrivateClusterer):
    """Private k-means on a few noisy means that stand for all rows: those of a tree's leaves.

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Cells of the tree are cones from the middle of the bounds,
    so clusters in one direction from there are told apart badly.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import LSHCoreset
    >>> two_groups = np.random.default_rng(0).normal([[20.0], [60.0]], 1.0, (2, 10_000))
    >>> model = LSHCoreset(2, delta=1e-6, bounds=(0, 100), random_state=0)
    >>> np.sort(model.fit(two_groups.reshape(-1, 2)).cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = lsh_coreset

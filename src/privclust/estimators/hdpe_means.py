"""The estimator of HDPE-means."""

from __future__ import annotations

from typing import ClassVar

from privclust.algorithms import hdpe_means
from privclust.estimators._fit_task import Algorithm
from privclust.estimators.base import PrivateClusterer


class HDPEMeans(PrivateClusterer):
    """Private k-means for many columns: evolution in a projection, then noisy means.

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. For more than 16 columns and many rows per cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import HDPEMeans
    >>> centers = np.repeat([[20.0], [60.0]], 5000, axis=0)
    >>> rows = centers + np.random.default_rng(0).normal(size=(10_000, 32))
    >>> model = HDPEMeans(2, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> np.sort(model.cluster_centers_.mean(axis=1)).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = hdpe_means

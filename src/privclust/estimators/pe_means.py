"""The estimator of PE-means."""

from __future__ import annotations

from typing import ClassVar

from privclust.algorithms import pe_means
from privclust.estimators._fit_task import Algorithm
from privclust.estimators.base import PrivateClusterer


class PEMeans(PrivateClusterer):
    """Private k-means by private evolution: rows vote for candidate centres, noisily.

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Best up to about 16 columns; see `HDPEMeans` for more.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PEMeans
    >>> rows = np.tile([[20.0, 20.0], [60.0, 60.0]], (5000, 1))
    >>> PEMeans(2, delta=1e-6, bounds=(0, 100)).fit(rows).cluster_sizes_.round(-3)
    array([5000., 5000.])
    """

    algorithm: ClassVar[Algorithm] = pe_means

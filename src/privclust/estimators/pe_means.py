"""The estimator of PE-means."""

from __future__ import annotations

from typing import ClassVar

from privclust.algorithms import pe_means
from privclust.estimators._task import Algorithm
from privclust.estimators.base import PrivateClusterer


class PEMeans(PrivateClusterer):
    """Private k-means by private evolution: rows vote for candidate centres, noisily.

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Best up to about 16 columns; see `HDPEMeans` for more.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PEMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (5000, 2)) for center in (20, 60)])
    >>> model = PEMeans(2, epsilon=1.0, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> np.sort(model.cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = pe_means

"""Clusters too small to speak of: which ones a report leaves out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privclust.errors import ParameterError, safe_repr
from privclust.models.cluster_model import ClusterModel

CERTAIN = 3.0
"""By default a cluster must have so many standard errors of its size: an empty one seems to have
one time in 740, and a centre of so few rows is mostly noise."""


def min_sizes(model: ClusterModel, min_size: float | None = None) -> NDArray[np.float64]:
    """Return how many rows each cluster must seem to have, to be reported.

    Where nothing is typed that is three standard errors of its size, or nothing if the model does
    not know them.
    """
    k = len(model.cluster_sizes)
    if min_size is None:
        return np.zeros(k) if model.size_stderr is None else CERTAIN * model.size_stderr
    if isinstance(min_size, bool | str) or not 0 <= min_size < np.inf:
        raise ParameterError(
            f"min_size must be a number of rows from 0 up, got {safe_repr(min_size)}. Type one "
            "such as 50, or leave it out."
        )
    return np.full(k, float(min_size))


def reported(model: ClusterModel, min_size: float | None = None) -> NDArray[np.bool_]:
    """Tell which clusters are large enough to be reported, by their noisy sizes.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> fitted = PrivateKMeans(1, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> reported(fitted.model_).tolist(), reported(fitted.model_, min_size=5000).tolist()
    ([True], [False])
    """
    return np.asarray(model.cluster_sizes >= min_sizes(model, min_size))

"""Clusters too small to speak of: which ones a report leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.errors import ParameterError, shown

CERTAIN = 3.0
"""By default a cluster must have so many standard errors of its size: an empty one seems to have
one time in 740, and a centre of so few rows is mostly noise."""


def min_sizes(model: Any, min_size: float | None = None) -> NDArray[np.float64]:
    """Return how many rows each cluster must seem to have, to be reported.

    Where nothing is typed that is three standard errors of its size, or nothing if the model does
    not know them.
    """
    k = len(model.cluster_sizes_)
    if min_size is None:
        return np.asarray(CERTAIN * getattr(model, "size_stderr_", np.zeros(k)))
    if isinstance(min_size, bool | str) or not 0 <= min_size < np.inf:
        raise ParameterError(
            f"min_size must be a number of rows from 0 up, got {shown(min_size)}. Type one such as "
            "50, or leave it out."
        )
    return np.full(k, float(min_size))


def reported(model: Any, min_size: float | None = None) -> NDArray[np.bool_]:
    """Tell which clusters are large enough to be reported, by their noisy sizes.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(
    ...     cluster_sizes_=np.array([900.0, 20.0]), size_stderr_=np.array([30.0, 30.0])
    ... )
    >>> reported(model).tolist(), reported(model, min_size=10).tolist()
    ([True, False], [True, True])
    """
    return np.asarray(model.cluster_sizes_ >= min_sizes(model, min_size))

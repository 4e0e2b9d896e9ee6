"""Which clusters of two models are the same ones."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray, IntArray


def matched(before: FloatArray, after: FloatArray) -> IntArray:
    """Pair points one to one, so that their squared distances add up to least (Hungarian).

    Examples
    --------
    >>> matched(np.array([[0.0], [5.0]]), np.array([[6.0], [1.0]])).tolist()
    [[0, 1], [1, 0]]
    """
    pairs = linear_sum_assignment(squared_gaps(before, after))
    return np.column_stack(pairs).astype(np.int64)

"""Squared distances between public points, in little memory."""

from __future__ import annotations

import numpy as np

from privclust.kernels.grid import FloatArray


def squared_gaps(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the squared distance of each point to each of the others, point by point.

    All differences at once would take as many times the memory as there are columns.

    Examples
    --------
    >>> squared_gaps(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 4.0]])).tolist()
    [[16.0], [25.0]]
    """
    found = np.empty((len(points), len(others)))
    for number, point in enumerate(points):
        found[number] = ((point - others) ** 2).sum(axis=1)
    return found

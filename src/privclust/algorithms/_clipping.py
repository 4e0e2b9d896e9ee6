"""Mean squares of clusters whose residuals were clipped, and of the clusters themselves."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from privclust.kernels.grid import FloatArray

_SQUARES: FloatArray = np.exp2(np.linspace(-20.0, 6.0, 521))


def clipped(squares: FloatArray, n_columns: int) -> FloatArray:
    """Return the mean square of a Gaussian cluster whose residuals are clipped at 1.

    Examples
    --------
    >>> clipped(np.array([1e-4, 1.0, 100.0]), 4).round(4).tolist()
    [0.0001, 0.7293, 0.9999]
    """
    inside = n_columns / squares / 2
    found: FloatArray = squares * gammainc(n_columns / 2 + 1, inside) + 1
    found -= gammainc(n_columns / 2, inside)
    return found


def unclipped(parts: FloatArray, n_columns: int) -> FloatArray:
    """Return the mean square of a Gaussian cluster by its mean square clipped at 1.

    Examples
    --------
    >>> squares = (np.random.default_rng(0).normal(0.0, 0.5, (100_000, 4)) ** 2).sum(axis=1)
    >>> float(squares.mean().round(2)), float(unclipped(np.minimum(squares, 1).mean(), 4).round(2))
    (1.0, 1.0)
    """
    known = clipped(_SQUARES, n_columns)
    found: FloatArray = np.exp2(np.interp(parts, known, np.log2(_SQUARES)))
    return found

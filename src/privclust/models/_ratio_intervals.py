"""Intervals for a ratio of two numbers that both carry Gaussian noise, after Fieller.

Above and below have known variances and a known covariance. For the true ratio r, above − r·below
is then Gaussian around 0 with known variance: all r for which it lies within z standard deviations
of 0 hold the truth as often as z says, however small the number below is. If that number cannot be
told from 0, every r may be among them.
"""

from __future__ import annotations

import numpy as np

from privclust.kernels.grid import FloatArray


def ratio_ends(
    above: FloatArray,
    below: FloatArray,
    variance_above: float,
    variance_below: float,
    covariance: float,
    z: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper end of each ratio's interval; infinite if nothing is known.

    Examples
    --------
    >>> lower, upper = ratio_ends(np.array([50.0, 1.0]), np.array([100.0, 1.0]), 1.0, 1.0, 0.0, 2.0)
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.4778, -inf], [0.5226, inf])
    """
    squared = below**2 - z**2 * variance_below
    mixed = above * below - z**2 * covariance
    constant = above**2 - z**2 * variance_above
    known = squared > 0
    # The ratio itself is always among the solutions, so the root exists but for rounding.
    root = np.sqrt(np.maximum(mixed**2 - squared * constant, 0.0))
    divisor = np.where(known, squared, 1.0)
    lower = np.where(known, (mixed - root) / divisor, -np.inf)
    upper = np.where(known, (mixed + root) / divisor, np.inf)
    return lower, upper

"""Noisy numbers with the intervals that hold the truth in 95 of 100 cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import FloatArray

Z = 1.959963984540054
"""Standard deviations on either side of a Gaussian number that make 95 %."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Numbers and the ends of their 95 % intervals, three arrays of one shape.

    Examples
    --------
    >>> Intervals.around(np.array([5.0]), 1.0).upper.round(2).tolist()
    [6.96]
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def around(cls, values: FloatArray, stderr: float) -> Intervals:
        """Return intervals of numbers with Gaussian noise of one standard error."""
        return cls(values, values - Z * stderr, values + Z * stderr)

    def within(self, lower: float, upper: float) -> Intervals:
        """Return the part that is possible at all, for numbers that lie between bounds.

        At least half of its width stays, at the bound: noise that is large makes nothing certain.

        Examples
        --------
        >>> possible = Intervals.around(np.array([-3.0]), 1.0).within(0.0, 10.0)
        >>> possible.lower.tolist(), possible.upper.round(2).tolist()
        ([0.0], [1.96])
        """
        half = (self.upper - self.lower) / 2
        sides = (
            self.values,
            np.minimum(self.lower, upper - half),
            np.maximum(self.upper, lower + half),
        )
        return Intervals(*(np.clip(side, lower, upper) for side in sides))

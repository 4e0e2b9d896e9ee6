"""What comes back from the Curator: a noisy result, and everything public about it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.privacy.accounting import Spend
from privclust.privacy.plan import Mechanism


@dataclass(frozen=True, eq=False)
class Release:
    """A noisy result, and everything public about it.

    Attributes
    ----------
    slot : str
        The plan's name for the query.
    query : str
        What kind of query it was.
    mechanism : str
        "gaussian", "laplace" or "select".
    result : int array
        Noisy integers in grid units; for a selection the chosen index.
    scale : float
        Parameter of the noise in grid units: sigma, or the Laplace or selection scale.
    charge : Spend
        What it cost.
    noise : str
        Where the noise came from; anything but "OpenDP" is not private.
    sampling_exponent : int
        0 if all rows were measured; otherwise h for a sample at the rate 2^-h.
    noise_ratio : float
        Its noise over that which its cost needs: above 1 where nodes add it in shares.
    """

    slot: str
    query: str
    mechanism: Mechanism
    result: IntArray
    scale: float
    charge: Spend
    noise: str
    sampling_exponent: int = 0
    noise_ratio: float = 1.0

    @property
    def values(self) -> FloatArray:
        """The noisy result for all rows in votes (one vote, or one radius, is 1)."""
        return self.result / (UNIT / 2.0**self.sampling_exponent)

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on one coordinate of `values`."""
        factor = math.sqrt(2) if self.mechanism == "laplace" else 1.0
        return factor * self.scale * (2.0**self.sampling_exponent / UNIT)

    @property
    def choice(self) -> int:
        """The chosen index of a selection."""
        return int(self.result[0])

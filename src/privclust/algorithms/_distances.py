"""What a noisy histogram of distances to the nearest centre says about rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import FloatArray

EDGES: FloatArray = np.exp2(np.arange(-1.0, 8.0))
"""Octaves of distance, from half to 128 times a public radius: few, since each bin has noise of
its own."""
_CLEAR = 3.0
"""Bins with fewer rows than this many standard deviations are taken to be empty."""


@dataclass(frozen=True, eq=False)
class Distances:
    """A noisy histogram of rows' distances to the nearest of some points, in radii of that point.

    Attributes
    ----------
    votes : array of shape (bins,)
        Noisy numbers of rows.
    sigma : float
        Standard deviation of the noise.

    Examples
    --------
    >>> votes = np.zeros(10)
    >>> votes[[2, 6]] = 900.0, 100.0
    >>> histogram = Distances(votes, 10.0)
    >>> 1.0 <= histogram.quantile(0.5) <= 2.0
    True
    >>> histogram.best_clip(noise=1.0) < histogram.best_clip(noise=0.001)
    True
    """

    votes: FloatArray
    sigma: float

    @property
    def parts(self) -> FloatArray:
        """Part of the rows in each bin, without bins that noise alone may have filled."""
        clear = np.where(self.votes > _CLEAR * self.sigma, self.votes, 0.0)
        kept = clear if clear.any() else np.maximum(self.votes, 0.0)
        return kept / max(float(kept.sum()), 1e-12)

    @property
    def middles(self) -> FloatArray:
        """A typical distance in each bin."""
        return np.append(EDGES / np.sqrt(2), EDGES[-1] * np.sqrt(2))

    @property
    def root_mean_square(self) -> float:
        """Of all distances, as far as bins tell."""
        return float(np.sqrt(self.parts @ self.middles**2))

    def quantile(self, level: float) -> float:
        """Return the distance below which a part `level` of the rows lies."""
        below = np.cumsum(self.parts)
        found = min(int(np.searchsorted(below, level)), len(EDGES) - 1)
        before = below[found - 1] if found else 0.0
        inside = (level - before) / max(below[found] - before, 1e-12)
        return float(EDGES[found] * 2 ** (min(max(inside, 0.0), 1.0) - 1))

    def best_clip(self, noise: float) -> float:
        """Return the radius that balances noise, which grows with it, and what it cuts off.

        `noise` is the length of the noise on a mean, in clipping radii. Not much below the median:
        there signal shrinks as fast as noise.
        """
        cut_off = np.maximum(self.middles[:, None] - EDGES, 0.0)
        harm = (noise * EDGES) ** 2 + (self.parts @ cut_off) ** 2
        return max(float(EDGES[np.argmin(harm)]), self.quantile(0.4))

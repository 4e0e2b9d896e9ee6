"""What a noisy histogram of distances to the nearest centre says about rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import FloatArray

_RELATIVE_EDGES: FloatArray = np.exp2(np.arange(-1.0, 8.0))
_CLEAR = 3.0
"""Bins with fewer rows than this many standard deviations are taken to be empty."""


def edges_around(radius: float) -> FloatArray:
    """Return octaves of distance, from half to 128 times a public radius.

    Few bins, because each has noise of its own.
    """
    return radius * _RELATIVE_EDGES


@dataclass(frozen=True, eq=False)
class Distances:
    """A noisy histogram of rows' distances to the nearest of some points.

    Attributes
    ----------
    edges : array of shape (bins - 1,)
        Octaves of distance, from `edges_around`.
    votes : array of shape (bins,)
        Noisy numbers of rows.
    sigma : float
        Standard deviation of the noise.

    Examples
    --------
    >>> votes = np.zeros(10)
    >>> votes[[2, 6]] = 900.0, 100.0
    >>> histogram = Distances(edges_around(0.1), votes, 10.0)
    >>> bool(histogram.edges[1] <= histogram.quantile(0.5) <= histogram.edges[2])
    True
    >>> histogram.best_clip(noise=1.0) < histogram.best_clip(noise=0.001)
    True
    """

    edges: FloatArray
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
        return np.append(self.edges / np.sqrt(2), self.edges[-1] * np.sqrt(2))

    @property
    def root_mean_square(self) -> float:
        """Of all distances, as far as bins tell."""
        return float(np.sqrt(self.parts @ self.middles**2))

    def quantile(self, level: float) -> float:
        """Return the distance below which a part `level` of the rows lies."""
        below = np.cumsum(self.parts)
        found = min(int(np.searchsorted(below, level)), len(self.edges) - 1)
        before = below[found - 1] if found else 0.0
        inside = (level - before) / max(below[found] - before, 1e-12)
        return float(self.edges[found] * 2 ** (min(max(inside, 0.0), 1.0) - 1))

    def best_clip(self, noise: float) -> float:
        """Return the radius that balances noise, which grows with it, and what it cuts off.

        `noise` is the length of the noise on a mean, in clipping radii. Not much below the median:
        there signal shrinks as fast as noise.
        """
        cut_off = np.maximum(self.middles[:, None] - self.edges, 0.0)
        harm = (noise * self.edges) ** 2 + (self.parts @ cut_off) ** 2
        return max(float(self.edges[np.argmin(harm)]), self.quantile(0.4))

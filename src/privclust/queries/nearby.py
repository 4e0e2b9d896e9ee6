"""Queries about rows near a centre: farther ones contribute nothing.

The same protocol as in `privclust.queries.base`. Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import GRID, FloatArray
from privclust.kernels.nearest import squared_distances
from privclust.queries.base import Contribution, Sensitivity
from privclust.queries.clusters import ClusterSums
from privclust.queries.registry import register


@register("NearbySums")
@dataclass(frozen=True, eq=False)
class NearbySums:
    """Rows within one radius of their nearest centre add to sums and counts, farther ones do not.

    Parameters
    ----------
    sums : ClusterSums
        What a row adds if it is near; without a projection. Its radius, which residuals are
        measured in, is also what near means; distances are compared exactly, as squares.

    Examples
    --------
    >>> from privclust.kernels.grid import UNIT, to_grid
    >>> origin = np.zeros((1, 2))
    >>> query = NearbySums(ClusterSums(origin, origin, radius=0.5, weight=1.0))
    >>> rows = to_grid(np.array([[0.25, 0.0], [0.0, 0.125], [0.0, 0.75]]))
    >>> sums, counts = query.sums.split(query.contribute(rows).values.sum(axis=(0, 1)) / UNIT)
    >>> sums.tolist(), counts.tolist()
    ([[0.25, 0.125]], [2.0])
    """

    sums: ClusterSums

    def __post_init__(self) -> None:
        if self.sums.projection is not None:
            raise ValueError(
                "near means near in the original space: give sums that use no projection."
            )

    @property
    def size(self) -> int:
        """For each cluster, d coordinates of the sum, then the count."""
        return self.sums.size

    @property
    def sensitivity(self) -> Sensitivity:
        """A residual of at most one radius, and a count, in one cluster."""
        return self.sums.sensitivity

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's residual and count, or zeros."""
        found = self.sums.contribute(rows)
        squares = squared_distances(rows, self.sums.centers, found.blocks[:, 0])
        far = squares > (self.sums.radius * GRID) ** 2
        return Contribution(found.blocks, np.where(far[:, None, None], 0, found.values))

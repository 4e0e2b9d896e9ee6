"""A query about how far rows lie from the nearest of some public points, in squares.

Proof: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray
from privclust.kernels.nearest import nearest, squared_distances
from privclust.queries.base import Contribution, Sensitivity, frozen, frozen_points
from privclust.queries.registry import register

FARTHEST = 4.0
"""The largest squared distance between two points of the unit ball."""
_NARROWEST = 2.0**-50
"""No two points of the grid that differ are nearer to each other, in squares."""


@register("SquaredDistanceVotes")
@dataclass(frozen=True, eq=False)
class SquaredDistanceVotes:
    """Each row splits one vote between the two nodes around its squared distance to its centre.

    It splits it linearly, so that votes times nodes add up to the squared distances; a row beyond
    the last node votes for that node alone.

    Parameters
    ----------
    centers : array of shape (k, d)
        Public points of the unit ball; a row's centre is the nearest.
    nodes : array of shape (n_nodes,)
        Increasing squared distances, the first of them 0.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = SquaredDistanceVotes(np.zeros((1, 2)), np.array([0.0, 0.25, 1.0]))
    >>> rows = to_grid(np.array([[0.0, 0.0], [0.25, 0.0], [0.0, 0.5]]))
    >>> found = query.contribute(rows)
    >>> found.blocks.tolist(), (found.values[:, :, 0] / UNIT).tolist()
    ([[0, 1], [0, 1], [1, 2]], [[1.0, 0.0], [0.75, 0.25], [1.0, 0.0]])
    """

    centers: FloatArray
    nodes: FloatArray
    sensitivity = Sensitivity(l1=UNIT, l2_squared=UNIT**2, linf=UNIT, l0=2, monotone=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers))
        nodes = frozen(np.array(self.nodes, dtype=np.float64))
        # A search among unsorted nodes would depend on the row searched for before.
        usable = nodes.ndim == 1 and nodes.size > 1 and nodes[0] == 0 and nodes[-1] <= FARTHEST
        if not (usable and (np.diff(nodes) >= _NARROWEST).all()):
            raise ValueError(
                "nodes must be one list of at least two increasing squared distances from 0 to "
                f"{FARTHEST:g}, each at least 2^-50 above the one before."
            )
        object.__setattr__(self, "nodes", nodes)

    @property
    def size(self) -> int:
        """One coordinate per node."""
        return len(self.nodes)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's two votes."""
        squares = squared_distances(rows, self.centers, nearest(rows, self.centers))
        nodes = self.nodes * GRID**2
        lower = np.minimum(np.searchsorted(nodes, squares, side="right") - 1, self.size - 2)
        part = (squares - nodes[lower]) / (nodes[lower + 1] - nodes[lower])
        upper_vote = np.trunc(np.minimum(part, 1.0) * UNIT).astype(np.int64)
        votes = np.stack([UNIT - upper_vote, upper_vote], axis=1)
        return Contribution(np.stack([lower, lower + 1], axis=1), votes[:, :, None])

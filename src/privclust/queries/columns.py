"""How the values of each column are spread: one vote a column, for the bin in which a value lies.

The same protocol as in `privclust.queries.base`. Proof: docs/proofs/sensitivity.md, section 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray
from privclust.queries.base import Contribution, Sensitivity
from privclust.queries.registry import register


@register("ColumnHistograms")
@dataclass(frozen=True, eq=False)
class ColumnHistograms:
    """Each row votes in every column, for the bin in which it lies there.

    Parameters
    ----------
    half_widths : array of shape (d,)
        How far columns go from 0 to both sides, in radii of the unit ball. All bins of a column
        are equally wide; what lies beyond counts in the last.
    bins : int
        How many there are in a column.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = ColumnHistograms(np.array([0.5, 0.1]), bins=4)
    >>> rows = to_grid(np.array([[-0.4, 0.01], [0.4, 0.09]]))
    >>> query.contribute(rows).blocks.tolist()
    [[0, 6], [3, 7]]
    """

    half_widths: FloatArray
    bins: int

    def __post_init__(self) -> None:
        half_widths = np.array(self.half_widths, dtype=np.float64)
        usable = (
            half_widths.ndim == 1
            and half_widths.size > 0
            and bool(np.all((half_widths > 0) & (half_widths <= 1)))
        )
        if not usable or self.bins < 2:
            raise ValueError(
                "column histograms need half widths above 0 and at most 1 for each column, and at "
                f"least 2 bins, got {self.bins!r} bins."
            )
        half_widths.setflags(write=False)
        object.__setattr__(self, "half_widths", half_widths)

    @property
    def size(self) -> int:
        """One coordinate per bin of each column."""
        return self.half_widths.size * self.bins

    @property
    def sensitivity(self) -> Sensitivity:
        """One vote in each column."""
        columns = self.half_widths.size
        return Sensitivity(
            l1=columns * UNIT,
            l2_squared=columns * UNIT**2,
            linf=UNIT,
            l0=columns,
            monotone=True,
        )

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's bins; edges are stored and compared with."""
        blocks = np.empty((len(rows), self.half_widths.size), dtype=np.int64)
        for column, edges in enumerate(self._edges()):
            blocks[:, column] = np.searchsorted(edges, rows[:, column], side="right")
            blocks[:, column] += column * self.bins
        votes = np.broadcast_to(np.int64(UNIT), (*blocks.shape, 1))
        return Contribution(blocks, votes)

    def split(self, values: FloatArray) -> FloatArray:
        """Turn a result in votes into counts: a line for each column."""
        return values.reshape(self.half_widths.size, self.bins)

    def middles(self) -> FloatArray:
        """Return where the bins of each column lie, in radii."""
        places = (2 * np.arange(self.bins) + 1) / self.bins - 1
        return self.half_widths[:, None] * places

    def _edges(self) -> FloatArray:
        places = 2 * np.arange(1, self.bins) / self.bins - 1
        return GRID * self.half_widths[:, None] * places

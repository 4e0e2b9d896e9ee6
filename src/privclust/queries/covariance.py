"""How rows spread in all directions at once: the query behind a private subspace.

The same protocol as in `privclust.queries.base`. Proof: docs/proofs/sensitivity.md, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray
from privclust.queries.base import Contribution, Sensitivity
from privclust.queries.registry import register

_MARGIN = 1 - 2.0**-40
_SCALE = _MARGIN * UNIT / GRID**2
_ROOT = math.sqrt(2.0)


@register("SecondMoment")
@dataclass(frozen=True, eq=False)
class SecondMoment:
    """Each row adds the products of its columns, two by two.

    Products of two different columns are multiplied by the root of 2, so that a row adds a vector
    as long as the square of its own length: as the whole matrix is, in which each stands twice.

    Parameters
    ----------
    n_columns : int
        Columns of a row.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = SecondMoment(2)
    >>> rows = to_grid(np.array([[0.5, 0.5], [0.5, -0.25]]))
    >>> query.matrix(query.contribute(rows).values.sum(axis=(0, 1)) / UNIT).round(6).tolist()
    [[0.5, 0.125], [0.125, 0.3125]]
    """

    n_columns: int

    def __post_init__(self) -> None:
        if self.n_columns < 1:
            raise ValueError(f"rows have at least one column, got {self.n_columns!r}.")

    @property
    def size(self) -> int:
        """One coordinate per pair of columns, each column with itself among them."""
        return self.n_columns * (self.n_columns + 1) // 2

    @property
    def sensitivity(self) -> Sensitivity:
        """A vector of at most one squared radius."""
        return Sensitivity(
            l1=math.isqrt(self.size * UNIT**2) + 1,
            l2_squared=UNIT**2,
            linf=UNIT,
            l0=self.size,
            monotone=False,
        )

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's products."""
        values = np.empty((len(rows), 1, self.size), dtype=np.int64)
        begin = 0
        for column in range(self.n_columns):
            end = begin + self.n_columns - column
            products = rows[:, column : column + 1] * rows[:, column:]
            products *= _SCALE
            products[:, 1:] *= _ROOT
            values[:, 0, begin:end] = products  # truncates toward zero
            begin = end
        return Contribution(np.zeros((len(rows), 1), dtype=np.int64), values)

    def matrix(self, values: FloatArray) -> FloatArray:
        """Turn a result in votes into the symmetric matrix of summed products."""
        upper = np.zeros((self.n_columns, self.n_columns))
        upper[np.triu_indices(self.n_columns)] = values
        off = np.triu(upper, 1) / _ROOT
        return np.diag(np.diag(upper)) + off + off.T

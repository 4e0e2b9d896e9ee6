"""What one row contributes to a result, and how much at most.

A query is public. It turns grid rows (`privclust.domains.base.Domain.to_grid`) into integer
contributions, each a function of its row alone, and declares their bounds; the engine sums them
and leaves out any row that breaks the bounds. Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from privclust.kernels.grid import UNIT, FloatArray, IntArray, to_grid
from privclust.kernels.projection import Projection
from privclust.queries.registry import register

Array = TypeVar("Array", FloatArray, IntArray)


@dataclass(frozen=True)
class Sensitivity:
    """The most one row can contribute, in grid units.

    Attributes
    ----------
    l1, linf : int
        Bounds on the sum and on the largest of the absolute values.
    l2_squared : int
        Bound on the sum of squares; an integer, so that it is exact.
    l0 : int
        Coordinates of the result that one row can change.
    monotone : bool
        Whether contributions are never negative.
    """

    l1: int
    l2_squared: int
    linf: int
    l0: int
    monotone: bool


@dataclass(frozen=True, eq=False)
class Contribution:
    """Sparse contributions of n rows: row i adds ``values[i, j]`` to block ``blocks[i, j]``.

    Attributes
    ----------
    blocks : int array of shape (n, q)
        The q different blocks of the result that a row touches.
    values : int array of shape (n, q, width)
        What it adds there. A block is `width` neighbouring coordinates.
    """

    blocks: IntArray
    values: IntArray


class Query(Protocol):
    """A bounded vector per row, to be summed."""

    @property
    def size(self) -> int:
        """Coordinates of the result."""

    @property
    def sensitivity(self) -> Sensitivity:
        """The most one row can contribute."""

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each grid row contributes."""


def weighs_rows_alike(query: Query) -> bool:
    """Tell whether of a unit with more rows than may count each row has the same, smaller weight.

    Otherwise its sum is shortened to what the query allows, and rows near the middle of what is
    measured weigh more. Queries whose results are compared with each other declare
    ``rows_alike = True``.

    Examples
    --------
    >>> weighs_rows_alike(Count())
    False
    """
    return bool(getattr(query, "rows_alike", False))


ONE_HOT = Sensitivity(l1=UNIT, l2_squared=UNIT**2, linf=UNIT, l0=1, monotone=True)
"""One vote in one place."""


@register("Count")
@dataclass(frozen=True, eq=False)
class Count:
    """How many rows there are.

    Examples
    --------
    >>> Count().contribute(np.zeros((3, 2))).values.sum() // UNIT
    np.int64(3)
    """

    size = 1
    sensitivity = ONE_HOT

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return one vote for each row."""
        return one_hot(np.zeros(len(rows), dtype=np.int64))


def one_hot(index: IntArray) -> Contribution:
    """Return one vote of each row, for the place that `index` names."""
    votes = np.broadcast_to(np.int64(UNIT), (len(index), 1, 1))
    return Contribution(index.astype(np.int64)[:, None], votes)


def projected(rows: FloatArray, projection: Projection | None) -> FloatArray:
    """Return the rows, projected if there is a projection."""
    return rows if projection is None else projection(rows)


def frozen_points(points: FloatArray, axes: int = 2) -> FloatArray:
    """Return public points of the unit ball on the grid, in an array that nobody can write to.

    Examples
    --------
    >>> frozen_points(np.array([[0.5, 0.0]])).tolist()
    [[16777216.0, 0.0]]
    """
    given = np.array(points, dtype=np.float64)
    if given.ndim != axes or given.size == 0 or not np.isfinite(given).all():
        raise ValueError(
            "candidates, centres and origins must be at least one finite point of the unit ball, "
            f"in an array of {axes} axes, got the shape {given.shape}."
        )
    return frozen(to_grid(given.reshape(-1, given.shape[-1])).reshape(given.shape))


def frozen(array: Array) -> Array:
    """Return an array that nobody can write to any more."""
    array.setflags(write=False)
    return array

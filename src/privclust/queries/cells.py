"""Queries about cells of space: how many rows lie in each of a list of cells, and their sums.

A partition is public and says of each grid row in which of its listed cells it lies, at most one;
the queries are the same whatever the cells look like. Rows outside all of them add nothing.
Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray, IntArray, clip_to_ball, to_grid
from privclust.queries.base import ONE_HOT, Contribution, Sensitivity
from privclust.queries.registry import register

NOWHERE = -1
"""The cell of a row that lies in none of the listed ones."""

DEPTH_MAX = 62
"""Bits of a cell's name, read as an integer of 64 bits."""


class Partition(Protocol):
    """Listed cells of space, no two of which overlap."""

    def __len__(self) -> int:
        """How many cells are listed."""

    def cell_of(self, rows: FloatArray) -> IntArray:
        """Return, for each grid row alone, the index of its cell, or `NOWHERE`."""


@register("SignCells")
@dataclass(frozen=True, eq=False)
class SignCells:
    """Cells that planes through the origin cut out, named by the sides a row lies on.

    Parameters
    ----------
    normals : array of shape (D, d)
        One direction of the unit ball per plane; kept as grid points.
    names : tuple of str
        One string of 0 and 1 per cell: its n-th letter is 0 where the scalar product with the n-th
        direction is not negative. A short name leaves the later planes out, so "" is all of space.
        No name begins with another.

    Examples
    --------
    >>> cells = SignCells(np.eye(2), ("00", "1"))
    >>> cells.cell_of(to_grid(np.array([[0.5, 0.1], [-0.2, 0.3], [0.5, -0.1]]))).tolist()
    [0, 1, -1]
    """

    normals: FloatArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        normals = np.asarray(self.normals, dtype=np.float64)
        usable = normals.ndim == 2 and len(normals) <= DEPTH_MAX and normals.shape[1] > 0
        usable = usable and bool(np.isfinite(normals).all())
        named = len(self.names) > 0 and all(
            len(name) <= len(normals) and set(name) <= {"0", "1"} for name in self.names
        )
        if not (usable and named) or _nested(self.names):
            raise ValueError(
                f"cells need at most {DEPTH_MAX} finite directions, and at least one name of 0 and "
                "1, no longer than there are directions, of which none begins with another."
            )
        grid = to_grid(normals)
        grid.setflags(write=False)
        object.__setattr__(self, "normals", grid)

    def __len__(self) -> int:
        return len(self.names)

    def cell_of(self, rows: FloatArray) -> IntArray:
        """Return the index of each row's cell: the sides are read off exact products."""
        depth = max(map(len, self.names))
        sides = (rows @ self.normals[:depth].T < 0).astype(np.int64)
        address = sides @ (1 << np.arange(depth, dtype=np.int64)[::-1])
        # A short name covers a range of addresses; ranges do not overlap, so one search finds it.
        order, first, last = self._ranges
        place = np.searchsorted(first, address, side="right") - 1
        inside = (place >= 0) & (address <= last[place])
        return np.where(inside, order[place], NOWHERE)

    @cached_property
    def _ranges(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the cells in the order of their addresses, and the ends of their ranges."""
        depth = max(map(len, self.names))
        first, last = (
            np.array([int(f"0{name:{side}<{depth}}", 2) for name in self.names], dtype=np.int64)
            for side in "01"
        )
        order = np.argsort(first)
        return order, first[order], last[order]


@register("CellCounts")
@dataclass(frozen=True, eq=False)
class CellCounts:
    """Each row votes for the listed cell it lies in.

    Parameters
    ----------
    cells : Partition
        Where to count.

    Examples
    --------
    >>> query = CellCounts(SignCells(np.eye(2), ("00", "1")))
    >>> rows = to_grid(np.array([[0.5, 0.1], [-0.2, 0.3], [0.5, -0.1]]))
    >>> (query.contribute(rows).values.ravel() // UNIT).tolist()
    [1, 1, 0]
    """

    cells: Partition
    sensitivity = ONE_HOT

    @property
    def size(self) -> int:
        """One coordinate per cell."""
        return len(self.cells)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's vote, or nothing."""
        cell = self.cells.cell_of(rows)
        votes = np.where(cell == NOWHERE, 0, UNIT)
        return Contribution(np.maximum(cell, 0)[:, None], votes[:, None, None])


@register("CellSums")
@dataclass(frozen=True, eq=False)
class CellSums:
    """Each row adds itself and a count to the listed cell it lies in, as one joint query.

    Parameters
    ----------
    cells : Partition
        Where to add up.
    n_columns : int
        Columns of a row.
    weight : float
        What one row counts, relative to one radius: sensitivity is sqrt(1 + weight²).

    Examples
    --------
    >>> query = CellSums(SignCells(np.eye(2), ("0",)), n_columns=2, weight=0.5)
    >>> rows = to_grid(np.array([[0.5, 0.0], [0.25, 0.25], [-0.1, 0.0]]))
    >>> sums, counts = query.split(query.contribute(rows).values.sum(axis=(0, 1)) / UNIT)
    >>> sums.tolist(), counts.tolist()
    ([[0.75, 0.25]], [2.0])
    """

    cells: Partition
    n_columns: int
    weight: float

    def __post_init__(self) -> None:
        width = self.cells.normals.shape[1] if isinstance(self.cells, SignCells) else self.n_columns
        if not 1 <= self.n_columns == width:
            raise ValueError(
                f"cells of {width} columns need rows of as many, got n_columns={self.n_columns!r}."
            )
        if not 2**-10 <= self.weight <= 16:
            raise ValueError(f"weight must lie between 2^-10 and 16, got {self.weight!r}.")

    @property
    def size(self) -> int:
        """For each cell, d coordinates of the sum, then the count."""
        return len(self.cells) * (self.n_columns + 1)

    @property
    def sensitivity(self) -> Sensitivity:
        """A row of at most one radius, and a count, in one cell."""
        return Sensitivity(
            l1=math.isqrt(self.n_columns * UNIT**2) + 1 + self._count,
            l2_squared=UNIT**2 + self._count**2,
            linf=max(UNIT, self._count),
            l0=self.n_columns + 1,
            monotone=False,
        )

    @property
    def _count(self) -> int:
        return int(self.weight * UNIT)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row and its count, or nothing."""
        cell = self.cells.cell_of(rows)
        values = np.empty((len(rows), 1, self.n_columns + 1), dtype=np.int64)
        values[:, 0, :-1] = clip_to_ball(rows / GRID, UNIT)
        values[:, 0, -1] = self._count
        values[cell == NOWHERE] = 0
        return Contribution(np.maximum(cell, 0)[:, None], values)

    def split(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn a result in votes into sums of the unit ball and counts of rows."""
        table = values.reshape(len(self.cells), -1)
        return table[:, :-1], table[:, -1] * (UNIT / self._count)


def _nested(names: tuple[str, ...]) -> bool:
    """Tell whether a name begins with another: sorted, it then follows one it begins with."""
    return any(longer.startswith(name) for name, longer in pairwise(sorted(names)))

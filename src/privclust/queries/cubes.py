"""The query of cube partitions: how many rows lie in each part of some cubes.

Rows may be projected first; what follows is integer arithmetic on the grid, exact for each
row alone. Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.kernels.projection import Projection, check_widths
from privclust.queries.base import ONE_HOT, Contribution, frozen, projected
from privclust.queries.registry import register

CUBE_BITS = 27
"""A first cube has sides of 2^27 grid units, two diameters of the ball: enough to shift it."""
_KEY_BITS = 60


@register("SubcubeCounts")
@dataclass(frozen=True, eq=False)
class SubcubeCounts:
    """Each row votes for the subcube that holds it, if that is part of one of the given cubes.

    A cube is cut in two along every axis, so p axes make 2^p subcubes. All of them are counted,
    with or without rows.

    Parameters
    ----------
    cubes : int array of shape (A, p)
        Different cubes, by their position along each axis: from 0 to 2^level − 1.
    level : int
        How often the sides of the first cube were divided by two to get these.
    corner : int array of shape (p,)
        Lowest corner of the first cube, in grid units.
    projection : Projection, optional
        Applied to rows first.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> corner = np.array([-(2**26), -(2**26)])
    >>> query = SubcubeCounts(np.array([[0, 0], [1, 1]]), 1, corner)
    >>> query.subcubes[-1].tolist()
    [3, 3]
    >>> rows = to_grid(np.array([[-0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]]))
    >>> found = query.contribute(rows)
    >>> found.blocks.ravel().tolist(), (found.values.ravel() // UNIT).tolist()
    ([3, 4, 0], [1, 1, 0])
    """

    cubes: IntArray
    level: int
    corner: IntArray
    projection: Projection | None = None
    sensitivity = ONE_HOT

    def __post_init__(self) -> None:
        for name in ("cubes", "corner"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.int64)))
        shaped = self.cubes.ndim == 2 and self.cubes.shape[1:] == self.corner.shape != (0,)
        if not (shaped and len(self.cubes) and 1 <= self.level < CUBE_BITS):
            raise ValueError(
                "cubes must be a table of at least one position, with as many axes as the corner, "
                f"and the level between 1 and {CUBE_BITS - 1}; got shapes {self.cubes.shape} and "
                f"{self.corner.shape} and level {self.level!r}."
            )
        inside = bool(((self.cubes >= 0) & (self.cubes < 2**self.level)).all())
        near = bool(((self.corner >= -(2**CUBE_BITS)) & (self.corner <= 2**CUBE_BITS)).all())
        small = self.corner.size * self.level <= _KEY_BITS
        if not (
            inside and near and small and len(np.unique(self.cubes, axis=0)) == len(self.cubes)
        ):
            raise ValueError(
                "cubes must differ and lie between 0 and 2^level - 1, the corner within "
                f"2^{CUBE_BITS} of 0, and axes times level must be at most {_KEY_BITS}; got "
                f"{self.corner.size} axes and level {self.level}."
            )
        check_widths(self.corner, self.projection)

    @property
    def size(self) -> int:
        """One coordinate per subcube, those of one cube next to each other."""
        return len(self.cubes) << self.corner.size

    @property
    def subcubes(self) -> IntArray:
        """The subcubes' positions, at the next level, in the order of the result."""
        axes = np.arange(self.corner.size)
        upper = (np.arange(2**self.corner.size)[:, None] >> axes) & 1
        return (2 * self.cubes[:, None, :] + upper).reshape(-1, self.corner.size)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's vote; a row in none of the cubes adds 0."""
        points = projected(rows, self.projection).astype(np.int64)
        places = (points - self.corner) >> (CUBE_BITS - self.level - 1)
        parents = places >> 1
        inside = ((parents >= 0) & (parents < 2**self.level)).all(axis=1)
        keys = self._keys(self.cubes)
        order = np.argsort(keys)
        wanted = self._keys(np.where(inside[:, None], parents, 0))
        found = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        counted = inside & (keys[order][found] == wanted)
        axes = np.arange(self.corner.size)
        subcube = (order[found] << self.corner.size) + ((places & 1) << axes).sum(axis=1)
        votes = np.where(counted, UNIT, 0)
        return Contribution(np.where(counted, subcube, 0)[:, None], votes[:, None, None])

    def _keys(self, positions: IntArray) -> IntArray:
        """Return one number for each position, which no other position has."""
        keys: IntArray = (positions << (self.level * np.arange(self.corner.size))).sum(axis=1)
        return keys

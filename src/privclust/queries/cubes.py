"""The questions of cube partitions and of local search, in the manner of `privclust.queries.base`.

Rows may be projected first; what follows is whole-number arithmetic on the grid, exact for each
row alone. Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray, IntArray, norms_squared, to_grid
from privclust.kernels.projection import Projection, check_widths
from privclust.queries.base import ONE_HOT, Bounds, Contribution

CUBE_BITS = 27
"""A first cube has sides of 2^27 grid units, two diameters of the ball: room to shift it."""

CHOICES_MAX = 128
"""Choices one selection compares. 512 took four times as long and found no better clusters on
sklearn_16_4; the engine adds squares exactly for fewer than 1024."""

_KEY_BITS = 60
_TILE_ROWS = 128
"""A tile of losses is then still in the cache when it is used."""

Array = TypeVar("Array", FloatArray, IntArray)


@dataclass(frozen=True, eq=False)
class SubcubeCounts:
    """Each row votes for the subcube that holds it, if that is part of one of the cubes asked for.

    A cube is cut in two along every axis, so p axes make 2^p subcubes. All of them are counted,
    with or without rows.

    Parameters
    ----------
    cubes : int array of shape (A, p)
        Different cubes, by their position along each axis: from 0 to 2^level − 1.
    level : int
        How often the first cube was halved to get these.
    corner : int array of shape (p,)
        Lowest corner of the first cube, in grid units.
    projection : Projection, optional
        Applied to rows first.

    Examples
    --------
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
    bounds = ONE_HOT

    def __post_init__(self) -> None:
        for name in ("cubes", "corner"):
            object.__setattr__(self, name, _frozen(np.array(getattr(self, name), dtype=np.int64)))
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
        """The subcubes' positions, at the next level, in the order of the answer."""
        axes = np.arange(self.corner.size)
        upper = (np.arange(2**self.corner.size)[:, None] >> axes) & 1
        return (2 * self.cubes[:, None, :] + upper).reshape(-1, self.corner.size)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's vote; a row in no cube asked for adds 0."""
        points = _projected(rows, self.projection).astype(np.int64)
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


@dataclass(frozen=True, eq=False)
class SwapSavings:
    """What each swap of one centre saves, of one squared radius a row: the best swap saves most.

    A row's loss is its squared distance to the nearest centre after the swap, but at most one
    squared radius, which is what a single centre in the middle of the ball would cost at most. The
    row adds the rest of that to the swap.

    Parameters
    ----------
    centers : array of shape (k, d), or (k, p) with a projection
        Public points of the unit ball.
    joining : array of shape (S, d) or (S, p)
        For each swap, the point that becomes a centre.
    leaving : int array of shape (S,)
        For each swap, the index of the centre it replaces.
    projection : Projection, optional
        Applied to rows first.

    Examples
    --------
    >>> query = SwapSavings(np.zeros((1, 1)), np.array([[0.5], [0.0]]), np.array([0, 0]))
    >>> (query.contribute(to_grid(np.array([[0.5]]))).values / UNIT).tolist()
    [[[1.0, 0.75]]]
    """

    centers: FloatArray
    joining: FloatArray
    leaving: IntArray
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", _frozen_points(self.centers, 2))
        object.__setattr__(self, "joining", _frozen_points(self.joining, 2))
        object.__setattr__(self, "leaving", _frozen(np.array(self.leaving, dtype=np.int64)))
        for points in (self.centers, self.joining):
            check_widths(
                points, self.projection, None if self.projection else self.centers.shape[1]
            )
        known = bool(((self.leaving >= 0) & (self.leaving < len(self.centers))).all())
        if not (known and self.leaving.shape == (len(self.joining),)):
            raise ValueError(
                "each swap needs one point that joins and the index of one centre that leaves; got "
                f"{len(self.joining)} points and indices of shape {self.leaving.shape}."
            )
        _check_choices(len(self.joining))

    @property
    def size(self) -> int:
        """One coordinate per swap."""
        return len(self.joining)

    @property
    def bounds(self) -> Bounds:
        """At most one squared radius for every swap, and never less than 0."""
        return _savings_bounds(self.size)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each row saves by each swap."""
        return _savings(_projected(rows, self.projection), self.size, self._losses)

    def _losses(self, points: FloatArray) -> FloatArray:
        distances = _squared_distances(points, self.centers)
        own = distances.argmin(axis=1)
        numbers = np.arange(len(points))
        nearest = distances[numbers, own]
        distances[numbers, own] = np.inf
        second = distances.min(axis=1)
        stays = np.where(own[:, None] == self.leaving, second[:, None], nearest[:, None])
        losses: FloatArray = np.minimum(stays, _squared_distances(points, self.joining))
        return losses


@dataclass(frozen=True, eq=False)
class SetSavings:
    """What each of several sets of centres saves, of one squared radius a row.

    Parameters
    ----------
    sets : array of shape (S, k, d), or (S, k, p) with a projection
        Public points of the unit ball.
    projection : Projection, optional
        Applied to rows first.

    Examples
    --------
    >>> query = SetSavings(np.array([[[0.0], [0.5]], [[0.0], [-0.5]]]))
    >>> (query.contribute(to_grid(np.array([[0.5]]))).values / UNIT).tolist()
    [[[1.0, 0.75]]]
    """

    sets: FloatArray
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", _frozen_points(self.sets, 3))
        check_widths(self.sets, self.projection)
        _check_choices(len(self.sets))

    @property
    def size(self) -> int:
        """One coordinate per set."""
        return len(self.sets)

    @property
    def bounds(self) -> Bounds:
        """At most one squared radius for every set, and never less than 0."""
        return _savings_bounds(self.size)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each row saves by each set."""
        return _savings(_projected(rows, self.projection), self.size, self._losses)

    def _losses(self, points: FloatArray) -> FloatArray:
        return np.column_stack(
            [_squared_distances(points, centers).min(axis=1) for centers in self.sets]
        )


def _savings_bounds(size: int) -> Bounds:
    return Bounds(l1=size * UNIT, l2_squared=size * UNIT**2, linf=UNIT, changed=size, monotone=True)


def _savings(
    points: FloatArray, size: int, losses: Callable[[FloatArray], FloatArray]
) -> Contribution:
    values = np.empty((len(points), 1, size), dtype=np.int64)
    for start in range(0, len(points), _TILE_ROWS):
        tile = slice(start, start + _TILE_ROWS)
        # Whole numbers up to 2^50 over 2^24: exact, and then truncated.
        values[tile, 0] = np.maximum(GRID**2 - losses(points[tile]), 0.0) * (UNIT / GRID**2)
    return Contribution(np.zeros((len(points), 1), dtype=np.int64), values)


def _squared_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return exact squared grid distances: no sum formed on the way exceeds 2^52."""
    distances = points @ (-2 * others.T)
    distances += norms_squared(points)[:, None]
    distances += norms_squared(others)
    return distances


def _check_choices(size: int) -> None:
    if size > CHOICES_MAX:
        raise ValueError(f"one selection compares at most {CHOICES_MAX} choices, got {size}.")


def _projected(rows: FloatArray, projection: Projection | None) -> FloatArray:
    return rows if projection is None else projection(rows)


def _frozen_points(points: FloatArray, axes: int) -> FloatArray:
    given = np.array(points, dtype=np.float64)
    if given.ndim != axes or given.size == 0 or not np.isfinite(given).all():
        raise ValueError(
            f"centres must be finite points of the unit ball in an array of {axes} axes, got the "
            f"shape {given.shape}."
        )
    return _frozen(to_grid(given.reshape(-1, given.shape[-1])).reshape(given.shape))


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array

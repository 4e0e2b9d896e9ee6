"""The queries of local search: what swaps of centres, or whole sets of them, would save.

Rows may be projected first; what follows is integer arithmetic on the grid, exact for each
row alone. Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray, IntArray, norms_squared
from privclust.kernels.projection import Projection, check_widths
from privclust.queries.base import Contribution, Sensitivity, frozen, frozen_points, projected
from privclust.queries.registry import register

CHOICES_MAX = 128
"""Choices one selection compares. 512 took four times as long and found no better clusters on
sklearn_16_4; the engine adds squares exactly for fewer than 1024."""

_TILE_ROWS = 128
"""A tile of losses is then still in the cache when it is used."""


@register("SwapSavings")
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
    >>> from privclust.kernels.grid import to_grid
    >>> query = SwapSavings(np.zeros((1, 1)), np.array([[0.5], [0.0]]), np.array([0, 0]))
    >>> (query.contribute(to_grid(np.array([[0.5]]))).values / UNIT).tolist()
    [[[1.0, 0.75]]]
    """

    centers: FloatArray
    joining: FloatArray
    leaving: IntArray
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers, 2))
        object.__setattr__(self, "joining", frozen_points(self.joining, 2))
        object.__setattr__(self, "leaving", frozen(np.array(self.leaving, dtype=np.int64)))
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
    def sensitivity(self) -> Sensitivity:
        """At most one squared radius for every swap, and never less than 0."""
        return _savings_bounds(self.size)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each row saves by each swap."""
        return _savings(projected(rows, self.projection), self.size, self._losses)

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


@register("SetSavings")
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
    >>> from privclust.kernels.grid import to_grid
    >>> query = SetSavings(np.array([[[0.0], [0.5]], [[0.0], [-0.5]]]))
    >>> (query.contribute(to_grid(np.array([[0.5]]))).values / UNIT).tolist()
    [[[1.0, 0.75]]]
    """

    sets: FloatArray
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", frozen_points(self.sets, 3))
        check_widths(self.sets, self.projection)
        _check_choices(len(self.sets))

    @property
    def size(self) -> int:
        """One coordinate per set."""
        return len(self.sets)

    @property
    def sensitivity(self) -> Sensitivity:
        """At most one squared radius for every set, and never less than 0."""
        return _savings_bounds(self.size)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each row saves by each set."""
        return _savings(projected(rows, self.projection), self.size, self._losses)

    def _losses(self, points: FloatArray) -> FloatArray:
        return np.column_stack(
            [_squared_distances(points, centers).min(axis=1) for centers in self.sets]
        )


def _savings_bounds(size: int) -> Sensitivity:
    return Sensitivity(l1=size * UNIT, l2_squared=size * UNIT**2, linf=UNIT, l0=size, monotone=True)


def _savings(
    points: FloatArray, size: int, losses: Callable[[FloatArray], FloatArray]
) -> Contribution:
    values = np.empty((len(points), 1, size), dtype=np.int64)
    for start in range(0, len(points), _TILE_ROWS):
        tile = slice(start, start + _TILE_ROWS)
        # Integers up to 2^50 over 2^24: exact, and then truncated.
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

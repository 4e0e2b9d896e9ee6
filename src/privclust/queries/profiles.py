"""Queries about other columns of each cluster's rows: sums of numbers, and tallies.

The same protocol as in `privclust.queries.base`, for the rows of
`privclust.domains.profiled.ProfileDomain`. All rows of a unit weigh alike in both, so that shares
and means are of the same rows. Proof: docs/proofs/sensitivity.md, section 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray, IntArray
from privclust.kernels.nearest import nearest
from privclust.queries.base import Contribution, Sensitivity, frozen_points
from privclust.queries.registry import register

COLUMNS_MAX = 256
"""A row's squares then add up exactly in an engine, and to the root of so many votes at most."""


@register("ProfileSums")
@dataclass(frozen=True, eq=False)
class ProfileSums:
    """Each row adds its values and a count to its cluster, as one joint query.

    All values together are worth one vote: each of m of them 1/√m at most.

    Parameters
    ----------
    centers : array of shape (k, d)
        Public points of the unit ball; a row belongs to the nearest.
    skipped : int
        Coordinates of a row between its d first and its values.
    n_values : int
        How many values there are, each at most 2^25 in size.

    Examples
    --------
    >>> query = ProfileSums(np.zeros((1, 2)), skipped=0, n_values=1)
    >>> rows = np.array([[0.0, 0.0, GRID / 2], [0.0, 0.0, GRID / 4]])
    >>> sums, counts = query.split(query.contribute(rows).values.sum(axis=(0, 1)) / UNIT)
    >>> sums.tolist(), counts.tolist()
    ([[0.75]], [2.0])
    """

    centers: FloatArray
    skipped: int
    n_values: int
    rows_alike: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers))
        if not 1 <= self.n_values <= COLUMNS_MAX or self.skipped < 0:
            raise ValueError(
                f"a profile sums 1 to {COLUMNS_MAX} values, got {self.n_values!r}. Profile fewer "
                "columns at a time."
            )

    @property
    def size(self) -> int:
        """For each cluster, the sums, then the count."""
        return len(self.centers) * (self.n_values + 1)

    @property
    def sensitivity(self) -> Sensitivity:
        """Values of one vote together, and a count, in one cluster."""
        value, count = value_units(self.n_values), count_units(self.n_values)
        return Sensitivity(
            l1=self.n_values * value + count,
            l2_squared=UNIT**2 + count**2,
            linf=max(value, count),
            l0=self.n_values + 1,
            monotone=False,
        )

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's values and count."""
        n_columns = self.centers.shape[1]
        cluster = nearest(rows[:, :n_columns], self.centers)
        begin = n_columns + self.skipped
        noted = np.clip(rows[:, begin : begin + self.n_values], -GRID, GRID)
        values = np.empty((len(rows), 1, self.n_values + 1), dtype=np.int64)
        values[:, 0, :-1] = noted * value_units(self.n_values) / GRID  # truncates toward zero
        values[:, 0, -1] = count_units(self.n_values)
        return Contribution(cluster[:, None], values)

    def split(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn a result in votes into sums, in half widths of the bounds, and counts of rows."""
        return split_sums(values, self.n_values)


@register("ProfileTallies")
@dataclass(frozen=True, eq=False)
class ProfileTallies:
    """Each row votes, in its cluster, for its place in each of several columns.

    Parameters
    ----------
    centers : array of shape (k, d)
        Public points of the unit ball; a row belongs to the nearest.
    n_places : tuple of int
        How many places each column has. Places, from 0, follow a row's d first coordinates.

    Examples
    --------
    >>> query = ProfileTallies(np.zeros((1, 2)), (2, 3))
    >>> query.contribute(np.array([[0.0, 0.0, 1.0, 2.0]])).blocks.tolist()
    [[1, 4]]
    """

    centers: FloatArray
    n_places: tuple[int, ...]
    rows_alike: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers))
        if not 1 <= len(self.n_places) <= COLUMNS_MAX or min(self.n_places) < 1:
            raise ValueError(
                f"a profile tallies 1 to {COLUMNS_MAX} columns of one place or more each, got "
                f"{len(self.n_places)} columns. Profile fewer at a time."
            )

    @property
    def size(self) -> int:
        """For each cluster, the places of all columns."""
        return len(self.centers) * sum(self.n_places)

    @property
    def sensitivity(self) -> Sensitivity:
        """One vote in each column."""
        columns = len(self.n_places)
        return Sensitivity(
            l1=columns * UNIT,
            l2_squared=columns * UNIT**2,
            linf=UNIT,
            l0=columns,
            monotone=True,
        )

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's votes."""
        n_columns, columns = self.centers.shape[1], len(self.n_places)
        cluster = nearest(rows[:, :n_columns], self.centers)
        places = np.array(self.n_places)
        noted = np.clip(rows[:, n_columns : n_columns + columns], 0, places - 1).astype(np.int64)
        first: IntArray = np.cumsum(places) - places
        blocks = cluster[:, None] * places.sum() + first + noted
        votes = np.broadcast_to(np.int64(UNIT), (len(rows), columns, 1))
        return Contribution(blocks, votes)


def value_units(n_values: int) -> int:
    """Return what the largest of several values adds, so that all together are one vote.

    Examples
    --------
    >>> value_units(4) == UNIT // 2
    True
    """
    return math.isqrt(UNIT**2 // n_values)


def count_units(n_values: int) -> int:
    """Return what a row counts beside its values.

    With weight w, noise on a sum is √(1 + w²)·√m and on a count √(1 + w²)/w. For a mean halfway
    between the middle and a bound, half of the second counts: together least for w² = 1/(2·√m).
    """
    return int(UNIT * (4 * n_values) ** -0.25)


def split_sums(values: FloatArray, n_values: int) -> tuple[FloatArray, FloatArray]:
    """Turn sums and counts in votes into half widths of the bounds, and rows."""
    table = values.reshape(-1, n_values + 1)
    return table[:, :-1] * (UNIT / value_units(n_values)), table[:, -1] * (
        UNIT / count_units(n_values)
    )

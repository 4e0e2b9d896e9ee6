"""Moments of clusters with tails: rows far from their centre are measured on a scale of their own.

Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray, clip_residuals, norms_squared
from privclust.kernels.nearest import edges_reached, nearest, squared_distances
from privclust.kernels.projection import Projection, check_widths
from privclust.queries.base import (
    Contribution,
    Sensitivity,
    frozen_points,
    projected,
)
from privclust.queries.clusters import check_weights, frozen_radii
from privclust.queries.registry import register
from privclust.queries.unit import COORDINATES_MAX

FAR_RESIDUAL, FAR_COUNT, FAR_SQUARE = 0.75, 0.55, 0.36
"""What a far row adds to its shell: a residual of the outer radius, a count, a squared length of
that radius. Their squares sum to less than 1, so that it adds no more than a near row does."""
CORE_RADII = 3.0
"""A core ends at this many clipping radii."""
SHELL_RATIO = 4.0
"""A shell's outer radius over its inner one."""
_FAR_UNITS = tuple(int(part * UNIT) for part in (FAR_RESIDUAL, FAR_COUNT, FAR_SQUARE))
SHELLS_MAX = 10
"""Enough for a clipping radius of 2^-20 to reach through the ball."""


def shells_needed(radius: float, n_clusters: int, n_columns: int) -> int:
    """Return how many shells around cores of this clipping radius reach through the unit ball.

    There are fewer, but at least one, where all of them would be more numbers than a unit with many
    rows may change.

    Examples
    --------
    >>> shells_needed(0.5, 8, 16), shells_needed(0.01, 8, 16), shells_needed(0.01, 20_000, 16)
    (1, 4, 1)
    """
    through_ball = math.ceil(math.log(2 / (CORE_RADII * radius), SHELL_RATIO))
    most = COORDINATES_MAX // (n_clusters * (n_columns + 2)) - 1
    return max(min(through_ball, most, SHELLS_MAX), 1)


def numbers_changed(n_columns: int) -> int:
    """Return how many numbers of a result one row can change: those of a core and of a shell."""
    return n_columns + 4


class ShellValues(NamedTuple):
    """What `ShellMoments` measures: of each cluster's core, and of each of its shells."""

    sums: FloatArray
    counts: FloatArray
    squares: FloatArray
    far_sums: FloatArray
    far_counts: FloatArray
    far_squares: FloatArray


@register("ShellMoments")
@dataclass(frozen=True, eq=False)
class ShellMoments:
    """Each row adds a count and a clipped square to its cluster, its residual to core or shell.

    The core of a cluster holds the rows within `CORE_RADII` clipping radii; shells around it are
    each `SHELL_RATIO` times as wide as the one before. A row of a shell is measured in the shell's
    outer radius, with a count and a square of its own there, so that a few far rows are neither cut
    off nor set the noise of all.

    Parameters
    ----------
    centers : array of shape (k, d), or (k, p) with a projection
        Public points of the unit ball; a row belongs to the nearest and its residual is taken
        from it.
    radii : array of shape (k,)
        Residuals in the core are clipped to their cluster's radius and measured in it.
    weight, square_weight : float
        What one row counts, and what a squared length of one radius counts, relative to one radius
        of residual: sensitivity is sqrt(1 + weight² + square_weight²).
    n_shells : int
        Shells per cluster; the last one has no outer end.
    projection : Projection, optional
        Applied to rows first; residuals are then those of the projected rows.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = ShellMoments(np.zeros((1, 2)), np.array([0.1]), 1.0, 1.0, n_shells=1)
    >>> rows = to_grid(np.array([[0.05, 0.0], [0.0, 0.0], [0.0, 0.5]]))
    >>> found = query.split(query.contribute(rows).values.sum(axis=0).ravel() / UNIT)
    >>> found.counts.round(6).tolist(), found.far_counts.round(6).tolist()
    ([3.0], [[1.0]])
    >>> found.sums.round(6).tolist(), found.far_sums.round(6).tolist()
    ([[0.05, 0.0]], [[[0.0, 0.5]]])
    """

    centers: FloatArray
    radii: FloatArray
    weight: float
    square_weight: float
    n_shells: int
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers))
        check_widths(self.centers, self.projection)
        object.__setattr__(self, "radii", frozen_radii(self.radii, len(self.centers)))
        check_weights(self.weight, self.square_weight)
        if self.n_shells not in range(1, SHELLS_MAX + 1):
            raise ValueError(
                f"n_shells must be an integer between 1 and {SHELLS_MAX}, got {self.n_shells!r}."
            )

    @property
    def inner(self) -> FloatArray:
        """The inner radius of each cluster's shells."""
        return CORE_RADII * self.radii[:, None] * SHELL_RATIO ** np.arange(float(self.n_shells))

    @property
    def outer(self) -> FloatArray:
        """What residuals are measured in, in each shell: no row of the ball lies farther out."""
        farthest = 1 + np.sqrt(norms_squared(self.centers))[:, None] / GRID
        return np.clip(farthest, self.inner, self.inner * SHELL_RATIO)

    @property
    def size(self) -> int:
        """For each core, then for each shell: the sum's coordinates, the count, the squares."""
        n_clusters, n_columns = self.centers.shape
        return int(n_clusters * (1 + self.n_shells) * (n_columns + 2))

    @property
    def sensitivity(self) -> Sensitivity:
        """A near row's residual, count and square, or a far row's, whichever is more."""
        n_columns = self.centers.shape[1]
        count, square = int(self.weight * UNIT), int(self.square_weight * UNIT)
        residual, far_count, far_square = _FAR_UNITS
        near_l1 = math.isqrt(n_columns * UNIT**2) + 1
        far_l1 = math.isqrt(n_columns * residual**2) + 1 + far_count + far_square
        far_l2_squared = residual**2 + far_count**2 + far_square**2
        return Sensitivity(
            l1=count + square + max(near_l1, far_l1),
            l2_squared=count**2 + square**2 + max(UNIT**2, far_l2_squared),
            linf=max(UNIT, count, square),
            l0=numbers_changed(n_columns),
            monotone=False,
        )

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each row adds to its cluster, and to its core or one of its shells."""
        rows = projected(rows, self.projection)
        cluster = nearest(rows, self.centers)
        squares = squared_distances(rows, self.centers, cluster)
        # Exact squares are compared with the cluster's own edges: a row's shell is its alone.
        shell = edges_reached(squares, (self.inner * GRID) ** 2, cluster) - 1
        far = shell >= 0
        scale = (np.column_stack([self.radii, self.outer]) * GRID)[cluster, shell + 1]
        relative = np.minimum(squares / scale**2, 1.0)
        residual, far_count, far_square = _FAR_UNITS
        values = np.zeros((len(rows), 2, rows.shape[1] + 2), dtype=np.int64)
        core, tail = values[:, 0], values[:, 1]
        units = np.where(far, float(residual), float(UNIT))
        clipped = clip_residuals(rows, self.centers, cluster, scale, units)
        values[np.arange(len(rows)), far.astype(np.int64), :-2] = clipped
        core[:, -2] = int(self.weight * UNIT)
        core[:, -1] = np.where(far, 1.0, relative) * int(self.square_weight * UNIT)
        tail[far, -2] = far_count
        tail[far, -1] = relative[far] * far_square
        place = len(self.centers) + cluster * self.n_shells + np.maximum(shell, 0)
        return Contribution(np.column_stack([cluster, place]), values)

    def split(self, values: FloatArray) -> ShellValues:
        """Turn a result in votes into units of the ball and counts of rows."""
        n_clusters = len(self.centers)
        table = values.reshape(n_clusters * (1 + self.n_shells), -1)
        core = table[:n_clusters]
        far = table[n_clusters:].reshape(n_clusters, self.n_shells, -1)
        residual, far_count, far_square = (UNIT / units for units in _FAR_UNITS)
        return ShellValues(
            core[:, :-2] * self.radii[:, None],
            core[:, -2] * (UNIT / int(self.weight * UNIT)),
            core[:, -1] * (UNIT / int(self.square_weight * UNIT)) * self.radii**2,
            far[:, :, :-2] * (self.outer * residual)[:, :, None],
            far[:, :, -2] * far_count,
            far[:, :, -1] * far_square * self.outer**2,
        )

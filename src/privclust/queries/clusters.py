"""Queries about the nearest of some public points: votes, sums, moments, distances.

Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privclust.kernels.grid import GRID, UNIT, FloatArray, clip_residuals
from privclust.kernels.nearest import edges_reached, nearest, squared_distances
from privclust.kernels.projection import Projection, check_widths
from privclust.queries.base import (
    ONE_HOT,
    Contribution,
    Sensitivity,
    frozen,
    frozen_points,
    one_hot,
    projected,
)
from privclust.queries.registry import register

EDGE_MAX = 2**20
"""The largest distance between two bins; its square is finite in grid units."""
EDGES_MAX = 2**22
"""Edges of all centres together, each of which is held in memory."""


class Moments(NamedTuple):
    """What `ClusterMoments` measures of each cluster."""

    sums: FloatArray
    counts: FloatArray
    squares: FloatArray


@register("NearestVotes")
@dataclass(frozen=True, eq=False)
class NearestVotes:
    """Each row votes for its nearest candidate.

    Parameters
    ----------
    candidates : array of shape (P, d), or (P, p) with a projection
        Public points of the unit ball; kept as grid points.
    projection : Projection, optional
        Applied to rows first.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = NearestVotes(np.array([[0.5, 0.0], [-0.5, 0.0]]))
    >>> query.contribute(to_grid(np.array([[0.1, 0.3], [-0.2, 0.0]]))).blocks.ravel().tolist()
    [0, 1]
    """

    candidates: FloatArray
    projection: Projection | None = None
    sensitivity = ONE_HOT

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", frozen_points(self.candidates))
        check_widths(self.candidates, self.projection)

    @property
    def size(self) -> int:
        """One coordinate per candidate."""
        return len(self.candidates)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's vote."""
        return one_hot(nearest(projected(rows, self.projection), self.candidates))


@register("ClusterSums")
@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Each row adds its clipped residual and a count to its cluster, as one joint query.

    Parameters
    ----------
    centers : array of shape (k, d), or (k, p) with a projection
        Public points of the unit ball; a row belongs to the nearest.
    origins : array of shape (k, d)
        What residuals are taken from: the centres themselves, or zeros for plain sums.
    radius : float
        Residuals are clipped to this length.
    weight : float
        What one row counts, relative to one radius of residual: sensitivity is sqrt(1 + weight²).
    projection : Projection, optional
        Applied to rows before the cluster is chosen; residuals stay in the original space.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = ClusterSums(np.zeros((1, 2)), np.zeros((1, 2)), radius=1.0, weight=1.0)
    >>> rows = to_grid(np.array([[0.5, 0.0], [0.0, 0.25]]))
    >>> sums, counts = query.split(query.contribute(rows).values.sum(axis=(0, 1)) / UNIT)
    >>> sums.tolist(), counts.tolist()
    ([[0.5, 0.25]], [2.0])
    """

    centers: FloatArray
    origins: FloatArray
    radius: float
    weight: float
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers))
        object.__setattr__(self, "origins", frozen_points(self.origins))
        if len(self.centers) != len(self.origins):
            raise ValueError(
                f"each centre needs its origin, got {len(self.centers)} centres and "
                f"{len(self.origins)} origins."
            )
        check_widths(self.centers, self.projection, self.origins.shape[1])
        if not (2**-20 <= self.radius <= 2 and 2**-10 <= self.weight <= 16):
            raise ValueError(
                "radius must lie between 2^-20 and 2, weight between 2^-10 and 16; "
                f"got radius={self.radius!r}, weight={self.weight!r}."
            )

    @property
    def size(self) -> int:
        """For each cluster, d coordinates of the sum, then the count."""
        return self.origins.size + len(self.origins)

    @property
    def sensitivity(self) -> Sensitivity:
        """A residual of at most one radius, and a count, in one cluster."""
        n_columns = self.origins.shape[1]
        residual_l1 = math.isqrt(n_columns * UNIT**2) + 1
        return Sensitivity(
            l1=residual_l1 + self._count,
            l2_squared=UNIT**2 + self._count**2,
            linf=max(UNIT, self._count),
            l0=n_columns + 1,
            monotone=False,
        )

    @property
    def _count(self) -> int:
        return int(self.weight * UNIT)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's clipped residual and count."""
        cluster = nearest(projected(rows, self.projection), self.centers)
        radius = np.full(len(rows), self.radius * GRID)
        values = np.empty((len(rows), 1, rows.shape[1] + 1), dtype=np.int64)
        values[:, 0, :-1] = clip_residuals(rows, self.origins, cluster, radius, UNIT)
        values[:, 0, -1] = self._count
        return Contribution(cluster[:, None], values)

    def split(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn a result in votes into residual sums of the unit ball and counts of rows."""
        table = values.reshape(len(self.origins), -1)
        return table[:, :-1] * self.radius, table[:, -1] * (UNIT / self._count)


def frozen_radii(radii: FloatArray, n_clusters: int) -> FloatArray:
    """Return a radius for each centre, in an array that nobody can write to."""
    given = frozen(np.array(radii, dtype=np.float64))
    if given.shape != (n_clusters,) or not ((given >= 2**-20) & (given <= 2)).all():
        raise ValueError("each centre needs a radius between 2^-20 and 2.")
    return given


def check_weights(weight: float, square_weight: float) -> None:
    """Refuse weights of counts and squared lengths that leave one or the other nothing."""
    if not (2**-10 <= weight <= 16 and 2**-10 <= square_weight <= 16):
        raise ValueError(
            "weight and square_weight must lie between 2^-10 and 16; got "
            f"weight={weight!r}, square_weight={square_weight!r}."
        )


@register("ClusterMoments")
@dataclass(frozen=True, eq=False)
class ClusterMoments:
    """Each row adds its residual, a count and its squared length to its cluster, jointly.

    Parameters
    ----------
    centers : array of shape (k, d), or (k, p) with a projection
        Public points of the unit ball; a row belongs to the nearest and its residual is taken
        from it.
    radii : array of shape (k,)
        Residuals are clipped to their cluster's radius and measured in it.
    weight, square_weight : float
        What one row counts, and what a squared length of one radius counts, relative to one radius
        of residual: sensitivity is sqrt(1 + weight² + square_weight²).
    projection : Projection, optional
        Applied to rows first; residuals are then those of the projected rows.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = ClusterMoments(np.zeros((1, 2)), np.ones(1), weight=1.0, square_weight=1.0)
    >>> rows = to_grid(np.array([[0.5, 0.0], [0.0, 0.25]]))
    >>> moments = query.split(query.contribute(rows).values.sum(axis=(0, 1)) / UNIT)
    >>> moments.sums.tolist(), moments.counts.tolist(), moments.squares.tolist()
    ([[0.5, 0.25]], [2.0], [0.3125])
    """

    centers: FloatArray
    radii: FloatArray
    weight: float
    square_weight: float
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers))
        check_widths(self.centers, self.projection)
        object.__setattr__(self, "radii", frozen_radii(self.radii, len(self.centers)))
        check_weights(self.weight, self.square_weight)

    @property
    def size(self) -> int:
        """For each cluster, the coordinates of the sum, the count, the squared lengths."""
        return self.centers.size + 2 * len(self.centers)

    @property
    def sensitivity(self) -> Sensitivity:
        """A residual of at most one radius, a count and a squared length, in one cluster."""
        n_columns = self.centers.shape[1]
        count, square = int(self.weight * UNIT), int(self.square_weight * UNIT)
        return Sensitivity(
            l1=math.isqrt(n_columns * UNIT**2) + 1 + count + square,
            l2_squared=UNIT**2 + count**2 + square**2,
            linf=max(UNIT, count, square),
            l0=n_columns + 2,
            monotone=False,
        )

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's clipped residual, count and squared length."""
        rows = projected(rows, self.projection)
        cluster = nearest(rows, self.centers)
        radius = (self.radii * GRID)[cluster]
        squares = np.minimum(squared_distances(rows, self.centers, cluster) / radius**2, 1.0)
        values = np.empty((len(rows), 1, rows.shape[1] + 2), dtype=np.int64)
        values[:, 0, :-2] = clip_residuals(rows, self.centers, cluster, radius, UNIT)
        values[:, 0, -2] = int(self.weight * UNIT)
        values[:, 0, -1] = squares * int(self.square_weight * UNIT)
        return Contribution(cluster[:, None], values)

    def split(self, values: FloatArray) -> Moments:
        """Turn a result in votes into units of the ball and counts of rows."""
        table = values.reshape(len(self.centers), -1)
        return Moments(
            sums=table[:, :-2] * self.radii[:, None],
            counts=table[:, -2] * (UNIT / int(self.weight * UNIT)),
            squares=table[:, -1] * (UNIT / int(self.square_weight * UNIT)) * self.radii**2,
        )


@register("DistanceHistogram")
@dataclass(frozen=True, eq=False)
class DistanceHistogram:
    """Each row votes for the range in which its distance to the nearest centre lies.

    Parameters
    ----------
    centers : array of shape (k, d), or (k, p) with a projection
        Public points of the unit ball.
    edges : array of shape (bins - 1,)
        Increasing distances between one bin and the next; compared exactly, as squares.
    radii : array of shape (k,), optional
        Distances to a centre are measured in its radius; by default in that of the ball.
    projection : Projection, optional
        Applied to rows first.

    Examples
    --------
    >>> from privclust.kernels.grid import to_grid
    >>> query = DistanceHistogram(np.zeros((1, 2)), np.array([0.25, 0.5]))
    >>> rows = to_grid(np.array([[0.1, 0.0], [0.3, 0.0], [0.0, 0.9]]))
    >>> query.contribute(rows).blocks.ravel().tolist()
    [0, 1, 2]
    """

    centers: FloatArray
    edges: FloatArray
    radii: FloatArray | None = None
    projection: Projection | None = None
    sensitivity = ONE_HOT

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", frozen_points(self.centers))
        check_widths(self.centers, self.projection)
        edges = frozen(np.array(self.edges, dtype=np.float64))
        usable = edges.ndim == 1 and ((edges >= 0) & (edges <= EDGE_MAX)).all()
        if not (usable and (np.diff(edges) > 0).all()):
            raise ValueError("edges must be one list of finite, increasing distances from 0 up.")
        object.__setattr__(self, "edges", edges)
        given = np.ones(len(self.centers)) if self.radii is None else self.radii
        radii = frozen_radii(given, len(self.centers))
        if len(radii) * len(edges) > EDGES_MAX:
            # A request of a few bytes could otherwise take all memory of whoever measures it.
            raise ValueError(f"centres times edges must be at most {EDGES_MAX:,}.")
        object.__setattr__(self, "radii", radii)

    @property
    def size(self) -> int:
        """One coordinate per bin."""
        return len(self.edges) + 1

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's bin."""
        rows = projected(rows, self.projection)
        cluster = nearest(rows, self.centers)
        squares = squared_distances(rows, self.centers, cluster)
        edges = (self.edges * np.asarray(self.radii)[:, None] * GRID) ** 2
        return one_hot(edges_reached(squares, edges, cluster))

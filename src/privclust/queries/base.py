"""What one row contributes to an answer, and how much at most.

A query is public. It turns grid rows (`privclust.domains.base.Domain.to_grid`) into whole-number
contributions, each a function of its row alone, and declares their bounds; the engine sums them
and leaves out any row that breaks the bounds. Proofs: docs/proofs/sensitivity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from privclust.kernels.grid import (
    GRID,
    UNIT,
    FloatArray,
    IntArray,
    clip_to_ball,
    norms_squared,
    to_grid,
)
from privclust.kernels.nearest import nearest, squared_distances
from privclust.kernels.projection import Projection, check_widths


@dataclass(frozen=True)
class Bounds:
    """The most one row can contribute, in grid units.

    Attributes
    ----------
    l1, linf : int
        Bounds on the sum and on the largest of the absolute values.
    l2_squared : int
        Bound on the sum of squares; an integer, so that it is exact.
    changed : int
        Coordinates of the answer that one row can change.
    monotone : bool
        Whether contributions are never negative.
    """

    l1: int
    l2_squared: int
    linf: int
    changed: int
    monotone: bool


@dataclass(frozen=True, eq=False)
class Contribution:
    """Sparse contributions of n rows: row i adds ``values[i, j]`` to block ``blocks[i, j]``.

    Attributes
    ----------
    blocks : int array of shape (n, q)
        The q different blocks of the answer that a row touches.
    values : int array of shape (n, q, width)
        What it adds there. A block is `width` neighbouring coordinates.
    """

    blocks: IntArray
    values: IntArray


class Query(Protocol):
    """A bounded vector per row, to be summed."""

    @property
    def size(self) -> int:
        """Coordinates of the answer."""

    @property
    def bounds(self) -> Bounds:
        """The most one row can contribute."""

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each grid row contributes."""


class Moments(NamedTuple):
    """What `ClusterMoments` measures of each cluster."""

    sums: FloatArray
    counts: FloatArray
    squares: FloatArray


ONE_HOT = Bounds(l1=UNIT, l2_squared=UNIT**2, linf=UNIT, changed=1, monotone=True)
"""One vote in one place."""
EDGE_MAX = 2**20
"""The largest distance between two bins; its square is finite in grid units."""


@dataclass(frozen=True, eq=False)
class Count:
    """How many rows there are.

    Examples
    --------
    >>> Count().contribute(np.zeros((3, 2))).values.sum() // UNIT
    np.int64(3)
    """

    size = 1
    bounds = ONE_HOT

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return one vote for each row."""
        return _one_hot(np.zeros(len(rows), dtype=np.int64))


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
    >>> query = NearestVotes(np.array([[0.5, 0.0], [-0.5, 0.0]]))
    >>> query.contribute(to_grid(np.array([[0.1, 0.3], [-0.2, 0.0]]))).blocks.ravel().tolist()
    [0, 1]
    """

    candidates: FloatArray
    projection: Projection | None = None
    bounds = ONE_HOT

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", _frozen_grid(self.candidates))
        check_widths(self.candidates, self.projection)

    @property
    def size(self) -> int:
        """One coordinate per candidate."""
        return len(self.candidates)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's vote."""
        return _one_hot(nearest(_projected(rows, self.projection), self.candidates))


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
        object.__setattr__(self, "centers", _frozen_grid(self.centers))
        object.__setattr__(self, "origins", _frozen_grid(self.origins))
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
    def bounds(self) -> Bounds:
        """A residual of at most one radius, and a count, in one cluster."""
        n_columns = self.origins.shape[1]
        residual_l1 = math.isqrt(n_columns * UNIT**2) + 1
        return Bounds(
            l1=residual_l1 + self._count,
            l2_squared=UNIT**2 + self._count**2,
            linf=max(UNIT, self._count),
            changed=n_columns + 1,
            monotone=False,
        )

    @property
    def _count(self) -> int:
        return int(self.weight * UNIT)

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's clipped residual and count."""
        cluster = nearest(_projected(rows, self.projection), self.centers)
        residuals = (rows - self.origins[cluster]) / (self.radius * GRID)
        values = np.empty((len(rows), 1, rows.shape[1] + 1), dtype=np.int64)
        values[:, 0, :-1] = clip_to_ball(residuals, UNIT)
        values[:, 0, -1] = self._count
        return Contribution(cluster[:, None], values)

    def split(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn an answer in votes into residual sums of the unit ball and counts of rows."""
        table = values.reshape(len(self.origins), -1)
        return table[:, :-1] * self.radius, table[:, -1] * (UNIT / self._count)


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
    weight, spread : float
        What one row counts, and what a squared length of one radius counts, relative to one radius
        of residual: sensitivity is sqrt(1 + weight² + spread²).
    projection : Projection, optional
        Applied to rows first; residuals are then those of the projected rows.

    Examples
    --------
    >>> query = ClusterMoments(np.zeros((1, 2)), np.ones(1), weight=1.0, spread=1.0)
    >>> rows = to_grid(np.array([[0.5, 0.0], [0.0, 0.25]]))
    >>> moments = query.split(query.contribute(rows).values.sum(axis=(0, 1)) / UNIT)
    >>> moments.sums.tolist(), moments.counts.tolist(), moments.squares.tolist()
    ([[0.5, 0.25]], [2.0], [0.3125])
    """

    centers: FloatArray
    radii: FloatArray
    weight: float
    spread: float
    projection: Projection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", _frozen_grid(self.centers))
        check_widths(self.centers, self.projection)
        radii = np.array(self.radii, dtype=np.float64)
        radii.setflags(write=False)
        object.__setattr__(self, "radii", radii)
        usable = radii.shape == (len(self.centers),) and bool(
            ((radii >= 2**-20) & (radii <= 2)).all()
        )
        if not (usable and 2**-10 <= self.weight <= 16 and 2**-10 <= self.spread <= 16):
            raise ValueError(
                "each centre needs a radius between 2^-20 and 2, and weight and spread must lie "
                f"between 2^-10 and 16; got weight={self.weight!r}, spread={self.spread!r}."
            )

    @property
    def size(self) -> int:
        """For each cluster, the coordinates of the sum, the count, the squared lengths."""
        return self.centers.size + 2 * len(self.centers)

    @property
    def bounds(self) -> Bounds:
        """A residual of at most one radius, a count and a squared length, in one cluster."""
        n_columns = self.centers.shape[1]
        count, square = int(self.weight * UNIT), int(self.spread * UNIT)
        return Bounds(
            l1=math.isqrt(n_columns * UNIT**2) + 1 + count + square,
            l2_squared=UNIT**2 + count**2 + square**2,
            linf=max(UNIT, count, square),
            changed=n_columns + 2,
            monotone=False,
        )

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's clipped residual, count and squared length."""
        rows = _projected(rows, self.projection)
        cluster = nearest(rows, self.centers)
        residuals = rows - self.centers[cluster]
        reach = (self.radii * GRID)[cluster]
        squares = np.minimum(norms_squared(residuals) / reach**2, 1.0)
        values = np.empty((len(rows), 1, rows.shape[1] + 2), dtype=np.int64)
        values[:, 0, :-2] = clip_to_ball(residuals / reach[:, None], UNIT)
        values[:, 0, -2] = int(self.weight * UNIT)
        values[:, 0, -1] = squares * int(self.spread * UNIT)
        return Contribution(cluster[:, None], values)

    def split(self, values: FloatArray) -> Moments:
        """Turn an answer in votes into units of the ball and counts of rows."""
        table = values.reshape(len(self.centers), -1)
        return Moments(
            sums=table[:, :-2] * self.radii[:, None],
            counts=table[:, -2] * (UNIT / int(self.weight * UNIT)),
            squares=table[:, -1] * (UNIT / int(self.spread * UNIT)) * self.radii**2,
        )


@dataclass(frozen=True, eq=False)
class DistanceHistogram:
    """Each row votes for the range in which its distance to the nearest centre lies.

    Parameters
    ----------
    centers : array of shape (k, d), or (k, p) with a projection
        Public points of the unit ball.
    edges : array of shape (bins - 1,)
        Increasing distances between one bin and the next; compared exactly, as squares.
    projection : Projection, optional
        Applied to rows first.

    Examples
    --------
    >>> query = DistanceHistogram(np.zeros((1, 2)), np.array([0.25, 0.5]))
    >>> rows = to_grid(np.array([[0.1, 0.0], [0.3, 0.0], [0.0, 0.9]]))
    >>> query.contribute(rows).blocks.ravel().tolist()
    [0, 1, 2]
    """

    centers: FloatArray
    edges: FloatArray
    projection: Projection | None = None
    bounds = ONE_HOT

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", _frozen_grid(self.centers))
        check_widths(self.centers, self.projection)
        edges = np.array(self.edges, dtype=np.float64)
        # A search among unsorted edges would depend on the row searched for before.
        usable = edges.ndim == 1 and ((edges >= 0) & (edges <= EDGE_MAX)).all()
        if not (usable and (np.diff(edges) > 0).all()):
            raise ValueError("edges must be one list of finite, increasing distances from 0 up.")
        edges.setflags(write=False)
        object.__setattr__(self, "edges", edges)

    @property
    def size(self) -> int:
        """One coordinate per bin."""
        return len(self.edges) + 1

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return each row's bin."""
        rows = _projected(rows, self.projection)
        cluster = nearest(rows, self.centers)
        squares = squared_distances(rows, self.centers[cluster])
        return _one_hot(np.searchsorted((self.edges * GRID) ** 2, squares, side="right"))


def _one_hot(index: IntArray) -> Contribution:
    votes = np.broadcast_to(np.int64(UNIT), (len(index), 1, 1))
    return Contribution(index.astype(np.int64)[:, None], votes)


def _projected(rows: FloatArray, projection: Projection | None) -> FloatArray:
    return rows if projection is None else projection(rows)


def _frozen_grid(points: FloatArray) -> FloatArray:
    if np.ndim(points) != 2 or np.size(points) == 0 or not np.isfinite(points).all():
        raise ValueError(
            "candidates, centres and origins must be a table of at least one finite point of the "
            "unit ball."
        )
    grid = to_grid(points)
    grid.setflags(write=False)
    return grid

"""Tables whose clusters are not round, not k, few of rows, or lost in their bounds."""

from __future__ import annotations

import numpy as np

from benchmarks.robust.drawing import BOX, N_ROWS, SIDE, Drawn, clusters, drawn
from privclust.kernels.grid import FloatArray

TOWNS = (0.6, 0.2, 0.1, 0.06, 0.04)
"""Their shares of all rows."""


def blobs(
    rng: np.random.Generator,
    n_columns: int,
    n_clusters: int,
    n_rows: int = N_ROWS,
    side: float = SIDE,
) -> Drawn:
    """Gaussian blobs of standard deviation 1 between -10 and 10, within bounds of any width."""
    return drawn(clusters(rng, n_rows, n_columns, n_clusters), -side, side)


def one_sided(rng: np.random.Generator, n_columns: int, n_clusters: int, factor: float) -> Drawn:
    """Blobs at the lower end of bounds that are too wide above."""
    rows = clusters(rng, N_ROWS, n_columns, n_clusters) + SIDE
    return drawn(rows, 0.0, 2 * SIDE * factor)


def shifted(rng: np.random.Generator, n_columns: int, n_clusters: int, factor: float) -> Drawn:
    """Blobs in a corner of bounds that are too wide above in one column and below in the next."""
    rows = clusters(rng, N_ROWS, n_columns, n_clusters)
    far = SIDE * (2 * factor - 1)
    above = [column % 2 == 0 for column in range(n_columns)]
    return drawn(
        rows, [-SIDE if up else -far for up in above], [far if up else SIDE for up in above]
    )


def towns(rng: np.random.Generator, n_rows: int) -> Drawn:
    """Five towns of unequal size on a map, with log-normal distances from their middle."""
    middles = rng.uniform(-1, 1, (len(TOWNS), 2))
    far = 0.02 * np.exp(1.2 * rng.normal(size=n_rows))
    rows = middles[rng.choice(len(TOWNS), n_rows, p=TOWNS)] + far[:, None] * _directions(
        rng, n_rows
    )
    return drawn(rows, -3.0, 3.0)


def roads(rng: np.random.Generator, n_rows: int, n_roads: int, side: float) -> Drawn:
    """Draw a city on a map: rows along roads, at hot spots, at an airport and anywhere."""
    ends = rng.uniform(-0.15, 0.15, (2, n_roads, 2))
    road, along = rng.integers(0, n_roads, n_rows), rng.random((n_rows, 1))
    rows = along * ends[0, road] + (1 - along) * ends[1, road]
    rows += 0.001 * rng.normal(size=rows.shape)
    spots = 60
    weights = 1.0 / np.arange(1, spots + 1)
    picked = rng.choice(spots, n_rows, p=weights / weights.sum())
    hot = rng.normal(0.0, 0.05, (spots, 2))[picked] + 0.003 * rng.normal(size=rows.shape)
    airport = np.array([0.3, -0.2]) + 0.004 * rng.normal(size=rows.shape)
    anywhere = rng.normal(0.0, 0.08, rows.shape)
    kind = rng.choice(4, n_rows, p=[0.4, 0.45, 0.05, 0.1])
    found = np.choose(kind[:, None], [rows, hot, airport, anywhere])
    return drawn(found, -side, side)


def rings(rng: np.random.Generator, radii: tuple[float, ...], n_columns: int, blob: bool) -> Drawn:
    """Thin rings, each in a plane of two columns, and perhaps a blob in their middle."""
    kind = rng.integers(0, len(radii) + blob, N_ROWS)
    rows = 0.1 * rng.normal(size=(N_ROWS, n_columns))
    around = _directions(rng, N_ROWS)
    for ring, radius in enumerate(radii):
        plane = np.array([ring, ring + 1]) % n_columns
        on = np.flatnonzero(kind == ring)
        rows[np.ix_(on, plane)] += radius * around[on]
    return drawn(rows, -4.0, 4.0)


def elongated(
    rng: np.random.Generator, n_columns: int, n_clusters: int, aspect: float, side: float
) -> Drawn:
    """Clusters that are so many times as long in one direction of their own as in the others."""
    labels = rng.integers(0, n_clusters, N_ROWS)
    ways = rng.normal(size=(n_clusters, n_columns))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    rows = rng.uniform(-BOX, BOX, (n_clusters, n_columns))[labels]
    rows += 0.1 * rng.normal(size=rows.shape)
    rows += 0.1 * aspect * rng.normal(size=(N_ROWS, 1)) * ways[labels]
    return drawn(rows, -side, side)


def _directions(rng: np.random.Generator, n_rows: int) -> FloatArray:
    angles = rng.uniform(0.0, 2 * np.pi, n_rows)
    return np.column_stack([np.cos(angles), np.sin(angles)])

"""Random projections whose every product is exact on the grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.kernels.grid import GRID, FloatArray, IntArray, clip_to_ball, to_grid

GAIN_MAX = 2**40
"""Products of rows and directions, at most 1, stay finite by far when they are multiplied by it."""


@dataclass(frozen=True, eq=False)
class Projection:
    """A linear map from the unit ball of d dimensions to that of p.

    Attributes
    ----------
    directions : array of shape (p, d)
        One direction of the unit ball per output coordinate; kept as grid points.
    gain : float
        Factor applied after the products; rows that then leave the unit ball are clipped to it.
    """

    directions: FloatArray
    gain: float

    def __post_init__(self) -> None:
        given = np.asarray(self.directions)
        if given.ndim != 2 or given.size == 0 or not np.isfinite(given).all():
            raise ValueError("directions must be a table of at least one finite direction.")
        if not 0 < self.gain <= GAIN_MAX:
            raise ValueError(f"gain must lie above 0, up to {GAIN_MAX}, got {self.gain!r}.")
        directions = to_grid(given)
        directions.setflags(write=False)
        object.__setattr__(self, "directions", directions)

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Project grid rows to grid rows: exact products, then a rule for each row alone."""
        products = rows @ self.directions.T
        return clip_to_ball(products * (self.gain / GRID**2), GRID)


def check_widths(
    points: FloatArray | IntArray, projection: Projection | None, n_columns: int | None = None
) -> None:
    """Refuse points that projected rows, of `n_columns` before, cannot be compared with."""
    width = points.shape[-1]
    if projection is None:
        fits = n_columns in (None, width)
    else:
        n_components, n_before = projection.directions.shape
        fits = width == n_components and n_columns in (None, n_before)
    if not fits:
        raise ValueError(
            "points must have as many coordinates as rows, projected if there is a projection; "
            f"got {width}."
        )


def gaussian_projection(n_columns: int, n_components: int, rng: np.random.Generator) -> Projection:
    """Draw a Gaussian projection that preserves squared lengths on average.

    Examples
    --------
    >>> project = gaussian_projection(64, 16, np.random.default_rng(0))
    >>> project(to_grid(np.eye(64)[:3] / 2)).shape
    (3, 16)
    """
    matrix = rng.normal(size=(n_components, n_columns)) / np.sqrt(n_components)
    longest = float(np.linalg.norm(matrix, axis=1).max())
    return Projection(matrix / longest, longest)

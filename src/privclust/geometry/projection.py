"""Random projections whose every product is exact on the grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.geometry.grid import GRID, FloatArray, clip_to_ball, to_grid


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
        directions = to_grid(self.directions)
        directions.setflags(write=False)
        object.__setattr__(self, "directions", directions)

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Project grid rows to grid rows: exact products, then a rule for each row alone."""
        products = rows @ self.directions.T
        return clip_to_ball(products * (self.gain / GRID**2), GRID)


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

"""Rows that count by their direction alone, such as embeddings: all lie on the unit sphere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.kernels.grid import FloatArray, norms

DIMENSIONS_MAX = 2**20
_LARGEST = 1e150


@dataclass(frozen=True)
class Sphere:
    """Directions in so many dimensions; no bounds are needed.

    Attributes
    ----------
    n_columns : int
        How many dimensions there are.
    vector : str or None
        The one column of the table that holds them all, or None if each has a column of its own.

    Examples
    --------
    >>> Sphere(2, "words").feature_names
    ('words[0]', 'words[1]')
    """

    n_columns: int
    vector: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n_columns <= DIMENSIONS_MAX:
            raise ValueError(
                f"directions have 1 to {DIMENSIONS_MAX:,} dimensions, got {self.n_columns!r}."
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the dimensions of a column of vectors are called."""
        return tuple(f"{self.vector}[{place}]" for place in range(self.n_columns))

    @property
    def center(self) -> FloatArray:
        """The origin, where rows without a direction lie."""
        return np.zeros(self.n_columns)

    @property
    def reach(self) -> FloatArray:
        """The radius, for each column."""
        return np.ones(self.n_columns)

    @property
    def spread(self) -> FloatArray:
        """The radius, for each column."""
        return np.ones(self.n_columns)


def directions(rows: NDArray[Any]) -> FloatArray:
    """Bring rows to length 1, each alone; a missing number counts as 0, and zeros stay there.

    Examples
    --------
    >>> directions(np.array([[3e200, -4e200], [0.0, np.nan], [np.inf, 1.0]])).round(6).tolist()
    [[0.707107, -0.707107], [0.0, 0.0], [1.0, 0.0]]
    """
    values = np.ma.filled(rows.astype(np.float64), np.nan)
    values = np.clip(np.where(np.isnan(values), 0.0, values), -_LARGEST, _LARGEST)
    # Divided by the largest first, squares neither overflow nor vanish.
    largest = np.abs(values).max(axis=1, initial=0.0)
    values = values / np.where(largest > 0, largest, 1.0)[:, None]
    length = norms(values)
    unit: FloatArray = values / np.where(length > 0, length, 1.0)[:, None]
    return unit

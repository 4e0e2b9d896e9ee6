"""Rows that count by their direction alone, such as embeddings: all lie on the unit sphere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.domains._number_column import EXTREME_NUMBERS
from privclust.domains.base import LARGEST, Domain
from privclust.domains.reader import CellReader, Use
from privclust.kernels.grid import FloatArray, norms

DIMENSIONS_MAX = 2**20


@dataclass(frozen=True)
class Sphere(Domain, kind="sphere"):
    """Directions in so many dimensions; no bounds are needed.

    Attributes
    ----------
    n_columns : int
        How many dimensions there are.
    vector : str or None
        The one column of the table that holds them all, or None if each has a column of its own.

    Examples
    --------
    >>> Sphere(2, "words").coordinate_names(["words"])
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
    def center(self) -> FloatArray:
        """The origin, where rows without a direction lie."""
        return np.zeros(self.n_columns)

    @property
    def half_widths(self) -> FloatArray:
        """The radius, for each column."""
        return np.ones(self.n_columns)

    @property
    def scales(self) -> FloatArray:
        """The radius, for each column."""
        return np.ones(self.n_columns)

    def describe(self, columns: Sequence[str] | None) -> list[tuple[str, list[str]]]:
        """Return that nothing is bounded."""
        return [("direction alone", ["none", "none"])]

    @property
    def uses(self) -> Mapping[str, Use]:
        """The one column of vectors, if there is one."""
        return {} if self.vector is None else {self.vector: "vector"}

    @property
    def vector_lengths(self) -> Mapping[str, int]:
        """The one column of vectors, if there is one, and its dimensions."""
        return {} if self.vector is None else {self.vector: self.n_columns}

    def extreme_cells(self, name: str) -> tuple[Use, list[Any]]:
        """Return numbers, or vectors of them."""
        if self.vector is None:
            return super().extreme_cells(name)
        vectors = [[number] * self.n_columns for number in (*EXTREME_NUMBERS[1:-1], 0.3)]
        return "vector", [None, *vectors]

    def encode(self, rows: NDArray[Any]) -> FloatArray:
        """Return the directions of rows."""
        return directions(rows)

    def read(self, cells: CellReader, columns: Sequence[str] | None) -> FloatArray:
        """Return the directions of rows, or of the vectors in a column."""
        if self.vector is None:
            return self.encode(cells.matrix(columns))
        return self.encode(cells.vectors(self.vector, self.n_columns))

    @property
    def centers_are_means(self) -> bool:
        """No: means of directions are shorter than directions."""
        return False

    def coordinate_names(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of columns, or the places in the column of vectors."""
        if self.vector is None:
            return super().coordinate_names(columns)
        return tuple(f"{self.vector}[{place}]" for place in range(self.n_columns))

    def lengths(self, centers: FloatArray) -> FloatArray:
        """Return how long centres are."""
        return norms(centers)[:, None]

    def content(self) -> dict[str, Any]:
        """Return dimensions and the column of vectors."""
        return {"n_columns": self.n_columns, "vector": self.vector}

    @classmethod
    def from_content(cls, content: Any) -> Sphere:
        """Make a sphere again."""
        return cls(**content)


def directions(rows: NDArray[Any]) -> FloatArray:
    """Bring rows to length 1, each alone; a missing number counts as 0, and zeros stay there.

    Examples
    --------
    >>> directions(np.array([[3e200, -4e200], [0.0, np.nan], [np.inf, 1.0]])).round(6).tolist()
    [[0.707107, -0.707107], [0.0, 0.0], [1.0, 0.0]]
    """
    values = np.ma.filled(rows.astype(np.float64), np.nan)
    values = np.clip(np.where(np.isnan(values), 0.0, values), -LARGEST, LARGEST)
    # Divided by the largest first, squares neither overflow nor vanish.
    largest = np.abs(values).max(axis=1, initial=0.0)
    values = values / np.where(largest > 0, largest, 1.0)[:, None]
    length = norms(values)
    unit: FloatArray = values / np.where(length > 0, length, 1.0)[:, None]
    return unit

"""Columns of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privclust.domains._number_column import EXTREME_NUMBERS, check_weight
from privclust.domains.reader import CellReader, Use
from privclust.kernels.grid import FloatArray, IntArray

OTHER = "other"
"""The level of all that are not declared, if it is declared itself."""
LEVELS_MAX = 1000
_LEVEL_WIDTH = 2**-0.5
"""So scaled, two levels are half as far apart as the bounds of a number."""


@dataclass(frozen=True)
class CategoryColumn:
    """One of several levels; each is a feature, whose mean is the level's share.

    Examples
    --------
    >>> column = CategoryColumn("ward", ("A", "B"))
    >>> column.feature_names, column.labels
    (('ward=A', 'ward=B'), ('A', 'B', 'missing'))
    >>> column.features(np.array([1, -1])).tolist()
    [[0.0, 1.0], [nan, nan]]
    """

    use: ClassVar[Use] = "category"
    number: ClassVar[None] = None
    """A level is not a number."""
    missing_text: ClassVar[None] = None
    """A missing cell counts as equal shares; no level can be declared for it."""
    name: str
    levels: tuple[str, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        if not 2 <= len(set(self.levels)) == len(self.levels) <= LEVELS_MAX:
            raise ValueError(
                f"column {self.name!r} needs 2 to {LEVELS_MAX:,} levels that differ, got "
                f"{len(self.levels)}."
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    @property
    def center(self) -> FloatArray:
        """Equal shares."""
        return np.full(len(self.levels), 1 / len(self.levels))

    @property
    def half_widths(self) -> FloatArray:
        """So far that a share of 1 is within it."""
        return 1 - self.center

    @property
    def length(self) -> float:
        """How far a cell lies from equal shares, in weights."""
        return self.weight * _LEVEL_WIDTH * float(np.sqrt(1 - 1 / len(self.levels)))

    @property
    def unit(self) -> FloatArray:
        """How much of a share is worth 1."""
        return np.full(len(self.levels), 1 / (self.weight * _LEVEL_WIDTH))

    @property
    def missing_features(self) -> FloatArray:
        """What a missing cell counts as: equal shares."""
        return self.center

    @property
    def labels(self) -> tuple[str, ...]:
        """What its places in a profile are called; the last is that of missing cells."""
        return (*self.levels, "missing")

    def places(self, values: IntArray) -> FloatArray:
        """Return the place of each cell in a profile: that of its level, given by number."""
        places: FloatArray = np.where(values < 0, len(self.levels), values).astype(np.float64)
        return places

    def read(self, cells: CellReader) -> FloatArray:
        """Return the features of the column's cells."""
        return self.features(cells.levels(self.name, self.levels))

    def notes(self, cells: CellReader) -> tuple[FloatArray, FloatArray | None]:
        """Return the places of the column's cells in a profile; levels have no values."""
        return self.places(cells.levels(self.name, self.levels)), None

    def features(self, values: IntArray) -> FloatArray:
        """Turn places of levels into features; below 0 there is no level."""
        rows: FloatArray = (values[:, None] == np.arange(len(self.levels))).astype(np.float64)
        rows[values < 0] = np.nan
        return rows

    def to_scale(self, units: FloatArray) -> FloatArray:
        """Return public points as they are: shares."""
        return units

    def units(self, features: FloatArray) -> FloatArray:
        """Return noisy shares as shares: none below 0, together 1."""
        shares = np.clip(features, 0.0, 1.0)
        together = shares.sum(axis=1, keepdims=True)
        return np.where(together > 0, shares / np.maximum(together, 1e-300), self.center)

    def slopes(self, units: FloatArray) -> FloatArray:
        """Return 1: a share is a share."""
        return np.ones_like(units)

    def format_value(self, value: float, step: float = 0.0) -> str:
        """Return a share as people write it."""
        return f"{value:.6g}"

    def draw(self, units: FloatArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a level for each synthetic row, by its shares."""
        heights = units.cumsum(axis=1)
        marks = rng.random((len(units), 1)) * heights[:, -1:]
        places = (marks >= heights[:, :-1]).sum(axis=1)
        return np.asarray(np.array(self.levels)[places])

    def extreme_cells(self) -> list[Any]:
        """Return cells that strain whoever reads them."""
        cells = [None, "", "no such level", *self.levels[:3], self.levels[-1], ""]
        return cells[: len(EXTREME_NUMBERS)]

    def describe(self) -> tuple[str, list[str]]:
        """Return the column and its levels, for a report."""
        return self.name, [", ".join(self.levels)]

    def to_dict(self) -> dict[str, Any]:
        """Return the column for a file."""
        levels = list(self.levels)
        return {"name": self.name, "type": self.use, "levels": levels, "weight": self.weight}

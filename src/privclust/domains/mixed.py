"""Tables of numbers, categories and dates: a domain made of declared columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.domains.base import Domain, reweighed
from privclust.domains.bounds_file import column_from_dict
from privclust.domains.columns import WEIGHT_MIN, Column, NumberColumn
from privclust.domains.reader import CellReader, Use
from privclust.errors import BoundsError
from privclust.kernels.grid import FloatArray


@dataclass(frozen=True)
class Mixed(Domain, kind="columns"):
    """A domain of declared columns; its coordinates are their features.

    Examples
    --------
    >>> from privclust.domains.columns import CategoryColumn, NumberColumn
    >>> mixed = Mixed((NumberColumn("age", 0, 120), CategoryColumn("ward", ("A", "B"))))
    >>> mixed.coordinate_names(["age", "ward"]), mixed.coordinate_uses
    (('age', 'ward=A', 'ward=B'), ['number', 'category', 'category'])
    >>> mixed.from_scales(np.array([[40.0, 0.3, -0.1]])).tolist()
    [[40.0, 1.0, 0.0]]
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not 1 <= len({column.name for column in self.columns}) == len(self.columns):
            raise ValueError("a table needs at least one column, and names that differ.")

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """Whether all columns are numbers on plain scales, which may declare missing cells."""
        return all(
            isinstance(column, NumberColumn) and column.transform == "none"
            for column in self.columns
        )

    @property
    def center(self) -> FloatArray:
        """The middle of each feature."""
        return np.concatenate([column.center for column in self.columns])

    @property
    def half_widths(self) -> FloatArray:
        """How far each feature may lie from its middle."""
        return np.concatenate([column.half_widths for column in self.columns])

    @property
    def scales(self) -> FloatArray:
        """Features per unit of the ball, which no row leaves."""
        units = np.concatenate([column.unit for column in self.columns])
        return units * float(np.linalg.norm([column.length for column in self.columns]))

    def describe(self, columns: Sequence[str] | None) -> list[tuple[str, list[str]]]:
        """Return each column with its bounds or levels."""
        return [column.describe() for column in self.columns]

    @property
    def uses(self) -> Mapping[str, Use]:
        """What each column is declared as."""
        return {column.name: column.use for column in self.columns}

    def bounded_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return the columns."""
        return self.columns

    def extreme_cells(self, name: str) -> tuple[Use, list[Any]]:
        """Return cells of the kind that is declared."""
        (column,) = (column for column in self.columns if column.name == name)
        return column.use, column.extreme_cells()

    def read(self, cells: CellReader, columns: Sequence[str] | None) -> FloatArray:
        """Return the features of all columns side by side."""
        return np.hstack([column.read(cells) for column in self.columns])

    def coordinate_names(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of features: a category has one for each level."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def coordinate_uses(self) -> list[Use]:
        """What the column of each feature is declared as."""
        return [column.use for column in self.columns for _ in column.feature_names]

    def to_scales(self, points: FloatArray) -> FloatArray:
        """Put points in the user's units, such as centres, on the scales."""
        return np.hstack([column.to_scale(part) for column, part in self._parts(points)])

    def from_scales(self, points: FloatArray) -> FloatArray:
        """Return points in the user's units: numbers, days and shares."""
        return np.hstack([column.units(part) for column, part in self._parts(points)])

    def slopes(self, points: FloatArray) -> FloatArray:
        """Return how much each of the user's numbers grows with its feature."""
        return np.hstack([column.slopes(part) for column, part in self._parts(points)])

    def deviations(
        self, points: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return how far rows lie from their point, but for their levels, which are drawn."""
        is_share = np.array([use == "category" for use in self.coordinate_uses])
        shares = np.clip(self.ball_to_scales(points), 0.0, 1.0)
        of_levels = shares * (1 - shares) / self.scales**2 * is_share
        rest = variance - of_levels.sum(axis=1)
        # A cell whose levels explain all of its noisy spread is as wide as others, not a point.
        typical = float(np.average(np.maximum(rest, 0.0), weights=weights))
        rest = np.where(rest > 0, rest, typical)
        width = np.sqrt(rest / max(1, int(np.count_nonzero(~is_share))))
        return np.asarray(~is_share * width[:, None])

    def draw(self, rows: FloatArray, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return numbers, days, and levels drawn by their shares."""
        return {column.name: column.draw(part, rng) for column, part in self._parts(rows)}

    def rescaled(self, variances: FloatArray) -> Mixed:
        """Return the columns that count by how rows vary, the features of a category together."""
        parts = np.split(variances, self._ends()[:-1])
        together = np.array([part.sum() for part in parts])
        weights = reweighed(np.array([column.weight for column in self.columns]), together)
        columns = zip(self.columns, weights.tolist(), strict=True)
        return Mixed(tuple(replace(column, weight=weight) for column, weight in columns))

    def unscaled(self) -> Domain:
        """Return the columns in their own units, if all are numbers on plain scales.

        Examples
        --------
        >>> mixed = Mixed((NumberColumn("bmi", 12, 60, missing=25), NumberColumn("age", 0, 120)))
        >>> mixed.unscaled().scales.round(3).tolist()
        [64.622, 64.622]
        """
        if not self.is_linear:
            return super().unscaled()
        widths = self.half_widths / self.half_widths.max()
        if widths.min() < WEIGHT_MIN:
            raise BoundsError(
                "scale='none' keeps numbers in their own units, and the bounds of one column are "
                f"more than {1 / WEIGHT_MIN:,.0f} times as wide as those of another. Leave scale "
                "out, so that columns count by their bounds."
            )
        columns = zip(self.columns, widths.tolist(), strict=True)
        return Mixed(tuple(replace(column, weight=width) for column, width in columns))

    def parameters(self, scale: object, columns: Sequence[str] | None) -> dict[str, Any]:
        """Return what is declared of each column, by name."""
        declared = {column.name: column.to_dict() for column in self.columns}
        for column in declared.values():
            del column["name"]
            if scale == "none":  # which sets weights, whatever was typed
                column["weight"] = 1.0
        return {"bounds": declared}

    def content(self) -> list[dict[str, Any]]:
        """Return what is declared of each column."""
        return [column.to_dict() for column in self.columns]

    @classmethod
    def from_content(cls, content: Any) -> Mixed:
        """Make the columns again."""
        return cls(tuple(column_from_dict(column) for column in content))

    def _ends(self) -> list[int]:
        """Return after how many features each column ends."""
        return list(accumulate(len(column.feature_names) for column in self.columns))

    def _parts(self, points: FloatArray) -> list[tuple[Column, FloatArray]]:
        """Return each column with its part of all points."""
        return list(zip(self.columns, np.split(points, self._ends()[:-1], axis=1), strict=True))

"""The box: each column lies between its own bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privclust.domains._number_column import NumberColumn
from privclust.domains._number_text import plain
from privclust.domains.base import SMALLEST, Domain, public_vector, reweighed
from privclust.domains.columns import Column
from privclust.kernels.grid import FloatArray


@dataclass(frozen=True, eq=False)
class Box(Domain, kind="box"):
    """Each column lies between its own bounds.

    Columns count equally, or by `weights`: half a width of column j is worth ``weights[j]``.

    Examples
    --------
    >>> box = Box([0, 0], [120, 250])
    >>> box.from_ball(np.zeros((1, 2))).tolist()
    [[60.0, 125.0]]
    """

    lower: FloatArray
    upper: FloatArray
    weights: FloatArray

    def __init__(
        self, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        object.__setattr__(self, "lower", public_vector("lower bounds", lower))
        object.__setattr__(self, "upper", public_vector("upper bounds", upper))
        if self.lower.shape != self.upper.shape:
            raise ValueError(
                f"bounds need one lower and one upper value per column, got {self.lower.size} "
                f"lower and {self.upper.size} upper values. Add the missing ones."
            )
        narrow = np.flatnonzero(~(self.upper - self.lower >= SMALLEST))
        if narrow.size:
            column = int(narrow[0])
            raise ValueError(
                f"each lower bound must be below its upper bound; column {column} has "
                f"{plain(self.lower[column])} and {plain(self.upper[column])}. Swap them if they "
                "are exchanged, and leave a column that never varies out of the table."
            )
        given = np.ones(self.lower.size) if weights is None else weights
        object.__setattr__(self, "weights", public_vector("weights", given))
        if self.weights.shape != self.lower.shape or not np.all(self.weights >= SMALLEST):
            raise ValueError("weights must be one number above 0 per column.")

    @property
    def center(self) -> FloatArray:
        """The middle of each column."""
        return self.lower / 2 + self.upper / 2

    @property
    def half_widths(self) -> FloatArray:
        """Half of each column's width."""
        return self.upper / 2 - self.lower / 2

    @property
    def scales(self) -> FloatArray:
        """Half widths over weights, scaled so that corners of the box touch the unit sphere."""
        return self.half_widths / self.weights * float(np.linalg.norm(self.weights))

    def describe(self, columns: Sequence[str] | None) -> list[tuple[str, list[str]]]:
        """Return each column with its bounds."""
        sides = zip(self.coordinate_names(columns), self.lower, self.upper, strict=True)
        return [(name, [plain(lower), plain(upper)]) for name, lower, upper in sides]

    def bounded_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return each column with its bounds, without its weight."""
        sides = zip(names, self.lower.tolist(), self.upper.tolist(), strict=True)
        return tuple(NumberColumn(name, lower, upper) for name, lower, upper in sides)

    def rescaled(self, variances: FloatArray) -> Box:
        """Return the box in which columns count by how rows vary.

        Examples
        --------
        >>> Box([0, 0], [120, 120]).rescaled(np.array([0.04, 0.01])).weights.tolist()
        [1.0, 2.0]
        """
        return Box(self.lower, self.upper, reweighed(self.weights, variances))

    def unscaled(self) -> Box:
        """Return the box in which columns count by their widths."""
        return Box(self.lower, self.upper, weights=self.half_widths)

    def parameters(self, scale: object, columns: Sequence[str] | None) -> dict[str, Any]:
        """Return bounds by name; without names two arrays, unless columns have weights."""
        weights = np.ones(self.lower.size) if scale == "none" else self.weights
        if columns is None:
            return {"bounds": (self.lower, self.upper)} if (weights == 1).all() else {}
        sides = zip(
            columns, self.lower.tolist(), self.upper.tolist(), weights.tolist(), strict=True
        )
        return {
            "bounds": {
                name: {"type": "number", "lower": lower, "upper": upper, "weight": weight}
                for name, lower, upper, weight in sides
            }
        }

    def content(self) -> dict[str, Any]:
        """Return bounds and weights."""
        sides = {"lower": self.lower, "upper": self.upper, "weights": self.weights}
        return {name: side.tolist() for name, side in sides.items()}

    @classmethod
    def from_content(cls, content: Any) -> Box:
        """Make a box again."""
        return cls(**content)

"""What the user promises about values: a box or a ball, and the map to the unit ball and back.

The rule for strange values is public and looks at one cell alone: a missing or masked value
becomes the centre of its column, anything out of range the nearest bound. Columns are clipped
before any norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privclust.errors import shown
from privclust.kernels.grid import GRID, FloatArray, clip_to_ball

_LARGEST = 1e150
_SMALLEST = 1e-150


class Domain(Protocol):
    """Where values lie: columns within `center` ± `reach`, and `spread` is one unit of the ball."""

    @property
    def center(self) -> FloatArray:
        """The middle of each column."""

    @property
    def reach(self) -> FloatArray:
        """How far each column may lie from its middle."""

    @property
    def spread(self) -> FloatArray:
        """User's units per unit of the ball, for each column."""


@dataclass(frozen=True, eq=False)
class Box:
    """Each column lies between its own bounds.

    Columns count equally, or by `weights`: half a width of column j is worth ``weights[j]``.

    Examples
    --------
    >>> box = Box([0, 0], [120, 250])
    >>> from_unit(box, np.zeros((1, 2))).tolist()
    [[60.0, 125.0]]
    """

    lower: FloatArray
    upper: FloatArray
    weights: FloatArray

    def __init__(
        self, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        object.__setattr__(self, "lower", _public_vector("lower bounds", lower))
        object.__setattr__(self, "upper", _public_vector("upper bounds", upper))
        if self.lower.shape != self.upper.shape:
            raise ValueError(
                f"bounds need one lower and one upper value per column, got {self.lower.size} "
                f"lower and {self.upper.size} upper values. Add the missing ones."
            )
        narrow = np.flatnonzero(~(self.upper - self.lower >= _SMALLEST))
        if narrow.size:
            column = int(narrow[0])
            raise ValueError(
                f"each lower bound must be below its upper bound; column {column} has "
                f"{self.lower[column]:g} and {self.upper[column]:g}. Swap them if they are "
                "exchanged, and leave a column that never varies out of the table."
            )
        given = np.ones(self.lower.size) if weights is None else weights
        object.__setattr__(self, "weights", _public_vector("weights", given))
        if self.weights.shape != self.lower.shape or not np.all(self.weights >= _SMALLEST):
            raise ValueError("weights must be one number above 0 per column.")

    @property
    def center(self) -> FloatArray:
        """The middle of each column."""
        return self.lower / 2 + self.upper / 2

    @property
    def reach(self) -> FloatArray:
        """Half of each column's width."""
        return self.upper / 2 - self.lower / 2

    @property
    def spread(self) -> FloatArray:
        """Half widths over weights, scaled so that corners of the box touch the unit sphere."""
        return self.reach / self.weights * float(np.linalg.norm(self.weights))


@dataclass(frozen=True, eq=False)
class Ball:
    """Rows lie within `radius` of `middle`, in the user's own units.

    Examples
    --------
    >>> ball = Ball([10.0, 10.0], 5.0)
    >>> from_unit(ball, np.array([[1.0, 0.0]])).tolist()
    [[15.0, 10.0]]
    """

    middle: FloatArray
    radius: float

    def __init__(self, middle: ArrayLike, radius: float) -> None:
        object.__setattr__(self, "middle", _public_vector("the middle of the ball", middle))
        object.__setattr__(self, "radius", float(radius))
        if not _SMALLEST <= self.radius <= _LARGEST:
            raise ValueError(
                f"radius must lie between {_SMALLEST:g} and {_LARGEST:g}, got {radius!r}. "
                "Give the largest distance from the middle that any row could have."
            )

    @property
    def center(self) -> FloatArray:
        """The middle of each column."""
        return self.middle

    @property
    def reach(self) -> FloatArray:
        """The radius, for each column."""
        return np.full(self.middle.size, self.radius)

    @property
    def spread(self) -> FloatArray:
        """The radius, for each column."""
        return self.reach


def to_unit_grid(domain: Domain, rows: NDArray[Any]) -> FloatArray:
    """Map rows in the user's units to the grid of the unit ball, each cell and row alone.

    Examples
    --------
    >>> rows = np.array([[np.nan, 0.0], [np.inf, 0.0]])
    >>> (to_unit_grid(Ball([10.0, 0.0], 5.0), rows) / GRID).round(6).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    center, reach = domain.center, domain.reach
    if rows.ndim != 2 or rows.shape[1] != center.size:
        raise ValueError(f"rows must have {center.size} columns, as the domain has.")
    values = np.ma.filled(rows.astype(np.float64), np.nan)
    values = np.where(np.isnan(values), center, values)
    values = np.clip(values, center - reach, center + reach)
    return clip_to_ball((values - center) / domain.spread, GRID)


def from_unit(domain: Domain, points: FloatArray) -> FloatArray:
    """Map public points of the unit ball back to the user's units."""
    return domain.center + points * domain.spread


def _public_vector(what: str, values: ArrayLike) -> FloatArray:
    try:
        vector = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be numbers, one per column, got {shown(values)}.") from None
    if vector.ndim != 1 or vector.size == 0 or not np.all(np.abs(vector) <= _LARGEST):
        raise ValueError(
            f"{what} must be one finite number per column, at most {_LARGEST:g} in size. "
            "Where no bound is known, type one that no value can pass."
        )
    vector.setflags(write=False)
    return vector

"""Domains: what the user declares about values, and the map to the unit ball and back.

The rule for strange values is public and looks at one cell alone: a missing or masked value
becomes the centre of its column, anything out of range the nearest bound. Columns are clipped
before any norm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privclust.domains._number_column import EXTREME_NUMBERS, WEIGHT_MAX, WEIGHT_MIN
from privclust.domains.columns import Column
from privclust.domains.reader import CellReader, Use
from privclust.errors import BoundsError, safe_repr
from privclust.kernels.grid import FloatArray, map_to_ball

LARGEST, SMALLEST = 1e150, 1e-150
"""Sizes that a bound, and a width or a radius, may have."""


class Domain(ABC):
    """Where values lie: columns within `center` ± `half_widths`; a unit of the ball is `scales`.

    A new domain is a frozen dataclass in a module of its own, which `privclust.domains` imports. It
    names its kind, ``class Disc(Domain, kind="disc")``, and gives `center`, `half_widths`,
    `scales`, `describe`, and, if model files should hold it, `content` and `from_content`. Its
    fields are numbers, texts, arrays and declared columns, so that it can be sent to clients. Where
    its rows are not one number a column, it also gives `uses`, `coordinate_names`, `encode` or
    `read`, and where its units are not those of the ball up to a factor, `to_scales`, `from_scales`
    and `slopes`.
    """

    kind: ClassVar[str]
    """Under which name files hold such a domain."""
    is_linear: ClassVar[bool] = True
    """Whether the user's units are those of the ball, moved and multiplied."""

    def __init_subclass__(cls, kind: str, **given: Any) -> None:
        super().__init_subclass__(**given)
        if kind in DOMAINS:
            raise TypeError(f"two domains are of the kind {kind!r}. Name one of them otherwise.")
        cls.kind = kind
        DOMAINS[kind] = cls

    @property
    @abstractmethod
    def center(self) -> FloatArray:
        """The middle of each coordinate."""

    @property
    @abstractmethod
    def half_widths(self) -> FloatArray:
        """How far each coordinate may lie from its middle."""

    @property
    @abstractmethod
    def scales(self) -> FloatArray:
        """User's units per unit of the ball, for each coordinate."""

    @abstractmethod
    def describe(self, columns: Sequence[str] | None) -> list[tuple[str, list[str]]]:
        """Return what a report lists: a name and two bounds, or all levels, on each line."""

    @property
    def common_scale(self) -> float | None:
        """User's units per unit of the ball if all coordinates have the same; otherwise None."""
        scales = self.scales
        same = self.is_linear and bool(np.allclose(scales, scales[0], rtol=1e-9, atol=0.0))
        return float(scales[0]) if same else None

    # What a table of the domain is like.

    @property
    def uses(self) -> Mapping[str, Use]:
        """What columns are declared as; empty if all are numbers, whatever they are called."""
        return {}

    @property
    def n_features(self) -> int:
        """How many columns a table has."""
        return len(self.uses) or self.center.size

    @property
    def vector_lengths(self) -> Mapping[str, int]:
        """Columns of vectors, and how long these are."""
        return {}

    def fits(self, columns: tuple[str, ...] | int) -> bool:
        """Tell whether a domain is one of these columns, or of so many without names."""
        if isinstance(columns, int):
            return not self.uses and columns == self.center.size
        if len(set(columns)) < len(columns):
            return False
        return set(columns) == set(self.uses) if self.uses else len(columns) == self.center.size

    def bounded_columns(self, names: Sequence[str]) -> tuple[Column, ...] | None:
        """Return each column with bounds of its own; None if they are bounded together."""
        return None

    def extreme_cells(self, name: str) -> tuple[Use, list[Any]]:
        """Return the use of a column, and cells that strain whoever reads them."""
        return "number", list(EXTREME_NUMBERS)

    # From rows to the grid.

    def encode(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows given as one number a coordinate as `to_grid` takes them."""
        return rows

    def read(self, cells: CellReader, columns: Sequence[str] | None) -> NDArray[Any]:
        """Return the rows of a table as `to_grid` takes them, not yet bounded."""
        return self.encode(cells.matrix(columns))

    def to_grid(self, rows: NDArray[Any]) -> FloatArray:
        """Map rows to the grid of the unit ball, each cell and row alone.

        Examples
        --------
        >>> from privclust.domains.ball import Ball
        >>> from privclust.kernels.grid import GRID
        >>> rows = np.array([[np.nan, 0.0], [np.inf, 0.0]])
        >>> (Ball([10.0, 0.0], 5.0).to_grid(rows) / GRID).round(6).tolist()
        [[0.0, 0.0], [1.0, 0.0]]
        """
        center, half_widths = self.center, self.half_widths
        if rows.ndim != 2 or rows.shape[1] != center.size:
            raise ValueError(f"rows must have {center.size} columns, as the domain has.")
        values = np.ma.filled(rows.astype(np.float64), np.nan)
        return map_to_ball(values, center, half_widths, self.scales)

    def read_to_grid(self, cells: CellReader, columns: Sequence[str] | None) -> FloatArray:
        """Return the rows of a table on the grid, each row alone."""
        return self.to_grid(self.read(cells, columns))

    # Of a profile: what rows carry besides the coordinates of a model.

    @property
    def model_domain(self) -> Domain:
        """The domain of the clustered coordinates, which come first."""
        return self

    @property
    def noted(self) -> tuple[Column, ...]:
        """Columns of which rows carry notes, behind the clustered coordinates."""
        return ()

    @property
    def n_places(self) -> tuple[int, ...]:
        """How many places each noted column has."""
        return tuple(len(column.labels) for column in self.noted)

    @property
    def n_numbers(self) -> int:
        """How many noted columns have a value besides their place."""
        return sum(column.number is not None for column in self.noted)

    def clustered_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return which of the columns that are read are clustered."""
        return columns

    # Public points, such as centres.

    @property
    def centers_are_means(self) -> bool:
        """Whether a centre is the mean of its rows, so that variances within and between add up."""
        return True

    def coordinate_names(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return what coordinates of centres are called, for a table of these columns."""
        if columns is None:
            return tuple(f"column {place}" for place in range(self.center.size))
        return tuple(map(str, columns))

    @property
    def coordinate_uses(self) -> list[Use]:
        """What each coordinate of a centre is: a number, a share of a category, or a day."""
        return ["number"] * self.center.size

    def to_ball(self, points: FloatArray) -> FloatArray:
        """Map points in the user's units to the unit ball.

        Examples
        --------
        >>> from privclust.domains.box import Box
        >>> Box([0.0], [10.0]).to_ball(np.array([[5.0], [10.0]])).ravel().tolist()
        [0.0, 1.0]
        """
        return np.asarray((self.to_scales(points) - self.center) / self.scales)

    def from_ball(self, points: FloatArray) -> FloatArray:
        """Map points of the unit ball to the scales of the columns, beyond the bounds if need be.

        A column's scale is its own unit, or the logarithm or the shares that were declared for it.
        """
        return self.center + points * self.scales

    def ball_to_scales(self, points: FloatArray) -> FloatArray:
        """Map points of the unit ball to the scales of the columns, within the bounds."""
        lower, upper = self.center - self.half_widths, self.center + self.half_widths
        return np.clip(self.from_ball(points), lower, upper)

    def to_units(self, points: FloatArray) -> FloatArray:
        """Map points of the unit ball to the user's units, within the bounds."""
        return self.from_scales(self.ball_to_scales(points))

    def to_scales(self, points: FloatArray) -> FloatArray:
        """Put points in the user's units on the scales of the columns."""
        return points

    def from_scales(self, points: FloatArray) -> FloatArray:
        """Return points on the scales of the columns in the user's units."""
        return points

    def slopes(self, points: FloatArray) -> FloatArray:
        """Return how much each of the user's numbers grows there with a step on its scale."""
        return np.ones_like(points)

    def lengths(self, centers: FloatArray) -> FloatArray:
        """Return by what centres are divided that count by their direction alone; others by 1."""
        return np.ones((len(centers), 1))

    def unit_length(self, centers: FloatArray) -> FloatArray:
        """Return centres as directions, if rows are directions; otherwise as they are."""
        lengths = self.lengths(centers)
        return np.asarray(centers / np.where(lengths > 0, lengths, 1.0))

    # Synthetic rows.

    def deviations(
        self, points: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return how far rows lie from their point of the ball in each coordinate, by its variance.

        `variance` is added up over the coordinates, and `weights` are numbers of rows.
        """
        d = points.shape[1]
        return np.repeat(np.sqrt(variance / d)[:, None], d, axis=1)

    def draw(
        self, rows: FloatArray, rng: np.random.Generator
    ) -> FloatArray | dict[str, NDArray[Any]]:
        """Return synthetic rows in the user's units as a table would hold them."""
        return rows

    # Other forms of the same domain.

    def rescaled(self, variances: FloatArray) -> Domain:
        """Return the domain with weights, so that rows vary in all columns as their weights say.

        `variances` are those of the coordinates, in squared radii of the domain.
        """
        raise BoundsError(f"a domain of the kind {self.kind!r} has no columns to weigh.")

    def unscaled(self) -> Domain:
        """Return the domain in which numbers count in their own units."""
        raise BoundsError(
            "scale='none' keeps numbers in their own units, and bounds declare other columns too. "
            "Leave scale out, and give columns weights in a bounds file."
        )

    def parameters(self, scale: object, columns: Sequence[str] | None) -> dict[str, Any]:
        """Return what an estimator with this `scale` is given to have the domain, if it can be.

        `columns` are the names of the table's, where it has any.
        """
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the domain for a model file; `domain_from_dict` makes it again."""
        return {self.kind: self.content()}

    def content(self) -> Any:
        """Return the fields for a model file."""
        raise TypeError(f"model files hold no domain of the kind {self.kind!r}.")

    @classmethod
    def from_content(cls, content: Any) -> Domain:
        """Make the domain of which a model file holds the fields."""
        raise ValueError(f"model files hold no domain of the kind {cls.kind!r}.")


DOMAINS: dict[str, type[Domain]] = {}
"""Every kind of domain: those that files may hold and that may be sent to clients."""


def domain_from_dict(content: Mapping[str, Any]) -> Domain:
    """Make the domain that a model file describes, or raise ValueError or TypeError.

    Examples
    --------
    >>> domain_from_dict({"sphere": {"n_columns": 2, "vector": None}})
    Sphere(n_columns=2, vector=None)
    """
    if len(content) != 1 or not set(content) <= set(DOMAINS):
        raise ValueError(f"a domain is one of {', '.join(map(repr, DOMAINS))}")
    ((kind, fields),) = content.items()
    return DOMAINS[kind].from_content(fields)


def public_vector(what: str, values: ArrayLike) -> FloatArray:
    """Return numbers that a user typed, one for each column, so that nobody can change them."""
    try:
        vector = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise TypeError(
            f"{what} must be numbers, one per column, got {safe_repr(values)}."
        ) from None
    if vector.ndim != 1 or vector.size == 0 or not np.all(np.abs(vector) <= LARGEST):
        raise ValueError(
            f"{what} must be one finite number per column, at most {LARGEST:g} in size. "
            "Where no bound is known, type one that no value can pass."
        )
    vector.setflags(write=False)
    return vector


def reweighed(given: FloatArray, variances: FloatArray) -> FloatArray:
    """Return weights under which variances are to each other as the squares of those given."""
    weights: FloatArray = given**2 / np.sqrt(variances)
    bounded: FloatArray = np.clip(weights / weights.min(), WEIGHT_MIN, WEIGHT_MAX)
    return bounded

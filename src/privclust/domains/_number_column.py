"""Columns of numbers, and what they have in common with columns of dates."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privclust.domains._log_scale import read_off, ruler
from privclust.domains._number_text import edge_texts, plain
from privclust.domains.reader import CellReader, Use
from privclust.kernels.grid import GRID, FloatArray

Transform = Literal["none", "log", "log1p"]
BINS = 10
"""Ranges of equal width, on a column's own scale, into which a profile sorts numbers and dates.

Of dates with no more days than that, each day is a range.
"""
EXTREME_NUMBERS = (None, math.inf, -math.inf, 0.0, 1.0, -1.0, 1e300)
WEIGHT_MIN, WEIGHT_MAX = 1e-6, 1e6
BOUND_MAX, WIDTH_MIN = 1e150, 1e-150
NEWER = {"newer": True}
"""Marks fields that came after ledgers had hashes of columns: these leave them out if None."""


class OrderedColumn(ABC):
    """What numbers and dates have in common: one feature, and ranges between two bounds."""

    name: str
    weight: float

    @property
    @abstractmethod
    def number(self) -> NumberColumn:
        """The same column of numbers, dates in days."""

    @abstractmethod
    def format_value(self, value: float, step: float = 0.0) -> str:
        """Return a value as people write it."""

    @property
    @abstractmethod
    def edges(self) -> FloatArray:
        """The ends of the ranges of a profile: values of the last one may be its upper end."""

    @property
    @abstractmethod
    def range_labels(self) -> list[str]:
        """What the ranges of a profile are called: no two of them alike."""

    @property
    @abstractmethod
    def missing_text(self) -> str | None:
        """The declared value for missing cells as people write it; None if there is none."""

    @property
    def missing_features(self) -> FloatArray:
        """What a missing cell counts as on the scale: the declared value, or the middle."""
        column = self.number
        if column.missing is None:
            return column.center
        found: FloatArray = column.features(np.array([column.missing]))[0]
        return found

    def filled(self, values: FloatArray) -> FloatArray:
        """Return values with the declared one where a cell is missing, if one is declared."""
        missing = self.number.missing
        return values if missing is None else np.where(np.isnan(values), missing, values)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What its one feature is called."""
        return (self.name,)

    @property
    def length(self) -> float:
        """How far from the middle a cell can lie, in weights."""
        return self.weight

    @property
    def labels(self) -> tuple[str, ...]:
        """What its places in a profile are called; the last is that of missing cells."""
        return (*self.range_labels, "missing")

    def places(self, values: FloatArray) -> FloatArray:
        """Return the range in which each value lies, as its place in a profile."""
        edges = self.edges
        found = np.searchsorted(edges[1:-1], values, side="right")
        return np.where(np.isnan(values), len(edges) - 1, found).astype(np.float64)

    def offsets(self, values: FloatArray) -> FloatArray:
        """Return how far each value lies from the middle, in grid units; its bounds are ±2^25.

        Missing ones count as 0, whatever is declared for them: a profile has their number.
        """
        column = self.number
        apart = (column.features(values)[:, 0] - column.center) / column.half_widths
        whole = np.trunc(np.clip(apart, -1.0, 1.0) * GRID)
        return np.where(np.isnan(values), 0.0, whole)


@dataclass(frozen=True)
class NumberColumn(OrderedColumn):
    """A number between bounds, on a plain or a logarithmic scale.

    Parameters
    ----------
    name : str
        The column's name.
    lower, upper : float
        The bounds.
    weight : float, default=1.0
        How much the column counts.
    transform : {"none", "log", "log1p"}, default="none"
        Its scale.
    missing : float, optional
        What a missing cell counts as, within the bounds; by default, the middle of the scale.

    Examples
    --------
    >>> column = NumberColumn("income", 1e3, 1e5, transform="log")
    >>> column.features(np.array([1e4, np.nan, 1e9])).round(6).tolist()
    [[4.0], [nan], [5.0]]
    >>> column.units(np.array([[4.0]])).round(3).tolist()
    [[10000.0]]
    >>> age = NumberColumn("age", 0, 120)
    >>> age.labels[-2:], age.places(np.array([12.0, 11.9, 999, np.nan])).tolist()
    (('108 to 120', 'missing'), [1.0, 0.0, 9.0, 10.0])
    >>> (age.offsets(np.array([90, 999, np.nan])) / GRID).tolist()
    [0.5, 1.0, 0.0]
    >>> NumberColumn("bmi", 12, 60, missing=25).features(np.array([np.nan])).tolist()
    [[25.0]]
    """

    use: ClassVar[Use] = "number"
    name: str
    lower: float
    upper: float
    weight: float = 1.0
    transform: Transform = "none"
    missing: float | None = field(default=None, metadata=NEWER)

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        lowest = {"none": -BOUND_MAX, "log": 0.0, "log1p": -1.0}[self.transform]
        inside = lowest <= self.lower and (self.transform == "none" or lowest < self.lower)
        if not (
            inside and self.lower < self.upper <= BOUND_MAX and self.half_widths[0] >= WIDTH_MIN
        ):
            raise ValueError(
                f"column {self.name!r} needs a lower bound below its upper one, apart on its "
                f"scale, at most {BOUND_MAX:g} in size, and where it has a logarithm; got "
                f"{plain(self.lower)} and {plain(self.upper)}."
            )
        check_missing(self.name, self.missing, self.lower, self.upper, plain)

    @property
    def number(self) -> NumberColumn:
        """The column itself."""
        return self

    @property
    def ends(self) -> FloatArray:
        """The bounds on the scale."""
        return self.features(np.array([self.lower, self.upper]))[:, 0]

    @property
    def edges(self) -> FloatArray:
        """The ends of the ranges of a profile, in the user's units."""
        low, high = self.ends
        marks = low + (high - low) * np.arange(BINS + 1) / BINS
        edges = np.maximum.accumulate(self.units(marks))
        edges[[0, -1]] = self.lower, self.upper
        return edges

    @property
    def range_labels(self) -> list[str]:
        """From where to where each range goes."""
        return [f"{lower} to {upper}" for lower, upper in pairwise(edge_texts(self.edges))]

    @property
    def center(self) -> FloatArray:
        """The middle of the scale."""
        return np.array([self.ends.mean()])

    @property
    def half_widths(self) -> FloatArray:
        """Half of the scale's width."""
        return np.array([np.ptp(self.ends) / 2])

    @property
    def unit(self) -> FloatArray:
        """How much of the scale is worth 1."""
        return self.half_widths / self.weight

    def read(self, cells: CellReader) -> FloatArray:
        """Return the features of the column's cells."""
        return self.features(cells.numbers(self.name))

    def notes(self, cells: CellReader) -> tuple[FloatArray, FloatArray | None]:
        """Return the places of the column's cells in a profile, and their values."""
        values = cells.numbers(self.name)
        return self.places(values), self.offsets(values)

    @property
    def missing_text(self) -> str | None:
        """The declared value for missing cells, with the digits that were typed."""
        return None if self.missing is None else plain(self.missing)

    def features(self, values: FloatArray) -> FloatArray:
        """Put numbers on the scale, missing ones as they are declared to count."""
        return self._on_scale(self.filled(values))

    def _on_scale(self, values: FloatArray) -> FloatArray:
        within = np.clip(values, self.lower, self.upper)
        if self.transform != "none":
            within = read_off(within, *ruler(self.lower, self.upper, self._shift))
        return within[:, None]

    def to_scale(self, units: FloatArray) -> FloatArray:
        """Put public points in the user's units, such as centres, on the scale."""
        return self._on_scale(units[:, 0])

    def units(self, features: FloatArray) -> FloatArray:
        """Return where on the scale something lies as a number of the user's."""
        if self.transform == "none":
            return features
        return 10.0**features - self._shift

    def slopes(self, units: FloatArray) -> FloatArray:
        """Return how much the user's number grows there with a step on the scale."""
        if self.transform == "none":
            return np.ones_like(units)
        return (units + self._shift) * float(np.log(10.0))

    def format_value(self, value: float, step: float = 0.0) -> str:
        """Return a number as people write it, to about a `step`.

        Examples
        --------
        >>> NumberColumn("income", 0, 1e6).format_value(12345.678, 5.0)
        '12,345.7'
        """
        if step > 0:
            return f"{value:,.{max(0, min(12, 1 - math.floor(math.log10(step))))}f}"
        return plain(float(f"{value:.6g}")) if abs(value) >= 1e6 else f"{value:.6g}"

    def draw(self, units: FloatArray, rng: np.random.Generator) -> NDArray[Any]:
        """Return synthetic numbers as they are."""
        return units[:, 0]

    def extreme_cells(self) -> list[Any]:
        """Return cells that strain whoever reads them."""
        return list(EXTREME_NUMBERS)

    def describe(self) -> tuple[str, list[str]]:
        """Return the column and its bounds, for a report."""
        scale = "" if self.transform == "none" else f" ({self.transform} scale)"
        return self.name + scale, [plain(self.lower), plain(self.upper)]

    def to_dict(self) -> dict[str, Any]:
        """Return the column for a file."""
        return {
            "name": self.name,
            "type": self.use,
            "lower": self.lower,
            "upper": self.upper,
            "weight": self.weight,
            "transform": self.transform,
            **({} if self.missing is None else {"missing": self.missing}),
        }

    @property
    def _shift(self) -> float:
        return 1.0 if self.transform == "log1p" else 0.0


def check_weight(name: str, weight: float) -> None:
    """Refuse a weight that is too small or too large."""
    if not WEIGHT_MIN <= weight <= WEIGHT_MAX:
        raise ValueError(
            f"the weight of column {name!r} must lie between {WEIGHT_MIN:g} and {WEIGHT_MAX:g}, "
            f"got {weight!r}."
        )


def check_missing(
    name: str, missing: Any, lower: Any, upper: Any, text: Callable[[Any], str]
) -> None:
    """Refuse a value for missing cells that lies beyond the bounds; `text` writes all three."""
    if missing is not None and not lower <= missing <= upper:
        raise ValueError(
            f"the value for missing cells of column {name!r} must lie within its bounds, from "
            f"{text(lower)} to {text(upper)}; got {text(missing)}. Type one between them that is "
            "typical by knowledge of the field, or leave 'missing' out."
        )

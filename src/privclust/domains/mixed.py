"""Tables of numbers, categories and dates: a domain made of declared columns.

A column turns each of its cells into one or more numbers, its features, by a public rule that looks
at the cell alone. Categories become one feature a level, 1 where the cell has it and 0 elsewhere.
Logarithms are read off a ruler with stored marks, by comparisons and single roundings only: a
library's log may depend on where in an array a number stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privclust.kernels.grid import FloatArray, IntArray

Use = Literal["number", "category", "date", "vector"]
"""What a column is declared as, or vectors of numbers, which no bounds file declares."""
Transform = Literal["none", "log", "log1p"]
OTHER = "other"
"""The level of all that are not declared, if it is declared itself."""
_LEVEL_WIDTH = 2**-0.5
"""So scaled, two levels are half as far apart as the bounds of a number."""
_MARKS = 2**12
_RULERS = 4096
"""So many are remembered: a server may declare as many columns as it likes."""
LEVELS_MAX = 1000
WEIGHT_MIN, WEIGHT_MAX = 1e-6, 1e6
BOUND_MAX, WIDTH_MIN = 1e150, 1e-150
_DAYS_BEFORE_1970 = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class NumberColumn:
    """A number between bounds, on a plain or a logarithmic scale.

    Examples
    --------
    >>> column = NumberColumn("income", 1e3, 1e5, transform="log")
    >>> column.features(np.array([1e4, np.nan, 1e9])).round(6).tolist()
    [[4.0], [nan], [5.0]]
    >>> column.units(np.array([[4.0]])).round(3).tolist()
    [[10000.0]]
    """

    use: ClassVar[Use] = "number"
    name: str
    lower: float
    upper: float
    weight: float = 1.0
    transform: Transform = "none"

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)
        lowest = {"none": -BOUND_MAX, "log": 0.0, "log1p": -1.0}[self.transform]
        inside = lowest <= self.lower and (self.transform == "none" or lowest < self.lower)
        if not (inside and self.lower < self.upper <= BOUND_MAX and self.reach[0] >= WIDTH_MIN):
            raise ValueError(
                f"column {self.name!r} needs a lower bound below its upper one, apart on its "
                f"scale, at most {BOUND_MAX:g} in size, and where it has a logarithm; got "
                f"{self.lower:g} and {self.upper:g}."
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What its one feature is called."""
        return (self.name,)

    @property
    def ends(self) -> FloatArray:
        """The bounds on the scale."""
        return self.features(np.array([self.lower, self.upper]))[:, 0]

    @property
    def center(self) -> FloatArray:
        """The middle of the scale."""
        return np.array([self.ends.mean()])

    @property
    def reach(self) -> FloatArray:
        """Half of the scale's width."""
        return np.array([np.ptp(self.ends) / 2])

    @property
    def length(self) -> float:
        """How far from the middle a cell can lie, in weights."""
        return self.weight

    @property
    def unit(self) -> FloatArray:
        """How much of the scale is worth 1."""
        return self.reach / self.weight

    def features(self, values: FloatArray) -> FloatArray:
        """Put numbers on the scale."""
        within = np.clip(values, self.lower, self.upper)
        if self.transform != "none":
            within = _read_off(within, *_ruler(self.lower, self.upper, self._shift))
        return within[:, None]

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

    @property
    def _shift(self) -> float:
        return 1.0 if self.transform == "log1p" else 0.0


@dataclass(frozen=True)
class DateColumn:
    """A day between two days, counted from the first of January 1970.

    Examples
    --------
    >>> DateColumn("visit", date(1970, 1, 1), date(1970, 1, 31)).center.tolist()
    [15.0]
    """

    use: ClassVar[Use] = "date"
    name: str
    lower: date
    upper: date
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)
        if not self.lower < self.upper:
            raise ValueError(f"the first day of column {self.name!r} must lie before its last.")

    @property
    def as_number(self) -> NumberColumn:
        """The same column of numbers of days."""
        first, last = (end.toordinal() - _DAYS_BEFORE_1970 for end in (self.lower, self.upper))
        return NumberColumn(self.name, float(first), float(last), self.weight)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What its one feature is called."""
        return (self.name,)

    @property
    def center(self) -> FloatArray:
        """The day in the middle."""
        return self.as_number.center

    @property
    def reach(self) -> FloatArray:
        """Half of the days."""
        return self.as_number.reach

    @property
    def length(self) -> float:
        """How far from the middle a cell can lie, in weights."""
        return self.weight

    @property
    def unit(self) -> FloatArray:
        """How many days are worth 1."""
        return self.as_number.unit

    def features(self, values: FloatArray) -> FloatArray:
        """Put days between the bounds."""
        return self.as_number.features(values)

    def units(self, features: FloatArray) -> FloatArray:
        """Return days as they are."""
        return features

    def slopes(self, units: FloatArray) -> FloatArray:
        """Return 1: a day is a day."""
        return np.ones_like(units)


@dataclass(frozen=True)
class CategoryColumn:
    """One of several levels; each is a feature, whose mean is the level's share.

    Examples
    --------
    >>> column = CategoryColumn("ward", ("A", "B"))
    >>> column.feature_names
    ('ward=A', 'ward=B')
    >>> column.features(np.array([1, -1])).tolist()
    [[0.0, 1.0], [nan, nan]]
    """

    use: ClassVar[Use] = "category"
    name: str
    levels: tuple[str, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)
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
    def reach(self) -> FloatArray:
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

    def features(self, values: IntArray) -> FloatArray:
        """Turn places of levels into features; below 0 there is no level."""
        rows: FloatArray = (values[:, None] == np.arange(len(self.levels))).astype(np.float64)
        rows[values < 0] = np.nan
        return rows

    def units(self, features: FloatArray) -> FloatArray:
        """Return noisy shares as shares: none below 0, together 1."""
        shares = np.clip(features, 0.0, 1.0)
        together = shares.sum(axis=1, keepdims=True)
        return np.where(together > 0, shares / np.maximum(together, 1e-300), self.center)

    def slopes(self, units: FloatArray) -> FloatArray:
        """Return 1: a share is a share."""
        return np.ones_like(units)


Column: TypeAlias = NumberColumn | DateColumn | CategoryColumn


@dataclass(frozen=True)
class Mixed:
    """A domain of declared columns; its coordinates are their features.

    Examples
    --------
    >>> mixed = Mixed((NumberColumn("age", 0, 120), CategoryColumn("ward", ("A", "B"))))
    >>> mixed.feature_names
    ('age', 'ward=A', 'ward=B')
    >>> mixed.units(np.array([[40.0, 0.3, -0.1]])).tolist()
    [[40.0, 1.0, 0.0]]
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not 1 <= len({column.name for column in self.columns}) == len(self.columns):
            raise ValueError("a table needs at least one column, and names that differ.")

    @property
    def uses(self) -> dict[str, Use]:
        """What each column is declared as."""
        return {column.name: column.use for column in self.columns}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the coordinates are called."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def center(self) -> FloatArray:
        """The middle of each feature."""
        return np.concatenate([column.center for column in self.columns])

    @property
    def reach(self) -> FloatArray:
        """How far each feature may lie from its middle."""
        return np.concatenate([column.reach for column in self.columns])

    @property
    def spread(self) -> FloatArray:
        """Features per unit of the ball, which no row leaves."""
        units = np.concatenate([column.unit for column in self.columns])
        return units * float(np.linalg.norm([column.length for column in self.columns]))

    def units(self, features: FloatArray) -> FloatArray:
        """Return points in the user's units: numbers, days and shares."""
        return np.hstack([column.units(part) for column, part in self._parts(features)])

    def features(self, units: FloatArray) -> FloatArray:
        """Put points in the user's units, such as centres, back on the scales."""
        return np.hstack(
            [
                column.features(part[:, 0]) if isinstance(column, NumberColumn) else part
                for column, part in self._parts(units)
            ]
        )

    def slopes(self, units: FloatArray) -> FloatArray:
        """Return how much each of the user's numbers grows with its feature."""
        return np.hstack([column.slopes(part) for column, part in self._parts(units)])

    def _parts(self, points: FloatArray) -> list[tuple[Column, FloatArray]]:
        """Return each column with its part of all points."""
        widths = [len(column.feature_names) for column in self.columns]
        parts = np.split(points, list(accumulate(widths))[:-1], axis=1)
        return list(zip(self.columns, parts, strict=True))


def _check_weight(name: str, weight: float) -> None:
    if not WEIGHT_MIN <= weight <= WEIGHT_MAX:
        raise ValueError(
            f"the weight of column {name!r} must lie between {WEIGHT_MIN:g} and {WEIGHT_MAX:g}, "
            f"got {weight!r}."
        )


@lru_cache(_RULERS)
def _ruler(lower: float, upper: float, shift: float) -> tuple[FloatArray, FloatArray]:
    """Return marks between bounds, equal ratios apart, and their logarithms."""
    logs = np.linspace(np.log10(lower + shift), np.log10(upper + shift), _MARKS)
    # A search among marks that do not increase would depend on the number searched for before.
    marks = np.clip(np.maximum.accumulate(10.0**logs - shift), lower, upper)
    marks[0], marks[-1] = lower, upper
    for array in (marks, logs):
        array.setflags(write=False)
    return marks, logs


def _read_off(values: FloatArray, marks: FloatArray, logs: FloatArray) -> FloatArray:
    """Find each value between two marks, and go as far between their logarithms."""
    place: NDArray[np.intp] = np.searchsorted(marks, values, side="right") - 1
    place = np.clip(place, 0, len(marks) - 2)
    before, after = marks[place], marks[place + 1]
    part = (values - before) / (after - before)
    return logs[place] + part * (logs[place + 1] - logs[place])

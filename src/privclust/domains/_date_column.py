"""Columns of dates."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privclust.domains._date_format import ISO, day_pattern
from privclust.domains._number_column import (
    BINS,
    NEWER,
    NumberColumn,
    OrderedColumn,
    check_missing,
    check_weight,
)
from privclust.domains.reader import CellReader, Use
from privclust.kernels.grid import FloatArray

_DAYS_BEFORE_1970 = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class DateColumn(OrderedColumn):
    """A day between two days, counted from the first of January 1970.

    Parameters
    ----------
    name : str
        The column's name.
    lower, upper : date
        The first and the last day.
    weight : float, default=1.0
        How much the column counts.
    format : str, default="YYYY-MM-DD"
        How its texts write a day. Dates and times that are no texts need none.
    missing : date, optional
        What a missing cell counts as, within the bounds; by default, the day in the middle.

    Examples
    --------
    >>> column = DateColumn("visit", date(1970, 1, 1), date(1970, 1, 31))
    >>> column.center.tolist(), column.format_value(15.2)
    ([15.0], '1970-01-16')
    """

    use: ClassVar[Use] = "date"
    name: str
    lower: date
    upper: date
    weight: float = 1.0
    format: str = ISO
    missing: date | None = field(default=None, metadata=NEWER)

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        if not self.lower < self.upper:
            raise ValueError(f"the first day of column {self.name!r} must lie before its last.")
        check_missing(self.name, self.missing, self.lower, self.upper, str)
        day_pattern(self.format)

    @property
    def number(self) -> NumberColumn:
        """The same column of numbers of days."""
        first, last = _days(self.lower), _days(self.upper)
        missing = None if self.missing is None else _days(self.missing)
        return NumberColumn(self.name, first, last, self.weight, missing=missing)

    @property
    def edges(self) -> FloatArray:
        """The ends of the ranges of a profile, in days: a range a day where there are few."""
        column = self.number
        if not self._has_few_days:
            return column.edges
        return np.arange(column.lower, column.upper + 2)

    @property
    def range_labels(self) -> list[str]:
        """The days of each range."""
        days = [self.format_value(edge) for edge in self.edges]
        if self._has_few_days:
            return days[:-1]
        return [f"{lower} to {upper}" for lower, upper in pairwise(days)]

    @property
    def _has_few_days(self) -> bool:
        """Whether ranges of equal width would be shorter than a day."""
        return (self.upper - self.lower).days < BINS

    @property
    def center(self) -> FloatArray:
        """The day in the middle."""
        return self.number.center

    @property
    def half_widths(self) -> FloatArray:
        """Half of the days."""
        return self.number.half_widths

    @property
    def unit(self) -> FloatArray:
        """How many days are worth 1."""
        return self.number.unit

    def read(self, cells: CellReader) -> FloatArray:
        """Return the features of the column's cells."""
        return self.features(cells.days(self.name, self.format))

    def notes(self, cells: CellReader) -> tuple[FloatArray, FloatArray | None]:
        """Return the places of the column's cells in a profile, and their values."""
        values = cells.days(self.name, self.format)
        return self.places(values), self.offsets(values)

    @property
    def missing_text(self) -> str | None:
        """The declared day for missing cells."""
        return None if self.missing is None else self.missing.isoformat()

    def features(self, values: FloatArray) -> FloatArray:
        """Put days between the bounds, missing ones as they are declared to count."""
        return self.number.features(values)

    def to_scale(self, units: FloatArray) -> FloatArray:
        """Return public points as they are: in days."""
        return units

    def units(self, features: FloatArray) -> FloatArray:
        """Return days as they are."""
        return features

    def slopes(self, units: FloatArray) -> FloatArray:
        """Return 1: a day is a day."""
        return np.ones_like(units)

    def format_value(self, value: float, step: float = 0.0) -> str:
        """Return the day in which a number of days lies."""
        return str(np.datetime64(int(np.floor(value)), "D"))

    def draw(self, units: FloatArray, rng: np.random.Generator) -> NDArray[Any]:
        """Return synthetic numbers of days as days."""
        return np.rint(units[:, 0]).astype(np.int64).astype("datetime64[D]")

    def extreme_cells(self) -> list[Any]:
        """Return cells that strain whoever reads them."""
        return [None, None, self.lower, self.upper, date.min, date.max, date(1970, 1, 1)]

    def describe(self) -> tuple[str, list[str]]:
        """Return the column and its bounds, for a report."""
        return self.name, [self.lower.isoformat(), self.upper.isoformat()]

    def to_dict(self) -> dict[str, Any]:
        """Return the column for a file."""
        sides = {"lower": self.lower.isoformat(), "upper": self.upper.isoformat()}
        written = {} if self.format == ISO else {"format": self.format}
        if self.missing is not None:
            written["missing"] = self.missing.isoformat()
        return {"name": self.name, "type": self.use, **sides, "weight": self.weight, **written}


def _days(day: date) -> float:
    """Return a day as days since the first of January 1970."""
    return float(day.toordinal() - _DAYS_BEFORE_1970)

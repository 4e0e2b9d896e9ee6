"""Rows as a profile reads them: what assigns them to a cluster, and notes on other columns.

A note on a category is which level a cell has, on a number or a date in which range it lies and
how far it is from the middle of its bounds. Each follows from its cell alone, by comparisons with
stored edges and single roundings. A missing cell has a place of its own, after all others, and as a
number it counts as the middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privclust.domains.base import Domain
from privclust.domains.mixed import CategoryColumn, Column, DateColumn, Mixed, NumberColumn, Use
from privclust.domains.sphere import Sphere
from privclust.kernels.grid import GRID, FloatArray, IntArray

BINS = 10
"""Ranges of equal width, on a column's own scale, into which a profile sorts numbers and dates."""


@dataclass(frozen=True, eq=False)
class Profiled:
    """A domain whose rows carry notes on other columns behind their clustered coordinates.

    A row has the coordinates of `base` on its grid, one place for each of `columns`, and one
    value for each of them that is a number or a date: whole numbers all of them.

    Attributes
    ----------
    base : Domain
        Of the model whose clusters are profiled.
    clustered : tuple of str
        The columns that the model clusters, in the order of `base`.
    columns : tuple of Column
        The columns to profile.

    Examples
    --------
    >>> from privclust.domains.base import Box
    >>> ward, income = CategoryColumn("ward", ("A", "B")), NumberColumn("income", 0, 1e5)
    >>> domain = Profiled(Box([0], [120]), ("age",), (ward, income))
    >>> domain.names, domain.n_places, domain.center.size
    (('age', 'ward', 'income'), (3, 11), 4)
    """

    base: Domain
    clustered: tuple[str, ...]
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        declared = {column.name for column in self.columns}
        if isinstance(self.base, Profiled) or not 1 <= len(declared) == len(self.columns):
            raise ValueError(
                "a profile needs the domain of a model, and at least one column, with names that "
                "differ."
            )
        if not fits(self.base, self.clustered):
            raise ValueError("the domain of a model has other columns than those it clusters.")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        profiled = (column.name for column in self.columns)
        return tuple(dict.fromkeys((*self.clustered, *profiled)))

    @property
    def uses(self) -> dict[str, Use]:
        """What the clustered columns are declared as."""
        if isinstance(self.base, Mixed):
            return self.base.uses
        vectors = isinstance(self.base, Sphere) and self.base.vector is not None
        return dict.fromkeys(self.clustered, "vector" if vectors else "number")

    @property
    def n_places(self) -> tuple[int, ...]:
        """How many places each profiled column has."""
        return tuple(len(labels_of(column)) for column in self.columns)

    @property
    def n_numbers(self) -> int:
        """How many profiled columns have a value besides their place."""
        return sum(number_of(column) is not None for column in self.columns)

    @property
    def center(self) -> FloatArray:
        """Zeros: rows are on the grid already."""
        return np.zeros(self.base.center.size + len(self.columns) + self.n_numbers)

    @property
    def reach(self) -> FloatArray:
        """The grid's own size, for each coordinate."""
        return np.full(self.center.size, float(GRID))

    @property
    def spread(self) -> FloatArray:
        """Ones: rows are on the grid already."""
        return np.ones(self.center.size)


def fits(domain: Domain, columns: tuple[str, ...] | int) -> bool:
    """Tell whether a domain is one of these columns, or of so many without names.

    Examples
    --------
    >>> from privclust.domains.base import Box
    >>> fits(Box([0], [120]), ("age",)), fits(Box([0], [120]), 2)
    (True, False)
    """
    if isinstance(columns, tuple) and len(set(columns)) < len(columns):
        return False
    if isinstance(domain, Profiled):
        return columns == domain.names
    if isinstance(domain, Mixed):
        return isinstance(columns, tuple) and set(columns) == set(domain.uses)
    if isinstance(domain, Sphere) and domain.vector is not None:
        return columns == (domain.vector,)
    return domain.center.size == (columns if isinstance(columns, int) else len(columns))


def number_of(column: Column) -> NumberColumn | None:
    """Return a column as one of numbers, dates in days; None if it is one of categories."""
    if isinstance(column, CategoryColumn):
        return None
    return column.as_number if isinstance(column, DateColumn) else column


def edges_of(column: NumberColumn) -> FloatArray:
    """Return the ends of a column's ranges, in the user's units.

    Examples
    --------
    >>> edges_of(NumberColumn("share", 0, 1))[:4].tolist()
    [0.0, 0.1, 0.2, 0.3]
    """
    low, high = column.ends
    marks = low + (high - low) * np.arange(BINS + 1) / BINS
    edges = np.maximum.accumulate(column.units(marks))
    edges[[0, -1]] = column.lower, column.upper
    return edges


def labels_of(column: Column) -> tuple[str, ...]:
    """Return what the places of a column are called; the last is that of missing cells.

    Examples
    --------
    >>> labels_of(NumberColumn("age", 0, 120))[-2:]
    ('108 to 120', 'missing')
    """
    number = number_of(column)
    if number is None:
        assert isinstance(column, CategoryColumn)
        return (*column.levels, "missing")
    ends = [written(column, edge) for edge in edges_of(number)]
    return (*(f"{a} to {b}" for a, b in pairwise(ends)), "missing")


def written(column: Column, value: float, step: float = 0.0) -> str:
    """Return a number of a column as people write it, to about a `step`; a day as a date.

    Examples
    --------
    >>> from datetime import date
    >>> written(DateColumn("visit", date(1970, 1, 1), date(1971, 1, 1)), 31.4)
    '1970-02-01'
    >>> written(NumberColumn("income", 0, 1e6), 12345.678, 5.0)
    '12,345.7'
    """
    if isinstance(column, DateColumn):
        return str(np.datetime64(int(np.floor(value)), "D"))
    if step > 0:
        return f"{value:,.{max(0, min(12, 1 - math.floor(math.log10(step))))}f}"
    return f"{value:.6g}"


def place_in(column: Column, values: FloatArray | IntArray) -> FloatArray:
    """Return the place of each cell: of its level, given by number, or of its range.

    Examples
    --------
    >>> place_in(NumberColumn("age", 0, 120), np.array([12.0, 11.9, 999, np.nan])).tolist()
    [1.0, 0.0, 9.0, 10.0]
    """
    number = number_of(column)
    if number is None:
        last = len(labels_of(column)) - 1
        places: FloatArray = np.where(values < 0, last, values).astype(np.float64)
        return places
    found = np.searchsorted(edges_of(number)[1:-1], values, side="right")
    return np.where(np.isnan(values), BINS, found).astype(np.float64)


def value_in(column: NumberColumn, values: FloatArray) -> FloatArray:
    """Return how far each cell lies from the middle, in grid units; its bounds are ±2^25.

    Examples
    --------
    >>> (value_in(NumberColumn("age", 0, 120), np.array([90, 999, np.nan])) / GRID).tolist()
    [0.5, 1.0, 0.0]
    """
    apart = (column.features(values)[:, 0] - column.center) / column.reach
    whole = np.trunc(np.clip(apart, -1.0, 1.0) * GRID)
    return np.where(np.isnan(values), 0.0, whole)

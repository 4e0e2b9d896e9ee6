"""Rows as a profile reads them: what assigns them to a cluster, and notes on other columns.

A note on a category is which level a cell has, on a number or a date in which range it lies and
how far it is from the middle of its bounds. Each follows from its cell alone, by comparisons with
stored edges and single roundings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.domains.base import Domain
from privclust.domains.columns import Column
from privclust.domains.reader import CellReader, Use
from privclust.kernels.grid import GRID, FloatArray


@dataclass(frozen=True, eq=False)
class ProfileDomain(Domain, kind="profile"):
    """A domain whose rows carry notes on other columns behind their clustered coordinates.

    A row has the coordinates of `base` on its grid, one place for each of `columns`, and one
    value for each of them that is a number or a date: integers all of them.

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
    >>> from privclust.domains.box import Box
    >>> from privclust.domains.columns import CategoryColumn, NumberColumn
    >>> ward, income = CategoryColumn("ward", ("A", "B")), NumberColumn("income", 0, 1e5)
    >>> domain = ProfileDomain(Box([0], [120]), ("age",), (ward, income))
    >>> domain.names, domain.n_places, domain.center.size
    (('age', 'ward', 'income'), (3, 11), 4)
    """

    base: Domain
    clustered: tuple[str, ...]
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        declared = {column.name for column in self.columns}
        if self.base.noted or not 1 <= len(declared) == len(self.columns):
            raise ValueError(
                "a profile needs the domain of a model, and at least one column, with names that "
                "differ."
            )
        if not self.base.fits(self.clustered):
            raise ValueError("the domain of a model has other columns than those it clusters.")

    @property
    def center(self) -> FloatArray:
        """Zeros: rows are on the grid already."""
        return np.zeros(self.base.center.size + len(self.columns) + self.n_numbers)

    @property
    def half_widths(self) -> FloatArray:
        """The grid's own size, for each coordinate."""
        return np.full(self.center.size, float(GRID))

    @property
    def scales(self) -> FloatArray:
        """Ones: rows are on the grid already."""
        return np.ones(self.center.size)

    def describe(self, columns: Sequence[str] | None) -> list[tuple[str, list[str]]]:
        """Return the columns to profile with their bounds or levels."""
        return [column.describe() for column in self.columns]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        profiled = (column.name for column in self.columns)
        return tuple(dict.fromkeys((*self.clustered, *profiled)))

    @property
    def uses(self) -> Mapping[str, Use]:
        """What the clustered columns are declared as."""
        return {name: self.base.uses.get(name, "number") for name in self.clustered}

    @property
    def model_domain(self) -> Domain:
        """The domain of the clustered coordinates."""
        return self.base

    @property
    def noted(self) -> tuple[Column, ...]:
        """The columns to profile."""
        return self.columns

    def clustered_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the columns that the model clusters."""
        return self.clustered

    def fits(self, columns: tuple[str, ...] | int) -> bool:
        """Tell whether these are the columns that are read, in their order."""
        return columns == self.names

    def extreme_cells(self, name: str) -> tuple[Use, list[Any]]:
        """Return cells of a column to profile, or of one that is clustered."""
        for column in self.columns:
            if column.name == name and name not in self.base.vector_lengths:
                return column.use, column.extreme_cells()
        return self.base.extreme_cells(name)

    def encode(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Refuse rows without names: notes are on columns by name."""
        raise TypeError("a profile reads columns by name. Give a table that has names.")

    def read_to_grid(self, cells: CellReader, columns: Sequence[str] | None) -> FloatArray:
        """Return rows on the grid, and their notes behind them, each row alone."""
        clustered = self.base.read(cells, self.clustered)
        notes = [column.notes(cells) for column in self.columns]
        places = [place for place, _ in notes]
        values = [value for _, value in notes if value is not None]
        return np.column_stack([self.base.to_grid(clustered), *places, *values])

"""Declared columns: numbers, dates and categories, and the rule that reads a cell of each.

A column turns each of its cells into one or more numbers, its features, by a public rule that looks
at the cell alone. Categories become one feature a level, 1 where the cell has it and 0 elsewhere.
In a profile a cell has a place, its level or the range in which it lies, and a number or a date
also a value, how far it is from the middle of its bounds. A missing cell has a place of its own,
after all others, and there the value 0. As a feature it counts as the value that is declared for
missing cells, or else as the middle.
"""

from __future__ import annotations

from typing import TypeAlias

from privclust.domains._category_column import LEVELS_MAX, OTHER, CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import (
    BINS,
    EXTREME_NUMBERS,
    WEIGHT_MAX,
    WEIGHT_MIN,
    NumberColumn,
    Transform,
)

__all__ = [
    "BINS",
    "COLUMNS",
    "EXTREME_NUMBERS",
    "LEVELS_MAX",
    "OTHER",
    "WEIGHT_MAX",
    "WEIGHT_MIN",
    "CategoryColumn",
    "Column",
    "DateColumn",
    "NumberColumn",
    "Transform",
]

Column: TypeAlias = NumberColumn | DateColumn | CategoryColumn
COLUMNS: tuple[type[Column], ...] = (NumberColumn, DateColumn, CategoryColumn)
"""Every kind that may be declared."""

"""Columns as a bounds file declares them: numbers, categories and dates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np

from privclust.domains.mixed import (
    LEVELS_MAX,
    WEIGHT_MAX,
    WEIGHT_MIN,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
    Transform,
)
from privclust.errors import BoundsError, shown

_TRANSFORMS: tuple[Transform, ...] = ("none", "log", "log1p")


def declared_column(name: str, content: Mapping[str, Any]) -> Column:
    """Return the column that a part of a bounds file declares.

    Examples
    --------
    >>> declared_column("ward", {"type": "category", "levels": ["A", "B"]})
    CategoryColumn(name='ward', levels=('A', 'B'), weight=1.0)
    """
    declare = _KINDS.get(str(content.get("type")))
    if declare is None:
        raise BoundsError(
            f"column {name!r} of the bounds file has type {shown(content.get('type'))}. Declare "
            f"one of {', '.join(map(repr, _KINDS))}, or leave the column out of the file, and of a "
            "table in memory."
        )
    try:
        return declare(name, content)
    except ValueError as error:
        cause = str(error)
    raise BoundsError(cause)


def declaration(column: Column) -> dict[str, Any]:
    """Return what a bounds file would say to declare a column, with its name.

    Examples
    --------
    >>> content = declaration(CategoryColumn("ward", ("A", "B")))
    >>> content
    {'name': 'ward', 'type': 'category', 'levels': ['A', 'B'], 'weight': 1.0}
    >>> declared_column(content["name"], content)
    CategoryColumn(name='ward', levels=('A', 'B'), weight=1.0)
    """
    fields = {name: getattr(column, name) for name in column.__dataclass_fields__ if name != "use"}
    if isinstance(column, CategoryColumn):
        fields["levels"] = list(column.levels)
    return {"name": fields.pop("name"), "type": column.use, **fields}


def pair_of(name: str, pair: object) -> tuple[float, float]:
    """Return a lower and an upper bound that a user typed."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise BoundsError(
            f"bounds of column {name!r} must be a pair (lower, upper), got {shown(pair)}. Type "
            "two numbers, such as (0, 120)."
        )
    lower, upper = _number(name, "lower bound", pair[0]), _number(name, "upper bound", pair[1])
    if not -math.inf < lower < upper < math.inf:
        raise BoundsError(
            f"bounds of column {name!r} must be two finite numbers, the lower below the upper; got "
            f"{lower:g} and {upper:g}. Swap them if they are exchanged; where no bound is known, "
            "type one that no value can pass."
        )
    return lower, upper


def _number_column(name: str, content: Mapping[str, Any]) -> NumberColumn:
    lower, upper = pair_of(name, (content.get("lower"), content.get("upper")))
    transform = content.get("transform", "none")
    if transform not in _TRANSFORMS:
        raise BoundsError(
            f"the transform of column {name!r} must be one of "
            f"{', '.join(map(repr, _TRANSFORMS))}, got {shown(transform)}."
        )
    if (transform == "log" and lower <= 0) or (transform == "log1p" and lower <= -1):
        raise BoundsError(
            f"column {name!r} has no logarithm at its lower bound, {lower:g}. Type a lower bound "
            "above 0, or transform = 'log1p', the logarithm of one more, and one above -1."
        )
    return NumberColumn(name, lower, upper, _weight(name, content), transform)


def _category_column(name: str, content: Mapping[str, Any]) -> CategoryColumn:
    levels = content.get("levels")
    if not isinstance(levels, list) or not 2 <= len(levels) <= LEVELS_MAX:
        raise BoundsError(
            f"column {name!r} needs levels, from 2 to {LEVELS_MAX:,} of them, such as "
            "levels = ['A', 'B', 'other']; got " + shown(levels) + "."
        )
    if not all(isinstance(level, str | int) for level in levels):
        raise BoundsError(f"the levels of column {name!r} must be texts or whole numbers.")
    texts = tuple(str(level).lower() if isinstance(level, bool) else str(level) for level in levels)
    if len(set(texts)) < len(texts):
        raise BoundsError(f"the levels of column {name!r} must differ. Leave out what is repeated.")
    return CategoryColumn(name, texts, _weight(name, content))


def _date_column(name: str, content: Mapping[str, Any]) -> DateColumn:
    lower, upper = (_date(name, side, content.get(side)) for side in ("lower", "upper"))
    if not lower < upper:
        raise BoundsError(
            f"the first day of column {name!r}, {lower}, must lie before its last, {upper}."
        )
    return DateColumn(name, lower, upper, _weight(name, content))


_KINDS: dict[str, Callable[[str, Mapping[str, Any]], Column]] = {
    "number": _number_column,
    "category": _category_column,
    "date": _date_column,
}


def _weight(name: str, content: Mapping[str, Any]) -> float:
    weight = _number(name, "weight", content.get("weight", 1.0))
    if not WEIGHT_MIN <= weight <= WEIGHT_MAX:
        raise BoundsError(
            f"the weight of column {name!r} must lie between 1e-6 and 1e6, got {weight:g}. "
            "1 counts a column as much as others; leave it out if it should not count."
        )
    return weight


def _date(name: str, side: str, value: object) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise BoundsError(
        f"the {side} bound of column {name!r} must be a day such as 2024-12-31, without quotes and "
        f"time; got {shown(value)}."
    )


def _number(name: str, what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise BoundsError(
            f"the {what} of column {name!r} must be a number, got {shown(value)}. Type one without "
            "quotes."
        )
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf

"""Bounds as users give them: by column name, as two arrays, or in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privclust.domains._number_column import NumberColumn
from privclust.domains._pair_readings import pairs_instead, warn_of_pairs
from privclust.domains.base import Domain
from privclust.domains.bounds_file import (
    ORIGIN,
    ORIGINS,
    blanks_of,
    declared_column,
    describe_blanks,
    pair_of,
    read_file,
)
from privclust.domains.box import Box
from privclust.domains.columns import Column
from privclust.domains.mixed import Mixed
from privclust.errors import BoundsError, ColumnError, did_you_mean, safe_repr

Declarations: TypeAlias = (
    Mapping[str, tuple[float, float] | Mapping[str, Any] | str] | str | os.PathLike[str]
)
"""Bounds by name, for columns of any kind: in a file, or as a mapping says what it would."""

Bounds: TypeAlias = Declarations | tuple[ArrayLike, ArrayLike]

NAMES_LISTED = 20
UNSTATED = "typed at the call; where they come from was not stated"
SERVER_DATA = "public data of the server"
NOT_NEEDED = "none are needed: rows count by their direction alone"
KNOWN_ORIGINS = (*ORIGINS, UNSTATED, SERVER_DATA, NOT_NEEDED)
"""All that a statement may say of where bounds come from."""


class BoundedColumns(dict[str, Mapping[str, Any]]):
    """Columns of a bounds file, which still say where their bounds come from.

    Examples
    --------
    >>> bounds = BoundedColumns({"age": {"type": "number", "lower": 0, "upper": 120}}, ORIGINS[0])
    >>> read_bounds(bounds, ["age"], 1).origin
    'domain knowledge'
    """

    def __init__(self, columns: Mapping[str, Mapping[str, Any]], origin: str) -> None:
        super().__init__(columns)
        self.origin = origin

    def only(self, names: Iterable[str]) -> BoundedColumns:
        """Return some of the columns."""
        return BoundedColumns({name: self[name] for name in names}, self.origin)


@dataclass(frozen=True, eq=False)
class GivenBounds:
    """What columns may hold, and where the user says that their bounds come from."""

    domain: Domain
    origin: str


def read_bounds(bounds: Bounds, names: Sequence[str] | None, n_columns: int) -> GivenBounds:
    """Return the domain that `bounds` describe for a table of these columns.

    Parameters
    ----------
    bounds : mapping, pair of arrays, or path
        ``{"age": (0, 120)}``, ``([0], [120])``, or a TOML file (docs/bounds.md). A mapping may also
        say of a column what the file would: ``{"type": "category", "levels": ["A", "B"]}``, or
        ``{"type": "number", "lower": 12, "upper": 60, "missing": 25}``; and so of where all of them
        come from, ``"bounds_origin": "domain knowledge"``.
    names : sequence of str or None
        The table's column names, where it has any.
    n_columns : int
        How many columns the table has.

    Examples
    --------
    >>> read_bounds({"age": (0, 120)}, ["age"], 1).domain.center.tolist()
    [60.0]
    """
    given, origin = _by_name(bounds)
    if given is not None:
        return GivenBounds(_declared_domain(given, names), origin)
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise TypeError(
            "bounds must be a mapping from column name to (lower, upper), a tuple of two arrays "
            "(all lower values, all upper values) and not one pair per column, or the path of a "
            "bounds file."
        )
    instead = pairs_instead(bounds, names) if n_columns == 2 else ""
    box = _box(*(_side(side, n_columns) for side in bounds), instead=instead)
    if box.lower.size != n_columns:
        raise BoundsError(
            f"bounds are given for {box.lower.size} columns, X has {n_columns}. "
            "Give one lower and one upper value per column."
        )
    if n_columns == 2:
        warn_of_pairs(bounds, names)
    return GivenBounds(box, UNSTATED)


def bounded_columns(bounds: Bounds | None) -> dict[str, Any] | None:
    """Return the columns that bounds name and what they are declared as, or None if they name none.

    Examples
    --------
    >>> bounded_columns({"age": (0, 120)})
    {'age': 'number'}
    """
    given, _ = _by_name(bounds)
    if given is None:
        return None
    # Days and levels that were typed for numbers are known for such before the table is looked at.
    _check_pairs({name: one for name, one in given.items() if not isinstance(one, Mapping)})
    return {
        name: column.get("type") if isinstance(column, Mapping) else "number"
        for name, column in given.items()
    }


def declared_columns(bounds: Declarations, names: Sequence[str]) -> tuple[tuple[Column, ...], str]:
    """Return columns by name as they are declared, and where the user says that bounds come from.

    Parameters
    ----------
    bounds : mapping or path
        A bounds file, or what it would say: from a column's name to a pair of bounds, or to a
        mapping with its type and levels or bounds.
    names : sequence of str
        The columns, in the order in which they are wanted.

    Examples
    --------
    >>> ward = {"type": "category", "levels": ["A", "B"]}
    >>> columns, _ = declared_columns({"age": (0, 120), "ward": ward}, ["ward"])
    >>> columns[0].feature_names
    ('ward=A', 'ward=B')
    """
    given, origin = _by_name(bounds)
    if given is None:
        raise TypeError(
            "bounds of columns to profile must be the path of a bounds file, or a mapping from a "
            "column's name to (lower, upper), or to what a bounds file says of it."
        )
    unknown = [name for name in names if name not in given]
    if unknown or len(set(names)) < len(names) or not names:
        raise ColumnError(
            "columns must be one or more different names that bounds declare; got "
            f"{_quoted(names)}, and bounds for {_quoted(given)}. Declare what is missing."
            f"{did_you_mean(unknown, given)}"
        )
    return tuple(_declared_each(given, names)), origin


def _by_name(bounds: object) -> tuple[Mapping[str, Any] | None, str]:
    """Return what bounds say of each column they name, if they do, and where they come from."""
    if isinstance(bounds, str | os.PathLike):
        return read_file(Path(bounds))
    if isinstance(bounds, BoundedColumns):
        return bounds, bounds.origin
    if not isinstance(bounds, Mapping):
        return None, UNSTATED
    origin = bounds.get(ORIGIN)
    if not isinstance(origin, str):  # no column is declared by a text
        return bounds, UNSTATED
    if origin not in ORIGINS:
        raise BoundsError(
            f"{ORIGIN!r} in bounds must be one of {', '.join(map(repr, ORIGINS))}; got "
            f"{safe_repr(origin)}."
        )
    return {name: column for name, column in bounds.items() if name != ORIGIN}, origin


def _quoted(names: Iterable[object]) -> str:
    some = list(islice(names, NAMES_LISTED + 1))
    texts = [safe_repr(name) for name in some[:NAMES_LISTED]] + ["…"] * (len(some) > NAMES_LISTED)
    return ", ".join(texts) or "none"


def _declared(name: str, given: object) -> Column:
    if isinstance(given, Mapping):
        return declared_column(name, given)
    lower, upper = pair_of(name, given)
    return declared_column(name, {"type": "number", "lower": lower, "upper": upper})


def _check_pairs(given: Mapping[str, object]) -> None:
    """Say of all columns at once which are no pairs of numbers."""
    wrong = []
    for name, pair in given.items():
        try:
            pair_of(name, pair)
        except BoundsError as error:
            wrong.append(str(error))
    if wrong:
        raise BoundsError(" ".join(wrong))


def _declared_each(given: Mapping[str, object], names: Iterable[str]) -> list[Column]:
    """Return columns as they are declared, or say of all at once what is wrong with them."""
    columns, wrong, blank = [], [], {}
    for name in names:
        if blanks_of(given[name]):
            blank[name] = given[name]
            continue
        try:
            columns.append(_declared(name, given[name]))
        except BoundsError as error:
            wrong.append(str(error))
    if blank:
        wrong.append(
            f"bounds are incomplete.{describe_blanks(blank)} Fill in what no value can pass, from "
            "knowledge of the field; delete columns that should not be used."
        )
    if wrong:
        raise BoundsError(" ".join(wrong))
    return columns


def _declared_domain(given: Mapping[str, object], names: Sequence[str] | None) -> Domain:
    ordered = _ordered(list(given), names)
    if not any(isinstance(given[name], Mapping) for name in ordered):
        pairs = [pair_of(name, given[name]) for name in ordered]
        return _box(*zip(*pairs, strict=True))
    columns = _declared_each(given, ordered)
    return _plain(columns) or Mixed(tuple(columns))


def _plain(columns: Sequence[Column]) -> Box | None:
    """Return the box that columns make which are all plain numbers, missing ones at the middle."""
    numbers = [
        one
        for one in columns
        if isinstance(one, NumberColumn) and one.transform == "none" and one.missing is None
    ]
    if len(numbers) < len(columns):
        return None
    sides = [(column.lower, column.upper, column.weight) for column in numbers]
    return _box(*zip(*sides, strict=True))


def _ordered(given: list[str], names: Sequence[str] | None) -> Sequence[str]:
    if names is None:
        raise TypeError(
            "bounds by column name need a table with column names. Give a DataFrame, or bounds as "
            "two arrays."
        )
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        raise ColumnError(
            f"columns without bounds: {missing or 'none'}; bounds without a column: "
            f"{unknown or 'none'}. Give bounds for each column of the table and no others."
            f"{did_you_mean(unknown, missing)}"
        )
    return names


def _side(given: ArrayLike, n_columns: int) -> ArrayLike:
    """Return one value per column; a single one is that of all."""
    try:
        return np.broadcast_to(given, n_columns) if np.ndim(given) == 0 else given
    except ValueError:
        cause = (
            "bounds need one number per column, and some of these are lists of another length. "
            "Type all lower values, then all upper values, such as ([0, 60], [120, 240])."
        )
    raise BoundsError(cause)


def _box(*sides: ArrayLike, instead: str = "") -> Box:
    """Return a box; what is wrong with it is said with how else its sides can be read."""
    try:
        return Box(*sides)
    except ValueError as error:
        cause = str(error) + instead
    raise BoundsError(cause)

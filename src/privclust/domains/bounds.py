"""Bounds as users give them: by column name, as two arrays, or in a file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privclust._files import read_regular
from privclust.domains._declared import declared_column, pair_of
from privclust.domains.base import Box
from privclust.domains.mixed import Column, Mixed, NumberColumn
from privclust.errors import BoundsError, ColumnError, shown

Bounds: TypeAlias = (
    Mapping[str, tuple[float, float]] | tuple[ArrayLike, ArrayLike] | str | os.PathLike[str]
)

Declarations: TypeAlias = (
    Mapping[str, tuple[float, float] | Mapping[str, Any]] | str | os.PathLike[str]
)
"""Bounds by name, for columns of any kind."""

PRIVATE_RELEASE = "private release"
ORIGINS = ("domain knowledge", "public data", PRIVATE_RELEASE)
NAMES_SHOWN = 20
BYTES_MAX = 2**26
"""What a bounds file may have, which is enough for hundreds of thousands of columns."""
UNSTATED = "typed at the call; where they come from was not stated"
SERVER_DATA = "public data of the server"
NOT_NEEDED = "none are needed: rows count by their direction alone"
KNOWN_ORIGINS = (*ORIGINS, UNSTATED, SERVER_DATA, NOT_NEEDED)
"""All that a statement may say of where bounds come from."""


@dataclass(frozen=True, eq=False)
class GivenBounds:
    """What columns may hold, and where the user says that their bounds come from."""

    domain: Box | Mixed
    origin: str


def read_bounds(bounds: Bounds, names: Sequence[str] | None, n_columns: int) -> GivenBounds:
    """Return the domain that `bounds` describe for a table of these columns.

    Parameters
    ----------
    bounds : mapping, pair of arrays, or path
        ``{"age": (0, 120)}``, ``([0], [120])``, or a TOML file (docs/bounds.md).
    names : sequence of str or None
        The table's column names, where it has any.
    n_columns : int
        How many columns the table has.

    Examples
    --------
    >>> read_bounds({"age": (0, 120)}, ["age"], 1).domain.center.tolist()
    [60.0]
    """
    if isinstance(bounds, str | os.PathLike):
        return _from_file(Path(bounds), names)
    if isinstance(bounds, Mapping):
        _check_pairs(bounds)
        pairs = [pair_of(name, bounds[name]) for name in _ordered(list(bounds), names)]
        return GivenBounds(_box(*zip(*pairs, strict=True)), UNSTATED)
    if not isinstance(bounds, tuple) or len(bounds) != 2:  # type: ignore[redundant-expr]
        raise TypeError(
            "bounds must be a mapping from column name to (lower, upper), a tuple of two arrays "
            "(all lower values, all upper values) and not one pair per column, or the path of a "
            "bounds file."
        )
    box = _box(
        *(np.broadcast_to(side, n_columns) if np.ndim(side) == 0 else side for side in bounds)
    )
    if box.lower.size != n_columns:
        raise BoundsError(
            f"bounds are given for {box.lower.size} columns, X has {n_columns}. "
            "Give one lower and one upper value per column."
        )
    return GivenBounds(box, UNSTATED)


def bounded_columns(bounds: Bounds | None) -> dict[str, Any] | None:
    """Return the columns that bounds name and what they are declared as, or None if they name none.

    Examples
    --------
    >>> bounded_columns({"age": (0, 120)})
    {'age': 'number'}
    """
    if isinstance(bounds, Mapping):
        _check_pairs(bounds)
        return dict.fromkeys(bounds, "number")
    if isinstance(bounds, str | os.PathLike):
        columns = _content(Path(bounds)).get("columns", {})
        return {name: column.get("type") for name, column in columns.items()}
    return None


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
    given, origin = bounds, UNSTATED
    if isinstance(given, str | os.PathLike):
        content = _content(Path(given))
        given, origin = content.get("columns", {}), content["bounds_origin"]
    if not isinstance(given, Mapping):
        raise TypeError(
            "bounds of columns to profile must be the path of a bounds file, or a mapping from a "
            "column's name to (lower, upper), or to what a bounds file says of it."
        )
    unknown = [name for name in names if name not in given]
    if unknown or len(set(names)) < len(names) or not names:
        raise ColumnError(
            "columns must be one or more different names that bounds declare; got "
            f"{_quoted(names)}, and bounds for {_quoted(given)}. Declare what is missing."
        )
    return tuple(_declared(name, given[name]) for name in names), origin


def _check_pairs(bounds: Mapping[str, object]) -> None:
    declared = [name for name, given in bounds.items() if isinstance(given, Mapping)]
    if declared:
        raise BoundsError(
            f"bounds of {_quoted(declared)} are more than a pair (lower, upper). In a fit a "
            "mapping cannot declare categories, dates or transforms. Declare all columns in a "
            "bounds file, which 'privclust bounds init' begins, and give its path (docs/bounds.md)."
        )


def _quoted(names: Iterable[object]) -> str:
    some = list(islice(names, NAMES_SHOWN + 1))
    texts = [shown(name) for name in some[:NAMES_SHOWN]] + ["…"] * (len(some) > NAMES_SHOWN)
    return ", ".join(texts) or "none"


def _declared(name: str, given: object) -> Column:
    if isinstance(given, Mapping):
        return declared_column(name, given)
    lower, upper = pair_of(name, given)
    return declared_column(name, {"type": "number", "lower": lower, "upper": upper})


def _content(file: Path) -> dict[str, Any]:
    text = _text(file)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BoundsError(
            f"the bounds file {file.name!r} is not valid TOML: {_toml_fault(error)}."
        ) from None
    origin = content.get("bounds_origin")
    if origin not in ORIGINS:
        raise BoundsError(
            f"the bounds file {file.name!r} must say where its bounds come from: "
            f"bounds_origin = one of {', '.join(map(repr, ORIGINS))}; got {origin!r}."
        )
    columns = content.get("columns", {})
    if not (isinstance(columns, dict) and all(isinstance(one, dict) for one in columns.values())):
        raise BoundsError(
            f"in the bounds file {file.name!r} each column needs a part of its own, such as "
            "[columns.'age'] with type, lower and upper."
        )
    return content


def _text(file: Path) -> str:
    try:
        return read_regular(file, BYTES_MAX).decode("utf-8")
    except OSError:
        wrong = "cannot be read. Check its path and your rights to it"
    except UnicodeDecodeError:
        wrong = "is not written in UTF-8"
    except ValueError as error:
        wrong = f"cannot be read: {error}. Name a file that 'privclust bounds init' wrote"
    raise BoundsError(f"the bounds file {file.name!r} {wrong}.")


def _toml_fault(error: Exception) -> str:
    if isinstance(error, tomllib.TOMLDecodeError):
        return str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "a number has too many digits, or a date is none"


def _from_file(file: Path, names: Sequence[str] | None) -> GivenBounds:
    content = _content(file)
    given: dict[str, dict[str, Any]] = content.get("columns", {})
    columns = [declared_column(name, given[name]) for name in _ordered(list(given), names)]
    return GivenBounds(_plain(columns) or Mixed(tuple(columns)), content["bounds_origin"])


def _plain(columns: Sequence[Column]) -> Box | None:
    """Return the box that columns make which are all numbers on plain scales."""
    numbers = [one for one in columns if isinstance(one, NumberColumn) and one.transform == "none"]
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
        )
    return names


def _box(*sides: ArrayLike) -> Box:
    try:
        return Box(*sides)
    except ValueError as error:
        cause = str(error)
    raise BoundsError(cause)

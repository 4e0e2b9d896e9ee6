"""Bounds as users give them: by column name, as two arrays, or in a file."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privclust.domain import Box
from privclust.errors import BoundsError, ColumnError, shown

Bounds: TypeAlias = (
    Mapping[str, tuple[float, float]] | tuple[ArrayLike, ArrayLike] | str | os.PathLike[str]
)

ORIGINS = ("domain knowledge", "public data", "private release")
UNSTATED = "typed at the call; where they come from was not stated"


@dataclass(frozen=True, eq=False)
class GivenBounds:
    """A box, and where the user says its bounds come from."""

    box: Box
    origin: str


def read_bounds(bounds: Bounds, names: Sequence[str] | None, n_columns: int) -> GivenBounds:
    """Return the box that `bounds` describe for a table of these columns.

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
    >>> read_bounds({"age": (0, 120)}, ["age"], 1).box.center.tolist()
    [60.0]
    """
    if isinstance(bounds, str | os.PathLike):
        return _from_file(Path(bounds), names)
    if isinstance(bounds, Mapping):
        pairs = [_pair(name, bounds[name]) for name in _ordered(list(bounds), names)]
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


def bounded_columns(bounds: Bounds | None) -> tuple[str, ...] | None:
    """Return the columns that bounds name, or None if they name none.

    Examples
    --------
    >>> bounded_columns({"age": (0, 120)})
    ('age',)
    """
    if isinstance(bounds, Mapping):
        return tuple(bounds)
    if isinstance(bounds, str | os.PathLike):
        return tuple(_content(Path(bounds)).get("columns", {}))
    return None


def _content(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise BoundsError(
            f"the bounds file {file.name!r} cannot be read. Check its path and your rights to it."
        ) from None
    except UnicodeDecodeError:
        raise BoundsError(f"the bounds file {file.name!r} is not written in UTF-8.") from None
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


def _toml_fault(error: Exception) -> str:
    if isinstance(error, tomllib.TOMLDecodeError):
        return str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "a number has too many digits, or a date is none"


def _from_file(file: Path, names: Sequence[str] | None) -> GivenBounds:
    content = _content(file)
    columns: dict[str, dict[str, Any]] = content.get("columns", {})
    rows = [_number_column(name, columns[name]) for name in _ordered(list(columns), names)]
    return GivenBounds(_box(*zip(*rows, strict=True)), content["bounds_origin"])


def _number_column(name: str, column: dict[str, Any]) -> tuple[float, float, float]:
    if column.get("type") != "number":
        raise BoundsError(
            f"column {name!r} of the bounds file has type {column.get('type')!r}; only "
            "type = 'number' can be clustered so far. Leave the column out of "
            "the file, and of a table in memory."
        )
    lower, upper = _pair(name, (column.get("lower"), column.get("upper")))
    return lower, upper, _number(name, "weight", column.get("weight", 1.0))


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


def _pair(name: str, pair: object) -> tuple[float, float]:
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

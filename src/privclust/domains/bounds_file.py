"""Bounds files, and columns as they declare them: numbers, categories and dates."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np

from privclust._files import read_regular
from privclust.domains._category_column import LEVELS_MAX, CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._date_format import ISO, day_pattern
from privclust.domains._number_column import WEIGHT_MAX, WEIGHT_MIN, NumberColumn, Transform
from privclust.domains._number_text import plain
from privclust.domains.columns import Column
from privclust.errors import BoundsError, did_you_mean, safe_repr

ORIGIN = "bounds_origin"
PRIVATE_RELEASE = "private release"
ORIGINS = ("domain knowledge", "public data", PRIVATE_RELEASE)
"""Where bounds may say that they come from."""
MISSING = "missing"
"""What numbers and dates declare as the value for missing cells."""
BYTES_MAX = 2**26
"""What a bounds file may have, which is enough for hundreds of thousands of columns."""
_NEEDED = {
    "number": ("lower", "upper"),
    "category": ("levels",),
    "date": ("lower", "upper"),
}
"""What a column of each type must declare."""
_TRANSFORMS: tuple[Transform, ...] = ("none", "log", "log1p")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DOTTED = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})", re.ASCII)
LEVELS_SHOWN = 5
"""Levels of a category that a message repeats."""


def read_file(file: Path) -> tuple[dict[str, dict[str, Any]], str]:
    """Return what a bounds file says of each column, and where its bounds come from."""
    text = _text(file)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BoundsError(
            f"the bounds file {file.name!r} is not valid TOML: {_toml_fault(error)}. Days are "
            "written like 2025-12-31, numbers like 500000 or 0.5, and texts in quotes."
        ) from None
    origin = content.get(ORIGIN)
    if origin not in ORIGINS:
        raise BoundsError(
            f"the bounds file {file.name!r} must say where its bounds come from: "
            f"{ORIGIN} = one of {', '.join(map(repr, ORIGINS))}; got {origin!r}."
            f"{describe_blanks(content.get('columns'))}"
        )
    columns = content.get("columns", {})
    if not (isinstance(columns, dict) and all(isinstance(one, dict) for one in columns.values())):
        raise BoundsError(
            f"in the bounds file {file.name!r} each column needs a part of its own, such as "
            "[columns.'age'] with type, lower and upper."
        )
    return columns, origin


def blanks_of(content: object) -> tuple[str, ...]:
    """Return what a part of a bounds file leaves to fill in, as a template does.

    Examples
    --------
    >>> blanks_of({"type": "number", "lower": 0}), blanks_of({"type": "category"})
    (('upper',), ('levels',))
    """
    if not isinstance(content, Mapping) or _unknown_keys(content):
        return ()  # what is misspelt is not missing
    return tuple(name for name in _NEEDED.get(str(content.get("type")), ()) if name not in content)


def _unknown_keys(content: Mapping[str, Any]) -> list[str]:
    """Return what a column declares that its type does not take."""
    known = _KEYS.get(str(content.get("type")))
    return [] if known is None else [key for key in content if key not in known]


def describe_blanks(columns: object) -> str:
    """Return which columns are not filled in, as a sentence to add to another; "" if all are.

    Examples
    --------
    >>> describe_blanks({"age": {"type": "number"}, "ward": {"type": "category"}})
    " Not filled in: 'age' (lower, upper), 'ward' (levels)."
    """
    given = columns if isinstance(columns, Mapping) else {}
    found = [(name, blanks_of(content)) for name, content in given.items()]
    listed = [f"{safe_repr(name)} ({', '.join(blanks)})" for name, blanks in found if blanks]
    return f" Not filled in: {', '.join(listed)}." if listed else ""


def declared_column(name: str, content: Mapping[str, Any]) -> Column:
    """Return the column that a part of a bounds file declares.

    Examples
    --------
    >>> declared_column("ward", {"type": "category", "levels": ["A", "B"]})
    CategoryColumn(name='ward', levels=('A', 'B'), weight=1.0)
    """
    kind = content.get("type")
    declare = _KINDS.get(kind) if isinstance(kind, str) else None
    if not isinstance(kind, str) or declare is None:
        given = "no 'type'" if kind is None else f"type {safe_repr(kind)}"
        raise BoundsError(
            f"column {name!r} of the bounds has {given}. Declare one of "
            f"{', '.join(map(repr, _KINDS))}, or leave the column out of the bounds."
            f"{did_you_mean([kind], _KINDS)}"
        )
    unknown = _unknown_keys(content)
    if kind == "category" and MISSING in unknown:
        raise BoundsError(
            f"column {name!r} of the bounds has {MISSING!r}, which numbers and dates take. A "
            "missing category counts as equal shares of its levels. If it should count as a level, "
            "write that level into all missing cells of the table, such as 'unknown', and declare "
            "it among 'levels'."
        )
    if unknown:
        raise BoundsError(
            f"column {name!r} of the bounds has {safe_repr(unknown[0])}, which a {kind} does not "
            f"take. It takes {', '.join(map(repr, _KEYS[kind]))}."
            f"{did_you_mean(unknown, _KEYS[kind])}"
        )
    try:
        return declare(name, content)
    except ValueError as error:
        cause = str(error)
    raise BoundsError(cause)


def column_from_dict(content: Mapping[str, Any]) -> Column:
    """Return the column of which a model or profile file holds what is declared.

    Examples
    --------
    >>> column = CategoryColumn("ward", ("A", "B"))
    >>> column.to_dict()
    {'name': 'ward', 'type': 'category', 'levels': ['A', 'B'], 'weight': 1.0}
    >>> column_from_dict(column.to_dict()) == column
    True
    """
    declared = {key: value for key, value in content.items() if key != "name"}
    return declared_column(content["name"], declared)


def pair_of(name: str, pair: object) -> tuple[float, float]:
    """Return a lower and an upper bound that a user typed."""
    if isinstance(pair, tuple | list) and pair and all(map(_is_no_number, pair)):
        raise BoundsError(f"bounds of column {name!r} are {_declared_instead(name, pair)}")
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise BoundsError(
            f"bounds of column {name!r} must be a pair (lower, upper), got {safe_repr(pair)}. Type "
            "two numbers, such as (0, 120)."
        )
    lower, upper = _number(name, "lower bound", pair[0]), _number(name, "upper bound", pair[1])
    if not -math.inf < lower < upper < math.inf:
        raise BoundsError(
            f"bounds of column {name!r} must be two finite numbers, the lower below the upper; got "
            f"{plain(lower)} and {plain(upper)}. Swap them if they are exchanged; where none is "
            "known, type one that no value can pass."
        )
    return lower, upper


def _declared_instead(name: str, pair: Sequence[object]) -> str:
    """Say how a column is declared of which no numbers were typed."""
    days = [_day(value) or _written_otherwise(value) for value in pair]
    if len(days) == 2 and days[0] and days[1]:
        lower, upper = (day.isoformat() for day in days if day)
        declared = {name: {"type": "date", "lower": lower, "upper": upper}}
        return f"days. Declare them as {declared}."
    some = [*pair[:LEVELS_SHOWN], *(["..."] if len(pair) > LEVELS_SHOWN else [])]
    levels = ", ".join(map(safe_repr, some))
    return (
        f"texts. A category is declared as {{{name!r}: {{'type': 'category', 'levels': [{levels}]"
        "}}, days as {'type': 'date', 'lower': '2020-01-01', 'upper': '2029-12-31'}, and a number "
        "as a pair such as (0, 120)."
    )


def _is_no_number(value: object) -> bool:
    """Tell whether a value is a day, or a text that no number is written as."""
    if isinstance(value, date):
        return True
    try:
        return isinstance(value, str) and not math.isfinite(float(value))
    except ValueError:
        return True


def _number_column(name: str, content: Mapping[str, Any]) -> NumberColumn:
    lower, upper = pair_of(name, (content.get("lower"), content.get("upper")))
    transform = content.get("transform", "none")
    if transform not in _TRANSFORMS:
        raise BoundsError(
            f"the transform of column {name!r} must be one of "
            f"{', '.join(map(repr, _TRANSFORMS))}, got {safe_repr(transform)}."
            f"{did_you_mean([transform], _TRANSFORMS)}"
        )
    if (transform == "log" and lower <= 0) or (transform == "log1p" and lower <= -1):
        raise BoundsError(
            f"column {name!r} has no logarithm at its lower bound, {plain(lower)}. Type a lower "
            "bound above 0, or transform = 'log1p', the logarithm of one more, and one above -1."
        )
    missing = content.get(MISSING)
    if missing is not None:
        missing = _number(name, "value for missing cells", missing)
    return NumberColumn(name, lower, upper, _weight(name, content), transform, missing)


def _category_column(name: str, content: Mapping[str, Any]) -> CategoryColumn:
    levels = content.get("levels")
    if not isinstance(levels, list | tuple) or not 2 <= len(levels) <= LEVELS_MAX:
        raise BoundsError(
            f"column {name!r} needs levels, from 2 to {LEVELS_MAX:,} of them, such as "
            f"levels = ['A', 'B', 'other'], a list that you type; got {_counted(levels)}."
        )
    if not all(isinstance(level, str | int) for level in levels):
        raise BoundsError(f"the levels of column {name!r} must be texts or integers.")
    texts = tuple(str(level).lower() if isinstance(level, bool) else str(level) for level in levels)
    if len(set(texts)) < len(texts):
        raise BoundsError(f"the levels of column {name!r} must differ. Leave out what is repeated.")
    return CategoryColumn(name, texts, _weight(name, content))


def _counted(levels: object) -> str:
    return f"{len(levels):,}" if isinstance(levels, list | tuple) else safe_repr(levels)


def _date_column(name: str, content: Mapping[str, Any]) -> DateColumn:
    lower, upper = (_date(name, f"{side} bound", content.get(side)) for side in ("lower", "upper"))
    if not lower < upper:
        raise BoundsError(
            f"the first day of column {name!r}, {lower}, must lie before its last, {upper}."
        )
    form, missing = content.get("format", ISO), content.get(MISSING)
    if missing is not None:
        missing = _date(name, "value for missing cells", missing)
    try:
        day_pattern(form)
    except ValueError as error:
        cause = str(error)
    else:
        return DateColumn(name, lower, upper, _weight(name, content), form, missing)
    raise BoundsError(f"of column {name!r}, {cause}")


_KINDS: dict[str, Callable[[str, Mapping[str, Any]], Column]] = {
    "number": _number_column,
    "category": _category_column,
    "date": _date_column,
}


_KEYS: dict[str, tuple[str, ...]] = {
    "number": ("type", "lower", "upper", "transform", "weight", MISSING),
    "category": ("type", "levels", "weight"),
    "date": ("type", "lower", "upper", "weight", "format", MISSING),
}


def _weight(name: str, content: Mapping[str, Any]) -> float:
    weight = _number(name, "weight", content.get("weight", 1.0))
    if not WEIGHT_MIN <= weight <= WEIGHT_MAX:
        raise BoundsError(
            f"the weight of column {name!r} must lie between 1e-6 and 1e6, got {plain(weight)}. "
            "1 counts a column as much as others; leave it out if it should not count."
        )
    return weight


def _date(name: str, what: str, value: object) -> date:
    day = _day(value)
    if day is not None:
        return day
    written = _written_otherwise(value)
    remedy = (
        f" Write \"{written}\". If the table writes days otherwise, 'format' says how."
        if written
        else ""
    )
    raise BoundsError(
        f"the {what} of column {name!r} must be a day such as 2024-12-31, without a time; got "
        f"{safe_repr(value)}.{remedy}"
    )


def _day(value: object) -> date | None:
    """Return the day that a value is; None if it is none, or has a time."""
    if isinstance(value, datetime):
        return value.date() if value.timetz() == time() else None
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _DAY.fullmatch(value):
        with suppress(ValueError):
            return date.fromisoformat(value)
    return None


def _written_otherwise(value: object) -> date | None:
    """Return the day that a text with dots means; with slashes, months may come first."""
    found = _DOTTED.fullmatch(value) if isinstance(value, str) else None
    with suppress(ValueError):
        return None if found is None else date(*map(int, found.group(3, 2, 1)))
    return None


def _number(name: str, what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise BoundsError(
            f"the {what} of column {name!r} must be a number, got {safe_repr(value)}. Type one "
            "without quotes."
        )
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


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

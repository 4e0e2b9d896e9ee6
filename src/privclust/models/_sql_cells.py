"""Cells of a table as SQL numbers: bounded, missing ones replaced, as a domain says.

Every function returns one expression for each feature of a column. Levels are compared as texts,
days counted from 1970, logarithms computed where a fit reads them off a ruler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from privclust.domains._category_column import OTHER, CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.columns import Column
from privclust.errors import ParameterError

Dialect = Literal["duckdb", "postgres", "spark"]
_IS_NAN = {"duckdb": "isnan({})", "postgres": "{} = 'NaN'", "spark": "isnan({})"}
_DOUBLE = {"duckdb": "DOUBLE", "postgres": "DOUBLE PRECISION", "spark": "DOUBLE"}
_TEXT = {"duckdb": "VARCHAR", "postgres": "TEXT", "spark": "STRING"}
_DAYS = {
    "duckdb": "date_diff('day', DATE '1970-01-01', date_trunc('day', {}))",
    "postgres": "FLOOR(EXTRACT(EPOCH FROM {}) / 86400)",
    "spark": "unix_date(CAST(date_trunc('DAY', {}) AS DATE))",
}
"""None takes a column of texts for one of days: what they hold would be read in other ways."""
_FLOATS = {
    "duckdb": "typeof({}) IN ('DOUBLE', 'FLOAT')",
    "spark": "typeof({}) IN ('double', 'float')",
}
"""Types whose integers end in .0 as texts; those of PostgreSQL do not."""


def features(columns: Sequence[Column], dialect: Dialect) -> list[str]:
    """Return an expression for each feature of each column, in terms of the table ``given``.

    Examples
    --------
    >>> features([NumberColumn("age", 0.0, 120.0)], "postgres")[0][:29]
    'CASE WHEN given."age" IS NULL'
    """
    return [one for column in columns for one in _features(column, dialect)]


def _features(column: Column, dialect: Dialect) -> list[str]:
    if column.number is None:
        return _shares(column, dialect)
    if column.use == "date":
        days = _DAYS[dialect].format(_cell(column, dialect))
        return [_within(column.number, days, f"{_cell(column, dialect)} IS NULL")]
    return [_number(column.number, dialect)]


def _number(column: NumberColumn, dialect: Dialect) -> str:
    cell = _cell(column, dialect)
    value = f"CAST({cell} AS {_DOUBLE[dialect]})"
    return _within(column, value, f"{cell} IS NULL OR {_IS_NAN[dialect].format(value)}")


def _within(column: NumberColumn, value: str, missing: str) -> str:
    """Return a value, or what it counts as where it is missing, on the scale of its column."""
    lower, upper = column.lower, column.upper
    bounded = f"LEAST(GREATEST({value}, {lower!r}), {upper!r})"
    if column.transform != "none":
        bounded = f"LOG10({bounded}{' + 1' if column.transform == 'log1p' else ''})"
    filled = column.missing_features[0]
    if column.transform == "none" and column.missing is None:
        filled = lower / 2 + upper / 2  # halved before they are added, as a box does
    return f"CASE WHEN {missing} THEN {float(filled)!r} ELSE {bounded} END"


def _shares(column: CategoryColumn, dialect: Dialect) -> list[str]:
    """Return for each level whether a cell has it, or equal shares if it has none."""
    cell = _cell(column, dialect)
    text = f"CAST({cell} AS {_TEXT[dialect]})"
    missing = f"{cell} IS NULL"
    if dialect in _FLOATS:
        whole = f"regexp_replace({text}, '[.]0$', '')"
        is_float = _FLOATS[dialect].format(cell)
        missing = f"({missing} OR ({is_float} AND lower({text}) = 'nan'))"
        text = f"CASE WHEN {is_float} THEN {whole} ELSE {text} END"
    known = ", ".join(_literal(level, dialect) for level in column.levels)
    equal = repr(1 / len(column.levels))
    if OTHER not in column.levels:
        missing = f"{missing} OR ({text}) NOT IN ({known})"
    has = {level: f"({text}) = {_literal(level, dialect)}" for level in column.levels}
    if OTHER in has:
        has[OTHER] += f" OR ({text}) NOT IN ({known})"
    return [
        f"CASE WHEN {missing} THEN {equal} WHEN {condition} THEN 1.0 ELSE 0.0 END"
        for condition in has.values()
    ]


def _cell(column: Column, dialect: Dialect) -> str:
    return f"given.{quoted(column.name, dialect)}"


def quoted(name: str, dialect: Dialect) -> str:
    """Return the name of a column or a table as SQL."""
    mark = "`" if dialect == "spark" else '"'
    return mark + name.replace(mark, mark * 2) + mark


def _literal(text: str, dialect: Dialect) -> str:
    if "\x00" in text:
        raise ParameterError(
            "a level has the character NUL, which texts in SQL have not. Label rows by predict."
        )
    if dialect == "spark":
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    escaped = text.replace("'", "''")
    if dialect == "postgres" and "\\" in text:
        # What a backslash means in a plain text depends on a setting of the server.
        return "E'" + escaped.replace("\\", "\\\\") + "'"
    return f"'{escaped}'"

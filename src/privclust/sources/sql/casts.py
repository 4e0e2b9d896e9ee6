"""What users declare of columns whose type says too little; conversions are ours, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

from privclust.errors import (
    ColumnError,
    ColumnTypeError,
    ParameterError,
    did_you_mean,
    safe_repr,
)
from privclust.sources.cells import Kind
from privclust.sources.schema import Schema

Cast = Literal["number", "text", "date"]

CASTS_HINT = (
    " In a query, casts={'income': 'number'} says what a column is whose type does not (--cast "
    "income=number)."
)
_FROM: dict[Cast, tuple[Kind, ...]] = {
    "number": ("number", "integer", "text"),
    "text": ("text", "integer"),
    "date": ("date", "text"),
}


def check_casts(casts: Mapping[str, str] | None) -> dict[str, Cast]:
    """Return what is declared, or refuse what no column can be read as.

    Examples
    --------
    >>> check_casts({"income": "number"})
    {'income': 'number'}
    """
    found: dict[str, Cast] = {}
    for name, cast in dict(casts or {}).items():
        if cast not in get_args(Cast):
            raise ParameterError(
                f"casts: column {safe_repr(name)} must be 'number', 'text' or 'date', got "
                f"{safe_repr(cast)}."
            )
        found[str(name)] = cast  # type: ignore[assignment]
    return found


def cast_schema(schema: Schema, casts: Mapping[str, Cast]) -> Schema:
    """Return the columns of a query as they are declared.

    Examples
    --------
    >>> cast_schema(Schema(("a", "b"), ("text", "integer")), {"a": "number"}).kinds
    ('number', 'integer')
    """
    names = schema.names or ()
    unknown = [name for name in casts if name not in names]
    if unknown:
        raise ColumnError(
            f"casts name columns that the query does not have: {', '.join(map(repr, unknown))}. It "
            f"has {', '.join(map(repr, names))}.{did_you_mean(unknown, names)}"
        )
    for name, cast in casts.items():
        if schema.kind(name) not in _FROM[cast]:
            raise ColumnTypeError(
                f"column {name!r} cannot be read as a {cast}, by its type in the database. Convert "
                "it in the query, or leave it out."
            )
    kinds = tuple(casts.get(name, kind) for name, kind in zip(names, schema.kinds, strict=True))
    return replace(schema, kinds=kinds)

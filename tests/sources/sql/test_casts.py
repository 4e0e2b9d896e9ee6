"""Declared casts: what they may be, and of which columns."""

from __future__ import annotations

import pytest

from privclust.errors import ColumnError, ColumnTypeError, ParameterError
from privclust.sources.schema import Schema
from privclust.sources.sql.casts import cast_schema, check_casts

SCHEMA = Schema(("a", "b", "c", "d"), ("text", "integer", "date", "other"))


def test_casts_change_what_columns_can_be_used_for() -> None:
    found = cast_schema(SCHEMA, {"a": "number", "b": "text"})
    assert found.kinds == ("number", "text", "date", "other")


def test_a_cast_to_something_else_is_refused() -> None:
    with pytest.raises(ParameterError, match="'a' must be 'number', 'text' or 'date', got 'float'"):
        check_casts({"a": "float"})


def test_a_cast_of_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(ColumnError, match=r"does not have: 'A'.*Did you mean 'a'"):
        cast_schema(SCHEMA, {"A": "number"})


@pytest.mark.parametrize(("name", "cast"), [("c", "number"), ("b", "date"), ("d", "text")])
def test_a_cast_that_a_type_does_not_allow_is_refused(name: str, cast: str) -> None:
    with pytest.raises(ColumnTypeError, match=f"{name!r} cannot be read as a {cast}"):
        cast_schema(SCHEMA, check_casts({name: cast}))

"""Which columns are clustered: decided by names and declared types alone, and named in errors."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.errors import ColumnError
from privclust.sources.cells import IDS, NUMBERS, Kind
from privclust.sources.schema import Schema

VISITS = Schema(
    ("who", "age", "ward", "income", "day"), ("integer", "integer", "text", "number", "other")
)


def test_all_columns_but_that_of_ids_are_clustered_in_their_order() -> None:
    table = Schema(("a", "who", "b"), ("integer", "text", "cell"))
    assert table.features("who") == Schema(("a", "b"), ("integer", "cell"))
    assert Schema(("a", "b"), ("number", "integer")).features(None).names == ("a", "b")


def test_named_columns_are_clustered_in_the_tables_order_and_others_may_be_of_any_type() -> None:
    chosen = VISITS.features("who", ["income", "age"])
    assert chosen == Schema(("age", "income"), ("integer", "number"))
    assert VISITS.features(None, {"who", "age"}).names == ("who", "age")


def test_numbers_that_are_stored_as_text_are_to_be_converted() -> None:
    with pytest.raises(TypeError, match=r"pandas\.to_numeric\(\.\.\., errors='coerce'\)\.$"):
        VISITS.features("who", ["age", "ward"])
    with pytest.raises(TypeError) as refused:
        VISITS.features("who", ["age", "day"])
    assert "to_numeric" not in str(refused.value)


def test_an_id_is_no_feature_even_if_it_is_named() -> None:
    assert VISITS.features("who", ["who", "age"]).names == ("age",)


@pytest.mark.attack
def test_columns_that_hold_no_numbers_are_refused_all_by_name() -> None:
    with pytest.raises(TypeError, match=r"do not hold numbers: ward, day\. Convert them"):
        VISITS.features("who")
    with pytest.raises(TypeError, match=r"do not hold numbers: ward\. "):
        VISITS.features("who", ["age", "ward"])
    unnamed = Schema(None, ("number", "text", "other"))
    with pytest.raises(TypeError, match=r"number 1, number 2\. Convert them, or leave"):
        unnamed.features(None)


def test_refused_columns_are_shown_how_they_are_declared() -> None:
    """Of a column of days the message showed how to declare a category called ward."""
    table = Schema(
        ("town", "ward", "day", "geo", "year"), ("text", "text", "date", "other", "integer")
    )
    town = "'town': {'type': 'category', 'levels': ['A', 'B']}"
    day = "'day': {'type': 'date', 'lower': '2020-01-01', 'upper': '2029-12-31'}"
    for only, shown in (
        (["town", "ward"], town),
        (["day", "geo"], day),
        (["town", "ward", "day"], f"{town}, {day}"),
    ):
        with pytest.raises(TypeError, match=re.escape(f"in bounds, such as {{{shown}}}, or leave")):
            table.features(None, only)
    with pytest.raises(TypeError, match=r"dates: year\. .* such as \{'year': \(0, 120\)\}, or"):
        table.features(None, ["year"], {"year": "date"})
    with pytest.raises(TypeError, match=r"numbers: geo\. Convert them, or leave them out\."):
        table.features(None, ["geo"])


@pytest.mark.attack
def test_a_column_cannot_hide_behind_another_of_its_name() -> None:
    with pytest.raises(ValueError, match=r"names that differ\. Rename those"):
        Schema(("a", "b", "a"), ("number", "number", "text"))


@pytest.mark.parametrize("only", [[], ["who"]])
def test_a_table_without_features_is_refused(only: list[str]) -> None:
    with pytest.raises(ValueError, match=re.escape("0 feature(s) while a minimum of 1")):
        VISITS.features("who", only)
    with pytest.raises(ValueError, match="Give it columns"):
        Schema((), ()).features(None)


def test_unit_that_is_not_a_column_is_named_together_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=re.escape("not a column of the table. It has 'who', ")):
        VISITS.features("person")
    with pytest.raises(ValueError, match="table's columns have no names"):
        Schema(None, ("number",)).features("person")


@pytest.mark.parametrize("unit", ["income", "day"])
def test_id_must_be_an_integer_or_text(unit: str) -> None:
    with pytest.raises(TypeError, match=f"unit='{unit}' holds neither integers nor text"):
        VISITS.features(unit, ["age"])


kinds: list[Kind] = ["integer", "number", "text", "cell", "other"]


@settings(deadline=None, derandomize=True, database=None, max_examples=150)
@given(st.lists(st.sampled_from(kinds), min_size=1, max_size=5), st.data())
def test_features_are_numbers_or_an_error(found: list[Kind], data: st.DataObject) -> None:
    names = tuple("abcde"[: len(found)])
    unit = data.draw(st.sampled_from([None, *names]))
    only = data.draw(st.one_of(st.none(), st.sets(st.sampled_from(names))))
    wanted = [name for name in names if name != unit and (only is None or name in only)]
    of = dict(zip(names, found, strict=True))
    allowed = all(of[name] in NUMBERS for name in wanted) and bool(wanted)
    allowed &= unit is None or of[unit] in IDS
    table = Schema(names, tuple(found))
    if allowed:
        assert table.features(unit, only).names == tuple(wanted)
    else:
        with pytest.raises((TypeError, ValueError)):
            table.features(unit, only)


@pytest.mark.attack
def test_a_misspelt_column_is_compared_with_public_names_alone() -> None:
    cells = Schema(("age", "ward"), ("cell", "cell"))  # perhaps a row, in a file without names
    misspelt: tuple[tuple[str | None, list[str] | None], ...] = ((None, ["agee"]), ("agee", None))
    for unit, only in misspelt:
        with pytest.raises(ValueError, match=r"Did you mean 'age' instead of 'agee'\?"):
            VISITS.features(unit, only)
        with pytest.raises(ValueError, match="first line must have the names") as caught:
            cells.features(unit, only)
        assert "Did you mean" not in str(caught.value)


@pytest.mark.attack
def test_names_of_a_csv_file_are_listed_if_most_of_those_wanted_are_there() -> None:
    header = Schema(("age", "ward", "visits"), ("cell",) * 3)
    with pytest.raises(
        ColumnError, match=r"It has 'age', 'ward', 'visits'\. Did you mean 'visits'"
    ):
        header.features(None, ["age", "ward", "visitz"])
    row = Schema(("age", "ward", "41"), ("cell",) * 3)
    for schema, asked in ((header, ["age", "visitz"]), (row, ["age", "ward", "visitz"])):
        with pytest.raises(ColumnError, match="first line must have the names") as caught:
            schema.features(None, asked)
        assert "visits" not in str(caught.value)
        assert "41" not in str(caught.value)

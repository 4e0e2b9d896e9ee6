"""Bounds as users give them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privclust.domains._category_column import CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains._pair_readings import pairs_instead
from privclust.domains.bounds import UNSTATED, bounded_columns, declared_columns, read_bounds
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.errors import BoundsError, ColumnError

NAMES = ("age", "income")
FILE = """
bounds_origin = "domain knowledge"
[columns.income]
type = "number"
lower = 0
upper = 250000
weight = 2.0
[columns.age]
type = "number"
lower = 0
upper = 120
"""


def test_two_pairs_that_can_be_read_in_two_ways_are_warned_of() -> None:
    """A pair for each column was read as sides without a word, so that ages were cut at 50."""
    with pytest.warns(UserWarning, match="can be read in two ways") as given:
        found = read_bounds(((18, 65), (50, 250)), NAMES, 2)
    assert isinstance(found.domain, Box)
    assert (found.domain.lower.tolist(), found.domain.upper.tolist()) == ([18, 65], [50, 250])
    assert str(given[0].message) == (
        "bounds of two pairs can be read in two ways. They were read as all lower bounds, then all "
        "upper ones: 'age' from 18 to 50, 'income' from 65 to 250; ([18, 65], [50, 250]) says so. "
        "If each pair is meant for a column, 'age' from 18 to 65 and 'income' from 50 to 250, type "
        "([18, 50], [65, 250]), or by name {'age': (18, 65), 'income': (50, 250)}."
    )


def test_both_ways_to_write_two_pairs_that_are_offered_are_not_warned_of() -> None:
    for sides in (([18, 65], [50, 250]), ([18, 50], [65, 250])):
        read_bounds(sides, NAMES, 2)
    read_bounds({"age": (18, 65), "income": (50, 250)}, NAMES, 2)


@pytest.mark.parametrize(
    ("sides", "n_columns"),
    [
        (((0, 0), (120, 250)), 2),
        ((0, 100), 2),
        (((18, 65, 3), (50, 250, 9)), 3),
        ((np.array([18, 65]), np.array([50, 250])), 2),
    ],
)
def test_sides_that_cannot_be_pairs_are_not_warned_of(sides: Any, n_columns: int) -> None:
    read_bounds(sides, None, n_columns)


def test_pairs_that_are_refused_as_sides_are_read_both_ways() -> None:
    """The message only said that bounds might be exchanged, which they were not."""
    with pytest.raises(BoundsError) as refused:
        read_bounds(([0, 120], [10, 70]), None, 2)
    said = str(refused.value)
    assert "column 0 from 0 to 10, column 1 from 120 to 70" in said
    assert "type ([0, 10], [120, 70])." in said
    read_bounds(([0, 10], [120, 70]), None, 2)
    with pytest.raises(BoundsError) as exchanged:
        read_bounds(([120, 0], [10, 70]), None, 2)
    assert "They were read" not in str(exchanged.value)
    assert pairs_instead(([0, 10**400], [0, 1]), None) == ""


def test_mapping_declares_a_category_as_a_file_does() -> None:
    given: Any = {"age": (0, 120), "income": {"type": "category", "levels": ["low", "high"]}}
    assert bounded_columns(given) == {"age": "number", "income": "category"}
    found = read_bounds(given, NAMES, 2)
    columns = NumberColumn("age", 0.0, 120.0), CategoryColumn("income", ("low", "high"))
    assert (found.domain, found.origin) == (Mixed(columns), UNSTATED)


def test_mapping_says_where_bounds_come_from_as_a_file_does() -> None:
    given: Any = {"age": (0, 120), "bounds_origin": "public data"}
    assert bounded_columns(given) == {"age": "number"}
    assert read_bounds(given, ["age"], 1).origin == "public data"
    assert declared_columns(given, ["age"])[1] == "public data"
    named_so: Any = {"bounds_origin": (0, 1)}  # a column may be called that
    assert read_bounds(named_so, ["bounds_origin"], 1).origin == UNSTATED
    with pytest.raises(BoundsError, match="one of 'domain knowledge', 'public data'"):
        read_bounds({"age": (0, 120), "bounds_origin": "guess"}, ["age"], 1)


def test_mapping_that_declares_numbers_alone_gives_a_box() -> None:
    given: Any = {
        "age": (0, 120),
        "income": {"type": "number", "lower": 0, "upper": 9, "weight": 2},
    }
    domain = read_bounds(given, NAMES, 2).domain
    assert isinstance(domain, Box)
    assert (domain.upper.tolist(), domain.weights.tolist()) == ([120, 9], [1, 2])


def test_numbers_that_declare_missing_cells_are_columns(tmp_path: Path) -> None:
    given: Any = {
        "age": (0, 120),
        "income": {"type": "number", "lower": 0, "upper": 250_000, "missing": 20_000},
    }
    columns = NumberColumn("age", 0.0, 120.0), NumberColumn("income", 0, 250_000, missing=20_000)
    assert read_bounds(given, NAMES, 2).domain == Mixed(columns)
    file = tmp_path / "bounds.toml"
    file.write_text(FILE.replace("weight = 2.0", "missing = 20_000"))
    assert read_bounds(file, NAMES, 2).domain == Mixed(columns)


def test_faults_of_all_values_for_missing_cells_are_said_at_once() -> None:
    number = {"type": "number", "lower": 0, "upper": 9, "missing": 10}
    with pytest.raises(BoundsError, match=r"(?s)missing cells of column 'age'.*column 'income'"):
        read_bounds({"age": number, "income": number}, NAMES, 2)


def test_mapping_of_an_unknown_type_is_refused_in_words() -> None:
    with pytest.raises(BoundsError, match=r"'income' of the bounds has type 'colour'"):
        read_bounds({"age": (0, 120), "income": {"type": "colour"}}, NAMES, 2)


@pytest.mark.parametrize(
    "bounds",
    [{"income": (0, 250_000), "age": (0, 120)}, ([0, 0], [120, 250_000]), (0, [120, 250_000])],
)
def test_mappings_and_arrays_give_the_same_box(bounds: Any) -> None:
    given = read_bounds(bounds, NAMES, 2)
    assert isinstance(given.domain, Box)
    assert given.domain.lower.tolist() == [0, 0]
    assert given.domain.upper.tolist() == [120, 250_000]
    assert given.origin == UNSTATED


def test_a_file_gives_bounds_weights_and_their_origin(tmp_path: Path) -> None:
    file = tmp_path / "bounds.toml"
    file.write_text(FILE)
    given = read_bounds(file, NAMES, 2)
    assert isinstance(given.domain, Box)
    assert given.domain.upper.tolist() == [120, 250_000]
    assert given.domain.weights.tolist() == [1, 2]
    assert given.origin == "domain knowledge"
    # The heavier column is twice as long in the unit ball.
    lengths = given.domain.half_widths / given.domain.scales
    np.testing.assert_allclose(lengths, [1 / np.sqrt(5), 2 / np.sqrt(5)])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("domain knowledge", "a look at the data", "must say where its bounds come from"),
        ('type = "number"\nlower = 0\nupper = 120', 'type = "category"', "'age' .levels"),
        (
            'type = "number"\nlower = 0\nupper = 120',
            'type = "colour"',
            "'number', 'category', 'date'",
        ),
        ("upper = 120", "upper = 'high'", "upper bound of column 'age' must be a number"),
        ("[columns.age]", "[columns.agee]", "columns without bounds: .'age'.*'agee'"),
        ("lower = 0", "lower = ", "not valid TOML"),
        ("upper = 120", f"upper = {'9' * 400}", "'age' must be two finite numbers"),
        ("upper = 120", f"upper = 120\nweight = {'9' * 400}", "the weight of column"),
        ("upper = 120", f"upper = {'9' * 5000}", "not valid TOML: a number has too many digits"),
        ("upper = 120", f"upper = {'[' * 5000}", "not valid TOML: it is nested too deeply"),
    ],
)
def test_a_faulty_file_is_refused_in_words(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    file = tmp_path / "bounds.toml"
    file.write_text(FILE.replace(before, after))
    with pytest.raises(ValueError, match=message):
        read_bounds(file, NAMES, 2)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BoundsError, match=r"'none.toml' cannot be read"):
        read_bounds("none.toml", NAMES, 2)


@pytest.mark.parametrize(
    ("bounds", "names", "error", "message"),
    [
        ({"age": (0, 120)}, None, TypeError, "need a table with column names"),
        ({"age": (0, 120)}, NAMES, ValueError, "columns without bounds: .'income'"),
        ({"age": 120, "income": (0, 1)}, NAMES, ValueError, "must be a pair"),
        ({"age": (0, "x"), "income": (0, 1)}, NAMES, ValueError, "must be a number, got 'x'"),
        ([(0, 120), (0, 1)], NAMES, TypeError, "not one pair per column"),
        (([0], [1]), NAMES, ValueError, "given for 1 columns, X has 2"),
    ],
)
def test_faulty_bounds_are_refused_in_words(
    bounds: Any, names: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_bounds(bounds, names, 2)


def test_misspelt_columns_and_options_are_named_with_what_may_be_meant() -> None:
    for given, meant in (
        ({"agee": (0, 120), "income": (0, 9)}, "'age' instead of 'agee'"),
        ({"Age": (0, 120), "Incom": (0, 9)}, "'age' instead of 'Age', 'income' instead of 'Incom'"),
        (_with_age({"type": "numbr", "lower": 0, "upper": 9}), "'number' instead of 'numbr'"),
        (_with_age({"type": "number", "lowr": 0, "upper": 9}), "'lower' instead of 'lowr'"),
        (
            _with_age({"type": "number", "lower": 0, "upper": 9, "transform": "log2p"}),
            "'log1p' instead of 'log2p'",
        ),
    ):
        with pytest.raises(ValueError, match=f"Did you mean {meant}\\?"):
            read_bounds(given, NAMES, 2)
    with pytest.raises(ColumnError, match=r"Did you mean 'age' instead of 'aeg'\?"):
        declared_columns({"age": (0, 120)}, ["aeg"])
    with pytest.raises(ColumnError) as caught:
        read_bounds({"ward": (0, 120), "income": (0, 9)}, NAMES, 2)
    assert "Did you mean" not in str(caught.value)


def _with_age(declared: dict[str, Any]) -> dict[str, Any]:
    return {"age": declared, "income": (0, 9)}


def test_ragged_bounds_are_refused_with_an_example() -> None:
    ragged: Any = ([0, [0]], [1, 2])
    with pytest.raises(BoundsError, match=r"lists of another length\. Type all lower values"):
        read_bounds(ragged, NAMES, 2)


@pytest.mark.parametrize("levels", [["A", "B"], ["A", "B", "C"], ["A"]])
def test_levels_without_their_type_say_how_to_declare_them(levels: Any) -> None:
    with pytest.raises(BoundsError, match=r"'ward' are texts.*'type': 'category', 'levels'"):
        read_bounds({"ward": levels}, ["ward"], 1)
    with pytest.raises(BoundsError, match=r"'ward' are texts.*'type': 'date'"):
        read_bounds(
            {"ward": levels, "age": {"type": "number", "lower": 0, "upper": 9}}, ["ward", "age"], 2
        )


def test_days_and_levels_that_are_typed_for_numbers_come_back_as_they_are_declared() -> None:
    """A column of days was said to be a category with levels A and B."""
    first, last = date(2024, 1, 1), date(2024, 12, 31)
    declared = "{'seen': {'type': 'date', 'lower': '2024-01-01', 'upper': '2024-12-31'}}"
    dotted = ("01.01.2024", "31.12.2024")
    for pair in (("2024-01-01", "2024-12-31"), (first, last), dotted):
        given: Any = {"seen": pair, "ward": ["paediatrics", "surgery"], "age": (0, 120)}
        with pytest.raises(BoundsError) as refused:
            bounded_columns(given)
        assert f"'seen' are days. Declare them as {declared}." in str(refused.value)
        assert "{'ward': {'type': 'category', 'levels': ['paediatrics', 'surgery']}}" in str(
            refused.value
        )
    many: Any = {"ward": list("ABCDEFG")}
    with pytest.raises(BoundsError, match=r"'levels': \['A', 'B', 'C', 'D', 'E', '\.\.\.'\]"):
        bounded_columns(many)


def test_numbers_in_quotes_are_no_levels() -> None:
    quoted: Any = {"age": ("0", "120")}
    with pytest.raises((BoundsError, TypeError), match="age") as refused:
        read_bounds(quoted, ["age"], 1)
    assert "category" not in str(refused.value)

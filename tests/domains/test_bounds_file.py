"""Columns as a file declares them: all that is allowed comes back, all else is refused in words."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from privclust.domains._category_column import LEVELS_MAX, CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.bounds_file import column_from_dict, declared_column
from privclust.domains.columns import Column
from privclust.errors import BoundsError

NUMBER = {"type": "number", "lower": 1, "upper": 120}
CATEGORY = {"type": "category", "levels": ["A", "B"]}
DAY = {"type": "date", "lower": date(2020, 1, 1), "upper": date(2024, 12, 31)}
COLUMNS: list[Column] = [
    NumberColumn("x", 0.0, 120.0),
    NumberColumn("x", 0.5, 1e6, 2.0, "log"),
    NumberColumn("x", 0.0, 1e6, 0.5, "log1p"),
    CategoryColumn("x", ("A", "other"), 3.0),
    DateColumn("x", date(1900, 1, 1), date(2100, 1, 1), 0.1),
    NumberColumn("x", 12.0, 60.0, missing=25.0),
    NumberColumn("x", 0.5, 1e6, 2.0, "log", 0.5),
    DateColumn("x", date(1900, 1, 1), date(2100, 1, 1), 0.1, "DD.MM.YYYY", date(2100, 1, 1)),
]


@pytest.mark.parametrize("column", COLUMNS)
def test_a_declaration_declares_the_same_column(column: Column) -> None:
    assert column_from_dict(column.to_dict()) == column


def test_what_is_not_declared_of_missing_cells_is_not_written() -> None:
    for content in (NUMBER, DAY):
        column = declared_column("x", content)
        assert "missing" not in column.to_dict()
        assert declared_column("x", {**content, "missing": None}) == column


@pytest.mark.parametrize("missing", ["2022-02-22", datetime(2022, 2, 22), date(2022, 2, 22)])
def test_day_for_missing_cells_is_typed_as_bounds_are(missing: Any) -> None:
    found = declared_column("x", {**DAY, "missing": missing})
    assert isinstance(found, DateColumn)
    assert found.missing == date(2022, 2, 22)
    assert found.to_dict()["missing"] == "2022-02-22"


def test_levels_are_texts_whatever_is_typed() -> None:
    column = declared_column("x", {"type": "category", "levels": [1, True, "1.0", "größe"]})
    assert isinstance(column, CategoryColumn)
    assert column.levels == ("1", "true", "1.0", "größe")


@pytest.mark.parametrize("lower", ["2020-01-01", datetime(2020, 1, 1), date(2020, 1, 1)])
def test_days_are_typed_as_python_has_them(lower: Any) -> None:
    assert declared_column("x", {**DAY, "lower": lower}) == declared_column("x", DAY)


def test_levels_may_be_a_tuple() -> None:
    assert declared_column("x", {**CATEGORY, "levels": ("A", "B")}) == CategoryColumn(
        "x", ("A", "B")
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "has no 'type'. Declare one of 'number', 'category', 'date'"),
        ({"type": "colour"}, "has type 'colour'"),
        ({**NUMBER, "upper": 0}, "the lower below the upper"),
        ({**NUMBER, "upper": "120"}, "must be a number, got '120'"),
        ({**NUMBER, "upper": float("inf")}, "two finite numbers"),
        ({**NUMBER, "weight": 0}, "must lie between 1e-6 and 1e6, got 0"),
        ({**NUMBER, "weight": True}, "the weight of column 'x' must be a number"),
        ({**NUMBER, "transform": "sqrt"}, "must be one of 'none', 'log', 'log1p'"),
        ({**NUMBER, "lower": 0, "transform": "log"}, "has no logarithm at its lower bound, 0"),
        ({**NUMBER, "lower": -1, "transform": "log1p"}, "and one above -1"),
        ({"type": "category"}, "needs levels, from 2 to 1,000"),
        ({**CATEGORY, "levels": ["A"]}, "needs levels"),
        ({**CATEGORY, "levels": list(range(LEVELS_MAX + 1))}, "needs levels"),
        ({**CATEGORY, "levels": ["A", 1.5]}, "must be texts or integers"),
        ({**CATEGORY, "levels": ["1", 1]}, "must differ"),
        ({**DAY, "lower": "2020-13-01"}, "must be a day such as 2024-12-31, without a time"),
        (
            {**DAY, "lower": "20200101"},
            "2024-12-31, without a time; got '20200101'",
        ),
        ({**DAY, "upper": datetime(2024, 1, 1, 12)}, "without a time"),
        ({**DAY, "lower": "1.2.2024"}, "got '1.2.2024'. Write \"2024-02-01\". If the table"),
        ({**DAY, "lower": "31.02.2024"}, "without a time; got '31.02.2024'."),
        ({**DAY, "from": date(2020, 1, 1)}, "has 'from', which a date does not take. It takes"),
        ({**NUMBER, "wieght": 2}, "'lower', 'upper', 'transform', 'weight', 'missing'"),
        ({**NUMBER, "missingg": 2}, "Did you mean 'missing' instead of 'missingg'?"),
        (
            {**NUMBER, "missing": 200},
            "the value for missing cells of column 'x' must lie within its bounds, from 1 to 120; "
            "got 200. Type one between them that is typical by knowledge of the field, or leave "
            "'missing' out.",
        ),
        ({**NUMBER, "transform": "log", "missing": 0.5}, "within its bounds, from 1 to 120; got 0"),
        ({**NUMBER, "missing": float("nan")}, "within its bounds, from 1 to 120; got nan"),
        ({**NUMBER, "missing": float("inf")}, "within its bounds, from 1 to 120; got inf"),
        (
            {**NUMBER, "missing": "25"},
            "for missing cells of column 'x' must be a number, got",
        ),
        (
            {**NUMBER, "missing": True},
            "for missing cells of column 'x' must be a number, got",
        ),
        ({**DAY, "missing": date(2025, 1, 1)}, "from 2020-01-01 to 2024-12-31; got 2025-01-01"),
        (
            {**DAY, "missing": "1.2.2024"},
            "for missing cells of column 'x' must be a day such as",
        ),
        ({**DAY, "missing": 7}, "value for missing cells of column 'x' must be a day such as"),
        (
            {**CATEGORY, "missing": "A"},
            "column 'x' of the bounds has 'missing', which numbers and dates take. A missing "
            "category counts as equal shares of its levels. If it should count as a level, write "
            "that level into all missing cells of the table, such as 'unknown', and declare it "
            "among 'levels'.",
        ),
        ({**CATEGORY, "levels": "AB"}, "a list that you type"),
        ({**DAY, "upper": date(2019, 1, 1)}, "column 'x'"),
    ],
)
def test_wrong_declaration_is_refused_with_the_reason(content: dict[str, Any], reason: str) -> None:
    with pytest.raises(BoundsError, match="column 'x'") as refused:
        declared_column("x", content)
    assert reason in str(refused.value)

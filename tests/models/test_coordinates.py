"""What a coordinate looks like: every use has its own form, and an error where there is one."""

from __future__ import annotations

import math
from datetime import date

import pytest

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.domains.reader import Use
from privclust.models._coordinates import format_center, format_coordinate


def test_every_coordinate_has_the_use_of_its_column() -> None:
    mixed = Mixed(
        (
            CategoryColumn("ward", ("A", "B")),
            NumberColumn("age", 0, 120),
            DateColumn("visit", date(2020, 1, 1), date(2021, 1, 1)),
        )
    )
    assert mixed.coordinate_uses == ["category", "category", "number", "date"]
    assert Box([0, 0], [1, 1]).coordinate_uses == ["number", "number"]


@pytest.mark.parametrize(
    ("use", "value", "error", "text"),
    [
        ("number", 40.76, 0.5, "40.76 ± 0.50"),
        ("number", 40.76, math.nan, "40.76"),
        ("category", 0.25, 0.031, "25.0 ± 3.1 %"),
        ("category", 0.25, 0.0, "25 %"),
        ("date", 0.4, 12.0, "1970-01-01 ± 12 days"),
        ("date", -0.6, math.nan, "1969-12-31"),
        ("date", 1e300, math.nan, "9999-12-31"),
    ],
)
def test_a_coordinate_is_written_as_what_it_is(
    use: Use, value: float, error: float, text: str
) -> None:
    assert format_coordinate(use, value, error) == text
    assert format_center([use], [value], [error]) == [text]

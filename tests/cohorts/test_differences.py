"""Whoever coordinates is told in what the terms differ from a node's policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from privclust.cohorts.differences import difference
from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.bounds import read_bounds
from privclust.domains.box import Box
from privclust.engines.federated._request import Columns
from privclust.queries.unit import ROW, Unit

WARD = {"type": "category", "levels": ["A", "B"]}
BMI = {"type": "number", "lower": 12, "upper": 60}
DAY = {"type": "date", "lower": "2025-01-01", "upper": "2025-12-31"}


@dataclass(frozen=True)
class Table:
    """What a policy or terms declare."""

    columns: Columns
    domain: Domain
    unit: Unit = ROW


def declared(**bounds: Any) -> Table:
    names = tuple(bounds)
    return Table(names, read_bounds(bounds, names, len(names)).domain)


def test_equal_declarations_do_not_differ() -> None:
    assert difference(declared(age=(0, 9), ward=WARD), declared(age=(0, 9), ward=WARD)) is None


@pytest.mark.parametrize(
    ("policy", "terms", "says"),
    [
        (declared(age=(0, 9)), declared(bmi=(0, 9)), "columns are 'age' in its policy and 'bmi'"),
        (Table(1, Box([0], [9])), Table(2, Box([0, 0], [9, 9])), "columns are 1 without names"),
        (declared(age=(0, 9)), declared(age=(1, 9)), "lower of column 'age' is 0.0"),
        (Table(1, Box([0], [9])), Table(1, Box([0], [8])), "upper of column '0' is 9.0"),
        (
            declared(age=(0.1234567891, 9)),
            declared(age=(0.1234567892, 9)),
            "is 0.1234567891 in its policy and 0.1234567892 in the terms",
        ),
        (
            declared(ward=WARD),
            declared(ward={"type": "category", "levels": ["A", "C"]}),
            "levels of column 'ward' is ['A', 'B'] in its policy and ['A', 'C'] in the terms",
        ),
        (
            declared(ward=WARD),
            declared(ward={"type": "number", "lower": 0, "upper": 1}),
            "type of column 'ward' is 'category' in its policy and 'number' in the terms",
        ),
        (
            declared(bmi={**BMI, "missing": 25}),
            declared(bmi=BMI),
            "missing of column 'bmi' is 25.0 in its policy and not there in the terms",
        ),
        (
            declared(bmi=BMI),
            declared(bmi={**BMI, "missing": 25}),
            "missing of column 'bmi' is not there in its policy and 25.0 in the terms",
        ),
        (
            declared(day={**DAY, "missing": "2025-06-30"}),
            declared(day={**DAY, "missing": "2025-06-01"}),
            "missing of column 'day' is '2025-06-30' in its policy and '2025-06-01' in the terms",
        ),
        (
            Table(2, Box([0, 0], [1, 1])),
            Table(2, Ball([0, 0], 1.0)),
            "the kind of bounds is 'box' in its policy and 'ball' in the terms",
        ),
        (
            Table(2, Box([0, 0], [1, 1])),
            Table(2, Box([0, 0], [1, 1], [1, 2])),
            "columns count otherwise in its policy",
        ),
    ],
)
def test_difference_has_the_field_and_both_values(policy: Table, terms: Table, says: str) -> None:
    found = difference(policy, terms)
    assert found is not None
    assert says in found


def test_difference_of_long_texts_is_short() -> None:
    level = "x" * 10_000
    found = difference(
        declared(ward=WARD), declared(ward={"type": "category", "levels": [level, "B"]})
    )
    assert found is not None
    assert len(found) < 1000

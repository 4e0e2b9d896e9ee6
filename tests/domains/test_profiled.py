"""Rows as a profile reads them: each cell alone, missing ones in a fixed place."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privclust.domains.mixed import CategoryColumn, DateColumn, NumberColumn
from privclust.domains.profiled import (
    BINS,
    edges_of,
    labels_of,
    number_of,
    place_in,
    value_in,
    written,
)
from privclust.kernels.grid import GRID

COLUMNS = (
    NumberColumn("age", 0, 120),
    NumberColumn("share", 0, 1),
    NumberColumn("income", 1, 1e6, transform="log"),
    NumberColumn("visits", 0, 1e3, transform="log1p"),
)
STRANGE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 0.3, 12.0, 1e3, 999999.9]
every_column = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)


@pytest.mark.attack
@every_column
def test_what_is_noted_of_a_cell_follows_from_it_alone(column: NumberColumn) -> None:
    rng = np.random.default_rng(0)
    cells = np.concatenate([STRANGE, edges_of(column), rng.uniform(-1, 130, 500)])
    for note in (place_in, value_in):
        with np.errstate(all="ignore"):
            alone = [note(column, cells[i : i + 1])[0] for i in range(len(cells))]
            assert note(column, cells).tolist() == alone
            assert note(column, cells[::-1]).tolist() == alone[::-1]
            assert note(column, np.repeat(cells, 2)[::2]).tolist() == alone


@every_column
@given(cell=st.floats())
def test_any_cell_has_one_place_and_a_whole_value_within_bounds(
    column: NumberColumn, cell: float
) -> None:
    with np.errstate(all="ignore"):
        place, value = place_in(column, np.array([cell]))[0], value_in(column, np.array([cell]))[0]
    assert place in range(BINS + 1)
    assert (place == BINS) == np.isnan(cell)
    assert value == int(value)
    assert abs(value) <= GRID
    assert value == 0 or not np.isnan(cell)


@every_column
def test_edges_increase_from_bound_to_bound_and_open_their_ranges(column: NumberColumn) -> None:
    edges = edges_of(column)
    assert (edges[0], edges[-1], len(edges)) == (column.lower, column.upper, BINS + 1)
    assert (np.diff(edges) > 0).all()
    assert place_in(column, edges[:-1]).tolist() == list(range(BINS))
    assert place_in(column, np.nextafter(edges[1:-1], -np.inf)).tolist() == list(range(BINS - 1))


def test_levels_and_days_have_their_places() -> None:
    ward = CategoryColumn("ward", ("A", "B"))
    assert place_in(ward, np.array([0, 1, -1])).tolist() == [0, 1, 2]
    assert labels_of(ward) == ("A", "B", "missing")
    visit = DateColumn("visit", date(1970, 1, 1), date(1970, 1, 21))
    assert place_in(visit, np.array([0.0, 2.0, 20.0, np.nan])).tolist() == [0, 1, 9, 10]
    assert labels_of(visit)[:2] == ("1970-01-01 to 1970-01-03", "1970-01-03 to 1970-01-05")
    assert number_of(ward) is None


def test_numbers_are_written_to_what_is_known_of_them() -> None:
    age = NumberColumn("age", 0, 120)
    assert written(age, 41.23456, 0.02) == "41.235"
    assert written(age, 41.23456, 30.0) == "41"
    assert written(age, 41.23456) == "41.2346"

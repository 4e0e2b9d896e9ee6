"""Queries of profiles, attacked: a row contributes alone, and never more than declared."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.profile_table import CENTERS, COLUMNS, DOMAIN, NUMBERS, table
from helpers.query_attacks import (
    assert_one_row_moves_no_more_than_declared,
    edge_case_rows,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains._category_column import CategoryColumn
from privclust.domains.box import Box
from privclust.domains.profiled import ProfileDomain
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import GRID, UNIT, FloatArray
from privclust.queries.base import Query
from privclust.queries.profiles import (
    COLUMNS_MAX,
    ProfileSums,
    ProfileTallies,
    count_units,
    value_units,
)
from privclust.sources._reading import on_grid

QUERIES: list[Query] = [
    ProfileTallies(CENTERS, DOMAIN.n_places),
    ProfileSums(CENTERS, len(COLUMNS), DOMAIN.n_numbers),
]
every_query = pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)


def rows_of(cells: Any) -> FloatArray:
    with np.errstate(all="ignore"):
        return on_grid(DOMAIN, cells, DOMAIN.names)


def contributions(query: Query, rows: FloatArray) -> list[bytes]:
    found = query.contribute(rows)
    parts = zip(found.blocks, found.values, strict=True)
    return [blocks.tobytes() + np.ascontiguousarray(values).tobytes() for blocks, values in parts]


def totals(query: Query, cells: Any) -> list[int]:
    return list(NumpyEngine(cells, DOMAIN).aggregate(query))


@pytest.mark.attack
@every_query
def test_a_row_contributes_alone_what_it_does_among_others(query: Query) -> None:
    cells = table(edge_case_rows(3))
    alone = [contributions(query, rows_of(cells.slice(i, 1)))[0] for i in range(cells.num_rows)]
    rows = rows_of(cells)
    for arranged in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2]):
        assert contributions(query, arranged) == alone
    assert contributions(query, rows[::-1]) == alone[::-1]
    assert len(set(alone)) > len(alone) // 4


@pytest.mark.attack
@every_query
def test_one_row_more_moves_the_result_no_more_than_declared(query: Query) -> None:
    cells = table(edge_case_rows(3))
    for before in (cells.slice(0, 0), cells.slice(0, 1), cells):
        without = totals(query, before)
        for i in range(0, cells.num_rows, 23):
            added = pa.concat_tables([before, cells.slice(i, 1)])
            assert_one_row_moves_no_more_than_declared(query, without, totals(query, added))


numbers = st.one_of(st.sampled_from(NUMBERS), st.floats())
points = st.tuples(*[st.one_of(st.floats(-1.5, 1.5), st.floats())] * 3)
days = st.one_of(st.none(), st.dates(date(1700, 1, 1), date(2200, 1, 1)))
row = st.tuples(points, numbers, st.one_of(st.none(), st.text(max_size=3)), numbers, days)


def as_table(rows: list[Any]) -> Any:
    schema = table(np.zeros((0, 3))).schema
    columns = [[*point, age, ward, income, day] for point, age, ward, income, day in rows]
    filled = list(zip(*columns, strict=True)) if rows else [()] * len(schema)
    return pa.table([pa.array(c, f.type) for c, f in zip(filled, schema, strict=True)], schema)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.lists(row, max_size=5), row)
def test_no_row_that_hypothesis_finds_moves_more_than_declared(rows: list[Any], more: Any) -> None:
    for query in QUERIES:
        before, after = totals(query, as_table(rows)), totals(query, as_table([*rows, more]))
        assert_one_row_moves_no_more_than_declared(query, before, after)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=10, max_size=10))
def test_notes_of_any_size_are_bounded_by_the_query_itself(noted: list[int]) -> None:
    rows = np.array([noted], dtype=np.float64)
    rows[:, :3] = 0.0
    for query in QUERIES:
        found, bounds = query.contribute(rows), query.sensitivity
        values = [int(value) for value in found.values.ravel()]
        assert sum(value * value for value in values) <= bounds.l2_squared
        assert max(map(abs, values)) <= bounds.linf
        assert sum(map(abs, values)) <= bounds.l1
        assert len(set(found.blocks[0].tolist())) == found.blocks.shape[1]


@pytest.mark.attack
@pytest.mark.parametrize("columns", [1, 2, 7, COLUMNS_MAX])
def test_declared_bounds_are_the_proved_ones_and_are_reached(columns: int) -> None:
    tallies = ProfileTallies(np.zeros((2, 1)), (3,) * columns)
    sums = ProfileSums(np.zeros((2, 1)), 0, columns)
    assert tallies.sensitivity.l2_squared == columns * UNIT**2
    assert (tallies.sensitivity.l0, tallies.sensitivity.monotone) == (columns, True)
    assert sums.sensitivity.l2_squared == UNIT**2 + count_units(columns) ** 2
    assert (sums.sensitivity.l0, sums.sensitivity.monotone) == (columns + 1, False)
    loudest = np.hstack([np.zeros((1, 1)), np.full((1, columns), float(GRID))])
    for query in (tallies, sums):
        squares = sum(int(value) ** 2 for value in query.contribute(loudest).values.ravel())
        assert (1 - 1e-6) * query.sensitivity.l2_squared <= squares <= query.sensitivity.l2_squared


def test_values_are_worth_one_vote_together() -> None:
    for columns in range(1, COLUMNS_MAX + 1):
        assert (1 - 1e-6) * UNIT**2 <= columns * value_units(columns) ** 2 <= UNIT**2


def test_as_many_columns_as_allowed_are_all_added_up() -> None:
    query = ProfileTallies(np.zeros((1, 3)), (2,) * COLUMNS_MAX)
    names = [f"c{i}" for i in range(COLUMNS_MAX)]
    columns = tuple(CategoryColumn(name, ("A", "B")) for name in names)
    domain = ProfileDomain(Box([0], [1]), ("x",), columns)
    cells = pa.table({"x": [0.5, 0.5], **{name: ["A", "B"] for name in names}})
    wide = ProfileTallies(np.zeros((1, 1)), domain.n_places)
    assert sum(NumpyEngine(cells, domain).aggregate(wide)) == 2 * COLUMNS_MAX * UNIT
    assert query.sensitivity.l2_squared < 2**62


@pytest.mark.attack
def test_cells_out_of_bounds_count_as_the_bound_and_missing_ones_as_the_middle() -> None:
    cells = table(np.zeros((4, 3)))
    ages = pa.array([None, float("inf"), -5.0, 90.0])
    rows = rows_of(cells.set_column(3, "age", ages))
    assert rows[:, 3].tolist() == [10, 9, 0, 7]
    assert (rows[:, 7] / GRID).tolist() == [0.0, 1.0, -1.0, 0.5]


def test_tallies_and_sums_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(4)
    cells = table(rng.uniform(-1, 1, (500, 3)))
    cells = cells.set_column(3, "age", pa.array(rng.integers(0, 121, 500).astype(float)))
    labels = np.array(
        [np.argmin(((p - CENTERS * 3**0.5) ** 2).sum(axis=1)) for p in points_of(cells)]
    )
    ages = cells["age"].to_numpy()
    k, width = len(CENTERS), sum(DOMAIN.n_places)
    votes = np.array(totals(QUERIES[0], cells)).reshape(k, width) / UNIT
    sums, counts = QUERIES[1].split(np.array(totals(QUERIES[1], cells)) / UNIT)  # type: ignore[attr-defined]
    for cluster in range(k):
        ours = ages[labels == cluster]
        expected = np.histogram(ours, 10, (0, 120))[0]
        assert votes[cluster, :10].tolist() == expected.tolist()
        assert abs(sums[cluster, 0] - ((ours - 60) / 60).sum()) < 1e-4
        assert round(counts[cluster]) == len(ours)


def points_of(cells: Any) -> FloatArray:
    return np.column_stack([cells[name].to_numpy() for name in "xyz"])


@pytest.mark.parametrize("centers", [np.zeros((0, 2)), np.zeros(2), np.full((1, 2), np.nan)])
def test_centres_that_are_none_are_refused(centers: FloatArray) -> None:
    for make in (lambda: ProfileTallies(centers, (2,)), lambda: ProfileSums(centers, 0, 1)):
        with pytest.raises(ValueError, match="at least one finite point"):
            make()


def test_too_many_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="Profile fewer"):
        ProfileTallies(np.zeros((1, 2)), (2,) * (COLUMNS_MAX + 1))
    with pytest.raises(ValueError, match="Profile fewer"):
        ProfileSums(np.zeros((1, 2)), 0, COLUMNS_MAX + 1)

"""Queries about rows near a centre, attacked as those of test_clusters.py are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.query_attacks import (
    ARRANGEMENTS,
    COLUMNS,
    STRANGE,
    Example,
    assert_no_row_added_moves_too_much,
    assert_one_row_moves_no_more_than_declared,
    contributions,
    each_row_alone,
    edge_case_rows,
    mirrored_points,
    totals,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.kernels.grid import GRID, UNIT, FloatArray, to_grid
from privclust.kernels.projection import gaussian_projection
from privclust.queries.base import Contribution
from privclust.queries.clusters import ClusterSums
from privclust.queries.nearby import NearbySums

HALF_WIDTHS = 0.3


def nearby(centers: FloatArray, radius: float = HALF_WIDTHS, weight: float = 0.37) -> NearbySums:
    return NearbySums(ClusterSums(centers, centers, radius, weight))


EXAMPLES = [
    Example(f"nearby {radius} d={n_columns}", n_columns, nearby(points, radius, weight))
    for n_columns in COLUMNS
    for points in [mirrored_points(n_columns, 3, seed=2)]
    for radius, weight in ((HALF_WIDTHS, 0.37), (0.9, 3.7))
]
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def rows_at_the_rim(n_columns: int, radius: float) -> FloatArray:
    """Rows at about `radius` from the origin: some a few grid units nearer, some farther."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, n_columns))
    lengths = radius + rng.integers(-2, 3, (200, 1)) * n_columns / GRID
    at_the_rim: FloatArray = rows * lengths / np.linalg.norm(rows, axis=1, keepdims=True)
    return at_the_rim


@pytest.mark.attack
@every_example
def test_a_row_contributes_alone_what_it_does_among_others(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    alone = each_row_alone(example, rows)
    for arrange in ARRANGEMENTS:
        assert contributions(example, arrange(rows)) == alone
    order = np.random.default_rng(7).permutation(len(rows))
    assert contributions(example, rows[order]) == [alone[i] for i in order]


@pytest.mark.parametrize("n_columns", COLUMNS)
def test_a_row_at_the_rim_is_near_or_far_whoever_stands_beside_it(n_columns: int) -> None:
    example = Example("rim", n_columns, nearby(np.zeros((1, n_columns))))
    rows = rows_at_the_rim(n_columns, HALF_WIDTHS)
    alone = each_row_alone(example, rows)
    assert len({one[-8:] for one in alone}) == 2  # some count, some do not
    assert contributions(example, rows) == alone
    assert contributions(example, np.asfortranarray(rows)[::-1]) == alone[::-1]


@pytest.mark.attack
@every_example
def test_one_row_more_moves_the_result_no_more_than_declared(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    for table in (rows[:0], rows[:1], rows):
        assert_no_row_added_moves_too_much(example, table, rows[::41])


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", COLUMNS)
def test_row_just_within_the_radius_is_counted_and_nearly_attains_the_bound(n_columns: int) -> None:
    query = nearby(np.zeros((1, n_columns)))
    example = Example("rim", n_columns, query)
    row = np.zeros((1, n_columns))
    row[0, 0] = HALF_WIDTHS - 1 / GRID
    moved = totals(example, row)
    squares = sum(move * move for move in moved)
    assert (1 - 1e-6) * query.sensitivity.l2_squared <= squares <= query.sensitivity.l2_squared
    row[0, 0] = HALF_WIDTHS + 2 / GRID
    assert totals(example, row) == [0] * (n_columns + 1)


cells = st.one_of(st.sampled_from(STRANGE), st.floats(-1.5, 1.5), st.floats())
rows_of_three = st.lists(cells, min_size=3, max_size=3)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.lists(rows_of_three, max_size=6), rows_of_three)
def test_no_row_that_hypothesis_finds_moves_more_than_declared(
    table: list[list[float]], row: list[float]
) -> None:
    rows = np.array(table, dtype=np.float64).reshape(-1, 3)
    for example in EXAMPLES:
        if example.n_columns == 3:
            before, after = totals(example, rows), totals(example, np.vstack([rows, row]))
            assert_one_row_moves_no_more_than_declared(example.query, before, after)


@every_example
def test_near_rows_add_what_cluster_sums_add_and_far_ones_nothing(example: Example) -> None:
    assert isinstance(example.query, NearbySums)
    sums = example.query.sums
    rows = np.vstack([edge_case_rows(example.n_columns), 0.9 * sums.centers / GRID])
    rows = example.domain.to_grid(rows)
    found, all_of_them = example.query.contribute(rows), sums.contribute(rows)
    assert (found.blocks == all_of_them.blocks).all()
    distances = [
        math.dist(row, center)
        for row, center in zip(
            rows.tolist(), sums.centers[found.blocks[:, 0]].tolist(), strict=True
        )
    ]
    near = np.array(distances) <= sums.radius * GRID
    assert near.any()
    assert (found.values[near] == all_of_them.values[near]).all()
    assert (found.values[~near] == 0).all()


def test_the_declared_bounds_are_those_of_cluster_sums() -> None:
    for weight in (2**-10, 0.37, 16.0):
        query = nearby(np.zeros((2, 5)), weight=weight)
        count = int(weight * UNIT)
        assert query.sensitivity == query.sums.sensitivity
        assert query.sensitivity.l2_squared == UNIT**2 + count**2
        assert (query.size, query.sensitivity.l0, query.sensitivity.monotone) == (12, 6, False)


def test_rows_on_the_grid_come_back_as_their_residuals() -> None:
    center = np.array([[0.25, 0.0]])
    query = nearby(center, radius=0.5, weight=1.0)
    rows = to_grid(np.array([[0.5, 0.0], [0.25, 0.125], [-0.5, 0.0]]))
    found: Contribution = query.contribute(rows)
    sums, counts = query.sums.split(found.values.sum(axis=(0, 1)) / UNIT)
    np.testing.assert_allclose(sums, [[0.25, 0.125]], atol=1e-7)
    assert counts.tolist() == [2.0]


def test_a_projection_is_refused() -> None:
    project = gaussian_projection(3, 2, np.random.default_rng(0))
    points = np.zeros((1, 2))
    with pytest.raises(ValueError, match="give sums that use no projection"):
        NearbySums(ClusterSums(points, np.zeros((1, 3)), 0.5, 1.0, project))

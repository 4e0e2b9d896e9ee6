"""Compiled loops give the integers of their NumPy twins, for every layout, tie and extreme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.kernels import by_both, kernels
from helpers.query_attacks import ARRANGEMENTS, edge_case_rows, knife_edge_rows
from helpers.query_examples import QUERIES
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from privclust.domains.ball import Ball
from privclust.engines.base import bounded_sum, contributions, kept_rows
from privclust.kernels.grid import (
    GRID,
    MARGIN,
    UNIT,
    FloatArray,
    clip_residuals,
    clip_to_ball,
    map_to_ball,
    to_grid,
)
from privclust.kernels.implementation import compiled_loops
from privclust.kernels.nearest import edges_reached, nearest, squared_distances
from privclust.queries.base import Contribution, Query, Sensitivity

Arrange = Callable[[FloatArray], FloatArray]
repeatable = settings(derandomize=True, database=None, max_examples=200)


def assert_equal(work: Callable[[], Any]) -> None:
    by_numpy, compiled = by_both(work)
    np.testing.assert_array_equal(compiled, by_numpy, strict=True)


def grid_rows(n_rows: int, n_columns: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return to_grid(rng.normal(size=(n_rows, n_columns)) / np.sqrt(n_columns))


# The nearest point -------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("arranged", ARRANGEMENTS)
@pytest.mark.parametrize("n_columns", [1, 2, 4, 5, 16, 65])
@pytest.mark.parametrize("n_points", [1, 7, 600])
def test_nearest_points_and_distances_are_the_same(
    arranged: Arrange, n_columns: int, n_points: int
) -> None:
    rows, points = arranged(grid_rows(700, n_columns)), grid_rows(n_points, n_columns, 1)
    assert_equal(lambda: nearest(rows, points))
    index = np.arange(700) % n_points
    assert_equal(lambda: squared_distances(rows, points, index))
    assert_equal(lambda: squared_distances(rows, arranged(points), index))


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [1, 3, 16])
def test_ties_go_to_the_lowest_index(n_columns: int) -> None:
    rows = grid_rows(300, n_columns)
    rows[:, 0] = 0
    points = np.repeat(grid_rows(1, n_columns, 1), 9, axis=0)
    points[1::2, 0] *= -1
    assert_equal(lambda: nearest(rows, points))
    near = rows + np.random.default_rng(0).integers(-1, 2, rows.shape)
    assert_equal(lambda: nearest(near, points))


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [1, 4, 17])
def test_rows_at_the_rim_have_the_same_distances(n_columns: int) -> None:
    rim = np.zeros((4, n_columns))
    rim[:2, 0], rim[2:, -1] = (GRID, -GRID), (GRID, 1 - GRID)
    index = np.arange(4)
    assert_equal(lambda: squared_distances(rim, -rim, index))
    assert_equal(lambda: nearest(rim, -rim))


@pytest.mark.attack
@repeatable
@given(
    arrays(np.float64, st.integers(0, 30), elements=st.integers(0, 2**52)),
    arrays(np.float64, st.tuples(st.just(3), st.integers(0, 5)), elements=st.floats(0, 2.0**60)),
)
def test_as_many_edges_are_reached(squares: FloatArray, edges: FloatArray) -> None:
    index = np.arange(len(squares)) % 3
    assert_equal(lambda: edges_reached(squares, edges, index))
    own = edges[index, :1].ravel() if edges.shape[1] else squares
    assert_equal(lambda: edges_reached(own, edges, index))


def calls_beside_arrays() -> list[Callable[[], Any]]:
    """Return calls that would read or write beside an array if nobody looked."""
    rows, points = grid_rows(6, 3), grid_rows(4, 3, 1)
    first, ones, edges = np.zeros(6, dtype=np.int64), np.ones(6), np.ones((4, 2))
    loops, values = compiled_loops(), np.zeros((7, 1, 1), dtype=np.int64)
    assert loops is not None
    calls: list[Callable[[], Any]] = [
        lambda: clip_to_ball(rows, ones[:5]),
        lambda: clip_residuals(rows, points, first, ones[:5], UNIT),
        lambda: clip_residuals(rows, points, first, ones, ones[:5]),
        lambda: loops.best_scores(points @ rows.T, ones[:3], first),
        lambda: loops.best_scores(points @ rows.T, ones[:4], first[:5]),
        lambda: loops.kept_rows(first[:, None], values, 1, (1, 1, 1, 1), True),
    ]
    for index in (first + 4, first - 1, first[:5]):
        calls += [
            partial(squared_distances, rows, points, index),
            partial(clip_residuals, rows, points, index, ones, UNIT),
            partial(edges_reached, ones, edges, index),
        ]
    for narrow in (points[:, :2], points[:, :0]):
        calls += [
            partial(nearest, rows, narrow),
            partial(squared_distances, rows, narrow, first),
            partial(clip_residuals, rows, narrow, first, ones, UNIT),
            partial(loops.map_to_ball, rows, *[narrow[0]] * 4, 1.0),
        ]
    return calls


@pytest.mark.attack
def test_no_index_leads_out_of_an_array() -> None:
    """NumPy checks every index; in a loop nobody else would. A client's memory lies behind it."""
    with kernels("compiled"):
        for call in calls_beside_arrays():
            with pytest.raises((IndexError, ValueError)):
                call()


# Clipping ----------------------------------------------------------------------------------------

FINITE = st.floats(-1e150, 1e150, allow_nan=False)


@pytest.mark.attack
@repeatable
@given(
    arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FINITE),
    st.sampled_from([1, 100, GRID, UNIT, int(0.75 * UNIT)]),
    st.sampled_from(ARRANGEMENTS),
)
@example(np.array([[MARGIN, 0.0], [-MARGIN, 1e-20], [1.0, 0.0]]), UNIT, np.asfortranarray)
def test_rows_are_clipped_the_same(points: FloatArray, units: int, arranged: Arrange) -> None:
    given_rows = arranged(points)
    assert_equal(lambda: clip_to_ball(given_rows, units))
    each = units * np.arange(1.0, 1.0 + len(points))
    assert_equal(lambda: clip_to_ball(given_rows, each))


@pytest.mark.attack
@pytest.mark.parametrize("arranged", ARRANGEMENTS)
@pytest.mark.parametrize("n_columns", [2, 3, 64])
def test_rows_within_an_ulp_of_the_grid_are_clipped_the_same(
    arranged: Arrange, n_columns: int
) -> None:
    rows = arranged(knife_edge_rows(n_columns, 2000))
    assert_equal(lambda: clip_to_ball(rows, GRID))
    assert_equal(lambda: clip_to_ball(rows, UNIT))


@pytest.mark.attack
@pytest.mark.parametrize("arranged", ARRANGEMENTS)
@pytest.mark.parametrize("n_columns", [1, 3, 64])
def test_residuals_are_clipped_the_same(arranged: Arrange, n_columns: int) -> None:
    rng = np.random.default_rng(0)
    rows, points = arranged(grid_rows(500, n_columns)), grid_rows(5, n_columns, 1)
    index, scale = rng.integers(0, 5, 500), GRID * 2.0 ** rng.uniform(-20, 1, 500)
    units = np.where(rng.random(500) < 0.5, float(UNIT), 0.75 * UNIT)
    assert_equal(lambda: clip_residuals(rows, points, index, scale, units))
    assert_equal(lambda: clip_residuals(rows, points, index, scale, UNIT))


@pytest.mark.attack
@repeatable
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(0, 8), st.just(3)),
        elements=st.floats() | st.sampled_from([5.0, -3.0, 4.0, 1e308, 5e-324, -0.0]),
    ),
    st.sampled_from(ARRANGEMENTS),
)
def test_cells_are_mapped_to_the_grid_the_same(values: FloatArray, arranged: Arrange) -> None:
    center, half_widths = np.array([1.0, -3.0, 0.0]), np.array([4.0, 1e-9, 1e150])
    scales = np.array([8.0, 1e-9, 3e150])
    cells = arranged(values)
    assert_equal(lambda: map_to_ball(cells, center, half_widths, scales))


# Contributions -----------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
@pytest.mark.parametrize("arranged", ARRANGEMENTS)
def test_every_query_adds_up_to_the_same(query: Query, arranged: Arrange) -> None:
    domain = Ball(np.zeros(3), 1.0)
    with np.errstate(all="ignore"):
        rows = arranged(np.vstack([domain.to_grid(edge_case_rows(3)), grid_rows(600, 3)]))
    assert_equal(lambda: contributions(query, rows).blocks)
    assert_equal(lambda: contributions(query, rows).values)
    assert_equal(lambda: bounded_sum(query, contributions(query, rows)))


@dataclass(frozen=True)
class Declared:
    """A query that only says how much rows may add."""

    size: int
    sensitivity: Sensitivity

    def contribute(self, rows: FloatArray) -> Contribution:
        raise NotImplementedError


NUMBERS = st.integers(-4, 4) | st.sampled_from(
    [2**26, 2**31, -(2**31), 2**31 + 1, 2**32, 2**62, 2**63 - 1, -(2**63)]
)


@st.composite
def declared(draw: st.DrawFn) -> tuple[Declared, Contribution]:
    """Draw bounds, and contributions of which some keep them and some do not."""
    n_rows, n_places, width = (draw(st.integers(1, most)) for most in (6, 3, 4))
    n_blocks = draw(st.integers(1, 5))
    limit = st.integers(0, 12) | st.sampled_from([2**26, 2**31, 2**40])
    bounds = Sensitivity(
        draw(limit), draw(limit | st.sampled_from([2**52, 2**61, 2**62])), draw(limit),
        draw(st.integers(0, 13)), draw(st.booleans()),
    )  # fmt: skip
    blocks = draw(arrays(np.int64, (n_rows, n_places), elements=st.integers(-1, n_blocks)))
    values = draw(arrays(np.int64, (n_rows, n_places, width), elements=NUMBERS))
    return Declared(n_blocks * width, bounds), Contribution(blocks, values)


@pytest.mark.attack
@settings(derandomize=True, database=None, max_examples=1000)
@given(declared())
def test_the_same_rows_are_left_out(drawn: tuple[Declared, Contribution]) -> None:
    query, contribution = drawn
    assert_equal(lambda: kept_rows(query, contribution))
    assert_equal(lambda: bounded_sum(query, contribution))


@pytest.mark.attack
@pytest.mark.parametrize("width", [511, 512, 513, 2000])
@pytest.mark.parametrize("more", [0, 1])
def test_long_rows_are_left_out_by_one_unit_too_much(width: int, more: int) -> None:
    """Squares are added up in steps that cannot wrap around."""
    values = np.full((2, 1, width), UNIT, dtype=np.int64)
    values[1, 0, 0] += more
    limits = Sensitivity(width * UNIT + 1, width * UNIT**2, UNIT + 1, width, True)
    query, found = Declared(width, limits), Contribution(np.zeros((2, 1), np.int64), values)
    assert_equal(lambda: kept_rows(query, found))
    assert kept_rows(query, found).tolist() == [True, not more]


@pytest.mark.attack
def test_squares_that_would_wrap_around_are_left_out() -> None:
    values = np.full((1, 1, 4096), UNIT, dtype=np.int64)
    query = Declared(4096, Sensitivity(2**62, 2**60, UNIT, 4096, True))
    found = Contribution(np.zeros((1, 1), np.int64), values)
    assert_equal(lambda: kept_rows(query, found))
    assert not kept_rows(query, found).any()

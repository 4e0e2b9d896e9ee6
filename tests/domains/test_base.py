"""Domains: public bounds, and a rule for strange values that looks at one cell alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.kernels.grid import GRID, FloatArray

BOX = Box([0.0, -10.0, 5.0], [120.0, 30.0, 5.5])
BALL = Ball([10.0, -4.0, 0.5], 5.0)
DOMAINS: list[Domain] = [BOX, BALL]


def mapped(domain: Domain, rows: NDArray[Any]) -> FloatArray:
    """Rows on the unit ball."""
    with np.errstate(all="ignore"):
        return domain.to_grid(rows) / GRID


def inside(domain: Domain, n_rows: int) -> FloatArray:
    """Rows in the user's units that no clip should touch."""
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (n_rows, 3))
    return domain.from_ball(points)


@pytest.mark.parametrize("domain", DOMAINS)
def test_rows_go_there_and_back(domain: Domain) -> None:
    rows = inside(domain, 100)
    gap = np.abs(domain.from_ball(mapped(domain, rows)) - rows)
    # Truncation loses less than one grid unit.
    assert (gap <= domain.spread * 1.001 / GRID).all()


def test_corners_of_a_box_reach_the_sphere_and_come_back() -> None:
    corners = np.array([BOX.lower, BOX.upper, [0.0, 30.0, 5.0]])
    unit = mapped(BOX, corners)
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(3), abs=1e-7)
    assert np.abs(BOX.from_ball(unit) - corners).max() < 1e-5


def test_columns_of_a_box_count_equally() -> None:
    unit = mapped(BOX, np.array([[120.0, 10.0, 5.25], [60.0, 30.0, 5.25], [60.0, 10.0, 5.5]]))
    assert unit == pytest.approx(np.eye(3) / np.sqrt(3), abs=1e-7)


@pytest.mark.attack
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_missing_becomes_the_centre_of_its_column(domain: Domain, column: int) -> None:
    rows = inside(domain, 5)
    expected = rows.copy()
    expected[:, column] = domain.center[column]
    rows[:, column] = np.nan
    assert np.array_equal(mapped(domain, rows), mapped(domain, expected))


@pytest.mark.attack
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_out_of_range_becomes_the_bound(domain: Domain, column: int, sign: int) -> None:
    bound = domain.center.copy()
    bound[column] += sign * domain.reach[column]
    rows = np.tile(domain.center, (4, 1))
    beyond = [np.inf, 1e308, 1e200, 2 * np.abs(bound[column]) + domain.reach[column]]
    rows[:, column] = sign * np.array(beyond)
    assert np.array_equal(mapped(domain, rows), np.tile(mapped(domain, bound[None]), (4, 1)))


@pytest.mark.attack
def test_columns_are_clipped_before_the_norm() -> None:
    ball = Ball([0.0, 0.0], 1.0)
    # Clipping the norm alone would leave the second coordinate with next to nothing.
    unit = mapped(ball, np.array([[1e300, 1.0], [np.inf, -1.0], [1e6, 0.5]]))
    half = 0.5**0.5
    assert unit[:2] == pytest.approx(np.array([[half, half], [half, -half]]), abs=1e-7)
    assert unit[2] == pytest.approx(np.array([1.0, 0.5]) / 1.25**0.5, abs=1e-7)


@pytest.mark.attack
def test_a_row_of_strange_cells_lies_on_the_grid_of_the_ball() -> None:
    cells = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, -0.0, 0.0]
    rows = np.array(np.meshgrid(cells, cells, cells)).reshape(3, -1).T
    for domain in (*DOMAINS, Box([-1e150] * 3, [1e150] * 3), Ball([0.0] * 3, 1e-150)):
        with np.errstate(all="ignore"):
            whole = domain.to_grid(rows)
        assert np.array_equal(whole, np.trunc(whole))
        assert all(sum(int(cell) ** 2 for cell in row) <= GRID**2 for row in whole)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "longdouble", ">f8"]
)
def test_every_real_dtype_maps_like_float64(dtype: str) -> None:
    rows = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=dtype)
    assert np.array_equal(mapped(BOX, rows), mapped(BOX, rows.astype(np.float64)))


def test_numbers_larger_than_float64_become_the_bound() -> None:
    huge = np.array([["1e4000", "-1e4000", "5.25"]]).astype(np.longdouble)
    assert np.array_equal(mapped(BOX, huge), mapped(BOX, np.array([[120.0, -10.0, 5.25]])))


def test_whole_numbers_at_the_end_of_their_type_become_the_bound() -> None:
    ends = np.array([[np.iinfo(np.int64).max, np.iinfo(np.int64).min, 5]])
    assert np.array_equal(mapped(BOX, ends), mapped(BOX, np.array([[120.0, -10.0, 5.0]])))


def test_mapping_leaves_the_users_rows_alone() -> None:
    rows = np.array([[np.nan, np.inf, -np.inf]])
    mapped(BOX, rows)
    assert np.isnan(rows[0, 0])
    assert rows[0, 1:].tolist() == [np.inf, -np.inf]


def test_an_empty_table_stays_empty() -> None:
    assert mapped(BOX, np.empty((0, 3))).shape == (0, 3)


def test_a_constant_table_without_memory_of_its_own_is_mapped() -> None:
    rows = np.broadcast_to(np.nan, (10, 3))
    assert np.array_equal(mapped(BALL, rows), np.zeros((10, 3)))


def test_bounds_are_copied_and_frozen() -> None:
    lower = np.zeros(2)
    box = Box(lower, [1.0, 1.0])
    lower[0] = 0.5
    assert box.lower.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        box.lower[0] = 3.0


def test_bounds_of_different_lengths_are_refused_with_both_counts() -> None:
    with pytest.raises(ValueError, match="one lower and one upper value per column, got 2 lower"):
        Box([0.0, 0.0], [1.0, 1.0, 1.0])


@pytest.mark.parametrize("upper", [0.0, -1.0, 5e-324])
def test_a_column_without_width_is_refused_with_a_remedy(upper: float) -> None:
    with pytest.raises(ValueError, match=r"lower bound must be below .* leave a column"):
        Box([0.0, 0.0], [1.0, upper])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e151])
def test_bounds_that_are_no_public_numbers_are_refused_by_name(bad: float) -> None:
    allowed = r"must be one finite number per column, at most 1e\+150"
    with pytest.raises(ValueError, match="upper bounds " + allowed):
        Box([0.0, 0.0], [1.0, bad])
    with pytest.raises(ValueError, match="lower bounds " + allowed):
        Box([bad, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="the middle of the ball " + allowed):
        Ball([0.0, bad], 1.0)


def test_bounds_without_columns_or_in_a_table_are_refused() -> None:
    for values in ([], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match="one finite number per column"):
            Ball(values, 1.0)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 1e-160])
def test_a_bad_radius_is_refused_with_its_value_and_a_remedy(radius: float) -> None:
    with pytest.raises(ValueError, match=r"between 1e-150 and 1e\+150, got .*Give the largest"):
        Ball([0.0], radius)


@pytest.mark.attack
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_masked_cells_are_missing_whatever_lies_under_the_mask(dtype: str) -> None:
    rows = np.ma.masked_array([[75, 20], [75, 20]], mask=[[True, False], [False, False]])
    found = Ball([0.0, 0.0], 100.0).to_grid(rows.astype(dtype)) / GRID
    np.testing.assert_allclose(found, [[0.0, 0.2], [0.75, 0.2]], atol=1e-6)

"""The grid: integers, never longer than the ball, the same bits in any memory order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privclust.kernels.grid import (
    GRID,
    UNIT,
    FloatArray,
    clip_to_ball,
    norms,
    norms_squared,
    to_grid,
)

REPEATABLE = settings(deadline=None, derandomize=True, database=None, max_examples=200)
STRANGE = [0.0, -0.0, 5e-324, -5e-324, 2e-308, 1e-162, 1e154, -1e155, 1e308, -1e308]
NEAR_ONE = [1.0, -1.0, 1 - 2.0**-53, 1 + 2.0**-52, 1 - 2.0**-40, 1 - 2.0**-41, 0.5**0.5, 0.6, -0.8]

coordinates = st.one_of(
    st.sampled_from(STRANGE + NEAR_ONE),
    st.floats(-1.5, 1.5),
    st.floats(allow_nan=False, allow_infinity=False),
)
tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12),
    elements=coordinates,
)


def clipped(points: FloatArray, units: int) -> FloatArray:
    with np.errstate(over="ignore"):
        return clip_to_ball(points, units)


def exact_square(row: FloatArray) -> int:
    return sum(int(value) ** 2 for value in row)


def knife_edge_rows(n_rows: int, n_columns: int, seed: int) -> FloatArray:
    """Rows outside the ball whose last coordinate, once clipped, lies within an ulp of a whole.

    There a norm that differs in its last bit changes the truncated coordinate by one.
    """
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns))
    rows[:, -1] = 2.0
    goal = rng.integers(GRID // 16, GRID // 8, n_rows) / GRID
    for _ in range(100):
        rows[:, -1] = goal * np.sqrt((rows**2).sum(axis=1)) / (1 - 2.0**-40)
    spacing = np.spacing(rows[:, -1])
    rows[:, -1] += rng.integers(-2, 3, n_rows) * spacing
    return rows


@pytest.mark.attack
@REPEATABLE
@given(tables, st.sampled_from([1, 100, GRID, UNIT]))
def test_integer_norm_never_exceeds_the_units(points: FloatArray, units: int) -> None:
    whole = clipped(points, units)
    assert np.array_equal(whole, np.trunc(whole))
    assert all(exact_square(row) <= units**2 for row in whole)


@REPEATABLE
@given(tables, st.sampled_from([GRID, UNIT]))
def test_clipping_never_lengthens_a_coordinate_nor_turns_its_sign(
    points: FloatArray, units: int
) -> None:
    for before, after in zip(points.ravel(), clipped(points, units).ravel(), strict=True):
        limit, found = Fraction(float(before)) * units, Fraction(float(after))
        assert abs(found) <= abs(limit)
        assert found * limit >= 0


@REPEATABLE
@given(hnp.arrays(np.float64, (3, 4), elements=st.floats(-0.49, 0.49)))
def test_rows_inside_the_ball_are_truncated_toward_zero(points: FloatArray) -> None:
    expected = [[int(Fraction(float(cell)) * GRID) for cell in row] for row in points]
    assert to_grid(points).astype(int).tolist() == expected


@pytest.mark.attack
def test_negative_coordinates_are_truncated_and_not_floored() -> None:
    assert clip_to_ball(np.array([[-0.299, 0.299]]), 100).tolist() == [[-29.0, 29.0]]
    assert clip_to_ball(np.array([[-30.0, 40.0]]), 100).tolist() == [[-59.0, 79.0]]


@pytest.mark.parametrize("n_columns", [1, 2, 65, 3000])
@pytest.mark.parametrize("length", [1.0, 1 + 2.0**-52, 7.3, 1e100])
def test_a_long_row_keeps_the_length_of_the_ball(n_columns: int, length: float) -> None:
    rows = np.random.default_rng(n_columns).normal(size=(50, n_columns))
    rows *= length / np.linalg.norm(rows, axis=1, keepdims=True)
    lost = GRID - np.sqrt([exact_square(row) for row in clip_to_ball(rows, GRID)])
    assert lost.min() > 0
    assert lost.max() <= np.sqrt(n_columns) + 1e-3


def test_a_row_too_long_for_its_norm_becomes_zero() -> None:
    assert clipped(np.array([[1e200, 1.0], [0.5, 0.0]]), 100).tolist() == [[0.0, 0.0], [50.0, 0.0]]


def row_longer_than_its_norm(units: int, square: float, tiny: float) -> FloatArray:
    """A row of 2^16 columns that would be clipped to an integer norm above `units`.

    Its squared norm is about `square`, between 1 and 2, where float64 counts in steps of 2^-52.
    Each of its tiny squares, of `tiny` such steps, is rounded down as it is added, and together
    they outweigh the margin of 2^-40. The large coordinates hit integers: nothing is
    truncated there that could make up for it.
    """
    n_tiny = 2**16
    seen = int(tiny) * 2.0**-52 * units**2 / square
    left = int(units**2 * (1 - 2.0**-39) - n_tiny * seen)
    wholes: list[int] = []
    while left > 0 and len(wholes) < 8:
        wholes.append(math.isqrt(left))
        left -= wholes[-1] ** 2
    unit = math.sqrt(square) / units / (1 - 2.0**-40) * (1 + 2.0**-49)
    large = np.array(wholes) * unit
    return np.concatenate([large, np.full(n_tiny, math.sqrt(tiny * 2.0**-52))])[None]


@pytest.mark.attack
@pytest.mark.parametrize(("units", "square", "tiny"), [(UNIT, 1.45, 1.49), (GRID, 1.37, 5.495)])
def test_a_row_longer_than_its_rounded_norm_becomes_zero(
    units: int, square: float, tiny: float
) -> None:
    row = row_longer_than_its_norm(units, square, tiny)
    unchecked = np.trunc(row[0] * ((1 - 2.0**-40) / norms(row)[0] * units))
    assert exact_square(unchecked) > units**2
    assert not clip_to_ball(row, units).any()


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [3, 16, 65])
def test_clipping_gives_the_same_bits_in_any_memory_order(n_columns: int) -> None:
    rows = knife_edge_rows(1000, n_columns, seed=1)
    expected = np.vstack([clip_to_ball(row[None].copy(), GRID) for row in rows])
    wide = np.zeros((1000, 2 * n_columns))
    wide[:, ::2] = rows
    for arranged in (rows, np.asfortranarray(rows), rows[::-1].copy()[::-1], wide[:, ::2]):
        assert np.array_equal(clip_to_ball(arranged, GRID), expected)
        assert np.array_equal(norms(arranged), norms(rows))


def test_knife_edge_rows_do_stand_on_an_edge() -> None:
    rows = knife_edge_rows(1000, 16, seed=1)
    a_bit_longer = rows * ((1 - 2.0**-40) / np.nextafter(norms(rows), 9) * GRID)[:, None]
    assert (np.trunc(a_bit_longer) != clip_to_ball(rows, GRID)).any(axis=1).sum() > 50


@REPEATABLE
@given(hnp.arrays(np.float64, (2, 5), elements=st.integers(-(2**25), 2**25).map(float)))
def test_squared_norms_of_integers_are_exact(whole: FloatArray) -> None:
    assert norms_squared(whole).tolist() == [exact_square(row) for row in whole]


def test_squared_norms_beyond_exactness_are_not_below_the_limit() -> None:
    whole = np.full((1, 4097), 2.0**26 - 1)
    whole[0, 0] = 1.0
    assert norms_squared(whole)[0] >= 2.0**53

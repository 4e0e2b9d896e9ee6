"""The engine's last word on bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from privclust.engines.base import bounded_sum
from privclust.engines.units import Batch, batch_sum
from privclust.kernels.grid import FloatArray
from privclust.queries.base import Contribution, Count, Sensitivity, one_hot
from privclust.queries.unit import ROW, Unit

LOWEST = np.iinfo(np.int64).min
GOOD = [1, 2, 2]


@dataclass(frozen=True)
class Declared:
    """A query that only declares; the tests make its contributions up."""

    sensitivity: Sensitivity
    size: int = 6

    def contribute(self, rows: FloatArray) -> Contribution:
        raise NotImplementedError


SMALL = Declared(Sensitivity(l1=6, l2_squared=13, linf=3, l0=3, monotone=False))
MONOTONE = Declared(Sensitivity(l1=6, l2_squared=13, linf=3, l0=3, monotone=True))
WIDE = Declared(Sensitivity(l1=2**40, l2_squared=2**61, linf=2**31, l0=6, monotone=False))


def contribution(blocks: ArrayLike, values: ArrayLike) -> Contribution:
    return Contribution(np.array(blocks, dtype=np.int64), np.array(values, dtype=np.int64))


def sum_beside_good(query: Declared, bad: list[int]) -> list[int]:
    """Sum a good row, a row that may be bad, and the good row again, all in the second block."""
    values = [[GOOD], [bad], [GOOD]]
    total: list[int] = bounded_sum(query, contribution([[1], [1], [1]], values)).tolist()
    return total


TWICE_GOOD = [0, 0, 0, 2, 4, 4]


@pytest.mark.attack
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param([4, 0, 0], id="one value too large"),
        pytest.param([0, -4, 0], id="one negative value too large"),
        pytest.param([3, 2, 1], id="l2 broken, linf and l1 hold"),
        pytest.param([-3, 2, 1], id="l2 broken by a negative value"),
        pytest.param([2**31, 0, 0], id="2^31"),
        pytest.param([LOWEST, 0, 0], id="the one integer whose absolute value is negative"),
        pytest.param([LOWEST, LOWEST, 0], id="twice the lowest: its sum wraps to zero"),
        pytest.param([2**62, 2**62, 2**62], id="sum wraps"),
        pytest.param([2**32, 0, 0], id="square wraps to zero"),
        pytest.param([2**63 - 1, 1, 0], id="the largest integer"),
    ],
)
def test_a_row_that_breaks_a_bound_is_left_out(bad: list[int]) -> None:
    assert sum_beside_good(SMALL, bad) == TWICE_GOOD


@pytest.mark.attack
def test_a_row_that_breaks_only_l1_is_left_out() -> None:
    query = Declared(Sensitivity(l1=5, l2_squared=100, linf=10, l0=3, monotone=False))
    assert sum_beside_good(query, [2, 2, 2]) == TWICE_GOOD
    assert sum_beside_good(query, [2, -2, 2]) == TWICE_GOOD


@pytest.mark.attack
def test_a_row_that_breaks_only_linf_is_left_out() -> None:
    query = Declared(Sensitivity(l1=100, l2_squared=100, linf=3, l0=3, monotone=False))
    assert sum_beside_good(query, [4, 0, 0]) == TWICE_GOOD
    assert sum_beside_good(query, [0, 0, -4]) == TWICE_GOOD


@pytest.mark.attack
def test_squares_that_wrap_around_to_a_small_number_are_noticed() -> None:
    query = Declared(Sensitivity(l1=2**40, l2_squared=9, linf=2**31, l0=4, monotone=False), size=4)
    wrapping = [[[2**31] * 4], [[2**31, 2**31, 2**31, -(2**31)]], [[1, 2, 0, 2]]]
    found = bounded_sum(query, contribution([[0]] * 3, wrapping))
    assert found.tolist() == [1, 2, 0, 2]


@pytest.mark.attack
def test_a_negative_value_is_left_out_of_a_monotone_query_only() -> None:
    assert sum_beside_good(MONOTONE, [1, -1, 1]) == TWICE_GOOD
    assert sum_beside_good(SMALL, [1, -1, 1]) == [0, 0, 0, 3, 3, 5]


@pytest.mark.attack
def test_a_row_that_names_a_block_twice_is_left_out() -> None:
    query = Declared(Sensitivity(l1=4, l2_squared=8, linf=2, l0=2, monotone=True), size=3)
    blocks = [[0, 2], [1, 1], [2, 0]]
    assert bounded_sum(query, contribution(blocks, [[[2], [2]]] * 3)).tolist() == [4, 0, 4]


@pytest.mark.attack
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.full((1, 1, 6), 2**64 - 1, dtype=np.uint64), id="-1 once it is cast"),
        pytest.param(np.ones((1, 1, 6), dtype=np.int32), id="squares wrap"),
        pytest.param(np.full((1, 1, 6), 0.5), id="0 once it is cast"),
        pytest.param(np.full((1, 1, 6), np.nan), id="not a number"),
        pytest.param(np.ones((1, 1, 6), dtype=object), id="objects"),
        pytest.param(np.ones((1, 1, 6), dtype=">i8"), id="bytes in another order"),
        pytest.param(
            np.ma.array(np.ones((1, 1, 6), np.int64), mask=True), id="masked: not in the maximum"
        ),
    ],
)
def test_values_of_another_dtype_are_refused(values: Any) -> None:
    blocks = np.zeros((1, 1), dtype=np.int64)
    starts = np.zeros(1, dtype=np.int64)

    @dataclass(frozen=True)
    class Fixed(Declared):
        def contribute(self, rows: FloatArray) -> Contribution:
            return Contribution(blocks, values)

    query = Fixed(Sensitivity(l1=6, l2_squared=6, linf=1, l0=6, monotone=False))
    with pytest.raises(TypeError, match="int64"):
        bounded_sum(query, Contribution(blocks, values))
    with pytest.raises(TypeError, match="int64"):
        batch_sum(query, Unit("id", 2), Batch(np.zeros((1, 2)), starts))
    with pytest.raises(TypeError, match="int64"):
        bounded_sum(SMALL, Contribution(values[..., 0], np.ones((1, 1, 3), dtype=np.int64)))


@pytest.mark.attack
def test_contributions_of_another_shape_are_refused() -> None:
    for blocks, values in (
        ([[0]], [[[1], [1]]]),  # more values than blocks
        ([[0, 1]], [[[1]]]),
        ([[0]], [[[1, 1, 1, 1]]]),  # of which 6 coordinates are no multiple
        ([[0]], [[[]]]),
        ([0], [[[1]]]),
    ):
        with pytest.raises(ValueError, match="shape"):
            bounded_sum(SMALL, contribution(blocks, values))


@pytest.mark.attack
def test_a_row_that_changes_more_coordinates_than_declared_is_left_out() -> None:
    query = Declared(Sensitivity(l1=6, l2_squared=13, linf=3, l0=2, monotone=False))
    values = [[[1, 1, 1]], [[0, 2, 2]]]
    assert bounded_sum(query, contribution([[1], [1]], values)).tolist() == [0, 0, 0, 0, 2, 2]


@pytest.mark.attack
@pytest.mark.parametrize("block", [-1, 2, 2**40])
def test_a_block_that_is_not_there_is_left_out_and_raises_nothing(block: int) -> None:
    values = [[GOOD], [GOOD]]
    assert bounded_sum(SMALL, contribution([[block], [0]], values)).tolist() == [*GOOD, 0, 0, 0]


@pytest.mark.attack
@pytest.mark.parametrize("starts", [None, np.array([0, 2])])
def test_contributions_of_more_rows_than_there_are_are_refused(starts: Any) -> None:
    """Else one row could add the bounds several times, or a batch could add what no row does."""

    class Repeated(Count):
        def contribute(self, rows: FloatArray) -> Contribution:
            return one_hot(np.zeros(2 * len(rows), dtype=np.int64))

    unit = ROW if starts is None else Unit("who", 2)
    with pytest.raises(ValueError, match="6 contributions of 3 rows"):
        batch_sum(Repeated(), unit, Batch(np.zeros((3, 1)), starts))


def test_query_cannot_write_to_rows_that_the_engine_holds() -> None:
    class Writing(Count):
        def contribute(self, rows: FloatArray) -> Contribution:
            rows[:] = 0.0
            return super().contribute(rows)

    rows = np.ones((3, 1))
    with pytest.raises(ValueError, match="read-only"):
        batch_sum(Writing(), ROW, Batch(rows, None))
    assert rows.all()


def test_bounds_hold_over_all_blocks_of_a_row_together() -> None:
    query = Declared(Sensitivity(l1=4, l2_squared=8, linf=3, l0=2, monotone=True), size=3)
    values = [[[2], [2]], [[3], [1]], [[3], [0]]]
    # 9 + 1 is too long; 9 alone as well.
    assert bounded_sum(query, contribution([[0, 1]] * 3, values)).tolist() == [2, 2, 0]


@pytest.mark.parametrize("row", [[3, 2, 0], [-3, 0, 2], [2, 2, 2], [0, 0, 0]])
def test_row_at_its_bounds_is_kept(row: list[int]) -> None:
    expected = [2 + row[0], 4 + row[1], 4 + row[2]]
    assert sum_beside_good(SMALL, row) == [0, 0, 0, *expected]


def test_values_up_to_just_below_2_to_the_31_are_kept() -> None:
    assert sum_beside_good(WIDE, [2**30, -(2**30), 0])[3:] == [2**30 + 2, 4 - 2**30, 4]


def test_no_rows_and_no_rows_kept_add_up_to_zero() -> None:
    assert (
        bounded_sum(SMALL, contribution(np.empty((0, 1)), np.empty((0, 1, 3)))).tolist() == [0] * 6
    )
    assert bounded_sum(SMALL, contribution([[0]], [[[9, 9, 9]]])).tolist() == [0] * 6


def test_a_million_large_rows_add_up_exactly() -> None:
    n_rows, value = 2**20, 2**30 + 1
    values = np.broadcast_to(np.int64(value), (n_rows, 1, 1))
    query = Declared(Sensitivity(l1=value, l2_squared=value**2, linf=value, l0=1, monotone=True), 2)
    blocks = np.ones((n_rows, 1), dtype=np.int64)
    assert bounded_sum(query, Contribution(blocks, values)).tolist() == [0, n_rows * value]


def test_the_last_word_agrees_with_python_integers() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(-4, 5, (2000, 2, 3))
    blocks = rng.integers(0, 2, (2000, 2))
    expected = [0] * 6
    for row_blocks, row in zip(blocks.tolist(), values.tolist(), strict=True):
        cells = [cell for block in row for cell in block]
        fits = (
            row_blocks[0] != row_blocks[1]
            and sum(map(abs, cells)) <= 6
            and sum(cell * cell for cell in cells) <= 13
            and max(map(abs, cells)) <= 3
            and sum(cell != 0 for cell in cells) <= 3
        )
        if fits:
            for block, inner in zip(row_blocks, row, strict=True):
                for column, cell in enumerate(inner):
                    expected[3 * block + column] += cell
    assert bounded_sum(SMALL, Contribution(blocks, values)).tolist() == expected
    assert any(expected)

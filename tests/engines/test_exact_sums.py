"""Sums in arrays against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.engines.exact_sums import LARGEST, ExactSums, clamped, lengths
from privclust.kernels.grid import IntArray

LOWEST, HIGHEST = -(2**63), 2**63 - 1
EDGES = [
    edge + step
    for power in (0, 31, 32, 61, 62)
    for edge in (2**power, -(2**power))
    for step in (-1, 0, 1)
]
quick = settings(deadline=None, derandomize=True, database=None)
INTEGERS = st.one_of(st.sampled_from([LOWEST, HIGHEST, *EDGES]), st.integers(LOWEST, HIGHEST))


def added(*arrays: list[int]) -> ExactSums:
    sums = ExactSums(len(arrays[0]))
    for array in arrays:
        sums += np.array(array, dtype=np.int64)
    return sums


def clamped_integers(values: list[int]) -> list[int]:
    return [max(-LARGEST, min(LARGEST, value)) for value in values]


@pytest.mark.attack
@quick
@given(st.lists(st.tuples(INTEGERS, INTEGERS, INTEGERS), min_size=1, max_size=12))
def test_sums_are_those_of_python_integers(rows: list[tuple[int, int, int]]) -> None:
    expected = [sum(column) for column in zip(*rows, strict=True)]
    sums = added(*map(list, rows))
    assert sums == expected
    assert expected == sums
    assert list(sums) == [sums[place] for place in range(3)] == sums[:] == expected
    assert clamped(sums).tolist() == clamped(expected).tolist() == clamped_integers(expected)
    assert clamped(sums).dtype == np.int64


@pytest.mark.attack
@quick
@given(st.integers(1, 2**29), INTEGERS, INTEGERS)
def test_sums_of_sums_are_exact_up_to_2_to_the_92(times: int, first: int, second: int) -> None:
    """Doubling stands for as many additions as no loop could make."""
    sums, expected = added([first, second]), [first, second]
    for bit in f"{times:b}"[1:]:
        sums += ExactSums.from_bytes(sums.to_bytes())
        expected = [2 * value for value in expected]
        if bit == "1":
            sums += np.array([first, second])
            expected = [a + b for a, b in zip(expected, (first, second), strict=True)]
    assert sums == expected == [times * first, times * second]
    assert sums.clamped().tolist() == clamped_integers(expected)


@pytest.mark.attack
def test_clamping_moves_no_sum_farther_than_it_moved() -> None:
    """A lower half that comes back after the upper was clipped would let one vote weigh 2^31."""
    for side in (LARGEST, -LARGEST):
        for middle in (side, side + 2**31, side - 2**31, 3 * side):
            near = [middle + step for step in (-(2**31), -1, 0, 1, 2**31)]
            halves = [[value >> 1 for value in near], [value - (value >> 1) for value in near]]
            assert added(*halves).clamped().tolist() == clamped_integers(near)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(2),
        np.zeros(1, dtype=np.int64),
        np.zeros((2, 2), dtype=np.int64),
        np.zeros(2, dtype=np.uint64),
        ExactSums(1),
    ],
)
@pytest.mark.attack
def test_what_would_be_converted_or_repeated_is_refused(wrong: IntArray) -> None:
    sums = ExactSums(2)
    with pytest.raises(TypeError, match="64-bit"):
        sums += wrong
    assert sums == [0, 0]


@quick
@given(st.lists(st.one_of(st.sampled_from([0, 1, 2**21, 2**62]), st.integers(0, 2**62))))
def test_lengths_are_those_of_python_integers(values: list[int]) -> None:
    expected = sum(values), sum(value * value for value in values)
    assert lengths(np.array(values, dtype=np.int64)) == expected


def test_lengths_of_more_coordinates_than_are_added_at_once() -> None:
    size = 2**20 + 3
    found = lengths(np.full(size, 2**62 - 1))
    assert found == (size * (2**62 - 1), size * (2**62 - 1) ** 2)


def test_other_things_are_not_sums() -> None:
    assert ExactSums(1) != {0}
    with pytest.raises(TypeError, match="unhashable"):
        hash(ExactSums(1))

"""Units of many rows: summed exactly, clipped as a whole, each a matter of its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privclust.engines import units
from privclust.engines._summing import total
from privclust.engines.memory import GridTable, NumpyEngine
from privclust.engines.units import clipped_whole, split_batches
from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.queries.base import Contribution, Count, Query, Sensitivity
from privclust.queries.clusters import ClusterSums
from privclust.queries.profiles import ProfileTallies
from privclust.queries.unit import ROW, ROWS_PER_UNIT_MAX, Unit

Units = Sequence[Sequence[int]]
MARGIN = Fraction(2**38 - 1, 2**38)
LARGEST = 2**31 - 1
cheap = settings(deadline=None, derandomize=True, database=None, max_examples=150)


@dataclass(frozen=True, eq=False)
class Listed:
    """A query that looks contributions up in a list: each row is a number in it."""

    sensitivity: Sensitivity
    blocks: IntArray
    values: IntArray
    n_blocks: int = 3
    rows_alike: bool = False

    @property
    def size(self) -> int:
        return self.n_blocks * int(self.values.shape[2])

    def contribute(self, rows: FloatArray) -> Contribution:
        number = rows[:, 0].astype(np.int64)
        return Contribution(self.blocks[number], self.values[number])


def result(query: Query, unit: Unit, members: Units, batch_rows: int = 8192) -> list[int]:
    """Sum over units, given by the numbers of their rows, in batches of some size."""
    rows = np.array([row for one in members for row in one], dtype=np.int32)[:, None]
    counts = np.array([len(one) for one in members], dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "GRID_BATCH_ROWS", batch_rows)
        found = total(query, unit, split_batches(rows, np.cumsum(counts) - counts))
    return [int(value) for value in found]


# A referee in Python's integers and fractions ----------------------------------------------------


def keeps(vector: list[int], bounds: Sensitivity) -> bool:
    return (
        sum(map(abs, vector)) <= bounds.l1
        and sum(cell * cell for cell in vector) <= bounds.l2_squared
        and max(map(abs, vector)) <= bounds.linf
        and sum(cell != 0 for cell in vector) <= bounds.l0
        and (not bounds.monotone or min(vector) >= 0)
    )


def summed(query: Listed, members: Sequence[int]) -> list[int]:
    """Add up a unit's rows, those that break the bounds of a row left out."""
    found, width = [0] * query.size, query.values.shape[2]
    for number in members:
        cells = query.values[number].ravel().tolist()
        if keeps(cells, query.sensitivity):
            for place, cell in enumerate(cells):
                block = int(query.blocks[number, place // width])
                found[block * width + place % width] += cell
    return found


def shrunk(vector: list[int], factor: Fraction) -> list[int]:
    return [int(cell * factor) for cell in vector]


def clipped(vector: list[int], bounds: Sensitivity) -> list[int]:
    """Shrink to linf, then to l1 and l2, each with the margin if it is needed at all."""
    largest = max(map(abs, vector))
    if largest > bounds.linf:
        vector = shrunk(vector, MARGIN * Fraction(bounds.linf, largest))
    factor, l1, squared = Fraction(1), sum(map(abs, vector)), sum(cell * cell for cell in vector)
    if l1 > bounds.l1:
        factor = min(factor, MARGIN * Fraction(bounds.l1, l1))
    if squared > bounds.l2_squared:
        scaled = MARGIN * Fraction(bounds.l2_squared, squared) * 4**80
        factor = min(factor, Fraction(isqrt(int(scaled)), 2**80))
    return vector if factor == 1 else shrunk(vector, factor)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Listed, Unit, list[list[int]]]:
    """A query near its limits, and units with few or many rows that keep or break them."""
    touched, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n_rows, monotone = draw(st.integers(1, 6)), draw(st.booleans())
    size = draw(st.sampled_from([1, 3, 1000, UNIT, 16 * UNIT, LARGEST]))
    cell = st.one_of(st.integers(-size, size), st.sampled_from([-size, size, 0]))
    values = draw(arrays(np.int64, (n_rows, touched, width), elements=cell))
    order = np.random.default_rng(draw(st.integers(0, 99)))
    blocks = order.permuted(np.tile(np.arange(3), (n_rows, 1)), axis=1)[:, :touched]
    l1 = draw(st.integers(size, touched * width * size))
    l2_squared = draw(st.integers(size**2, touched * width * size**2))
    linf = min(size * draw(st.sampled_from([1, 9])), 2**31)
    bounds = Sensitivity(l1, l2_squared, linf, touched * width, monotone)
    values = np.abs(values) if monotone else values
    unit = Unit("who", draw(st.sampled_from([1, 2, 7, ROWS_PER_UNIT_MAX])))
    some = st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=8)
    repeats = st.sampled_from([1, 2, 60, 400])
    members = [draw(some) * draw(repeats) for _ in range(draw(st.integers(1, 3)))]
    return Listed(bounds, blocks, values, rows_alike=draw(st.booleans())), unit, members


@pytest.mark.attack
@cheap
@given(cases(), st.sampled_from([100, 1000, 8192]))
def test_no_unit_moves_the_sum_by_more_than_its_bounds(
    case: tuple[Listed, Unit, list[list[int]]], batch_rows: int
) -> None:
    query, unit, members = case
    everyone = result(query, unit, members, batch_rows)
    for place in range(len(members)):
        others = result(query, unit, members[:place] + members[place + 1 :], batch_rows)
        moved = [a - b for a, b in zip(everyone, others, strict=True)]
        assert keeps(moved, unit.sensitivity(query))
        assert moved == result(query, unit, [members[place]])


@cheap
@given(cases())
def test_clipping_agrees_with_fractions(case: tuple[Listed, Unit, list[list[int]]]) -> None:
    query, unit, members = case
    bounds = unit.sensitivity(query)
    for one in members:
        whole, found = summed(query, one), result(query, unit, [one])
        if query.rows_alike and len(one) > unit.rows:
            whole = shrunk(whole, Fraction(unit.rows, len(one)))
        elif keeps(whole, bounds):
            assert found == whole
        # Floats may fall on the other side of an integer, once for each time it is shrunk.
        pairs = zip(found, clipped(whole, bounds), strict=True)
        assert max(abs(a - b) for a, b in pairs) <= 3
        assert all(abs(a) <= abs(b) and a * b >= 0 for a, b in zip(found, whole, strict=True))


@cheap
@given(cases(), st.integers(0, 99), st.sampled_from([20, 300, 8192]))
def test_order_of_rows_and_size_of_batches_do_not_matter(
    case: tuple[Listed, Unit, list[list[int]]], seed: int, batch_rows: int
) -> None:
    """Below 8192 many of these units are larger than a batch, which is another way to sum."""
    query, unit, members = case
    rng = np.random.default_rng(seed)
    mixed = [rng.permutation(one).tolist() for one in rng.permutation(np.array(members, object))]
    assert result(query, unit, mixed, batch_rows) == result(query, unit, members)


@cheap
@given(cases())
def test_rows_that_weigh_alike_are_never_clipped(
    case: tuple[Listed, Unit, list[list[int]]],
) -> None:
    """As many rows as may count keep the bounds: what a row weighs depends on their number only."""
    query, unit, members = case
    query = replace(query, rows_alike=True)
    for one in members:
        weight = min(Fraction(1), Fraction(unit.rows, len(one)))
        expected = [cell * weight for cell in summed(query, one)]
        found = result(query, unit, [one])
        for cell, exact in zip(found, expected, strict=True):
            assert abs(cell - exact) <= 2 + abs(exact) * Fraction(1, 2**37)


# At the limits -----------------------------------------------------------------------------------


def one_row(values: list[int], bounds: Sensitivity) -> Listed:
    return Listed(bounds, np.array([[1]]), np.array([[values]]))


@pytest.mark.attack
@pytest.mark.parametrize("rows", [1, 3, ROWS_PER_UNIT_MAX])
@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        pytest.param([5, -4, 3], Sensitivity(12, 99, 9, 3, False), id="l1"),
        pytest.param(
            [UNIT, -UNIT, 1], Sensitivity(2 * UNIT + 1, 4**30, UNIT * 2, 3, False), id="l1 2^26"
        ),
        pytest.param([5, -4, 3], Sensitivity(99, 50, 9, 3, False), id="l2"),
        pytest.param(
            [16 * UNIT, UNIT, 0], Sensitivity(2**31, 257 * UNIT**2, 2**31, 3, False), id="l2 2^30"
        ),
        pytest.param([5, -4, 3], Sensitivity(99, 99, 5, 3, False), id="linf"),
        pytest.param(
            [-LARGEST, 0, 0], Sensitivity(2**40, 2**62, LARGEST, 3, False), id="linf 2^31"
        ),
        pytest.param(
            [LARGEST, 0, 0], Sensitivity(LARGEST, LARGEST**2, LARGEST, 1, True), id="all three"
        ),
    ],
)
def test_a_unit_at_a_bound_counts_in_full_and_one_row_more_does_not(
    values: list[int], bounds: Sensitivity, rows: int
) -> None:
    query, unit = one_row(values, bounds), Unit("who", rows)
    assert result(query, unit, [[0] * rows])[3:6] == [rows * value for value in values]
    beyond = result(query, unit, [[0] * (rows + 1)])
    assert keeps(beyond, unit.sensitivity(query))
    # Less by the margin, and by what truncation takes.
    for found, value in zip(beyond[3:6], values, strict=True):
        assert rows * abs(value) * MARGIN - 2 <= abs(found) <= rows * abs(value)


@pytest.mark.parametrize("n_rows", [1024, 1025, 8192, 8193, 100_000])
def test_a_thousand_rows_of_weight_sixteen(n_rows: int) -> None:
    query = ClusterSums(np.zeros((1, 2)), np.zeros((1, 2)), radius=2**-20, weight=16.0)
    unit = Unit("who", ROWS_PER_UNIT_MAX)
    rows, starts = np.full((n_rows, 2), 2**24, dtype=np.int32), np.zeros(1, dtype=np.int64)
    found = [int(value) for value in total(query, unit, split_batches(rows, starts))]
    assert keeps(found, unit.sensitivity(query))
    assert found[2] == 2**40 if n_rows == 1024 else 2**40 - 2**6 < found[2] < 2**40


@pytest.mark.attack
@pytest.mark.parametrize("rows", [1, ROWS_PER_UNIT_MAX])
def test_a_hundred_thousand_rows_in_one_unit_are_clipped_once(rows: int) -> None:
    """They are summed in pieces; the pieces must not be clipped, nor a row be lost or kept."""
    rng = np.random.default_rng(0)
    values = rng.integers(-LARGEST, LARGEST, (100, 2, 2)) >> rng.integers(0, 31, (100, 2, 2))
    blocks = rng.permuted(np.tile(np.arange(3), (100, 1)), axis=1)[:, :2]
    query = Listed(Sensitivity(2**31, 2**61, 2**30, 4, False), blocks, values)
    unit, members = Unit("who", rows), rng.integers(0, 100, 100_000).tolist()
    whole = summed(query, members)
    assert not keeps(whole, unit.sensitivity(query))
    found = result(query, unit, [members])
    assert found == result(query, unit, [members], batch_rows=2**17)
    assert keeps(found, unit.sensitivity(query))
    assert max(map(abs, found)) > rows * 2**28
    expected = clipped(whole, unit.sensitivity(query))
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) <= 2


@pytest.mark.attack
@pytest.mark.parametrize(
    "bounds",
    [
        pytest.param(Sensitivity(7, 999, 99, 3, False), id="l1"),
        pytest.param(Sensitivity(99, 25, 99, 3, False), id="l2"),
        pytest.param(Sensitivity(99, 999, 4, 3, False), id="linf"),
    ],
)
def test_a_unit_that_shrinking_did_not_help_becomes_zero(
    bounds: Sensitivity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "_MARGIN", 4.0)
    found = result(one_row([3, 4, 0], bounds), Unit("who", 1), [[0], [0, 0], [0]])
    assert found == [0, 0, 0, 6, 8, 0, 0, 0, 0]


def test_sums_of_all_coordinates_are_exact_where_they_are_largest() -> None:
    """2^20 coordinates of 2^41 each: the widest and loudest unit there can be."""
    values = np.full((2**20, 1), 2**41, dtype=np.int64)
    l1, squared = units._lengths(values, np.zeros(1, dtype=np.int64))
    assert (int(l1[0]), squared[0]) == (2**61, 2**102)
    l1, squared = units._lengths(1 - values, np.zeros(1, dtype=np.int64))
    assert (int(l1[0]), squared[0]) == (2**61 - 2**20, 2**20 * (2**41 - 1) ** 2)


def test_64_batches_of_the_loudest_units_add_up_exactly() -> None:
    bounds = Sensitivity(LARGEST, LARGEST**2, LARGEST, 1, True)
    query = Listed(bounds, np.zeros((1, 1), int), np.full((1, 1, 1), LARGEST), n_blocks=1)
    one = units.Batch(np.zeros((8192, 1), np.int32), np.arange(8192))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "_clipped", lambda values, *_: values * ROWS_PER_UNIT_MAX)
        found = total(query, Unit("who", ROWS_PER_UNIT_MAX), [one] * 65)
    assert found[0] == 65 * 8192 * ROWS_PER_UNIT_MAX * LARGEST > 2**59


@pytest.mark.attack
def test_unit_that_counts_as_no_or_too_many_rows_is_refused() -> None:
    for wrong in ((None, 2), ("id", 0), ("id", -1), ("id", ROWS_PER_UNIT_MAX + 1), ("id", 1, -1)):
        with pytest.raises(ValueError, match="a unit counts as"):
            Unit(*wrong)


@pytest.mark.attack
def test_whole_client_without_a_name_is_refused() -> None:
    """It would have the sensitivity of one row."""
    for rows, clients in ((1, 0), (1, 1), (3, 1)):
        with pytest.raises(ValueError, match="a whole client has a name"):
            Unit(None, rows, clients, whole=True)
    assert Unit("client", 3, 1, whole=True).sensitivity(Count()).linf == 3 * UNIT


def test_rows_of_a_whole_client_weigh_alike_in_profiles() -> None:
    """Its 40 rows lie in one cluster and two places, 30 to 10: they count as three votes."""
    rows = np.zeros((40, 3))
    rows[:10, 2] = 1.0
    tallies = ProfileTallies(np.zeros((1, 2)), (2,))
    engine = NumpyEngine.holding(lambda: GridTable(rows), 3, ROW, 1)
    found = clipped_whole(tallies, Unit("client", 3, whole=True), engine)
    np.testing.assert_allclose(found / UNIT, [3 * 30 / 40, 3 * 10 / 40], atol=1e-6)

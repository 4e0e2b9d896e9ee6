"""Columns of a mixed table: what a cell becomes, and that it stays within the ball."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import numpy as np
import pytest
from helpers.kernels import kernels
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains._category_column import LEVELS_MAX, CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.box import Box
from privclust.domains.columns import Column
from privclust.domains.mixed import Mixed
from privclust.domains.profiled import ProfileDomain
from privclust.domains.sphere import Sphere
from privclust.errors import BoundsError
from privclust.kernels.grid import GRID, FloatArray

AGE = NumberColumn("age", 0, 120, weight=2.0)
INCOME = NumberColumn("income", 1e3, 1e6, transform="log")
DEBT = NumberColumn("debt", 0, 1e6, transform="log1p")
VISIT = DateColumn("visit", date(2020, 1, 1), date(2024, 12, 31))
WARD = CategoryColumn("ward", ("A", "B", "other"), weight=0.5)
SEX = CategoryColumn("sex", ("f", "m"))
EVERY = (AGE, INCOME, DEBT, VISIT, WARD, SEX)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


def features(mixed: Mixed, cells: list[list[float]]) -> FloatArray:
    columns = zip(mixed.columns, zip(*cells, strict=True), strict=True)
    return np.hstack([encoded(column, np.array(values)) for column, values in columns])


def encoded(column: Column, values: FloatArray) -> FloatArray:
    if isinstance(column, CategoryColumn):
        return column.features(values.astype(np.int64))
    return column.features(values)


@st.composite
def cells(draw: st.DrawFn) -> list[float]:
    levels = [
        st.integers(-1, len(column.levels) - 1) if isinstance(column, CategoryColumn) else NUMBERS
        for column in EVERY
    ]
    return [draw(level) for level in levels]


@settings(deadline=None)
@given(st.lists(cells(), min_size=1, max_size=5))
def test_every_row_lies_within_the_ball_and_far_ones_at_its_rim(rows: list[list[float]]) -> None:
    mixed = Mixed(EVERY)
    unit = (features(mixed, rows) - mixed.center) / mixed.scales
    assert np.nanmax(np.linalg.norm(np.nan_to_num(unit), axis=1)) <= 1 + 1e-12
    far = [[120.0, 1e6, 0.0, 1e9, 0, 1]]
    rim = (features(mixed, far) - mixed.center) / mixed.scales
    assert np.linalg.norm(rim) == pytest.approx(1.0)


@settings(deadline=None)
@given(st.lists(cells(), min_size=2, max_size=40))
def test_a_row_is_mapped_alone_as_among_others_in_any_layout(rows: list[list[float]]) -> None:
    mixed = Mixed(EVERY)
    together = mixed.to_grid(features(mixed, rows))
    alone = [mixed.to_grid(features(mixed, [row])) for row in rows]
    assert np.array_equal(together, np.vstack(alone))
    backwards = mixed.to_grid(features(mixed, rows[::-1])[::-1])
    assert np.array_equal(together, backwards)


def test_missing_cells_become_the_middle_of_their_column() -> None:
    mixed = Mixed(EVERY)
    nothing = [[np.nan, np.nan, np.nan, np.nan, -1, -1]]
    assert not mixed.to_grid(features(mixed, nothing)).any()


FILLED = (
    NumberColumn("age", 0, 120, weight=2.0, missing=45),
    NumberColumn("income", 1e3, 1e6, transform="log", missing=3e4),
    NumberColumn("debt", 0, 1e6, transform="log1p", missing=0),
    DateColumn("visit", date(2020, 1, 1), date(2024, 12, 31), missing=date(2023, 2, 28)),
    WARD,
    SEX,
)


@pytest.mark.attack
@pytest.mark.parametrize("kernel", ["numpy", "compiled"])
def test_missing_cells_count_as_declared_by_both_kernels(kernel: str) -> None:
    mixed, middle = Mixed(FILLED), Mixed(EVERY)
    day = (date(2023, 2, 28) - date(1970, 1, 1)).days
    rows = [[np.nan, np.nan, np.nan, np.nan, -1, -1], [45, 3e4, 0, day, -1, -1]]
    with kernels(kernel):
        gaps, typed = mixed.to_grid(features(mixed, rows))
        assert np.array_equal(gaps, typed)
        assert gaps[:4].all()
        assert not gaps[4:].any()
        assert np.array_equal(typed, middle.to_grid(features(middle, rows))[1])


@pytest.mark.attack
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(1e-6, 1e6)), min_size=1, max_size=6),
    st.lists(st.lists(NUMBERS, min_size=6, max_size=6), min_size=1, max_size=5),
)
def test_rows_stay_in_the_ball_whatever_is_declared_for_missing_cells(
    declared: list[tuple[float, float]], rows: list[list[float]]
) -> None:
    columns = tuple(
        NumberColumn(f"c{place}", -3.0, 5.0, weight, missing=8 * part - 3.0)
        for place, (part, weight) in enumerate(declared)
    )
    mixed = Mixed(columns)
    some = [[np.nan] * len(columns), *(row[: len(columns)] for row in rows)]
    whole = mixed.to_grid(features(mixed, some))
    alone = [mixed.to_grid(features(mixed, [row])) for row in some]
    assert np.array_equal(whole, np.vstack(alone))
    assert all(sum(int(cell) ** 2 for cell in row) <= GRID**2 for row in whole)


def test_numbers_that_declare_missing_cells_are_as_plain_as_others() -> None:
    columns = NumberColumn("a", 0, 100, 2.0, missing=70), NumberColumn("b", 50, 100, 5.0)
    mixed, box = Mixed(columns), Box([0, 50], [100, 100], [2, 5])
    assert mixed.is_linear
    assert not Mixed(EVERY).is_linear
    assert mixed.scales == pytest.approx(box.scales)
    unscaled = mixed.unscaled()
    assert unscaled.common_scale == pytest.approx(box.unscaled().common_scale)
    declared = unscaled.parameters("none", None)["bounds"]["a"]
    assert (declared["weight"], declared["missing"]) == (1.0, 70)
    with pytest.raises(BoundsError, match="keeps numbers in their own units, and bounds declare"):
        Mixed(EVERY).unscaled()
    with pytest.raises(BoundsError, match="times as wide"):
        Mixed((*columns, NumberColumn("c", 0, 1e9))).unscaled()


def test_two_levels_are_half_as_far_apart_as_two_bounds() -> None:
    mixed = Mixed((NumberColumn("age", 0, 120), CategoryColumn("sex", ("f", "m", "x"))))
    rows = mixed.to_grid(features(mixed, [[0, 0], [120, 0], [0, 1], [0, 2]])) / GRID
    bounds, levels, others = (np.linalg.norm(rows[0] - rows[place]) for place in (1, 2, 3))
    assert levels == pytest.approx(bounds / 2, rel=1e-5)
    assert others == pytest.approx(levels, rel=1e-5)


@pytest.mark.attack
@pytest.mark.parametrize(
    "make",
    [
        lambda: NumberColumn("a", 1, 1),
        lambda: NumberColumn("a", 2, 1),
        lambda: NumberColumn("a", float("nan"), 1),
        lambda: NumberColumn("a", 0, float("inf")),
        lambda: NumberColumn("a", -1e151, 1),
        lambda: NumberColumn("a", 0, 1e-151),
        lambda: NumberColumn("a", 0, 1, transform="log"),
        lambda: NumberColumn("a", -1, 1, transform="log1p"),
        lambda: NumberColumn("a", 1e8, np.nextafter(1e8, 2e8), transform="log"),
        lambda: NumberColumn("a", 0, 1, weight=0.0),
        lambda: NumberColumn("a", 0, 1, missing=2),
        lambda: NumberColumn("a", 0, 1, missing=-1e-300),
        lambda: NumberColumn("a", 0, 1, missing=float("nan")),
        lambda: DateColumn("a", date(2020, 1, 1), date(2021, 1, 1), missing=date(2021, 1, 2)),
        lambda: DateColumn("a", date(2020, 1, 1), date(2020, 1, 1)),
        lambda: DateColumn("a", date(2020, 1, 1), date(2021, 1, 1), weight=float("nan")),
        lambda: CategoryColumn("a", ("x",)),
        lambda: CategoryColumn("a", ("x", "x")),
        lambda: CategoryColumn("a", tuple(map(str, range(LEVELS_MAX + 1)))),
        lambda: CategoryColumn("a", ("x", "y"), weight=1e7),
        lambda: Mixed(()),
        lambda: Mixed((AGE, AGE)),
        lambda: Sphere(0),
        lambda: Sphere(2**20 + 1),
        lambda: ProfileDomain(Box([0], [1]), ("a",), ()),
        lambda: ProfileDomain(Box([0], [1]), ("a",), (AGE, AGE)),
        lambda: ProfileDomain(Box([0], [1]), ("a", "b"), (AGE,)),
        lambda: ProfileDomain(ProfileDomain(Box([0], [1]), ("a",), (AGE,)), ("a",), (AGE,)),
    ],
)
def test_domain_that_no_row_fits_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"needs?|must|have|has"):
        make()

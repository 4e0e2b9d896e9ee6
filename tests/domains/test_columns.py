"""Declared columns: each cell alone, on its scale and in its place in a profile."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn, Transform
from privclust.domains.columns import BINS
from privclust.kernels.grid import GRID

COLUMNS = (
    NumberColumn("age", 0, 120),
    NumberColumn("share", 0, 1),
    NumberColumn("income", 1, 1e6, transform="log"),
    NumberColumn("visits", 0, 1e3, transform="log1p"),
    NumberColumn("bmi", 12, 60, missing=25),
    NumberColumn("cost", 1, 1e6, transform="log", missing=80),
)
STRANGE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 0.3, 12.0, 1e3, 999999.9]
every_column = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)


@pytest.mark.attack
@every_column
def test_what_is_noted_of_a_cell_follows_from_it_alone(column: NumberColumn) -> None:
    rng = np.random.default_rng(0)
    cells = np.concatenate([STRANGE, column.edges, rng.uniform(-1, 130, 500)])
    for note in (NumberColumn.places, NumberColumn.offsets):
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
        place, value = column.places(np.array([cell]))[0], column.offsets(np.array([cell]))[0]
    assert place in range(BINS + 1)
    assert (place == BINS) == np.isnan(cell)
    assert value == int(value)
    assert abs(value) <= GRID
    assert value == 0 or not np.isnan(cell)


@every_column
def test_edges_increase_from_bound_to_bound_and_open_their_ranges(column: NumberColumn) -> None:
    edges = column.edges
    assert (edges[0], edges[-1], len(edges)) == (column.lower, column.upper, BINS + 1)
    assert (np.diff(edges) > 0).all()
    assert column.places(edges[:-1]).tolist() == list(range(BINS))
    assert column.places(np.nextafter(edges[1:-1], -np.inf)).tolist() == list(range(BINS - 1))


@st.composite
def filled_columns(draw: st.DrawFn) -> NumberColumn:
    """Draw bounds, a scale, and any value between the bounds for missing cells."""
    transform: Transform = draw(st.sampled_from(["none", "log", "log1p"]))
    lower = draw(st.floats(-1e12, 1e12))
    lower = lower if transform == "none" else abs(lower) + 1e-3
    upper = lower + draw(st.floats(1e-6, 1e12))
    assume(lower < upper)
    missing = draw(st.floats(lower, upper))
    try:
        with np.errstate(invalid="ignore"):
            return NumberColumn("x", lower, upper, 1.0, transform, missing)
    except ValueError:  # too close for a logarithm
        reject()


@pytest.mark.attack
@settings(deadline=None)
@given(filled_columns(), st.lists(st.floats(), min_size=1, max_size=9), st.integers(0, 9))
def test_missing_cell_counts_as_a_cell_with_the_declared_value(
    column: NumberColumn, cells: list[float], place: int
) -> None:
    gap = np.insert(cells, min(place, len(cells)), np.nan)
    assert column.missing is not None
    value = np.where(np.isnan(gap), column.missing, gap)
    with np.errstate(all="ignore"):
        assert column.features(gap).tolist() == column.features(value).tolist()
        assert (column.offsets(gap)[np.isnan(gap)] == 0).all(), "no part of a profile's mean"
        assert (column.features(gap) >= column.ends[0]).all()
        assert (column.features(gap) <= column.ends[1]).all()
        assert (np.abs(column.offsets(gap)) <= GRID).all()
        assert (column.places(gap) == BINS).tolist() == np.isnan(gap).tolist()


@given(st.dates(date(1, 1, 1), date(9998, 12, 31)), st.integers(1, 9999), st.integers(0, 9999))
def test_missing_day_counts_as_the_declared_one(first: date, days: int, place: int) -> None:
    last = min(first.toordinal() + days, date.max.toordinal())
    missing = date.fromordinal(min(first.toordinal() + place, last))
    visit = DateColumn("visit", first, date.fromordinal(last), missing=missing)
    day = np.array([missing.toordinal() - date(1970, 1, 1).toordinal()], dtype=np.float64)
    gap = np.array([np.nan])
    assert visit.features(gap) == visit.features(day)
    assert visit.offsets(gap) == 0
    assert visit.missing_features == visit.features(day)[0]
    assert visit.labels[int(visit.places(gap)[0])] == "missing"
    assert visit.missing_text == missing.isoformat()


def test_public_point_is_no_cell() -> None:
    """A centre that is not known is not filled."""
    bmi = NumberColumn("bmi", 12, 60, missing=25)
    assert np.isnan(bmi.to_scale(np.array([[np.nan]]))).all()


def test_levels_and_days_have_their_places() -> None:
    ward = CategoryColumn("ward", ("A", "B"))
    assert ward.places(np.array([0, 1, -1])).tolist() == [0, 1, 2]
    assert ward.labels == ("A", "B", "missing")
    visit = DateColumn("visit", date(1970, 1, 1), date(1970, 1, 21))
    assert visit.places(np.array([0.0, 2.0, 20.0, np.nan])).tolist() == [0, 1, 9, 10]
    assert visit.labels[:2] == ("1970-01-01 to 1970-01-03", "1970-01-03 to 1970-01-05")
    assert ward.number is None


def ends_of(column: NumberColumn) -> list[str]:
    """Return the edges of a column's ranges as their labels write them."""
    ranges = [label.split(" to ") for label in column.labels[:-1]]
    assert [upper for _, upper in ranges[:-1]] == [lower for lower, _ in ranges[1:]]
    return [ranges[0][0], *(upper for _, upper in ranges)]


@pytest.mark.parametrize(
    ("bounds", "first"),
    [
        ((0, 120), "0 to 12"),
        ((-74.2589, -73.7004), "-74.2589 to -74.203"),
        ((0, 1e7), "0 to 1000000"),
        ((0, 1e21), "0 to 1e+20"),
        ((0, 1e-5), "0 to 1e-06"),
        ((100_000, 100_001), "100000 to 100000.1"),
        ((1_700_000_000, 1_700_086_400), "1700000000 to 1700008600"),
        ((1e15, 1e15 + 80), "1000000000000000 to 1000000000000008"),
    ],
)
def test_ranges_are_written_with_the_digits_that_they_need(
    bounds: tuple[float, float], first: str
) -> None:
    assert NumberColumn("x", *bounds).labels[0] == first


@settings(deadline=None)
@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-6, 1e12),
    st.sampled_from(["none", "log", "log1p"]),
)
def test_every_range_has_a_label_of_its_own_that_is_right(
    lower: float, width: float, transform: Transform
) -> None:
    lower = lower if transform == "none" else abs(lower) + 1e-3
    assume(lower + width > lower)
    try:
        with np.errstate(invalid="ignore"):
            column = NumberColumn("x", lower, lower + width, transform=transform)
    except ValueError:  # too close for a logarithm
        reject()
    edges, written = column.edges, [float(text) for text in ends_of(column)]
    gaps = np.diff(edges)
    assume((gaps > 0).all())
    assert len(set(column.labels)) == len(column.labels)
    nearest = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    assert (np.abs(written - edges) <= 0.01 * nearest).all()


@pytest.mark.parametrize("days", range(1, 40))
def test_every_range_of_days_has_a_label_of_its_own(days: int) -> None:
    first = date(2024, 2, 27)
    column = DateColumn("visit", first, first + timedelta(days))
    assert len(set(column.labels)) == len(column.labels) == min(days + 1, BINS) + 1


def test_few_days_have_a_place_each() -> None:
    visit = DateColumn("visit", date(1970, 1, 1), date(1970, 1, 5))
    assert visit.labels == (
        *("1970-01-01", "1970-01-02", "1970-01-03", "1970-01-04", "1970-01-05", "missing"),
    )
    cells = np.array([-7.0, 0.0, 1.0, 3.0, 4.0, 99.0, np.inf, np.nan])
    assert visit.places(cells).tolist() == [0, 0, 1, 3, 4, 4, 4, 5]
    assert (visit.offsets(np.array([0.0, 2.0, 4.0])) / GRID).tolist() == [-1.0, 0.0, 1.0]


def test_numbers_are_written_to_what_is_known_of_them() -> None:
    age = NumberColumn("age", 0, 120)
    assert age.format_value(41.23456, 0.02) == "41.235"
    assert age.format_value(41.23456, 30.0) == "41"
    assert age.format_value(41.23456) == "41.2346"


@settings(deadline=None)
@given(st.floats(0.001, 1e6))
def test_logarithms_are_right_and_come_back(value: float) -> None:
    income = NumberColumn("income", 0.001, 1e6, transform="log")
    read = income.features(np.array([value]))
    assert read[0, 0] == pytest.approx(np.log10(value), abs=2e-6)
    assert income.units(read)[0, 0] == pytest.approx(value, rel=1e-5)


@settings(deadline=None)
@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_logarithms_keep_the_order(one: float, other: float) -> None:
    first, second = NumberColumn("debt", 0, 1e6, transform="log1p").features(
        np.array(sorted([one, other]))
    )[:, 0]
    assert first <= second


def test_noisy_shares_become_shares() -> None:
    shares = CategoryColumn("ward", ("A", "B", "other"), weight=0.5).units(
        np.array([[0.5, -0.2, 0.7], [-1.0, -1.0, -0.5]])
    )
    assert shares.min() >= 0
    assert shares.sum(axis=1) == pytest.approx([1.0, 1.0])

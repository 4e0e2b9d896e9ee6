"""Rows of any number of columns count: none is left out because exact norms outgrow 64 bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust import PrivateKMeans
from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.engines.base import bounded_sum, kept_rows
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, FloatArray
from privclust.kernels.projection import gaussian_projection
from privclust.privacy.accounting import Budget
from privclust.queries.base import Contribution, Count, Query, Sensitivity
from privclust.queries.cells import CellCounts, CellSums, SignCells
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.columns import ColumnHistograms
from privclust.queries.covariance import SecondMoment
from privclust.queries.cubes import SubcubeCounts
from privclust.queries.nearby import NearbySums
from privclust.queries.profiles import COLUMNS_MAX, ProfileSums, ProfileTallies
from privclust.queries.shells import ShellMoments
from privclust.queries.squared_distances import SquaredDistanceVotes
from privclust.queries.swaps import SetSavings, SwapSavings
from privclust.queries.unit import Unit

COLUMNS = [1, 100, 1023, 1024, 5000, 10_000]
SECOND_MOMENTS = [1, 100, 1024]
"""Of 10,000 columns they have fifty million coordinates a row."""


def two_points(n_columns: int) -> FloatArray:
    return np.array([[0.5], [-0.5]]) * np.eye(1, n_columns)


def projected(n_columns: int) -> Query:
    project = gaussian_projection(n_columns, 3, np.random.default_rng(0))
    return ClusterSums(two_points(3), two_points(n_columns), 2.0, 16.0, project)


def swaps(n_columns: int) -> Query:
    points = two_points(n_columns)
    return SwapSavings(points, np.repeat(points[:1] / 2, 128, axis=0), np.zeros(128, dtype=int))


QUERIES: dict[str, Callable[[int], Query]] = {
    "count": lambda d: Count(),
    "votes": lambda d: NearestVotes(two_points(d)),
    "sums": lambda d: ClusterSums(two_points(d), np.zeros((2, d)), 1.0, 16.0),
    "residuals": lambda d: ClusterSums(two_points(d), two_points(d), 0.01, 0.4),
    "sums projected": projected,
    "nearby": lambda d: NearbySums(ClusterSums(two_points(d), two_points(d), 2.0, 1.0)),
    "moments": lambda d: ClusterMoments(two_points(d), np.full(2, 0.1), 16.0, 16.0),
    "distances": lambda d: DistanceHistogram(two_points(d), np.array([0.1, 0.5])),
    "shells": lambda d: ShellMoments(two_points(d), np.full(2, 0.1), 16.0, 16.0, 2),
    "narrow shells": lambda d: ShellMoments(two_points(d), np.full(2, 2.0**-20), 16.0, 16.0, 10),
    "squared distances": lambda d: SquaredDistanceVotes(two_points(d), np.array([0.0, 0.1, 4.0])),
    "cells": lambda d: CellCounts(SignCells(np.eye(1, d), ("0", "1"))),
    "cell sums": lambda d: CellSums(SignCells(np.eye(1, d), ("0", "1")), d, 16.0),
    "column histograms": lambda d: ColumnHistograms(np.full(d, 1.0), 4),
    "swaps": swaps,
    "sets": lambda d: SetSavings(np.stack([two_points(d)] * 128)),
}


def extreme_rows(n_columns: int) -> FloatArray:
    """Return corners, rims and strange rows of a box, on the grid."""
    rng = np.random.default_rng(1)
    sides = rng.choice([-1.0, 1.0], (3, n_columns))
    rim = np.eye(1, n_columns)
    rows = np.vstack([np.ones(n_columns), sides, rim, -rim, np.inf * sides, np.zeros(n_columns)])
    box = Box(-np.ones(n_columns), np.ones(n_columns)).to_grid(rows)
    return np.vstack([box, Ball(np.zeros(n_columns), 1.0).to_grid(rows)])


def assert_all_rows_count(query: Query, rows: FloatArray) -> None:
    found = query.contribute(rows)
    assert kept_rows(query, found).all()
    expected = np.zeros(query.size, dtype=object)
    width = found.values.shape[2]
    for blocks, values in zip(found.blocks, found.values, strict=True):
        for block, added in zip(blocks, values, strict=True):
            expected[block * width : (block + 1) * width] += added.astype(object)
    assert bounded_sum(query, found).tolist() == expected.tolist()


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", COLUMNS)
@pytest.mark.parametrize("name", QUERIES)
def test_extreme_rows_count_whatever_the_number_of_columns(name: str, n_columns: int) -> None:
    assert_all_rows_count(QUERIES[name](n_columns), extreme_rows(n_columns))


@pytest.mark.parametrize("n_columns", SECOND_MOMENTS)
def test_extreme_rows_count_in_second_moments(n_columns: int) -> None:
    assert_all_rows_count(SecondMoment(n_columns), extreme_rows(n_columns)[:4])


@pytest.mark.parametrize("n_columns", [1, 5])
def test_extreme_rows_count_in_cubes(n_columns: int) -> None:
    cubes = (np.arange(2**n_columns)[:, None] >> np.arange(n_columns)) & 1
    query = SubcubeCounts(cubes, 1, np.full(n_columns, -(2**26)))
    assert_all_rows_count(query, extreme_rows(n_columns))


def test_extreme_rows_count_in_the_widest_profile() -> None:
    noted = np.full((3, COLUMNS_MAX), 2.0**25)
    rows = np.hstack([extreme_rows(1000)[:3], np.zeros((3, COLUMNS_MAX)), noted])
    centers = two_points(1000)
    assert_all_rows_count(ProfileTallies(centers, (2,) * COLUMNS_MAX), rows)
    assert_all_rows_count(ProfileSums(centers, COLUMNS_MAX, COLUMNS_MAX), rows)


@pytest.mark.parametrize("n_columns", [1023, 1024, 5000])
def test_people_count_in_wide_histograms(n_columns: int) -> None:
    import pyarrow as pa

    cells = {f"c{number}": [0.5, 0.5, -0.5] for number in range(n_columns)}
    table = pa.table({"who": ["ann", "ann", "bob"], **cells})
    domain = Ball(np.zeros(n_columns), 100.0)
    query = ColumnHistograms(np.full(n_columns, 1.0), 2)
    sums = NumpyEngine(table, domain, unit=Unit("who", 2)).aggregate(query)
    assert query.split(np.array(sums, dtype=float) / UNIT).tolist() == [[1.0, 2.0]] * n_columns


class Declared:
    """A query of one block that only declares its bounds."""

    def __init__(self, size: int, l2_squared: int) -> None:
        self.size = size
        self.sensitivity = Sensitivity(2**62, l2_squared, 2**31, size, monotone=False)

    def contribute(self, rows: FloatArray) -> Contribution:
        raise NotImplementedError


@pytest.mark.attack
@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.integers(-(2**31) + 1, 2**31 - 1), min_size=1, max_size=40),
    st.integers(-2, 2),
    st.integers(0, 2**64),
)
def test_long_rows_are_compared_with_their_bound_exactly(
    row: list[int], above: int, another: int
) -> None:
    """Bounds at, just beside and far from the length of a row, on both sides of 2^62."""
    length = sum(value * value for value in row)
    for bound in (max(0, length + above), another):
        query = Declared(len(row), bound)
        found = Contribution(np.zeros((1, 1), dtype=np.int64), np.array([[row]], dtype=np.int64))
        assert kept_rows(query, found).tolist() == [length <= bound]


@pytest.mark.attack
@pytest.mark.parametrize("value", [2**31, -(2**31), 2**32, 2**62, -(2**63), 2**63 - 1])
def test_values_beyond_32_bits_do_not_pass_a_wide_bound(value: int) -> None:
    values = np.zeros((1, 1, 5000), dtype=np.int64)
    values[0, 0, :2] = value
    found = Contribution(np.zeros((1, 1), dtype=np.int64), values)
    within = abs(value) <= 2**31
    assert kept_rows(Declared(5000, 2**75), found).tolist() == [within]


@pytest.mark.parametrize("n_columns", [1, 1023, 1024, 5000])
def test_private_scale_sees_the_rows_of_wide_tables(n_columns: int) -> None:
    from privclust.algorithms import _scale
    from privclust.privacy.curator import Curator

    rows = np.full((1000, n_columns), 0.01)
    rows[::2] = -0.01
    rows[:, 0] *= 50
    domain = Box(-np.ones(n_columns), np.ones(n_columns))
    planned = _scale.plan(2, n_columns, Budget(64.0, 1e-6))
    curator = Curator.open(NumpyEngine(rows, domain), planned.spending, noiseless=True)
    found = _scale.variances(curator, domain.half_widths / domain.scales)
    assert found[0] == pytest.approx(0.25 / n_columns, rel=0.1)
    assert (found[1:] < 0.01 * found[0]).all()
    assert curator.releases[0].values.sum() == 1000 * n_columns


def test_fit_with_private_scale_of_1024_columns_weighs_narrow_columns_more() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 0.02, (300, 1024))
    rows[:, 0] = rng.uniform(-1, 1, 300)
    model = PrivateKMeans(
        1, epsilon=float("inf"), bounds=(-1, 1), scale="private", random_state=0
    ).fit(rows)
    assert isinstance(model.domain_, Box)
    assert np.median(model.domain_.weights[1:]) > 5 * model.domain_.weights[0]

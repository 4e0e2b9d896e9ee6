"""Histograms of columns: every row votes once in each, and moves the result by no more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.engines.base import kept_rows
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, to_grid
from privclust.queries.columns import ColumnHistograms

HALF_WIDTHS = np.array([0.5, 0.1, 0.9])
QUERY = ColumnHistograms(HALF_WIDTHS, 8)


def test_counts_are_those_of_the_rows() -> None:
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (500, 3)) * HALF_WIDTHS
    sums = NumpyEngine(rows, Ball(np.zeros(3), 1.0)).aggregate(QUERY)
    counts = QUERY.split(np.array(sums) / UNIT)
    for column in range(3):
        edges = np.linspace(-HALF_WIDTHS[column], HALF_WIDTHS[column], 9)
        assert counts[column].tolist() == np.histogram(rows[:, column], edges)[0].tolist()
    assert QUERY.middles()[0, 0] == pytest.approx(-0.5 * 7 / 8)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_any_row_votes_once_in_each_column_and_alone_as_among_others(row: list[float]) -> None:
    others = np.random.default_rng(1).uniform(-1, 1, (50, 3))
    rows = to_grid(np.vstack([others, row]))
    among = QUERY.contribute(rows)
    alone = QUERY.contribute(rows[-1:])
    assert kept_rows(QUERY, among).all()
    assert np.array_equal(among.blocks[-1:], alone.blocks)
    assert (among.blocks // 8 == np.arange(3)).all()
    assert (QUERY.sensitivity.l2_squared, QUERY.sensitivity.l0) == (3 * UNIT**2, 3)


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [1, 2, 7])
def test_a_row_votes_in_every_column_and_its_bounds_say_so(n_columns: int) -> None:
    query = ColumnHistograms(np.full(n_columns, 0.5), 4)
    values = query.contribute(to_grid(np.full((1, n_columns), 0.1))).values
    assert (values**2).sum() == query.sensitivity.l2_squared
    assert values.sum() == query.sensitivity.l1
    assert np.count_nonzero(values) == query.sensitivity.l0


@pytest.mark.parametrize(("half_widths", "bins"), [([0.0], 8), ([1.1], 8), ([], 8), ([0.5], 1)])
def test_impossible_range_is_refused(half_widths: list[float], bins: int) -> None:
    with pytest.raises(ValueError, match="column histograms need"):
        ColumnHistograms(np.array(half_widths), bins)


def test_half_widths_cannot_be_changed_afterwards() -> None:
    half_widths = HALF_WIDTHS.copy()
    query = ColumnHistograms(half_widths, 8)
    half_widths[:] = 1.0
    assert query.half_widths.tolist() == HALF_WIDTHS.tolist()
    with pytest.raises(ValueError, match="read-only"):
        query.half_widths[0] = 1.0

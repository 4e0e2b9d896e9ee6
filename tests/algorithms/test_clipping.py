"""Clipped mean squares: those of a Gaussian cluster, there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.algorithms._clipping import clipped, unclipped

repeatable = settings(deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("n_columns", [1, 4, 48])
@pytest.mark.parametrize("square", [0.01, 0.3, 1.0, 1.2])
def test_the_mean_square_of_a_gaussian_follows_from_the_clipped_one(
    n_columns: int, square: float
) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(0.0, np.sqrt(square / n_columns), (40_000, n_columns))
    squares = (rows**2).sum(axis=1)
    assert unclipped(np.minimum(squares, 1.0).mean(), n_columns) == pytest.approx(
        squares.mean(), rel=0.03
    )


@repeatable
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.integers(1, 64))
def test_more_seen_within_a_clip_never_means_a_narrower_cell(
    one: float, other: float, n_columns: int
) -> None:
    low, high = unclipped(np.array(sorted([one, other])), n_columns)
    assert 0 < low <= high < np.inf


@repeatable
@given(st.floats(2.0**-18, 2.0), st.integers(1, 64))
def test_clipping_is_undone_as_far_as_squares_tell(square: float, n_columns: int) -> None:
    part = clipped(np.array([square]), n_columns)
    assert 0 < part[0] <= min(square, 1.0) * (1 + 1e-9)
    if part[0] < 0.95:
        assert unclipped(part, n_columns)[0] == pytest.approx(square, rel=0.01)

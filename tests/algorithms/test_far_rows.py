"""Rows far from every centre: what is expected of them where noise hides most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privclust.algorithms._advice import FAR_SHARE
from privclust.algorithms._far_rows import Tail, expected_tail, far_share
from privclust.kernels.grid import FloatArray

NODES = np.array([0.0, *(0.01 * 4.0 ** np.arange(6)), 40.0])
SIGMA = 5.0
DRAWS = 2000


def votes_of(falls: float, first: float = 2000.0) -> FloatArray:
    """Return votes whose loss falls by a factor from node to node, up to the last but one."""
    return np.array([18_000.0, *(first * (falls / 4) ** np.arange(6)), 0.0])


def expected(votes: FloatArray, sigma: float = SIGMA) -> Tail:
    return expected_tail(NODES, votes, sigma)


@pytest.mark.parametrize("falls", [0.1, 0.3, 0.6, 1.0, 1.4])
def test_without_noise_the_tail_is_the_geometric_one(falls: float) -> None:
    beyond = 2000.0 * (falls / 4) ** np.arange(1, 7)
    losses = beyond * NODES[2:]
    found = expected(votes_of(falls), 1e-3)
    assert found.share == pytest.approx(losses.sum() / (20.0 + losses.sum()), abs=0.03)
    assert found.rows == pytest.approx(losses.sum() ** 2 / (beyond @ NODES[2:] ** 2), rel=0.15)


def test_tails_that_fall_slowly_may_be_most_of_the_loss() -> None:
    shares = [expected(votes_of(falls)).share for falls in (0.2, 0.5, 0.8, 1.1)]
    assert shares == sorted(shares)
    assert shares[0] < 0.4 < FAR_SHARE < shares[-1]


def test_twice_the_rows_are_twice_as_many_and_as_large_a_share() -> None:
    once, twice = expected(votes_of(1.0), 1e-3), expected(2 * votes_of(1.0), 1e-3)
    assert twice.rows == pytest.approx(2 * once.rows)
    assert twice.share == pytest.approx(once.share)


@given(st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=8))
def test_shares_are_shares_whatever_noise_does(votes: list[float]) -> None:
    found = expected(np.array(votes))
    assert 0.0 <= found.share <= 1.0 + 1e-9
    assert found.rows >= 0.0


@pytest.mark.parametrize("votes", [np.zeros(8), np.full(8, -100.0), np.eye(1, 8)[0] * 9000.0])
def test_without_visible_rows_there_is_no_tail(votes: FloatArray) -> None:
    assert expected(votes) == Tail()


def test_tight_clusters_in_wide_bounds_hardly_have_a_tail() -> None:
    """Seeded, so no false alarm: of fits to rows none of which is far, few are warned of."""
    rng = np.random.default_rng(0)
    exact = np.array([15_000.0, 5000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    far = sum(expected(exact + rng.normal(0.0, SIGMA, 8)).share >= FAR_SHARE for _ in range(DRAWS))
    assert far / DRAWS < 0.03


def test_equal_rows_have_no_tail() -> None:
    """Seeded: of fits to a constant table a tenth were warned of rows that only noise had."""
    rng = np.random.default_rng(0)
    exact = np.array([20_000.0, *np.zeros(7)])
    assert sum(expected(exact + rng.normal(0.0, SIGMA, 8)) != Tail() for _ in range(DRAWS)) < 80


@pytest.mark.parametrize("n_nodes", [2, 3])
def test_few_nodes_have_no_tail(n_nodes: int) -> None:
    votes = np.array([10.0, 10_000.0, 500.0])[:n_nodes]
    assert expected_tail(NODES[:n_nodes], votes, SIGMA) == Tail()


def test_two_nodes_have_no_far_share() -> None:
    assert far_share(NODES[:2], np.array([10.0, 10_000.0]), SIGMA, 0.01) is None

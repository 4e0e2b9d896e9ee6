"""Rows far from every centre: which part of the loss is theirs, and whether it may be any part."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.algorithms._far_rows import CLEAR, FarRows, far_rows
from privclust.kernels.grid import FloatArray

NODES = np.array([0.0, *(0.01 * 4.0 ** np.arange(6)), 40.0])
SIGMA = 5.0
DRAWS = 4000


def tail(falls: float, first: float = 2000.0) -> FloatArray:
    """Return votes whose loss falls by a factor from node to node, up to the last but one."""
    return np.array([18_000.0, *(first * (falls / 4) ** np.arange(6)), 0.0])


def judged(votes: FloatArray, sigma: float = SIGMA) -> FarRows:
    return far_rows(NODES, votes, sigma, 0.01)


@pytest.mark.parametrize(
    ("falls", "endless"), [(0.3, False), (0.6, False), (1.0, True), (1.4, True)]
)
def test_a_tail_is_endless_where_its_loss_hardly_falls(falls: float, endless: bool) -> None:
    assert judged(tail(falls)).endless == endless


def test_a_group_of_far_rows_has_an_end() -> None:
    votes = tail(0.2)
    votes[3:5] = 50.0, 300.0
    assert judged(votes).share is not None
    assert not judged(votes).endless


def test_a_tail_of_little_loss_does_not_matter() -> None:
    votes = np.array([1000.0, 18_000.0, 400.0, 130.0, 40.0, 12.0, 0.0, 0.0])
    assert not judged(votes).endless
    votes[1] = 400.0
    assert judged(votes).endless


@pytest.mark.parametrize("votes", [np.zeros(8), np.full(8, -100.0), np.eye(1, 8)[0] * 9000.0])
def test_without_visible_rows_nothing_is_seen(votes: FloatArray) -> None:
    assert judged(np.minimum(votes, CLEAR * SIGMA)) == FarRows()


@pytest.mark.attack
def test_noise_alone_seldom_makes_a_tail_endless() -> None:
    """Seeded, so no false alarm. What noise adds to far nodes counts where it looks like rows."""
    rng = np.random.default_rng(0)
    exact = tail(0.3)
    seen = sum(judged(exact + rng.normal(0.0, SIGMA, 8)).endless for _ in range(DRAWS))
    assert seen / DRAWS < 0.02


def test_two_nodes_have_no_tail() -> None:
    assert far_rows(NODES[:2], np.array([10.0, 10_000.0]), SIGMA, 0.01) == FarRows()

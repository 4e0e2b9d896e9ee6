"""Losses with errors: true of the rows, as often as they say, and none where noise hides it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privclust.algorithms import private_kmeans
from privclust.algorithms._cells import SMALLEST
from privclust.algorithms._quality import (
    CAP_RADII,
    FALSE_ALARMS,
    NODES_MAX,
    QUALITY_SLOT,
    _nodes,
    quality_of,
)
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.models.quality import Quality
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoNoise
from privclust.queries.squared_distances import SquaredDistanceVotes
from privclust.testing import SeededNoise, noise_from

NODES = np.array([0.0, 0.08, 0.32, 1.28, 2.0])
DRAWS = 6000
repeatable = settings(deadline=None, derandomize=True, database=None)


def fit(rows: FloatArray, k: int, epsilon: float = 1.0, seed: int = 0) -> Clustering:
    engine = NumpyEngine(rows, Ball(np.zeros(rows.shape[1]), 1.0))
    plan = private_kmeans.plan(k, engine.n_columns, Budget(epsilon, 1e-6))
    curator = Curator.open(engine, plan.spending)
    return private_kmeans.run(curator, plan, np.random.default_rng(seed))


def squares_of(rows: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the squared distance of each row to its nearest centre."""
    gaps = ((rows[:, None] - centers) ** 2).sum(axis=2)
    nearest: FloatArray = gaps.min(axis=1)
    return nearest


def quality(found: Clustering) -> Quality:
    assert found.quality is not None
    return found.quality


def groups(n_columns: int, n_rows: int = 8000) -> FloatArray:
    rng = np.random.default_rng(0)
    middle = np.full(n_columns, 0.4 / np.sqrt(n_columns))
    sides = rng.choice([-1.0, 1.0], n_rows)[:, None]
    rows: FloatArray = sides * middle + rng.normal(0, 0.05, (n_rows, n_columns)) / n_columns**0.5
    return rows


def noisy(votes: FloatArray, sigma: float, seed: int, draws: int = DRAWS) -> FloatArray:
    return votes + np.random.default_rng(seed).normal(0.0, sigma, (draws, votes.size))


# What it says of the rows ------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 40])
def test_without_noise_losses_are_those_of_the_rows(d: int) -> None:
    rows = groups(d)
    rows[:400] = 0.9 * np.eye(1, d)
    with noise_from(NoNoise()):
        found = fit(rows, 2)
    squares, said = squares_of(rows, found.centers), quality(found)
    assert said.loss == pytest.approx(squares.mean(), rel=1e-5)
    assert said.capped_loss == pytest.approx(np.minimum(squares, said.cap**2).mean(), rel=1e-5)
    assert found.precision is not None
    assert found.precision.radii is not None
    typical = np.sqrt(found.sizes @ found.precision.radii**2 / found.sizes.sum())
    assert said.cap == pytest.approx(CAP_RADII * max(typical, np.median(found.precision.radii)))
    assert said.far_share is not None
    assert 0.5 < said.far_share <= squares[squares > said.cap**2].sum() / squares.sum()


def test_far_rows_that_no_centre_is_near_show_in_the_share() -> None:
    rows = groups(3, 20_000)
    rows[:400] = 0.9 * np.eye(1, 3)
    with noise_from(SeededNoise(0)):
        found = fit(rows, 2)
    squares, said = squares_of(rows, found.centers), quality(found)
    far = squares[squares > said.cap**2].sum() / squares.sum()
    assert far > 0.5
    assert said.far_share is not None
    assert said.far_share_stderr is not None
    assert said.far_share > 0.5
    assert said.far_share - 2 * said.far_share_stderr <= far


def test_where_most_rows_are_equal_the_cap_is_no_point() -> None:
    """Half of the loss lies within it: radii are those of all rows, and not of a median row."""
    rng = np.random.default_rng(0)
    rows = np.zeros((20_000, 2))
    rows[:2000] = np.array([0.6, 0.0]) + rng.normal(0, 0.05, (2000, 2))
    with noise_from(SeededNoise(0)):
        found = fit(rows, 2)
    squares, said = squares_of(rows, found.centers), quality(found)
    assert np.median(squares) < 1e-4
    assert np.minimum(squares, said.cap**2).mean() > 0.4 * squares.mean()
    far = squares[squares > said.cap**2].sum() / squares.sum()
    assert said.far_share is not None
    assert said.far_share_stderr is not None
    assert said.far_share - 2 * said.far_share_stderr <= far


def test_rows_of_wide_clusters_are_not_far_because_most_rows_are_equal() -> None:
    """Seven of eight clusters are wide: a typical cluster sets the cap, and not a typical row."""
    rng = np.random.default_rng(0)
    rows = np.zeros((40_000, 2))
    angles = 2 * np.pi * rng.integers(0, 7, 4000) / 7
    rows[:4000] = 0.6 * np.c_[np.cos(angles), np.sin(angles)] + rng.normal(0, 0.05, (4000, 2))
    with noise_from(NoNoise()):
        found = fit(rows, 8)
    squares, said = squares_of(rows, found.centers), quality(found)
    assert said.cap > 1.5 * CAP_RADII * np.sqrt(squares.mean())
    assert said.capped_loss > 0.8 * said.loss


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(0)])
@pytest.mark.parametrize("d", [1, 2, 40])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_with_hardly_a_row_nothing_is_said(
    noise: NoNoise | SeededNoise, d: int, n_rows: int
) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.1, (n_rows, d))
    with noise_from(noise):
        assert fit(rows, 3).quality is None


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("sigma", [10.0, 400.0, 1600.0])
@pytest.mark.parametrize(
    "votes", [[12_000.0, 8000.0, 0.0, 0.0, 0.0], [9000.0, 7000.0, 2000.0, 1500.0, 500.0]]
)
def test_two_standard_errors_hold_the_truth_in_95_of_100_cases(
    votes: list[float], sigma: float
) -> None:
    """Seeded, so no false alarm. The noisy number of rows has an error of up to 18 %."""
    exact = np.array(votes)
    truths = exact @ np.minimum(NODES, NODES[1]) / exact.sum(), exact @ NODES / exact.sum()
    held = np.zeros(2)
    for drawn in noisy(exact, sigma, seed=1):
        said = quality_of(NODES, drawn, sigma)
        assert said is not None
        held += [
            abs(said.capped_loss - truths[0]) <= 2 * said.capped_loss_stderr,
            abs(said.loss - truths[1]) <= 2 * said.loss_stderr,
        ]
    np.testing.assert_allclose(held / DRAWS, 0.9545, atol=0.015)


@pytest.mark.attack
def test_without_far_rows_at_most_one_fit_in_a_hundred_sees_some() -> None:
    """Seeded, so no false alarm."""
    exact = np.array([12_000.0, 8000.0, 0.0, 0.0, 0.0])
    seen = 0
    for drawn in noisy(exact, 30.0, seed=2):
        said = quality_of(NODES, drawn, 30.0)
        seen += said is not None and said.far_share is not None
    assert seen / DRAWS <= FALSE_ALARMS + 5 * np.sqrt(FALSE_ALARMS / DRAWS)
    assert seen > 0


@pytest.mark.parametrize("far", [100.0, 300.0, 3000.0])
def test_far_share_is_seldom_more_than_that_of_the_rows(far: float) -> None:
    """Seeded, so no false alarm. Rows lie at a node, where nothing of their share is cut off."""
    exact = np.array([12_000.0, 8000.0, 0.0, far, 0.0])
    truth = far * NODES[3] / (exact @ NODES)
    shares = [
        (said.far_share, said.far_share_stderr)
        for drawn in noisy(exact, 30.0, seed=3)
        if (said := quality_of(NODES, drawn, 30.0)) is not None
        and said.far_share is not None
        and said.far_share_stderr is not None
    ]
    assert len(shares) > 0.3 * DRAWS
    too_much = sum(share - 2 * error > truth for share, error in shares)
    assert too_much / DRAWS < 0.05  # of all fits: those that report one have the noise for it


def test_share_is_one_where_noise_leaves_nothing_near() -> None:
    votes = np.array([20_000.0, -300.0, 0.0, 200.0, 0.0])
    said = quality_of(NODES, votes, 30.0)
    assert said is not None
    assert said.far_share == 1.0


def test_share_is_left_out_where_the_cap_is_the_end() -> None:
    votes = np.array([12_000.0, 8000.0, 0.0, 3000.0, 0.0])
    said = quality_of(NODES[:2], votes[:2], 30.0)
    assert said is not None
    assert said.far_share is None
    assert (said.loss, said.loss_stderr) == (said.capped_loss, said.capped_loss_stderr)


# Nodes -------------------------------------------------------------------------------------------


@repeatable
@given(st.floats(CAP_RADII * SMALLEST, 1e3), st.floats(0.0, 1.0))
@example(CAP_RADII * SMALLEST, 0.9)  # as many as there can be
def test_nodes_of_any_cap_make_a_query(cap: float, length: float) -> None:
    centers = np.array([[length, 0.0], [1.0, 0.0]])
    nodes = _nodes(cap, centers)
    query = SquaredDistanceVotes(centers, nodes)
    assert 2 <= query.size <= NODES_MAX
    assert nodes[-1] >= (1 + length) ** 2 * (1 - 1e-12)
    assert nodes[1] == pytest.approx(min(cap**2, nodes[-1]), rel=1e-12) or nodes.size == 2


def test_quality_costs_two_percent_and_changes_two_numbers() -> None:
    assert (QUALITY_SLOT.share, QUALITY_SLOT.l0) == (0.02, 2)

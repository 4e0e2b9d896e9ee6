"""Merging a coreset: weights add up and errors propagate."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.algorithms._distances import EDGES, Distances
from privclust.algorithms._merge import merge, with_background
from privclust.models.clustering import Coreset, Precision


def points_on_a_line() -> Coreset:
    points = np.array([[0.0, 0.0], [0.1, 0.0], [0.8, 0.0]])
    known = Precision(np.array([0.01, 0.02, 0.03]), np.array([3.0, 4.0, 5.0]), np.full(3, 0.05))
    return Coreset(points, np.array([100.0, 300.0, 200.0]), known)


def test_merging_adds_weights_and_propagates_errors() -> None:
    found = merge(points_on_a_line(), 2, np.random.default_rng(0))
    left, right = np.argsort(found.centers[:, 0])
    np.testing.assert_allclose(found.centers[[left, right]], [[0.075, 0.0], [0.8, 0.0]], atol=1e-9)
    assert found.sizes[[left, right]].tolist() == [400.0, 200.0]
    assert found.precision.size_stderr[[left, right]] == pytest.approx([5.0, 5.0])
    # Of points: (100·0.01)² + (300·0.02)²; of weights, shared by two columns: 9 and 16 times apart.
    through = (9 * 0.075**2 + 16 * 0.025**2) / 2
    expected = [np.sqrt(1 + 36 + through) / 400, 0.03]
    assert found.precision.center_stderr[[left, right]] == pytest.approx(expected)
    inertia = 100 * (0.075**2 + 0.05**2) + 300 * (0.025**2 + 0.05**2)
    assert found.precision.radii[[left, right]] == pytest.approx([np.sqrt(inertia / 400), 0.05])


def test_merging_to_one_takes_all() -> None:
    found = merge(points_on_a_line(), 1, np.random.default_rng(0))
    assert found.sizes.tolist() == [600.0]


def test_a_background_adds_points_that_are_known_exactly() -> None:
    coreset = points_on_a_line()
    votes = np.zeros(len(EDGES) + 1)
    votes[[1, 4]] = 580.0, 20.0
    more = with_background(coreset, 0.02, Distances(votes, 0.0), np.random.default_rng(0))
    np.testing.assert_array_equal(more.points[:3], coreset.points)
    assert 0 < more.weights[3:].sum() <= 20.0
    assert not more.precision.center_stderr[3:].any()


def test_points_that_noise_may_have_thrown_do_not_say_where_a_background_is() -> None:
    coreset = points_on_a_line()
    coreset.weights[2] = 9.0
    votes = np.zeros(len(EDGES) + 1)
    votes[[1, 4]] = 580.0, 20.0
    around_two = with_background(coreset, 0.02, Distances(votes, 0.0), np.random.default_rng(0))
    middle = coreset.points[:2].mean(axis=0)
    assert around_two.points[3:].mean(axis=0) == pytest.approx(middle, abs=0.05)
    certain = with_background(
        points_on_a_line(), 0.02, Distances(votes, 0.0), np.random.default_rng(0)
    )
    assert certain.points[3:, 0].max() > 0.7


def test_where_only_sure_rows_count_two_deviations_make_no_background() -> None:
    votes = np.zeros(len(EDGES) + 1)
    votes[[1, 4]] = 580.0, 20.0
    for sigma, only_sure, added in ((5.0, False, True), (5.0, True, False), (2.5, True, True)):
        distances, rng = Distances(votes, sigma), np.random.default_rng(0)
        more = with_background(points_on_a_line(), 0.02, distances, rng, only_sure=only_sure)
        assert (len(more.weights) > 3) is added

"""Weighted k-means on public points: weights decide, and no weights at all still give centres."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from privclust.models._weighted_kmeans import WeightedClusters, _seeded, weighted_kmeans


@pytest.mark.parametrize("seed", range(40))
def test_first_centres_are_those_of_scikit_learn_bit_for_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, d = int(rng.integers(3, 400)), int(rng.choice([1, 2, 5, 16, 40, 100]))
    k = int(rng.integers(1, min(count, 100) + 1))
    points, weights = rng.normal(size=(count, d)), rng.exponential(size=count)
    if seed % 4 == 0:
        points = points.round()  # so that some are the same
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = KMeans(k, n_init=3, random_state=seed).fit(points, sample_weight=weights)
        ours = KMeans(k, init=partial(_seeded, weights), n_init=3, random_state=seed)
        ours.fit(points, sample_weight=weights)
    np.testing.assert_array_equal(ours.cluster_centers_, theirs.cluster_centers_)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)


def cluster(
    points: list[list[float]], weights: list[float], n_clusters: int, seed: int = 0
) -> WeightedClusters:
    rng = np.random.default_rng(seed)
    return weighted_kmeans(np.array(points), np.array(weights), n_clusters, rng)


def test_one_centre_is_the_weighted_mean() -> None:
    found = cluster([[0.0], [1.0]], [3.0, 1.0], 1)
    assert found.centers == pytest.approx(np.array([[0.25]]))
    assert found.sizes.tolist() == [4.0]


def test_weights_decide_which_points_share_a_centre() -> None:
    points = [[0.0], [1.0], [2.5]]
    heavy_left = cluster(points, [100.0, 100.0, 1.0], 2)
    heavy_right = cluster(points, [1.0, 100.0, 100.0], 2)
    assert heavy_left.centers.min() == pytest.approx(0.0)
    assert heavy_right.centers.max() == pytest.approx(2.5)


@pytest.mark.parametrize("other", [0.0, -5.0])
def test_points_without_weight_move_no_centre(other: float) -> None:
    found = cluster([[0.0], [0.1], [1.0], [9.0]], [1.0, 1.0, 2.0, other], 2)
    assert sorted(found.centers.ravel()) == pytest.approx([0.05, 1.0])
    assert sorted(found.sizes.tolist()) == [2.0, 2.0]


def test_fewer_weighted_points_than_clusters_are_joined_by_the_next_in_rank() -> None:
    found = cluster([[0.0], [5.0], [7.0], [9.0]], [-3.0, 10.0, -1.0, -2.0], 3)
    assert sorted(found.centers.ravel()) == pytest.approx([5.0, 7.0, 9.0])
    assert sorted(found.sizes.tolist()) == [0.0, 0.0, 10.0]


@pytest.mark.parametrize("weights", [[0.0] * 4, [-1.0, -2.0, -3.0, -4.0]])
def test_without_any_weight_there_are_still_finite_centres(weights: list[float]) -> None:
    found = cluster([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], weights, 2)
    assert found.centers.shape == (2, 2)
    assert np.isfinite(found.centers).all()
    assert found.sizes.tolist() == [0.0, 0.0]


def test_duplicates_leave_clusters_over_but_lose_no_weight() -> None:
    found = cluster([[0.5, 0.5]] * 6, [1.0] * 6, 3)
    assert found.centers == pytest.approx(np.full((3, 2), 0.5))
    assert found.sizes.sum() == 6.0


def test_very_unequal_weights_lose_no_weight() -> None:
    found = cluster([[0.0], [1.0], [2.0]], [1e12, 1.0, 1e-6], 3)
    assert sorted(found.sizes.tolist()) == pytest.approx([1e-6, 1.0, 1e12])


def test_the_same_seed_gives_the_same_clusters() -> None:
    points = np.random.default_rng(1).normal(size=(30, 2)).tolist()
    first, again = (cluster(points, [1.0] * 30, 4, seed=2) for _ in range(2))
    assert np.array_equal(first.centers, again.centers)

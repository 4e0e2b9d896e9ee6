"""Weighted k-means from many starts at once: the same minimum, and no point lost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from privclust.kernels.grid import FloatArray
from privclust.models._batched_kmeans import best_centers, first_centers, starts_for


def cost(points: FloatArray, weights: FloatArray, centers: FloatArray) -> float:
    return float(weights @ ((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1))


def clustered(points: FloatArray, weights: FloatArray, k: int, seed: int = 0) -> FloatArray:
    starts = first_centers(points, weights, k, np.random.default_rng(seed))
    return best_centers(points, weights, starts)


@pytest.mark.parametrize(("n_points", "k", "d"), [(30, 3, 2), (60, 8, 4), (90, 20, 2)])
def test_it_finds_what_k_means_of_scikit_learn_finds(n_points: int, k: int, d: int) -> None:
    rng = np.random.default_rng(n_points)
    points, weights = rng.normal(size=(n_points, d)), rng.uniform(0.1, 10, n_points)
    found = clustered(points, weights, k)
    library = KMeans(k, n_init=40, random_state=0).fit(points, sample_weight=weights)
    assert cost(points, weights, found) <= 1.03 * cost(points, weights, library.cluster_centers_)


def test_one_centre_is_the_weighted_mean() -> None:
    found = clustered(np.array([[0.0], [1.0]]), np.array([3.0, 1.0]), 1)
    assert found == pytest.approx(np.array([[0.25]]))


def test_starts_begin_with_the_given_centres() -> None:
    points, given = np.arange(8.0)[:, None], np.array([[3.0], [50.0]])
    starts = first_centers(points, np.ones(8), 4, np.random.default_rng(0), given)
    assert starts.shape == (starts_for(4), 4, 1)
    assert (starts[:, :2] == given).all()
    assert np.isin(starts[:, 2:], points).all()


def test_a_centre_without_points_stays_where_it_is() -> None:
    points = np.array([[0.0], [1.0]])
    found = best_centers(points, np.ones(2), np.array([[[0.4], [50.0]]]))
    assert found.ravel().tolist() == [0.5, 50.0]


def test_first_centres_are_different_points_where_there_are_enough() -> None:
    points = np.arange(5.0)[:, None]
    starts = first_centers(points, np.array([1e9, 1, 1, 1, 1e-9]), 5, np.random.default_rng(0))
    assert all(sorted(start.ravel()) == points.ravel().tolist() for start in starts)


def test_equal_points_are_no_trouble() -> None:
    found = clustered(np.full((6, 2), 0.5), np.ones(6), 3)
    assert found == pytest.approx(np.full((3, 2), 0.5))


def test_the_same_seed_gives_the_same_centres() -> None:
    points = np.random.default_rng(1).normal(size=(30, 2))
    first, again = (clustered(points, np.ones(30), 4, seed=2) for _ in range(2))
    assert np.array_equal(first, again)

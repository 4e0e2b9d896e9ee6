"""Errors of refits beside noise: none where points lie deep inside clusters, and true otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from privclust.kernels.grid import FloatArray
from privclust.models._border_errors import border_errors
from privclust.models.clustering import Coreset, Precision


def coreset(points: FloatArray, weights: FloatArray, radii: FloatArray) -> Coreset:
    nothing = np.zeros(len(points))
    return Coreset(points, weights, Precision(nothing, nothing, radii))


def cells_of(rows: FloatArray, n_cells: int) -> Coreset:
    found = KMeans(n_cells, n_init=1, random_state=0).fit(rows)
    sizes = np.bincount(found.labels_, minlength=n_cells)
    squares = ((rows - found.cluster_centers_[found.labels_]) ** 2).sum(axis=1)
    radii = np.sqrt(np.bincount(found.labels_, squares) / sizes)
    return coreset(found.cluster_centers_, sizes.astype(np.float64), radii)


def test_points_far_from_every_border_are_certain() -> None:
    points = np.array([[-0.5, 0.0], [-0.51, 0.0], [0.5, 0.0], [0.51, 0.0]])
    errors = border_errors(coreset(points, np.full(4, 100.0), np.full(4, 0.01)), points[::2])
    assert errors.sizes == pytest.approx([0.0, 0.0], abs=1e-6)
    assert errors.centers == pytest.approx([0.0, 0.0], abs=1e-6)


def test_half_of_a_point_on_a_border_may_be_on_either_side() -> None:
    points = np.array([[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]])
    errors = border_errors(coreset(points, np.full(3, 100.0), np.full(3, 1e-3)), points[::2])
    assert errors.sizes == pytest.approx([50.0, 50.0], rel=0.05)


def test_points_without_rows_do_not_count() -> None:
    points, radii = np.array([[-0.5], [0.0], [0.5]]), np.full(3, 0.01)
    with_empty = border_errors(coreset(points, np.array([9.0, 0.0, 9.0]), radii), points[::2])
    without = border_errors(coreset(points[::2], np.full(2, 9.0), radii[::2]), points[::2])
    assert with_empty.sizes == pytest.approx(without.sizes)


def test_one_point_and_one_cluster_have_no_border() -> None:
    only = coreset(np.array([[0.1, 0.2]]), np.array([7.0]), np.array([0.1]))
    assert border_errors(only, only.points).sizes.tolist() == [0.0]


@pytest.mark.parametrize("n_columns", [2, 6])
def test_two_errors_hold_sizes_and_centres_of_rows_that_lie_everywhere(n_columns: int) -> None:
    """Without noise, and with no gaps between clusters: all errors are those of borders."""
    rows = np.random.default_rng(0).uniform(-0.3, 0.3, (20_000, n_columns))
    held = []
    for n_clusters in range(2, 9):
        cells = cells_of(rows, 40)
        found = KMeans(n_clusters, n_init=1, random_state=0).fit(
            cells.points, sample_weight=cells.weights
        )
        errors = border_errors(cells, found.cluster_centers_)
        labels = found.predict(rows)
        sizes = np.bincount(found.labels_, cells.weights)
        off = np.abs(sizes - np.bincount(labels, minlength=n_clusters)) / errors.sizes
        means = np.array([rows[labels == one].mean(axis=0) for one in range(n_clusters)])
        moved = np.abs(found.cluster_centers_ - means) / errors.centers[:, None]
        held += [(off <= 2).mean(), (moved <= 2).mean()]
    assert np.mean(held) >= 0.9

"""Gaussians of a coreset: as wide as rows are, where a coreset can tell."""

from __future__ import annotations

import numpy as np
from helpers.fitted_models import MIDDLES, fit_of, four_clusters, table
from helpers.peak_memory import peak_bytes
from sklearn.mixture import GaussianMixture

from privclust.models._coreset_cells import Cells
from privclust.models.mixture import _started, mixture


def test_components_are_numbered_as_clusters_are_and_share_all_rows() -> None:
    model = four_clusters()
    found = model.mixture()
    large = model.cluster_sizes_ > 500
    np.testing.assert_allclose(found.means[large], model.cluster_centers_[large], atol=0.5)
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    for covariance in found.covariances:
        assert np.linalg.eigvalsh(covariance).min() > 0


def test_long_clusters_are_long_in_the_right_direction() -> None:
    """Seeded noise, so nothing is left to chance: 6 long, 1 wide, at 45 degrees."""
    rng = np.random.default_rng(0)
    along, across = rng.normal(0, 6, (6000, 1)), rng.normal(0, 1, (6000, 1))
    rows = np.hstack([50 + (along + across) / 2**0.5, 50 + (along - across) / 2**0.5])
    found = mixture(fit_of(rows, k=1).model_)
    values, directions = np.linalg.eigh(found.covariances[0])
    assert abs(directions[:, 1] @ [2**-0.5, 2**-0.5]) > 0.99
    assert 4.8 < values[1] ** 0.5 < 7.2
    assert values[0] ** 0.5 < 2.0


def test_without_noise_it_agrees_with_a_mixture_of_the_rows() -> None:
    rows = table(MIDDLES[[0, 2, 3]])
    found = fit_of(rows, k=3, epsilon=np.inf, max_clusters=96).mixture()
    expected = GaussianMixture(3, means_init=found.means).fit(rows)
    np.testing.assert_allclose(found.means, expected.means_, atol=0.2)
    np.testing.assert_allclose(found.weights, expected.weights_, atol=0.01)
    ratio = np.trace(found.covariances, axis1=1, axis2=2) / np.trace(
        expected.covariances_, axis1=1, axis2=2
    )
    assert (ratio > 0.6).all()
    assert (ratio < 1.4).all()


def test_start_takes_memory_for_cells_and_not_for_cells_times_clusters_times_columns() -> None:
    rng = np.random.default_rng(0)
    points, centers = rng.normal(size=(1000, 20)), rng.normal(size=(60, 20))
    cells = Cells(points, np.ones(1000), np.zeros(1000))
    assert peak_bytes(lambda: _started(cells, centers)) < 20 * points.nbytes

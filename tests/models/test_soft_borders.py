"""How far centres lie elsewhere in other fits: nowhere where clusters lie apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.fitted_models import fit_of, four_clusters

from privclust.models import stability
from privclust.models._matching import matched
from privclust.models._soft_borders import STEADY, soft_borders
from privclust.models.stability import stability_of


def one_gaussian(scale: float = 1.0) -> Any:
    """Return the model of five clusters that only noise divides."""
    rows = np.random.default_rng(0).normal(50, 12, (20_000, 2)) * scale
    return fit_of(rows, 5, bounds=(0, 100 * scale)).model_


def test_fits_of_clusters_that_lie_apart_agree() -> None:
    found = soft_borders(four_clusters().model_)
    assert found is not None
    assert found.stability >= STEADY
    assert not found.centers.any()
    assert not found.sizes.any()


def test_centres_of_soft_clusters_lie_elsewhere_by_more_than_noise_in_the_users_units() -> None:
    model, wider = one_gaussian(), one_gaussian(1000.0)
    assert stability_of(model, 5) < STEADY
    borders, wider_borders = soft_borders(model), soft_borders(wider)
    assert borders is not None
    assert wider_borders is not None
    assert borders.stability == stability_of(model, 5)
    assert borders.centers.shape == model.cluster_centers.shape
    assert (borders.centers > model.center_stderr).all()
    assert 1 < np.median(borders.centers) < 20
    np.testing.assert_allclose(wider_borders.centers, 1000 * borders.centers, rtol=1e-6)
    np.testing.assert_allclose(wider_borders.sizes, borders.sizes, rtol=1e-6)


def test_sizes_of_soft_clusters_differ_as_those_of_fits_do() -> None:
    rows = np.random.default_rng(0).normal(50, 12, (20_000, 2))
    fits = [fit_of(rows, 5, bounds=(0, 100), random_state=seed).model_ for seed in range(6)]
    said, found = [], []
    for one, other in combinations(fits, 2):
        pairs = matched(one.cluster_centers, other.cluster_centers)
        shifts = other.cluster_sizes[pairs[:, 1]] - one.cluster_sizes[pairs[:, 0]]
        found.append(np.mean(shifts**2) / 2)
    for model in fits:
        borders = soft_borders(model)
        assert borders is not None
        assert (borders.sizes > model.size_stderr).all()
        said.append(np.mean(borders.sizes**2))
    assert 1 / 3 < np.sqrt(np.mean(said) / np.mean(found)) < 3


def test_it_is_unknown_without_a_coreset_and_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = one_gaussian()
    assert soft_borders(replace(model, coreset=None)) is None
    monkeypatch.setattr(stability, "MOST_SECONDS", 0.0)
    assert soft_borders(model) is None

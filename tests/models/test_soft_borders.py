"""How far centres lie elsewhere in other fits: nowhere where clusters lie apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.fitted_models import fit_of, four_clusters

from privclust.models import stability
from privclust.models._soft_borders import STEADY, soft_borders
from privclust.models.stability import stability_of


def one_gaussian(scale: float = 1.0) -> Any:
    """Return the model of five clusters that only noise divides."""
    rows = np.random.default_rng(0).normal(50, 12, (20_000, 2)) * scale
    return fit_of(rows, 5, bounds=(0, 100 * scale)).model_


def test_fits_of_clusters_that_lie_apart_agree() -> None:
    assert not np.any(soft_borders(four_clusters().model_))


def test_centres_of_soft_clusters_lie_elsewhere_by_more_than_noise_in_the_users_units() -> None:
    model, wider = one_gaussian(), one_gaussian(1000.0)
    assert stability_of(model, 5) < STEADY
    borders, wider_borders = soft_borders(model), soft_borders(wider)
    assert borders is not None
    assert wider_borders is not None
    assert borders.shape == model.cluster_centers.shape
    assert (borders > model.center_stderr).all()
    assert 1 < np.median(borders) < 20
    np.testing.assert_allclose(wider_borders, 1000 * borders, rtol=1e-6)


def test_it_is_unknown_without_a_coreset_and_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = one_gaussian()
    assert soft_borders(replace(model, coreset=None)) is None
    monkeypatch.setattr(stability, "MOST_SECONDS", 0.0)
    assert soft_borders(model) is None

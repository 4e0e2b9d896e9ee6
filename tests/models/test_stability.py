"""Stability: what it is on coresets where that is known, and what it does not depend on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from privclust import PrivateKMeans
from privclust.engines.memory import NumpyEngine
from privclust.models.clustering import Coreset, Precision
from privclust.models.stability import adjusted_rand_index, stability, stability_of
from privclust.testing import SeededNoise, noise_from


def cells(points: Any, weights: Any = None, radius: float = 0.05, error: float = 0.0) -> Coreset:
    count = len(points)
    known = Precision(np.full(count, error), np.full(count, 1.0), np.full(count, radius))
    return Coreset(np.array(points), np.full(count, 100.0) if weights is None else weights, known)


def four_groups(width: float) -> Coreset:
    rng = np.random.default_rng(0)
    middles = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
    return cells(np.vstack([rng.normal(middle, width, (5, 2)) for middle in middles]))


def test_clusters_apart_are_found_again() -> None:
    assert stability(four_groups(0.02), 4) == pytest.approx(1.0)


def test_the_wrong_number_is_less_stable() -> None:
    four = four_groups(0.05)
    assert stability(four, 3) < 0.9
    assert stability(four, 7) < 0.9


def test_noise_makes_clusters_less_stable() -> None:
    four = four_groups(0.05)
    noisy = replace(four, precision=replace(four.precision, center_stderr=np.full(20, 0.5)))
    assert stability(noisy, 4) < 0.9


def test_one_cluster_is_always_the_same() -> None:
    assert stability(four_groups(0.2), 1) == 1.0
    assert stability(cells([[0.1], [0.2]], np.zeros(2)), 1) == 1.0


def test_it_is_the_same_each_time_and_changes_nothing() -> None:
    four = four_groups(0.3)
    before = four.points.copy()
    assert stability(four, 6) == stability(four, 6)
    assert np.array_equal(four.points, before)


@pytest.mark.parametrize("part", ["center_stderr", "size_stderr", "radii"])
def test_what_no_fit_releases_is_no_trouble(part: str) -> None:
    four = four_groups(0.05)
    odd = replace(four.precision, **{part: np.full(20, 1e300)})
    assert -0.5 < stability(replace(four, precision=odd), 4) <= 1.0


def test_weights_of_any_size_are_no_trouble() -> None:
    weights = np.array([1e300, 1.0, 1e-300, 0.0, 5.0])
    assert -0.5 < stability(cells(np.eye(5) / 2, weights), 3) <= 1.0


@pytest.mark.attack
def test_no_row_is_read_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(0, 0.1, (3000, 2))
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(3, delta=1e-6, radius=1.0, random_state=0).fit(rows)

    def refuse(*_: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(NumpyEngine, "aggregate", refuse)
    monkeypatch.setattr("privclust.privacy.curator.Curator.open", refuse)
    assert stability_of(model.model_, 3) == model.k_path().choices[2].stability


@pytest.mark.parametrize("seed", range(5))
def test_index_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(4, size=200), rng.integers(1 + seed, size=200)
    assert adjusted_rand_index(one, other) == pytest.approx(adjusted_rand_score(one, other))
    assert adjusted_rand_index(one, one) == 1.0


def test_index_of_one_cluster_with_itself_is_one() -> None:
    assert adjusted_rand_index(np.zeros(9, dtype=int), np.zeros(9, dtype=int)) == 1.0

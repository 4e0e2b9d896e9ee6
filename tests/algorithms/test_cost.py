"""A fit releases no more than its plan's cost says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from helpers.kinds import EVERY_KIND

from privclust import PrivateKMeans
from privclust.algorithms import balcan_kmeans, private_kmeans
from privclust.algorithms._cost import Cost, cost_of
from privclust.estimators import _fit
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.testing import SeededNoise, noise_from

DELTA = 1e-6
BUDGET = Budget(1.0, DELTA)
SHAPES = [(3, 4, None), (20, 40, 2000)]


def few_rows(n_columns: int, n_rows: int) -> FloatArray:
    return np.random.default_rng(0).normal(0, 0.1, (n_rows, n_columns))


def released(kind: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Cost, Any]:
    """Fit, and return what it was estimated to cost and what it released."""
    costs: list[Cost] = []

    def kept(planned: Any) -> Cost:
        costs.append(cost_of(planned))
        return costs[-1]

    monkeypatch.setattr(_fit, "cost_of", kept)
    rows = given.pop("rows")
    with warnings.catch_warnings(), noise_from(SeededNoise(0)):
        warnings.simplefilter("ignore")
        model = kind(delta=DELTA, random_state=0, **given).fit(rows)
    return costs[0], model.releases_


@pytest.mark.attack
@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("k", "d", "n_rows"), SHAPES)
def test_no_more_numbers_are_released_than_were_estimated(
    kind: Any, k: int, d: int, n_rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"n_clusters": k, "bounds": (-1, 1), "n_rows": n_rows, "epsilon": 2.0}
    rows = few_rows(d, 1000)
    cost, releases = released(kind, {**given, "rows": rows}, monkeypatch)
    sizes = [release.result.size for release in releases if release.mechanism != "select"]
    # Histograms of distances, of ten numbers each, are left out of the estimate.
    assert sum(sizes) <= cost.numbers + 10 * len(sizes)
    assert max(sizes) <= cost.largest
    assert cost.memory > 8 * sum(sizes)


@pytest.mark.attack
def test_means_of_cells_in_all_columns_are_part_of_the_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {"n_clusters": 8, "bounds": (-1, 1), "epsilon": 4.0, "rows": few_rows(1000, 1000)}
    cost, releases = released(PrivateKMeans, given, monkeypatch)
    (cells,) = [release.result.size for release in releases if release.slot == "cells"]
    assert 8 * 1002 < cells <= cost.largest / 2  # Others may double: what lies aside of them.


@pytest.mark.parametrize("d", [4, 40])
def test_measured_scale_and_start_are_part_of_the_estimate(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded = {"n_clusters": 8, "bounds": (-1, 1), "rows": few_rows(d, 3000)}
    for others in ({"scale": "private"}, {"init": few_rows(d, 8)}, {"init": few_rows(d, 30)}):
        cost, releases = released(PrivateKMeans, {**bounded, **others}, monkeypatch)
        sizes = [release.result.size for release in releases]
        assert sum(sizes) <= cost.numbers + 10 * len(sizes)
        assert max(sizes) <= cost.largest


def test_plan_of_an_algorithm_that_is_not_ours_is_estimated_by_its_slots() -> None:
    class Foreign:
        spending = private_kmeans.plan(8, 1000, BUDGET).spending

    assert cost_of(Foreign()).numbers == 2 * 1004


def test_estimates_grow_with_every_number() -> None:
    def seconds(k: int, d: int) -> float:
        return cost_of(balcan_kmeans.plan(k, d, BUDGET)).seconds

    assert seconds(8, 4) < seconds(16, 4) < seconds(16, 400) < seconds(1600, 400)

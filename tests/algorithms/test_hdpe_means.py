"""HDPE-means: every release counted, every coordinate with noise of its own."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.algorithms import hdpe_means
from privclust.audit.replay import replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)


def fit(engine: Engine, k: int = 2, budget: Budget = BUDGET) -> tuple[Clustering, Curator]:
    plan = hdpe_means.plan(k, engine.n_columns, budget)
    curator = Curator.open(engine, plan.spending)
    return hdpe_means.run(curator, plan, np.random.default_rng(0)), curator


def two_groups(n_columns: int) -> FloatArray:
    rng = np.random.default_rng(0)
    middle = np.full(n_columns, 0.5 / np.sqrt(n_columns))
    groups = [rng.normal(sign * middle, 0.01, (4000, n_columns)) for sign in (1, -1)]
    return np.vstack(groups)


def test_the_last_two_rounds_pay_for_sums_and_counts() -> None:
    plan = hdpe_means.plan(3, 40, BUDGET, 1000)
    shares = {slot.name: slot.share for slot in plan.spending.slots}
    assert list(shares) == [f"votes {n}" for n in range(1, 15)] + ["sums"]
    assert shares["sums"] == pytest.approx(2 / 16)
    assert plan.spending.slot("sums").l0 == 41


def test_rounds_are_capped() -> None:
    assert hdpe_means.plan(3, 40, Budget(8.0, 1e-6)).rounds == 62


def test_two_groups_are_found_in_many_columns() -> None:
    rows = two_groups(40)
    with noise_from(SeededNoise(0)):
        found, _ = fit(NumpyEngine(rows, Ball(np.zeros(40), 1.0)))
    sums = np.sort(found.centers.sum(axis=1))
    expected = 0.5 * np.sqrt(40)
    np.testing.assert_allclose(sums, [-expected, expected], rtol=0.1)
    np.testing.assert_allclose(found.sizes, 4000, atol=200)


@pytest.mark.attack
def test_each_coordinate_of_a_sum_has_noise_of_its_own() -> None:
    """False alarm: 3321 pairs of draws at sigma 1.1e9, equal with probability 2.5e-10: 8e-7."""
    _, curator = fit(NumpyEngine(np.zeros((100, 40)), Ball(np.zeros(40), 1.0)))
    sums = curator.releases[-1]
    assert sums.slot == "sums"
    assert len(set(sums.result.tolist())) == sums.result.size == 82


@pytest.mark.attack
@pytest.mark.parametrize("strange", [np.nan, np.inf, -1e308, 0.25])
@pytest.mark.parametrize("size", [0, 1, 200])
def test_neighbouring_tables_get_the_same_queries(strange: float, size: int) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.1, (size, 20))
    neighbour = np.vstack([rows, [[strange] * 10 + [0.1] * 10]])
    domain = Ball(np.zeros(20), 1.0)
    findings = replay_on_neighbour(
        lambda engine: fit(engine, 3),
        NumpyEngine(rows, domain),
        NumpyEngine(neighbour, domain),
        SeededNoise(1),
    )
    assert findings == []


def test_empty_clusters_stay_in_the_ball() -> None:
    with noise_from(SeededNoise(0)):
        found, _ = fit(NumpyEngine(np.zeros((3, 20)), Ball(np.zeros(20), 1.0)), 5)
    assert np.isfinite(found.centers).all()
    assert (np.linalg.norm(found.centers, axis=1) <= 1 + 1e-12).all()
    assert (found.sizes >= 0).all()

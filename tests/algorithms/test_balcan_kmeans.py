"""Balcan and others' algorithm: all it measures is planned and priced, and it finds clusters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from privclust.algorithms import balcan_kmeans
from privclust.algorithms._cube_partition import Search, crowded_cubes
from privclust.audit.replay import replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.kernels.nearest import nearest
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoNoise
from privclust.privacy.release import Release
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)
PURE = Budget(1.0, 0.0)


def fit(
    engine: Engine,
    k: int,
    budget: Budget = BUDGET,
    n_rows: int | None = None,
    constants: str = "improved",
    seed: int = 0,
) -> tuple[Clustering, Curator]:
    plan = balcan_kmeans.plan(k, engine.n_columns, budget, n_rows, constants)
    curator = Curator.open(engine, plan.spending)
    return balcan_kmeans.run(curator, plan, np.random.default_rng(seed)), curator


def over(rows: FloatArray) -> NumpyEngine:
    return NumpyEngine(rows, Ball(np.zeros(rows.shape[1]), 1.0))


def loss(rows: FloatArray, centers: FloatArray) -> float:
    return float(np.mean(np.sum((rows - centers[nearest(rows, centers)]) ** 2, axis=1)))


def blobs(k: int, d: int, n: int = 4000) -> FloatArray:
    rows = make_blobs(n, d, centers=k, random_state=1)[0]
    rows -= rows.mean(axis=0)
    normalised: FloatArray = rows / np.linalg.norm(rows, axis=1).max()
    return normalised


# Privacy -----------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("strange", [np.nan, -1e308])
@pytest.mark.parametrize(("size", "n_columns"), [(0, 2), (1, 2), (200, 2), (200, 7)])
@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=["gaussian", "pure"])
def test_neighbouring_tables_get_the_same_queries(
    strange: float, size: int, n_columns: int, budget: Budget
) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.2, (size, n_columns))
    neighbour = np.vstack([rows, [[strange] + [0.1] * (n_columns - 1)]])
    findings = replay_on_neighbour(
        lambda engine: fit(engine, 3, budget), over(rows), over(neighbour), SeededNoise(1)
    )
    assert findings == []


@pytest.mark.attack
def test_every_subcube_of_a_level_has_noise_with_and_without_rows() -> None:
    """False alarm: 120 pairs of draws at sigma above 2^30, equal with probability 2e-10: 3e-8."""
    for budget in (BUDGET, PURE):
        _, curator = fit(over(np.full((50, 2), 0.3)), 2, budget, n_rows=50)
        first = curator.releases[0]
        assert first.result.size == len(set(first.result.tolist())) == 16
        assert np.count_nonzero(first.result % UNIT) == 16


@pytest.mark.attack
def test_shares_are_the_published_ones_and_sum_to_one() -> None:
    for constants, expected in {
        "improved": [0.7, 0.01, 0.04, 0.2, 0.05],
        "original": [8 / 18, 1 / 18, 1 / 9, 1 / 3, 1 / 18],
    }.items():
        slots = balcan_kmeans.plan(5, 8, BUDGET, 1000, constants).spending.slots
        sums = dict.fromkeys(("partition", "swap", "recovery", "lloyd", "final"), 0.0)
        for slot in slots:
            kind = slot.name.split()[0]
            sums["swap" if kind == "set" else kind] += slot.share
        assert list(sums.values()) == pytest.approx(expected)
        assert math.fsum(slot.share for slot in slots) == pytest.approx(1)


def test_a_typed_number_of_rows_saves_the_count_and_sets_the_depth() -> None:
    typed = balcan_kmeans.plan(3, 4, BUDGET, 150)
    assert (typed.depth, typed.spending.slots[0].name) == (5, "partition 1 level 1")
    unknown = balcan_kmeans.plan(3, 4, BUDGET)
    assert (unknown.depth, unknown.spending.slots[0].name) == (10, "count")
    assert balcan_kmeans.plan(3, 4, BUDGET, 10**12).depth == 10
    assert balcan_kmeans.plan(100, 4, BUDGET).swaps == 20


# Quality -----------------------------------------------------------------------------------------


class FaintNoise(SeededNoise):
    """Noise of epsilon 10^4: a mu of 137, where the most a budget may have is 7.4."""

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        return super().gaussian(exact, sigma / 18)

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        return super().laplace(exact, scale / 156)

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        return super().permute_and_flip(scores, scale / 18)


@pytest.mark.parametrize("constants", ["improved", "original"])
@pytest.mark.parametrize(("k", "d"), [(4, 4), (3, 12), (6, 2)])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_faint_noise_changes_next_to_nothing(k: int, d: int, constants: str, delta: float) -> None:
    rows, losses = blobs(k, d), []
    for noise in (NoNoise(), FaintNoise(0)):
        with noise_from(noise):
            found, _ = fit(over(rows), k, Budget(64.0, delta), len(rows), constants)
        losses.append(loss(rows, found.centers))
    assert losses[1] == pytest.approx(losses[0], rel=0.01)


@pytest.mark.parametrize(("k", "d"), [(4, 4), (5, 2), (3, 12)])
def test_clusters_are_found_without_noise(k: int, d: int) -> None:
    rows = blobs(k, d)
    reference = KMeans(k, n_init=10, random_state=0).fit(rows).inertia_ / len(rows)
    with noise_from(NoNoise()):
        found, _ = fit(over(rows), k)
    assert loss(rows, found.centers) < 1.02 * reference
    assert found.n_rows == len(rows) == found.sizes.sum()


@pytest.mark.parametrize(("delta", "within"), [(1e-6, 1.1), (0.0, 1.5)])
def test_four_blobs_are_found_at_epsilon_one(delta: float, within: float) -> None:
    """Seeded noise, so no false alarm."""
    rows = blobs(4, 4, 20_000)
    reference = KMeans(4, n_init=10, random_state=0).fit(rows).inertia_ / len(rows)
    losses = []
    for seed in range(4):
        with noise_from(SeededNoise(seed)):
            found, _ = fit(over(rows), 4, Budget(1.0, delta), seed=seed)
        losses.append(loss(rows, found.centers))
    assert np.mean(losses) < within * reference


@pytest.mark.parametrize("n_rows", [None, 5, 10**9])
@pytest.mark.parametrize("budget", [Budget(0.05, 1e-6), Budget(0.05, 0.0)])
def test_where_noise_hides_everything_centres_stay_in_the_ball(
    n_rows: int | None, budget: Budget
) -> None:
    with noise_from(SeededNoise(0)):
        found, _ = fit(over(np.zeros((3, 9))), 5, budget, n_rows)
    assert found.centers.shape == (5, 9)
    assert (np.linalg.norm(found.centers, axis=1) <= 1 + 1e-12).all()
    assert (found.sizes >= 0).all()


def counted(counts: list[float], mechanism: Any = "gaussian", sigma: float = 1.0) -> Release:
    result = (np.array(counts) * UNIT).astype(np.int64)
    return Release("slot", "SubcubeCounts", mechanism, result, sigma * UNIT, Spend(), "none")


def test_cubes_are_kept_above_what_noise_explains() -> None:
    counts = [0.0, 50.0, 10.0, 49.0]
    search = Search(1, 100, 2, strictness=1.0, deepest_only=True)
    assert crowded_cubes(counted(counts), search).tolist() == [1, 3]  # 100/8 rows are enough
    assert crowded_cubes(counted(counts, sigma=16.2), search).tolist() == [1]  # 3.03 sigma
    assert crowded_cubes(counted(counts, "laplace", sigma=10.8), search).tolist() == [1]
    strict = Search(1, 100, 2, strictness=2.0, deepest_only=False)
    assert crowded_cubes(counted(counts, sigma=16.2), strict).size == 0


def test_no_more_cubes_are_kept_than_planned() -> None:
    search = Search(2, 1, 3, strictness=1.0, deepest_only=True)
    assert len(crowded_cubes(counted([50.0] * 100), search)) == search.cubes == 16

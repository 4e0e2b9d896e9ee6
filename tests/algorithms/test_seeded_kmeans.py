"""PrivateKMeans from a public start: what it measures, what it spends, what it finds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers.referee import epsilon_spent
from helpers.samples import sample_beyond

from privclust.algorithms import seeded_kmeans
from privclust.algorithms.seeded_kmeans import start_from
from privclust.audit.replay import Transcript, replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.testing import SeededNoise, noise_from

BALL = Ball(np.zeros(2), 1.0)
MIDDLES = np.array([[0.6, 0.0], [-0.6, 0.0], [0.0, 0.6]])
SLOTS = ["locate 1", "start", "split", "width"]
SLOTS += ["distances 1", "sums 1", "distances 2", "sums 2", "sizes", "quality"]


def blobs(n_rows: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    rows: FloatArray = MIDDLES[rng.integers(0, 3, n_rows)] + rng.normal(0, 0.03, (n_rows, 2))
    return rows


def run(engine: Engine, points: FloatArray = MIDDLES, epsilon: float = 1.0) -> Clustering:
    start = start_from(points, 9, np.random.default_rng(0))
    plan = seeded_kmeans.plan(3, 2, Budget(epsilon, 1e-6), start=start)
    curator = Curator.open(engine, plan.spending)
    found = seeded_kmeans.run(curator, plan, np.random.default_rng(0))
    assert [release.slot for release in curator.releases] == SLOTS
    return found


def test_points_that_merging_leaves_alone_are_as_wide_as_those_around_allow() -> None:
    """Their means are rounded: by that alone, cells were taken for points."""
    points = np.random.default_rng(0).normal(0.0, 0.1, (30, 4))
    start = start_from(points, 24, np.random.default_rng(0))
    assert len(start.points) == 24
    assert start.radii.min() > 0.01


@pytest.mark.attack
@pytest.mark.parametrize("row", [(0.0, 0.0), (0.6, 0.0), (-9.0, 9.0), (np.nan, np.inf)])
def test_one_row_more_changes_no_query_and_no_result_by_more_than_declared(
    row: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_beyond(monkeypatch, 50)
    engines = [NumpyEngine(rows, BALL) for rows in (blobs(200), np.vstack([blobs(200), [row]]))]
    assert replay_on_neighbour(run, engines[0], engines[1], SeededNoise(0)) == []


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_no_more_is_spent_than_the_budget_says_another_accountant(epsilon: float) -> None:
    """dp-accounting agrees with us to 1e-6."""
    transcript = Transcript(NumpyEngine(blobs(100), BALL), SeededNoise(0))
    with noise_from(transcript):
        run(transcript, epsilon=epsilon)
    spent = epsilon_spent(transcript.measurements, 1e-6, interval=1e-4 * epsilon)
    assert (1 - 1e-5) * epsilon <= spent <= (1 + 1e-6) * epsilon


@pytest.mark.parametrize(
    "points",
    [MIDDLES, MIDDLES + 0.05, MIDDLES[[0, 1, 1]] + [[0, 0], [0, 0], [0, 0.02]], blobs(500, 7)],
)
def test_clusters_are_found_also_where_the_start_has_none(points: FloatArray) -> None:
    with noise_from(SeededNoise(0)):
        found = run(NumpyEngine(blobs(20_000), BALL), points)
    gaps = np.linalg.norm(found.centers[:, None] - MIDDLES, axis=2)
    assert gaps.min(axis=0).max() < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_a_start_that_serves_is_kept_where_noise_hides_its_cells(seed: int) -> None:
    """Cells that noise may explain were left out, and the centres among them moved away."""
    rng = np.random.default_rng(seed)
    middles = rng.choice(np.array(list(product((-0.3, 0.3), repeat=8))), 32, replace=False)
    rows = middles[rng.integers(0, 32, 10_000)] + rng.normal(0, 0.05, (10_000, 8))
    plan = seeded_kmeans.plan(
        32, 8, Budget(0.25, 1e-6), start=start_from(middles, 32, np.random.default_rng(0))
    )
    with noise_from(SeededNoise(seed)):
        curator = Curator.open(NumpyEngine(rows, Ball(np.zeros(8), 1.0)), plan.spending)
        found = seeded_kmeans.run(curator, plan, np.random.default_rng(0))
    gaps = np.linalg.norm(found.centers[:, None] - middles, axis=2)
    assert gaps.min(axis=0).max() < 0.2

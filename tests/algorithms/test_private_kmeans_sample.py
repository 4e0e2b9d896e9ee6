"""PrivateKMeans on many rows: a sample finds the clusters, all rows say where they are.

Tables here are small, and so are the samples: the two constants that decide are lowered.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from helpers.samples import sample_beyond
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from privclust.algorithms import private_kmeans
from privclust.algorithms._private_kmeans_plan import SAMPLE_ROWS, SAMPLE_SIGNAL
from privclust.audit.replay import Transcript, replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.engines.sampling import SAMPLING_EXPONENT_MAX, included, row_words
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models.clustering import Clustering, Coreset, Precision
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.curator import Curator
from privclust.queries.unit import Unit
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(4.0, 1e-6)


def fit(
    engine: Engine, k: int, n_rows: int | None = None, seed: int = 0
) -> tuple[Clustering, Curator]:
    rows_per_unit = engine.unit.total_rows
    plan = private_kmeans.plan(k, engine.n_columns, BUDGET, n_rows, rows_per_unit=rows_per_unit)
    curator = Curator.open(engine, plan.spending)
    return private_kmeans.run(curator, plan, np.random.default_rng(seed)), curator


def in_ball(rows: FloatArray) -> NumpyEngine:
    return NumpyEngine(rows, Ball(np.zeros(rows.shape[1]), 1.0))


def loss(rows: FloatArray, centers: FloatArray) -> float:
    return float(np.mean(np.sum((rows - centers[nearest(rows, centers)]) ** 2, axis=1)))


def blobs(k: int, d: int, n: int = 10_000) -> FloatArray:
    rows = make_blobs(n, d, centers=k, random_state=1)[0]
    rows -= rows.mean(axis=0)
    normalised: FloatArray = rows / np.linalg.norm(rows, axis=1).max()
    return normalised


def exponent_by_slot(curator: Curator) -> dict[str, int]:
    return {release.slot: release.sampling_exponent for release in curator.releases}


# How many ----------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, database=None)
@given(st.integers(1, 2**46), st.integers(1, 1000), st.sampled_from([0.1, 1.0, 64.0]))
def test_a_sample_is_as_small_as_can_be_and_no_smaller(n_rows: int, k: int, epsilon: float) -> None:
    plan = private_kmeans.plan(k, 4, Budget(epsilon, 1e-6))
    per_cluster = SAMPLE_SIGNAL / min(plan.spending.reserve.mu, 1.0)
    least = max(SAMPLE_ROWS, k * per_cluster)
    sampling_exponent = plan.sampling_exponent(n_rows)
    assert sampling_exponent == 0 or n_rows / 2**sampling_exponent >= least
    assert n_rows / 2 ** (sampling_exponent + 1) < least


@pytest.mark.parametrize(
    ("n_rows", "sampling_exponent"), [(1, 0), (2**17 - 1, 0), (2**17, 1), (10**7, 7)]
)
def test_few_rows_are_not_sampled(n_rows: int, sampling_exponent: int) -> None:
    assert (
        private_kmeans.plan(8, 4, Budget(4.0, 1e-6)).sampling_exponent(n_rows) == sampling_exponent
    )


def test_table_of_ten_thousand_rows_is_measured_as_a_whole() -> None:
    with noise_from(SeededNoise(0)):
        _, curator = fit(in_ball(blobs(4, 3)), 4)
    assert set(exponent_by_slot(curator).values()) == {0}


def test_a_typed_number_of_rows_beyond_all_tables_fails_nothing() -> None:
    with noise_from(SeededNoise(0)):
        _, curator = fit(in_ball(blobs(4, 3)), 4, n_rows=2**60)
    assert max(exponent_by_slot(curator).values()) == SAMPLING_EXPONENT_MAX


# Accuracy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(8, 4), (8, 40)])
def test_blobs_found_in_a_quarter_are_within_ten_percent_of_k_means(
    k: int, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeded noise, so no false alarm; the reference is the best of ten starts."""
    sample_beyond(monkeypatch, 2000)
    rows = blobs(k, d)
    reference = loss(rows, KMeans(k, n_init=10, random_state=0).fit(rows).cluster_centers_)
    for seed in range(2):
        with noise_from(SeededNoise(seed)):
            found, curator = fit(in_ball(rows), k, seed=seed)
        assert max(exponent_by_slot(curator).values()) == 2
        assert loss(rows, found.centers) < 1.1 * reference
        assert found.n_rows == pytest.approx(10_000, rel=0.01)
        assert found.sizes.sum() == pytest.approx(10_000, rel=0.01)


@pytest.mark.parametrize("d", [4, 40])
def test_all_rows_are_measured_first_and_last_and_a_sample_in_between(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_beyond(monkeypatch, 1000)
    with noise_from(SeededNoise(0)):
        _, curator = fit(in_ball(blobs(4, d, 5000)), 4)
    exponents = exponent_by_slot(curator)
    steps = [slot for slot in exponents if slot.startswith("sums")]
    assert len(steps) > 2
    whole = [slot for slot, exponent in exponents.items() if exponent == 0]
    assert whole == ["locate 1", *steps[-2:], "sizes", "quality"]
    assert set(exponents.values()) == {0, 2}


def whole_and_sampled(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Coreset], list[Precision]]:
    """Fit 8000 rows as a whole and with a sample of a quarter."""
    rows, coresets, precisions = blobs(4, d, 8000), [], []
    for least in (8000, 2000):
        sample_beyond(monkeypatch, least)
        with noise_from(SeededNoise(0)):
            found, _ = fit(in_ball(rows), 4, n_rows=8000)
        assert found.coreset is not None
        assert found.precision is not None
        coresets.append(found.coreset)
        precisions.append(found.precision)
    return coresets, precisions


@pytest.mark.parametrize("d", [4, 40])
def test_a_coreset_from_a_sample_says_it_is_known_less_well(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row drawn stands for three more: that alone is a variance of 3 per row."""
    (whole, sampled), _ = whole_and_sampled(d, monkeypatch)
    assert sampled.weights.sum() == pytest.approx(8000, rel=0.1)
    errors = sampled.precision.size_stderr
    assert errors.min() > whole.precision.size_stderr.max()
    assert (errors**2 > 3 * sampled.weights).all()
    typical = [np.median(one.precision.center_stderr) for one in (whole, sampled)]
    assert typical[1] > 1.5 * typical[0]


def test_a_sample_of_units_whose_rows_are_alike_says_how_little_it_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten rows of a person are alike, so that a sample of people says as much as one row each."""
    sample_beyond(monkeypatch, 2000)
    alike = np.repeat(blobs(4, 3, 800), 10, axis=0)
    table = pd.DataFrame(alike).assign(who=np.arange(8000) // 10)
    engine = NumpyEngine(table, Ball(np.zeros(3), 1.0), unit=Unit("who", 10))
    with noise_from(SeededNoise(0)):
        found, curator = fit(engine, 4, n_rows=8000)
    assert max(exponent_by_slot(curator).values()) == 2
    assert found.coreset is not None
    cells = nearest(to_grid(alike), to_grid(found.coreset.points))
    exact = np.bincount(cells, minlength=len(found.coreset.points))
    errors = (found.coreset.weights - exact) / found.coreset.precision.size_stderr
    assert np.sqrt(np.mean(errors**2)) < 1.5


def test_units_of_many_rows_leave_as_many_units_in_a_sample() -> None:
    """At this epsilon 2,864 units for 8 clusters, which fewer rows than a sample has would be."""
    by_row, by_unit = (private_kmeans.plan(8, 4, BUDGET, rows_per_unit=n) for n in (1, 50))
    assert by_row.sampling_exponent(5 * 10**6) == 6
    assert by_unit.sampling_exponent(5 * 10**6) == 5


def test_the_result_is_nearly_as_well_known_as_without_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its last steps measure all rows; a quarter of them would have four times the noise."""
    _, (whole, sampled) = whole_and_sampled(4, monkeypatch)
    np.testing.assert_allclose(sampled.size_stderr, whole.size_stderr)
    assert np.median(sampled.center_stderr) < 2 * np.median(whole.center_stderr)


# Privacy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [None, 500])
@pytest.mark.parametrize("d", [4, 40])
def test_all_that_was_planned_is_spent_and_no_more(
    d: int, n_rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sum what the noise scales really cost: a sample has no discount."""
    sample_beyond(monkeypatch, 100)
    rows = np.random.default_rng(0).normal(0.0, 0.1, (500, d))
    listened = Transcript(in_ball(rows), SeededNoise(0))
    with noise_from(listened):
        _, curator = fit(listened, 3, n_rows)
    first = private_kmeans.plan(3, d, BUDGET, n_rows).spending
    plan, releases = curator.plan, curator.releases
    assert {release.sampling_exponent for release in releases} == {0, 2}
    assert [release.slot for release in releases] == [slot.name for slot in plan.slots]
    assert math.fsum(slot.share for slot in plan.slots) == pytest.approx(1.0, abs=1e-9)
    charged = sum((release.charge for release in releases), Spend())
    assert charged.within(first.reserve)
    assert BUDGET.admits(charged)
    cost = sum(one.sensitivity.l2_squared / one.scale**2 for one in listened.measurements)
    assert cost <= charged.mu2
    assert cost == pytest.approx(first.quanta / 2**50, rel=1e-9)


@pytest.mark.parametrize(("size", "strange"), [(0, np.nan), (1, -1e308), (200, 0.25)])
@pytest.mark.parametrize("d", [3, 40])
def test_neighbouring_tables_get_the_same_queries(
    d: int, size: int, strange: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last row comes or goes, so that all others keep their addresses and inclusion bits.

    Row 0 is drawn by the transcript's key, and so is row 200; row 1 is not.
    """
    drawn = included(row_words(bytes(32), 0, 201), 1)
    assert drawn[[0, 1, 200]].tolist() == [True, False, True]
    sample_beyond(monkeypatch, 100)
    rows = np.random.default_rng(0).normal(0.0, 0.1, (size, d))
    table, neighbour = in_ball(rows), in_ball(np.vstack([rows, [[strange] + [0.1] * (d - 1)]]))
    for first, second in ((table, neighbour), (neighbour, table)):
        exponents: list[set[int]] = []

        def algorithm(engine: Engine, exponents: list[set[int]] = exponents) -> None:
            # Typed, so that a table of no rows is sampled, too.
            _, curator = fit(engine, 2, n_rows=200)
            exponents.append({release.sampling_exponent for release in curator.releases})

        assert replay_on_neighbour(algorithm, first, second, SeededNoise(1)) == []
        assert exponents == [{0, 1}, {0, 1}]

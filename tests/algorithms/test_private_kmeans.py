"""PrivateKMeans: accurate, within its budget, blind to single rows, and open about its limits."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from privclust.algorithms import private_kmeans
from privclust.algorithms._lift import STEPS_MAX, steps_for
from privclust.audit.replay import Transcript, replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.errors import FitWarning
from privclust.kernels.grid import FloatArray
from privclust.kernels.nearest import nearest
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoNoise
from privclust.queries.base import Query
from privclust.queries.unit import ROW
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)
HARDLY = "can hardly be found"


def fit(
    engine: Engine, k: int, budget: Budget = BUDGET, n_rows: int | None = None, seed: int = 0
) -> tuple[Clustering, Curator]:
    plan = private_kmeans.plan(k, engine.n_columns, budget, n_rows)
    curator = Curator.open(engine, plan.spending)
    return private_kmeans.run(curator, plan, np.random.default_rng(seed)), curator


def in_ball(rows: FloatArray, radius: float = 1.0) -> NumpyEngine:
    return NumpyEngine(rows, Ball(np.zeros(rows.shape[1]), radius))


def loss(rows: FloatArray, centers: FloatArray) -> float:
    return float(np.mean(np.sum((rows - centers[nearest(rows, centers)]) ** 2, axis=1)))


def blobs(k: int, d: int, n: int = 20_000) -> FloatArray:
    rows = make_blobs(n, d, centers=k, random_state=1)[0]
    rows -= rows.mean(axis=0)
    normalised: FloatArray = rows / np.linalg.norm(rows, axis=1).max()
    return normalised


def two_groups(n_columns: int) -> FloatArray:
    rng = np.random.default_rng(0)
    middle = np.full(n_columns, 0.5 / np.sqrt(n_columns))
    return np.vstack([rng.normal(sign * middle, 0.02, (4000, n_columns)) for sign in (1, -1)])


# Accuracy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(16, 4), (8, 40)])
def test_blobs_within_ten_percent_of_k_means(k: int, d: int) -> None:
    """Seeded noise, so no false alarm; the reference is the best of ten starts."""
    rows = blobs(k, d)
    reference = loss(rows, KMeans(k, n_init=10, random_state=0).fit(rows).cluster_centers_)
    for seed in range(3):
        with noise_from(SeededNoise(seed)):
            found, _ = fit(in_ball(rows), k, seed=seed)
        assert loss(rows, found.centers) < 1.1 * reference
        assert found.n_rows == pytest.approx(20_000, rel=0.02)
        assert found.sizes.sum() == pytest.approx(20_000, rel=0.02)


@pytest.mark.parametrize(
    "domain",
    [
        Ball(np.zeros(3), 100.0),
        Ball([40.0, 0.0, -40.0], 100.0),
        Box([0, -1, -1], [100, 100, 100]),
        Box([-1, -1, -1], [1, 1, 100]),
    ],
)
def test_loose_bounds_still_find_two_groups(domain: Domain) -> None:
    rows = two_groups(3) + (np.array([0.5, 0.0, 0.0]) if isinstance(domain, Box) else 0.0)
    with noise_from(SeededNoise(0)):
        found, _ = fit(NumpyEngine(rows, domain), 2)
    centers = domain.from_ball(found.centers)
    centers = centers[np.argsort(centers[:, 0])]
    means = np.array([rows[4000:].mean(axis=0), rows[:4000].mean(axis=0)])
    assert np.linalg.norm(centers - means, axis=1).max() < 0.1
    np.testing.assert_allclose(found.sizes, 4000, atol=300)


@pytest.mark.parametrize("d", [3, 40])
def test_without_noise_centres_are_means_and_sizes_counts(d: int) -> None:
    rows = two_groups(d)
    with noise_from(NoNoise()):
        found, _ = fit(in_ball(rows), 2)
    means = {+1: rows[:4000].mean(axis=0), -1: rows[4000:].mean(axis=0)}
    for center in found.centers:
        np.testing.assert_allclose(center, means[int(np.sign(center.sum()))], atol=0.005)
    assert found.sizes.tolist() == [4000.0, 4000.0]


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(0)])
@pytest.mark.parametrize("d", [1, 2, 40])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_more_clusters_than_rows_stay_finite_and_in_the_ball(
    noise: NoNoise | SeededNoise, d: int, n_rows: int
) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.1, (n_rows, d))
    with noise_from(noise):
        found, _ = fit(in_ball(rows), 9)
    assert found.precision is not None
    assert found.coreset is not None
    assert found.centers.shape == (9, d)
    for values in (
        found.centers,
        found.sizes,
        *vars(found.precision).values(),
        found.coreset.points,
        found.coreset.weights,
        *vars(found.coreset.precision).values(),
    ):
        assert np.isfinite(values).all()
    assert (np.linalg.norm(found.centers, axis=1) <= 1 + 1e-12).all()
    assert (found.sizes >= 0).all()
    assert found.n_rows >= 1


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(0)])
@pytest.mark.parametrize("d", [2, 40])
@pytest.mark.parametrize("values", [1, 4])
def test_fewer_values_than_clusters_are_no_failure(
    noise: NoNoise | SeededNoise, d: int, values: int
) -> None:
    """Radii shrink to nothing and most cells are empty: such fits failed, and had spent."""
    rows = np.repeat(np.random.default_rng(0).normal(0.0, 0.05, (values, d)), 20_000, axis=0)
    with noise_from(noise):
        found, _ = fit(in_ball(rows), 12)
    assert np.isfinite(found.centers).all()
    assert loss(rows, found.centers) < 1e-4


@pytest.mark.parametrize("d", [2, 40])
def test_no_noisy_centre_claims_to_be_exact(d: int) -> None:
    with noise_from(SeededNoise(0)):
        found, _ = fit(in_ball(np.zeros((5, d))), 9)
    assert found.precision is not None
    assert found.coreset is not None
    assert (found.precision.center_stderr > 0).all()
    assert (found.coreset.precision.center_stderr > 0).all()


def test_rows_in_a_corner_of_wide_one_sided_bounds_are_found() -> None:
    """All rows lie far from the middle of the box: the first step moves there, and sees no more."""
    rng = np.random.default_rng(0)
    groups = [rng.normal(middle, 0.1, (4000, 40)) for middle in (1.0, 1.5)]
    domain = Box(np.zeros(40), np.full(40, 100.0), weights=np.full(40, 50.0))
    with noise_from(SeededNoise(0)):
        found, _ = fit(NumpyEngine(np.vstack(groups), domain), 2)
    centers = np.sort(domain.from_ball(found.centers).mean(axis=1))
    np.testing.assert_allclose(centers, [1.0, 1.5], atol=0.05)


# Budget ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [None, 500])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("d", [4, 40])
def test_all_that_was_planned_is_spent_and_no_more(d: int, k: int, n_rows: int | None) -> None:
    """Sum what the noise scales really cost, not only what the charges say."""
    rows = np.random.default_rng(0).normal(0.0, 0.1, (500, d))
    listened = Transcript(in_ball(rows), SeededNoise(0))
    with noise_from(listened):
        _, curator = fit(listened, k, n_rows=n_rows)
    first = private_kmeans.plan(k, d, BUDGET, n_rows).spending
    plan, releases = curator.plan, curator.releases
    assert [release.slot for release in releases] == [slot.name for slot in plan.slots]
    assert math.fsum(slot.share for slot in plan.slots) == pytest.approx(1.0, abs=1e-9)
    charged = sum((release.charge for release in releases), Spend())
    assert charged.within(first.reserve)
    assert BUDGET.admits(charged)
    cost = sum(one.sensitivity.l2_squared / one.scale**2 for one in listened.measurements)
    assert cost <= charged.mu2
    assert cost == pytest.approx(first.quanta / 2**50, rel=1e-9)


@pytest.mark.parametrize("strange", [np.nan, -1e308, 0.25])
@pytest.mark.parametrize("size", [0, 1, 200])
@pytest.mark.parametrize("d", [3, 40])
def test_neighbouring_tables_get_the_same_queries(d: int, strange: float, size: int) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.1, (size, d))
    neighbour = np.vstack([rows, [[strange] + [0.1] * (d - 1)]])
    findings = replay_on_neighbour(
        lambda engine: fit(engine, 2), in_ball(rows), in_ball(neighbour), SeededNoise(1)
    )
    assert findings == []


def test_each_coordinate_of_every_sum_has_noise_of_its_own() -> None:
    """False alarm: below 5e4 pairs of draws at sigma > 2^34, equal with probability 1.7e-11: 8e-7.

    One row is typed, so that the number of cells hardly depends on the noise.
    """
    _, curator = fit(in_ball(np.zeros((0, 2))), 2, Budget(0.01, 1e-6), n_rows=1)
    for release in curator.releases:
        assert len(set(release.result.tolist())) == release.result.size
        assert release.scale > 2**34
    sizes = [release.result.size for release in curator.releases]
    assert sum(size * (size - 1) // 2 for size in sizes) < 50_000


# Warnings ----------------------------------------------------------------------------------------


class Untouchable:
    """An engine that must not be read."""

    n_columns = 4
    unit = ROW

    def aggregate(self, query: Query) -> list[int]:
        raise AssertionError("rows were read")

    def expect_sample(self, key: bytes) -> None:
        pass

    def sample(self, sampling_exponent: int, key: bytes) -> Untouchable:
        return self


def test_typed_number_of_rows_too_small_is_reported_before_any_row_is_read() -> None:
    with pytest.warns(FitWarning, match=HARDLY) as caught:
        plan = private_kmeans.plan(8, 4, BUDGET, 500)
    assert len(caught) == 1
    with pytest.raises(Exception, match="could not be read"):
        private_kmeans.run(
            Curator.open(Untouchable(), plan.spending), plan, np.random.default_rng(0)
        )


def test_without_it_the_fit_says_so_by_its_final_sizes() -> None:
    engine = in_ball(np.random.default_rng(0).normal(0.0, 0.1, (500, 4)))
    with noise_from(SeededNoise(0)):
        found, curator = fit(engine, 8)
    assert found.advice is not None
    assert HARDLY in found.advice
    sizes = next(release for release in curator.releases if release.slot == "sizes")
    assert f"about {round(sizes.values.sum())} rows" in found.advice


def test_what_was_said_of_a_typed_number_is_not_said_twice() -> None:
    with noise_from(SeededNoise(0)):
        assert fit(in_ball(np.zeros((5, 4))), 8, n_rows=5)[0].advice is None


@pytest.mark.parametrize("n_rows", [None, 8000])
def test_clusters_that_can_be_found_are_not_warned_of(n_rows: int | None) -> None:
    with noise_from(SeededNoise(0)), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(in_ball(two_groups(4)), 2, n_rows=n_rows)[0].advice is None


# Steps -------------------------------------------------------------------------------------------


def test_more_rows_never_take_fewer_steps() -> None:
    steps = [steps_for(64, rows, 0.05, 0.2) for rows in np.geomspace(1, 1e6, 40)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (2, STEPS_MAX)
